"""Times the rows of targets.toml, and says which targets are reached.

    python benchmarks/targets.py run --out DIR [--backend cuda] [--runs 5]
    python benchmarks/targets.py show RECEIPT...

`run` leaves events.json and graph.json in DIR, and prints what `show` prints for them.
"""

import argparse
import math
import sys
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from gpuport.bench import receipt
from gpuport.bench.measure import Protocol
from gpuport.bench.plan import Task, parse_size
from gpuport.bench.run import Request, run
from gpuport.testing.case import Shape

TARGETS = Path(__file__).with_name("targets.toml")
BOUNDS = ("at_most", "of_copy", "percent", "us", "quack_gb_per_s")
MIB = 1 << 20


@dataclass(frozen=True)
class Verdict:
    what: str
    rule: str
    wanted: float
    got: float | None  # None: there is nothing to compare with
    reached: bool
    reason: str = ""


def load() -> dict[str, Any]:
    return tomllib.loads(TARGETS.read_text(encoding="utf-8"))


def shapes_of(target: dict[str, Any]) -> list[Shape]:
    sizes = dict.fromkeys(size for bound in BOUNDS for size in target.get(bound, {}))
    return [
        Shape(dtype, parse_size(size), "", pattern=pattern)
        for dtype in target["dtypes"]
        for pattern in target.get("patterns", [""])
        for size in sizes
    ]


def measure(timed: str, arguments: argparse.Namespace, at_most_s: float) -> dict[str, Any]:
    """One receipt of all rows that are timed in the same way, the small ones first."""
    tasks: list[Task] = []
    peers: list[str] = []
    for target in load()["target"]:
        if target["timed"] != timed:
            continue
        kernels = [target["kernel"], *(than for than in target.get("than", []) if "." in than)]
        family = target["kernel"].partition(".")[0]
        tasks += [Task(family, shape, tuple(kernels)) for shape in shapes_of(target)]
        peers += target.get("against", [])
    tasks.sort(key=lambda task: math.prod(task.shape.shape))
    protocol = Protocol(runs=arguments.runs, graph=timed == "graph", budget_s=arguments.budget)
    request = Request(
        arguments.backend,
        protocol,
        peers=tuple(name for name in dict.fromkeys(peers) if name not in arguments.without),
        label=arguments.label,
        at_most_s=at_most_s,
    )
    return run(tasks, request, show_progress=sys.stderr.isatty())


def judge(target: dict[str, Any], shape: Shape, size: str, rows: list[dict[str, Any]]) -> Any:
    """The verdicts of one size of a target."""
    here = [
        row
        for row in rows
        if tuple(row["shape"]) == shape.shape
        and row["dtype"] == shape.dtype
        and row["pattern"] == shape.pattern
        and row["family"] == target["kernel"].partition(".")[0]  # a copy is of its bytes, too
    ]
    own = next((row for row in here if row["name"] == target["kernel"]), None)
    if own is None:
        return
    pattern = f" {shape.pattern}" if shape.pattern else ""
    what = f"{own['op']} {shape.dtype} {size}{pattern}"
    time = own.get("median_us")
    copy = min((row["median_us"] for row in here if row["library"] == "copy"), default=None)
    for bound in BOUNDS:
        wanted = target.get(bound, {}).get(size)
        if wanted is None:
            continue
        if time is None:
            yield Verdict(what, bound, wanted, None, False, own["note"] or own["status"])
            continue
        if bound == "at_most":
            than = {
                row["name"]: row["median_us"]
                for row in here
                if row["name"] in target["than"] and row["status"] == "ok"
            }
            if not than:
                names = ", ".join(target["than"])
                yield Verdict(what, f"of {names}", wanted, None, False, "not measured")
                continue
            best = min(than, key=than.__getitem__)
            ratio = time / than[best]
            yield Verdict(what, f"of {best}'s time", wanted, ratio, ratio <= wanted)
        elif bound == "of_copy":
            yield Verdict(what, "of the copy's time", wanted, time / copy, time / copy <= wanted)
        elif bound == "percent":
            percent = 100 * copy / time
            yield Verdict(what, "% of the copy rate", wanted, percent, percent >= wanted)
        elif bound == "us":
            yield Verdict(what, "us", wanted, time, time < wanted)
        else:
            rate = wanted * scale(own["bytes"], own["bytes"] / copy / 1e3)
            ratio = rate / own["gb_per_s"]
            yield Verdict(what, f"of quack's time at {rate:.0f} GB/s", 1.0, ratio, ratio <= 1)


