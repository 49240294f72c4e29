"""Makes the README's performance tables from receipts.

    python benchmarks/readme_table.py RECEIPT... [--write README.md | --check README.md]

The tables stand between two comments. Every workload of the receipts is in them, also where a peer
is faster.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from gpuport.bench import receipt

BEGIN = "<!-- made by benchmarks/readme_table.py -->"
END = "<!-- end of what is made -->"
Row = dict[str, Any]
Work = tuple[str, str, str, str, tuple[int, ...]]  # family, dtype, result, pattern, shape


def by_work(documents: list[dict[str, Any]]) -> dict[Work, list[Row]]:
    found: dict[Work, list[Row]] = {}
    for document in documents:
        for row in document["rows"]:
            work = (row["family"], row["dtype"], row["result"], row["pattern"], tuple(row["shape"]))
            if row["op"] == "copy":
                continue
            found.setdefault(work, []).append(row)
    return found


def size_name(shape: tuple[int, ...]) -> str:
    if len(shape) == 1 and shape[0].bit_count() == 1:
        return f"2^{shape[0].bit_length() - 1}"
    return " x ".join(f"{extent:,}" for extent in shape)


def cell(rows: list[Row]) -> str:
    """Our time, and how many times as long the fastest peer takes; a loss is set in bold."""
    own = next((r for r in rows if r["name"].endswith(".default")), None)
    if own is None or own["status"] != "ok":
        return "-" if own is None else own["status"]
    peers = [r for r in rows if r["library"] != "gpuport" and r["status"] == "ok"]
    time = own["median_us"]
    text = f"{time:,.1f}" if time < 1000 else f"{time:,.0f}"
    percent = f", {own['percent_of_copy']:.0f} %" if own["percent_of_copy"] else ""
    if not peers:
        return f"{text}{percent}"
    best = min(peers, key=lambda r: r["median_us"])
    ratio = best["median_us"] / time
    speed = f"{ratio:.2f}x {best['library']}" if ratio < 100 else f"{ratio:.0f}x {best['library']}"
    return f"{text}, {speed if ratio >= 1 else f'**{speed}**'}{percent}"


def work_name(work: Work, rows: list[Row]) -> str:
    family, dtype, result, pattern, _ = work
    op = rows[0]["op"].replace("_", " ")
    kind = dtype if dtype == result or family == "argmax" else f"{dtype} to {result}"
    name = {"segmented": f"segmented {op}"}.get(family, op)
    extra = {"itself": ", what is not zero"}.get(pattern, f", {pattern}" if pattern else "")
    return f"{name}, {kind}{extra}"


def table(header: list[str], lines: list[list[str]]) -> list[str]:
    rule = "| " + " | ".join(["---"] * len(header)) + " |"
    top, *rest = ("| " + " | ".join(line) + " |" for line in (header, *lines))
    return [top, rule, *rest]


def whole_arrays(works: dict[Work, list[Row]]) -> list[str]:
    here = {w: rows for w, rows in works.items() if len(w[4]) == 1 and has_default(rows)}
    sizes = sorted({w[4] for w in here})
    kinds: dict[str, dict[tuple[int, ...], str]] = {}
    for work, rows in here.items():
        kinds.setdefault(work_name(work, rows), {})[work[4]] = cell(rows)
    if not kinds:
        return []
    header = ["microseconds, against the fastest peer, % of the copy rate", *map(size_name, sizes)]
    return table(header, [[n, *(c.get(s, "") for s in sizes)] for n, c in kinds.items()])


def matrices(works: dict[Work, list[Row]]) -> list[str]:
    here = {w: rows for w, rows in works.items() if len(w[4]) == 2 and has_default(rows)}
    kinds = list(dict.fromkeys(work_name(w, rows) for w, rows in here.items()))
    shapes: dict[tuple[int, ...], dict[str, str]] = {}
    for work, rows in here.items():
        shapes.setdefault(work[4], {})[work_name(work, rows)] = cell(rows)
    if not kinds:
        return []
    by_length = sorted(shapes.items(), key=lambda item: item[0][::-1])
    lines = [[size_name(s), *(c.get(k, "") for k in kinds)] for s, c in by_length]
    return table(["rows x columns", *kinds], lines)


def has_default(rows: list[Row]) -> bool:
    return any(row["name"].endswith(".default") for row in rows)


def heading(documents: list[dict[str, Any]]) -> str:
    setup = documents[0]["setup"]
    peers = {
        f"{row['library']} {row['version']}"
        for document in documents
        for row in document["rows"]
        if row["library"] not in ("gpuport", "copy") and row["status"] == "ok"
    }
    driver = setup["gpu_state_before"].get("driver", "")
    parts = [setup["device"], f"driver {driver}" if driver else "", setup["toolkit"]]
    timed = " and ".join(
        dict.fromkeys("graph replay" if d["protocol"]["graph"] else "events" for d in documents)
    )
    text = ", ".join(part for part in (*parts, *sorted(peers)) if part)
    if "times" in setup:
        text += f"; {setup['times']}"
    return f"{text}. Medians of {documents[0]['protocol']['runs']} runs, {timed}, cold caches."


def made(documents: list[dict[str, Any]]) -> str:
    works = by_work(documents)
    parts = [[heading(documents)], whole_arrays(works), matrices(works)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def placed(text: str, tables: str) -> str:
    """The text with the tables between its markers; ValueError where it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("receipts", type=Path, nargs="+")
    into = parser.add_mutually_exclusive_group()
    into.add_argument("--write", type=Path, help="put the tables into this file")
    into.add_argument("--check", type=Path, help="exit 1 if this file has other tables")
    arguments = parser.parse_args()
    path = arguments.write or arguments.check
    try:
        tables = made([receipt.read(receipt_path) for receipt_path in arguments.receipts])
        if path is None:
            print(tables)
            return 0
        old = path.read_text(encoding="utf-8")
        new = placed(old, tables)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if arguments.check:
        return int(old != new)
    path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
