"""Times one workload: a copy of as many bytes, the kernels, and the peers, over the same buffers.

Every library goes through the same steps: a call on a poisoned output is checked against the
reference, the outputs are poisoned again, warm-ups and timed calls take the sets of buffers in
turn, and what the last timed call wrote is checked once more. A row that fails has no time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gpuport.bench.calls import Steps, UnsupportedError, kernel_for, own_steps, resolved
from gpuport.bench.copies import Copies
from gpuport.bench.peers import Peer
from gpuport.bench.rig import Buffers, Rig
from gpuport.specs.workloads import Workload

LEAST_SAMPLES = 7


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a benchmark is timed. `runs` repeats warm-ups and samples, library after library.

    A call that would take longer than `budget_s` for all of its samples gets fewer of them.
    """

    warmups: int = 5
    samples: int = 50
    runs: int = 1
    cold: bool = True
    graph: bool = False
    budget_s: float = 10.0

    @property
    def timed(self) -> str:
        if self.graph:
            return "replay of a graph of calls, over the number of calls"
        return "device events around one complete call, enqueued by one native loop"


@dataclass
class Row:
    """One library on one workload. `runs` has every sample in microseconds, a list for each run."""

    library: str
    name: str
    kernel: str
    family: str
    op: str
    dtype: str
    result: str
    shape: tuple[int, ...]
    pattern: str
    nbytes: int
    bytes_rule: str
    sets: int
    set_bytes: int
    version: str = ""
    runs: list[list[float]] = field(default_factory=list)
    check_before: str = "not run"
    check_after: str = "not run"
    temporary_bytes: int | None = None
    note: str = ""
    percent_of_copy: float | None = None
    has_count: bool = True  # of a compaction: says on the device how much it kept

    @property
    def label(self) -> str:
        return self.kernel if self.library == "gpuport" else self.library

    @property
    def failed(self) -> bool:
        """A check found something wrong. A row that could not run has a note instead."""
        return not {self.check_before, self.check_after} <= {"ok", "not run"}

    @property
    def medians(self) -> list[float]:
        return [float(np.median(run)) for run in self.runs]

    @property
    def median(self) -> float:
        """Of the runs' medians: the median of all samples where there is one run."""
        return float(np.median(self.medians))

    @property
    def quartiles(self) -> tuple[float, float]:
        low, high = np.percentile(np.concatenate(self.runs), [25, 75])
        return float(low), float(high)

    @property
    def gb_per_s(self) -> float:
        return self.nbytes / self.median / 1e3


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be timed: the steps of one call for each set of buffers."""

    row: Row
    calls: list[Steps]


def measure(
    work: Workload,
    names: Iterable[str],
    peers: Iterable[Peer],
    rig: Rig,
    protocol: Protocol,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """The rows of one workload: copies first, then the kernels by name, then the peers."""
    copies = Copies(rig, work.nbytes, cold=protocol.cold)
    buffers = Buffers(rig, work, cold=protocol.cold)
    ceilings = [_copy_row(work, copies, method) for method in copies.calls]
    rows: list[Row] = []
    entries: list[Entry] = []
    for row, make in _candidates(work, names, peers, rig, buffers):
        progress(row.label)
        rows.append(row)
        try:
            entry = Entry(row, make())
        except UnsupportedError as reason:
            row.note = str(reason)
            continue
        except Exception as error:  # another library's, of whatever class
            row.check_before = _raised(error)
            continue
        if _check_before(entry, buffers, rig):
            entries.append(entry)
    for number in range(protocol.runs):
        for row in ceilings:
            row.runs.append(_samples(copies.calls[row.kernel], rig, protocol))
        for entry in entries:
            progress(entry.row.label)
            _time(entry, buffers, rig, protocol, check=number + 1 == protocol.runs)
    ceiling = min(row.median for row in ceilings)
    for row in rows:
        if row.failed:
            row.runs = []
        if row.runs:
            row.percent_of_copy = 100 * ceiling / row.median
    return [*ceilings, *rows]


def _blank(work: Workload, buffers: Buffers, library: str, name: str, kernel: str) -> Row:
    shape = work.shape
    return Row(
        *(library, name, kernel, work.family, work.op, shape.dtype, work.result),
        shape.shape,
        shape.pattern,
        work.nbytes,
        work.bytes_rule,
        buffers.count,
        buffers.set_bytes,
    )


def _candidates(
    work: Workload, names: Iterable[str], peers: Iterable[Peer], rig: Rig, buffers: Buffers
) -> Iterator[tuple[Row, Callable[[], list[Steps]]]]:
    """Each row, and what gives its calls or says why there are none."""
    seen: set[str] = set()
    for name in names:

        def own(name: str = name) -> list[Steps]:
            return [
                own_steps(kernel_for(name, work, rig), work, each, rig) for each in buffers.sets
            ]

        kernel = resolved(name, work, rig)
        if kernel not in seen:
            seen.add(kernel)
            yield _blank(work, buffers, "gpuport", name, kernel), own
    for peer in peers:
        row = _blank(work, buffers, peer.name, peer.name, "")
        row.version = peer.version

        def theirs(peer: Peer = peer, row: Row = row) -> list[Steps]:
            prepared = peer.prepare(work, buffers.sets, rig)
            row.kernel, row.note = prepared.what, prepared.note
            row.temporary_bytes = prepared.temporary_bytes
            row.has_count = prepared.has_count
            return prepared.calls

        yield row, theirs


def _check_before(entry: Entry, buffers: Buffers, rig: Rig) -> bool:
    """One call on poisoned outputs; whether what it wrote is right."""
    buffers.poison()
    kept = rig.native.workspace_bytes(rig.ordinal, rig.stream)
    try:
        for step in entry.calls[0]:
            step()
        rig.synchronize()
    except ValueError as error:
        if entry.row.library == "gpuport":  # the variant's limits: it has refused before a launch
            entry.row.note = str(error)
        else:
            entry.row.check_before = _raised(error)
        return False
    except Exception as error:
        entry.row.check_before = _raised(error)
        return False
    entry.row.check_before = buffers.wrong(0, has_count=entry.row.has_count) or "ok"
    if entry.row.library == "gpuport":
        now = rig.native.workspace_bytes(rig.ordinal, rig.stream)
        scratch = buffers.sets[0].scratch.nbytes if buffers.work.family == "compact" else 0
        entry.row.temporary_bytes = max(now, kept) + scratch
    return entry.row.check_before == "ok"


def _time(entry: Entry, buffers: Buffers, rig: Rig, protocol: Protocol, *, check: bool) -> None:
    """One run. With `check` the outputs are poisoned before, and the last one must be right."""
    row = entry.row
    if row.check_after != "not run":
        return
    if check:
        buffers.poison()
    try:
        samples = _samples(entry.calls, rig, protocol)
    except Exception as error:
        row.check_after = _raised(error)
        return
    row.runs.append(samples)
    if check:
        last = (protocol.warmups + len(samples) - 1) % len(entry.calls)
        row.check_after = buffers.wrong(last, has_count=entry.row.has_count) or "ok"


def _raised(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"raised {type(error).__name__}: {text[:300]}"


def _samples(calls: list[Steps], rig: Rig, protocol: Protocol) -> list[float]:
    def time(warmups: int, samples: int) -> list[float]:
        found: list[float] = rig.native.time_calls(
            calls, warmups, samples, protocol.graph, rig.ordinal, rig.stream
        )
        return found

    samples = protocol.samples
    if samples > LEAST_SAMPLES:
        replayed = max(len(calls), 16) if protocol.graph else 1
        seconds = time(protocol.warmups, 1)[0] * replayed / 1e6
        samples = max(LEAST_SAMPLES, min(samples, int(protocol.budget_s / max(seconds, 1e-9))))
    return time(protocol.warmups, samples)


def _copy_row(work: Workload, copies: Copies, method: str) -> Row:
    shape = work.shape
    return Row(
        *("copy", "copy", method, work.family, "copy", shape.dtype, shape.dtype),
        shape.shape,
        shape.pattern,
        copies.nbytes,
        "half read, half written",
        copies.count,
        copies.set_bytes,
        check_before="ok",
        check_after="ok",
    )
