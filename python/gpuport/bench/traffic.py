"""Global-memory traffic of one call, in 32-byte sectors, as Nsight Compute counts it.

Counted are the sectors that load and store instructions ask for, a warp instruction at a time and
whether or not a cache has them. Copies from global into shared memory that bypass the registers are
other instructions, counted by other metrics: they stand in columns of their own.
"""

import csv
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuport.errors import BackendUnavailableError, Error
from gpuport.specs.workloads import Workload

SECTOR = 32

# For each column the metrics that may count it, the first one that the profiler knows wins; where
# there are several parts each is found by itself and they are added.
_LSU = "l1tex__t_sectors_pipe_lsu_mem_global_op"
_ASYNC = "sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts"
COLUMNS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "loads": ((f"{_LSU}_ld",),),
    "stores": ((f"{_LSU}_st",),),
    "atomics": ((f"{_LSU}_atom",), (f"{_LSU}_red",)),
    "async loads": (
        (f"sm__{_ASYNC}_cache_access", f"smsp__{_ASYNC}_cache_access"),
        (f"sm__{_ASYNC}_cache_bypass", f"smsp__{_ASYNC}_cache_bypass"),
    ),
    "bulk loads": (("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld",),),
    "bulk stores": (("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st",),),
}
READS = ("loads", "async loads", "bulk loads")
WRITES = ("stores", "bulk stores")


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch: its name and its sectors by column; None where nothing counts them."""

    kernel: str
    sectors: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Traffic:
    """All launches of one call, and the sectors that no implementation can do without."""

    name: str
    launches: Sequence[Launch]
    ideal_reads: int
    ideal_writes: int
    not_counted: Sequence[str] = field(default=())

    def total(self, columns: Iterable[str]) -> int:
        wanted = tuple(columns)
        return sum(launch.sectors.get(c) or 0 for launch in self.launches for c in wanted)

    @property
    def reads(self) -> int:
        return self.total(READS)

    @property
    def writes(self) -> int:
        return self.total(WRITES)


def ideal(work: Workload) -> tuple[int, int]:
    """Sectors read and written if each array is touched once."""
    arrays = [work.x]
    if work.keep is not None and work.keep is not work.x:
        arrays.append(work.keep)
    if work.offsets is not None:
        arrays.append(work.offsets)
    reads = sum(math.ceil(array.nbytes / SECTOR) for array in arrays)
    return reads, math.ceil(work.result_nbytes / SECTOR)


def find_profiler() -> str:
    """The path of ncu; BackendUnavailableError where there is none."""
    found = shutil.which("ncu")
    if found is None:
        raise BackendUnavailableError(
            "traffic is counted by Nsight Compute, and ncu is not on PATH"
        )
    return found


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise Error(f"{command[0].rpartition('/')[2]} failed: " + "\n".join(said[-12:]))
    return done.stdout


def known_metrics(profiler: str) -> set[str]:
    """Names of the counters that the profiler has for the GPU here."""
    return {
        line.split()[0] for line in _run([profiler, "--query-metrics"]).splitlines() if line.split()
    }


def choose_metrics(known: set[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The metrics of each column, and the columns that nothing counts here."""
    chosen: dict[str, list[str]] = {}
    missing = []
    for column, parts in COLUMNS.items():
        found = [next((name for name in part if name in known), None) for part in parts]
        chosen[column] = [f"{name}.sum" for name in found if name is not None]
        if None in found:
            missing.append(column)
    return chosen, missing


def parse(text: str, metrics: Mapping[str, Sequence[str]]) -> list[Launch]:
    """The launches in the raw page of `ncu --csv`, whatever else the program has printed.

    Raises:
        Error: there is no table, or it lacks a metric.
    """
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        raise Error("ncu printed no table; it saw no kernel launch")
    rows = csv.DictReader(line for line in lines[start:] if line.startswith('"'))
    launches = []
    for row in rows:
        if not row["ID"]:
            continue  # the units stand below the names
        sectors: dict[str, int | None] = {}
        for column, names in metrics.items():
            sectors[column] = sum(_number(row, name) for name in names) if names else None
        name = re.split(r"[<(]", row["Kernel Name"].removeprefix("void "))[0]
        launches.append(Launch(name, sectors))
    return launches


def _number(row: Mapping[str, str], name: str) -> int:
    text = row.get(name)
    if text is None:
        raise Error(f"ncu's table has no column {name}")
    try:
        return round(float(text.replace(",", "")))
    except ValueError:
        raise Error(f"ncu could not count {name}: {text or 'nothing'}") from None


def count(name: str, work: Workload, device: int = 0) -> Traffic:
    """Runs one call under the profiler.

    Raises:
        BackendUnavailableError: there is no profiler.
        Error: it failed, with what it said.
    """
    profiler = find_profiler()
    metrics, missing = choose_metrics(known_metrics(profiler))
    wanted = ",".join(metric for names in metrics.values() for metric in names)
    extents = "x".join(map(str, work.shape.shape))
    text = _run(
        [
            *(profiler, "--csv", "--page", "raw", "--print-units", "base", "--metrics", wanted),
            # The clocks are the machine's own affair, and sectors do not depend on them.
            *("--clock-control", "none", "--target-processes", "application-only"),
            *(sys.executable, "-m", "gpuport.bench.once", name, work.shape.dtype, extents),
            *(work.shape.pattern, "cuda", str(device)),
        ]
    )
    return Traffic(name, parse(text, metrics), *ideal(work), missing)
