"""Throughput against size, with the copy ceiling: ours and the peers."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpuport.bench.receipt import read
from gpuport.bench.table import who

# Apart in lightness as well as in hue, so that they can be told in print.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#3d3d3d")


def require(path: Path) -> None:
    """ValueError where matplotlib is not installed, or has no format of that suffix."""
    if find_spec("matplotlib") is None:
        raise ValueError("a plot needs matplotlib: pip install 'gpuport[plot]'")
    from matplotlib.figure import Figure

    formats = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in formats:
        raise ValueError(f"{path.name} names no format of a picture: {', '.join(formats)}")


def panels(documents: Sequence[dict[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """For each kind of work, and in it for each library, the rate by the length of a row."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for document in documents:
        work = ""
        copies: list[dict[str, Any]] = []
        for row in document["rows"]:
            if row["op"] == "copy":
                copies.append(row)
                continue
            pattern = f", {row['pattern']}" if row["pattern"] else ""
            work = f"{row['op']} {row['dtype']}{pattern}"
            if row["family"] == "segmented":
                work = f"segmented {work}"
            lines = found.setdefault(work, {})
            size = row["shape"][-1]
            if copies:
                best = max(copy["gb_per_s"] for copy in copies)
                lines.setdefault("copy", []).append((size, best))
                copies = []
            if row["status"] == "ok":
                lines.setdefault(_line_of(row), []).append((size, row["gb_per_s"]))
    return found


def _line_of(row: dict[str, Any]) -> str:
    if row["library"] != "gpuport":
        return str(row["library"])
    return "gpuport" if row["name"].endswith(".default") else who(row)


def draw(documents: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes the picture; its format is that of the suffix.

    Raises:
        ValueError: no row has a time, or no such format can be written.
    """
    require(path)
    from matplotlib.figure import Figure

    found = {work: lines for work, lines in panels(documents).items() if lines}
    if not found:
        raise ValueError("there is nothing to draw: no row has a time")
    across = min(len(found), 3)
    down = -(-len(found) // across)
    figure = Figure(figsize=(5 * across, 3.6 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).flatten()
    for axis, (work, lines) in zip(axes, found.items(), strict=False):
        _panel(axis, work, lines)
    for axis in axes[len(found) :]:
        axis.set_visible(False)
    setup = documents[0]["setup"]
    title = f"{setup['device']}, {documents[0]['protocol']['cache'].partition(':')[0]}"
    if "times" in setup:
        title += " (emulator times)"
    figure.suptitle(title)
    figure.savefig(path, dpi=120)


def _panel(axis: Any, work: str, lines: dict[str, list[tuple[int, float]]]) -> None:
    colours = iter(COLOURS * 4)
    for name, points in lines.items():
        sizes, rates = zip(*sorted(points), strict=True)
        if name == "copy":
            axis.plot(sizes, rates, color="#888888", linestyle="--", label="copy")
        else:
            own = name == "gpuport" or "." in name
            axis.plot(
                sizes,
                rates,
                color=next(colours),
                marker="o",
                markersize=4,
                linewidth=2 if own else 1.2,
                label=name,
            )
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    axis.set_title(work, fontsize=10)
    axis.set_xlabel("elements of a row")
    axis.set_ylabel("GB/s")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def main(arguments: Sequence[str]) -> None:
    """Draws receipts: RECEIPT... PICTURE."""
    *receipts, picture = (Path(argument) for argument in arguments)
    draw([read(path) for path in receipts], picture)


if __name__ == "__main__":
    main(sys.argv[1:])
