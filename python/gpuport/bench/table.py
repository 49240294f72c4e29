"""A receipt as a table for a terminal."""

from typing import Any

from rich.console import Console
from rich.text import Text


def print_receipt(document: dict[str, Any]) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    setup, protocol = document["setup"], document["protocol"]
    console.print(f"{setup['device']}, {setup['architecture']}, {setup['toolkit']}")
    if "times" in setup:
        console.print(f"These are {setup['times']}.", style="yellow")
    console.print(f"{protocol['timed']}; {protocol['cache']}")
    console.print(
        f"{protocol['warmups']} warm-ups, {protocol['samples']} samples, {protocol['runs']} "
        f"run{'s' if protocol['runs'] > 1 else ''}; median and quartiles in microseconds"
    )
    console.print()
    _print_rows(console, document["rows"])
    for remark in document.get("remarks", ()):
        console.print(remark)
    for name, reason in document["missing"].items():
        console.print(f"{name}: not measured: {reason}", style="yellow")
    for row in document["rows"]:
        for when in ("before", "after"):
            if row[f"check_{when}"] not in ("ok", "not run"):
                who = row["kernel"] or row["library"]
                console.print(
                    f"{who} {what(row)}: check {when} the timed part: {row[f'check_{when}']}",
                    style="red",
                )


def what(row: dict[str, Any]) -> str:
    """The work of a row in a few words."""
    extents = "x".join(str(extent) for extent in row["shape"])
    pattern = f" {row['pattern']}" if row["pattern"] else ""
    return f"{row['op']} {row['dtype']} {extents}{pattern}"


def who(row: dict[str, Any]) -> str:
    """A kernel by its own name, a peer by its library and what is called."""
    if row["library"] == "gpuport":
        return str(row["kernel"])
    return f"{row['library']}, {row['kernel']}" if row["kernel"] else str(row["library"])


HEADER = f"{'':48}{'median us':>12}{'quartiles':>22}{'GB/s':>8}{'% copy':>8}{'temporary':>11}"


def _print_rows(console: Console, rows: list[dict[str, Any]]) -> None:
    """The copies of a workload come before it, under its name."""
    copies: list[dict[str, Any]] = []
    last: object = None
    console.print(HEADER, style="bold")
    for row in rows:
        if row["op"] == "copy":
            copies.append(row)
            continue
        work = (row["family"], what(row))
        if copies or work != last:
            console.print(what(row), style="bold")
        for copy in copies:
            console.print(_line(copy))
        console.print(_line(row))
        copies, last = [], work


def _line(row: dict[str, Any]) -> Text:
    line = Text(f"  {who(row):46}"[:47].ljust(48))
    if row["status"] == "FAILED":
        return line.append("FAILED", "red")
    if row["status"] != "ok":
        return line.append(row["note"] or "not run", "yellow")
    low, high = row["quartiles_us"]
    rate, percent, temporary = row["gb_per_s"], row["percent_of_copy"], row["temporary_bytes"]
    line.append(f"{row['median_us']:>12.2f}{f'{low:.2f}-{high:.2f}':>22}")
    line.append(f"{rate:>8.0f}" if rate >= 10 else f"{rate:>8.3f}")
    line.append("" if percent is None else f"{percent:>8.1f}")
    return line.append("" if temporary is None else f"{_bytes(temporary):>11}")


def _bytes(count: int) -> str:
    if count < 10_000:
        return f"{count} B"
    return f"{count / 1024:.0f} KiB" if count < 1 << 20 else f"{count / 2**20:.1f} MiB"
