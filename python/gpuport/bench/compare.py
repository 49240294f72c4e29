"""Receipts side by side: what differs in the setup, then every row's speed against the first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# What makes rows the same work: the same call on the same data, timed in the same way.
_WORK = ("family", "op", "dtype", "result", "shape", "pattern", "bytes")
_PROTOCOL = ("cold", "graph", "timed", "not_timed")
# Differences in how much was sampled change the spread, not the work; they are shown.
_SAMPLING = ("warmups", "samples", "runs", "budget_s")
_VOLATILE = ("gpu_state_before", "gpu_state_after")

Key = tuple[str, str]
Row = dict[str, Any]


class DifferentWorkError(Exception):
    """The receipts do not measure the same; the message says where they part."""


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a row is against the first receipt's: above 1 is faster. None where one has no time.

    The spread sets the quartiles against each other, the slow of one against the fast of the other.
    """

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of every receipt. `times` are medians in microseconds, None for a row without one."""

    library: str
    name: str
    work: str
    times: tuple[float | None, ...]
    speeds: tuple[Speed | None, ...]  # of the second receipt and on


def _key(row: Row) -> Key:
    """Its work, and who did it: by the name that was asked for, whichever kernel that is today."""
    return (" ".join(f"{row[part]}" for part in _WORK), f"{row['library']} {row['name']}")


def _rows(document: dict[str, Any]) -> dict[Key, Row]:
    """Copies apart: they are what each machine is measured against, by method."""
    found = {}
    for row in document["rows"]:
        work, who = _key(row)
        found[work, f"{who} {row['kernel']}" if row["op"] == "copy" else who] = row
    return found


def describe(row: Row) -> str:
    extents = "x".join(map(str, row["shape"]))
    pattern = f" {row['pattern']}" if row["pattern"] else ""
    return f"{row['family']} {row['dtype']} {extents}{pattern}"


def require_same_work(documents: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Raises DifferentWorkError."""
    first = documents[0]
    expected = {work for work, _ in _rows(first)}
    for document, name in zip(documents[1:], names[1:], strict=True):
        for part in _PROTOCOL:
            ours, theirs = first["protocol"][part], document["protocol"][part]
            if ours != theirs:
                raise DifferentWorkError(f"{part}: {names[0]} has {ours!r}, {name} {theirs!r}")
        here = {work for work, _ in _rows(document)}
        for which, only, others in (
            (names[0], expected - here, first),
            (name, here - expected, document),
        ):
            if only:
                row = next(row for (work, _), row in _rows(others).items() if work in only)
                more = f" and {len(only) - 1} more" if len(only) > 1 else ""
                raise DifferentWorkError(
                    f"only {which} has {describe(row)}, {row['bytes']} bytes{more}"
                )


def common_work(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The receipts without the rows whose work some other lacks."""
    shared = set.intersection(*({work for work, _ in _rows(document)} for document in documents))
    return [
        {**document, "rows": [row for row in document["rows"] if _key(row)[0] in shared]}
        for document in documents
    ]


def setup_differences(documents: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """What is not the same in all setups, in the order of the receipt."""
    found: dict[str, list[Any]] = {}
    for part, of in (("setup", None), ("protocol", _SAMPLING)):
        keys = dict.fromkeys(key for document in documents for key in document[part])
        for key in keys:
            if key in _VOLATILE or (of is not None and key not in of):
                continue
            values = [document[part].get(key) for document in documents]
            if any(value != values[0] for value in values):
                found[key] = values
    for key in ("driver", "power_limit_w", "max_sm_clock_mhz", "max_memory_clock_mhz", "ecc"):
        values = [document["setup"]["gpu_state_before"].get(key) for document in documents]
        if any(value != values[0] for value in values):
            found[key] = values
    return found


def compare(documents: Sequence[dict[str, Any]]) -> list[Comparison]:
    """Every row that the first receipt or any other has, in their order."""
    tables = [_rows(document) for document in documents]
    keys = dict.fromkeys(key for table in tables for key in table)
    found = []
    for key in keys:
        rows = [table.get(key) for table in tables]
        some = next(row for row in rows if row is not None)
        name = some["kernel"] if some["op"] == "copy" else some["name"]
        if some["op"] != "copy":
            name = f"{name} {some['op']}"
        times = tuple(None if row is None else row.get("median_us") for row in rows)
        speeds = tuple(_speed(rows[0], row) for row in rows[1:])
        found.append(Comparison(some["library"], name, describe(some), times, speeds))
    return found


def _speed(base: Row | None, row: Row | None) -> Speed | None:
    if base is None or row is None or "median_us" not in base or "median_us" not in row:
        return None
    (base_fast, base_slow), (fast, slow) = base["quartiles_us"], row["quartiles_us"]
    return Speed(base["median_us"] / row["median_us"], base_fast / slow, base_slow / fast)


def too_slow(comparisons: Sequence[Comparison], least: float) -> list[str]:
    """The project's own rows that are slower than `least` of the first receipt, or have no time."""
    found = []
    for row in comparisons:
        if row.library != "gpuport" or row.times[0] is None:
            continue
        for number, speed in enumerate(row.speeds, 2):
            if speed is None:
                found.append(f"{row.name}, {row.work}: receipt {number} has no time")
            elif speed.ratio < least:
                found.append(f"{row.name}, {row.work}: {speed.ratio:.3f} of the first's speed")
    return found