def scale(nbytes: int, copy_now: float) -> float:
    """The copy rate here over the one of the publication, for arrays of nbytes / 2."""
    table = sorted((int(mib), rate) for mib, rate in load()["published_copy"].items())
    size = math.log2(max(nbytes / 2 / MIB, 1e-9))
    points = [(math.log2(mib), rate) for mib, rate in table]
    then = points[0][1] if size <= points[0][0] else points[-1][1]
    for (low, low_rate), (high, high_rate) in pairwise(points):
        if low <= size <= high:
            then = low_rate + (high_rate - low_rate) * (size - low) / (high - low)
    return copy_now / then


def show(documents: list[dict[str, Any]]) -> int:
    """Prints a line for each target; the number of those that were missed."""
    rows = [row for document in documents for row in document["rows"]]
    missed = total = 0
    for target in load()["target"]:
        print(f"\n{target['what']} ({target['kernel']}, {target['timed']})")
        verdicts: list[Verdict] = []
        for bound_size in dict.fromkeys(s for b in BOUNDS for s in target.get(b, {})):
            for dtype in target["dtypes"]:
                for pattern in target.get("patterns", [""]):
                    shape = Shape(dtype, parse_size(bound_size), "", pattern=pattern)
                    verdicts += judge(target, shape, bound_size, rows)
        for verdict in verdicts:
            total += 1
            missed += not verdict.reached
            got = "-" if verdict.got is None else f"{verdict.got:.3f}"
            mark = "reached" if verdict.reached else "MISSED "
            line = f"  {mark} {verdict.what:44} {got:>8} (target {verdict.wanted:g}) {verdict.rule}"
            print(f"{line}  {verdict.reason}".rstrip())
        if not verdicts:
            print("  not measured")
            missed += 1
            total += 1
    for document in documents:
        show_troubles(document)
    print(f"\n{total - missed} of {total} targets reached")
    return missed


def show_troubles(document: dict[str, Any]) -> None:
    """What was not measured, and every row that failed, with its words."""
    for name, reason in document["missing"].items():
        print(f"{name}: not measured: {reason}")
    for remark in document.get("remarks", ()):
        print(remark)
    for row in document["rows"]:
        if row["status"] == "FAILED":
            checks = f"before: {row['check_before']}; after: {row['check_after']}"
            print(f"FAILED {row['name']} {row['kernel']} {row['dtype']} {row['shape']}: {checks}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="time every row, then show")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--backend", default="cuda")
    running.add_argument("--runs", type=int, default=5)
    running.add_argument("--budget", type=float, default=0.5, help="seconds for a row and a run")
    running.add_argument("--without", nargs="*", default=[], help="libraries that are left out")
    running.add_argument("--label", default="")
    running.add_argument("--timed", choices=["events", "graph"], help="only these rows")
    running.add_argument("--seconds", type=float, default=math.inf, help="for all of it")
    showing = commands.add_parser("show", help="judge the rows of receipts")
    showing.add_argument("receipts", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "show":
        try:
            documents = [receipt.read(path) for path in arguments.receipts]
        except ValueError as error:
            parser.error(str(error))
        show(documents)
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    documents = []
    began = perf_counter()
    parts = [("graph", 0.5), ("events", 1.0)]
    if arguments.timed:
        parts = [(arguments.timed, 1.0)]
    for timed, share in parts:
        left = share * (arguments.seconds - (perf_counter() - began))
        document = measure(timed, arguments, left)
        receipt.write(document, arguments.out / f"{timed}.json")
        documents.append(document)
    show(documents)
    return 1 if any(r["status"] == "FAILED" for d in documents for r in d["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
