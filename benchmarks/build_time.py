"""How long the build takes, from nothing, for each set of backends.

    python benchmarks/build_time.py [--jobs 2] [--only cpu]

Configures and builds into a temporary folder, with the compilers that the search finds.
A set with a compiler that is missing is shown as skipped. The goals are for two cores that do
nothing else: CPU only under 90 s, all three under 360 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SETS = {"cpu": (), "cpu+cuda": ("CUDA",), "cpu+hip": ("HIP",), "cpu+cuda+hip": ("CUDA", "HIP")}
GOALS = {"cpu": 90, "cpu+cuda+hip": 360}


@dataclass(frozen=True)
class Measured:
    """Seconds of the two steps, and of processor time, which a busy machine changes little.

    `slowest` is the step that took longest, `load` what the machine was doing before.
    """

    configure: float
    build: float
    processor: float
    slowest: str
    load: float
    architectures: str


def build(gpu: Sequence[str], jobs: int) -> Measured | str:
    """Build once; a string is the reason why it could not be done."""
    with tempfile.TemporaryDirectory(prefix="gpuport-build-time-") as folder:
        modes = [f"-DGPUPORT_{n}={'ON' if n in gpu else 'OFF'}" for n in ("CUDA", "HIP")]
        python = f"-DPython_EXECUTABLE={sys.executable}"
        load = os.getloadavg()[0]
        used_before = processor_time()
        began = time.perf_counter()
        configured = subprocess.run(
            ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", folder, python, *modes],
            capture_output=True,
            text=True,
            check=False,
        )
        configure_time = time.perf_counter() - began
        if configured.returncode != 0:
            return configured.stderr.strip()
        began = time.perf_counter()
        subprocess.run(["ninja", "-C", folder, f"-j{jobs}"], check=True, stdout=subprocess.DEVNULL)
        build_time = time.perf_counter() - began
        record = json.loads(Path(folder, "_build_info.json").read_text(encoding="utf-8"))
        built = [b["architectures"] for b in record["backends"].values() if b["built"]]
        architectures = ", ".join(" ".join(names) for names in built)
        slowest = slowest_step(Path(folder, ".ninja_log"))
        return Measured(
            configure_time,
            build_time,
            processor_time() - used_before,
            slowest,
            load,
            architectures,
        )


def processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def slowest_step(log: Path) -> str:
    steps = []
    for line in log.read_text(encoding="utf-8").splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        steps.append(((int(end) - int(start)) / 1000, "/".join(Path(output).parts[-3:])))
    seconds, name = max(steps)
    return f"{seconds:.0f} s {name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", choices=SETS, help="may be given several times")
    options = parser.parse_args()

    table = Table(title=f"build from nothing, {options.jobs} jobs, {os.cpu_count()} cores")
    for column in (
        "backends",
        "configure s",
        "build s",
        "processor s",
        "goal s",
        "slowest",
        "load before",
        "for",
    ):
        table.add_column(column, justify="right" if column.endswith(" s") else "left")
    missed = False
    for name in options.only or SETS:
        measured = build(SETS[name], options.jobs)
        goal = GOALS.get(name)
        if isinstance(measured, str):
            table.add_row(name, "skipped", "", "", "", measured.splitlines()[-1], "", "")
            continue
        total = measured.configure + measured.build
        missed = missed or (goal is not None and total > goal)
        table.add_row(
            name,
            f"{measured.configure:.1f}",
            f"{measured.build:.1f}",
            f"{measured.processor:.1f}",
            str(goal or ""),
            measured.slowest,
            f"{measured.load:.1f}",
            measured.architectures,
        )
    console = Console()
    if not console.is_terminal:
        console.width = 160  # whole in a log
    console.print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
