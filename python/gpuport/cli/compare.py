"""`gpuport compare`: receipts of two machines, vendors or commits, side by side."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click


def _ratio(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise click.BadParameter("a ratio of speeds is more than 0")
    return value


@click.command("compare", short_help="Set benchmark receipts side by side.")
@click.argument("receipts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--fail-below",
    type=float,
    callback=_ratio,
    metavar="RATIO",
    help="Exit 1 where a kernel is slower.",
)
@click.option("--common", is_flag=True, help="Only the work that all of them have.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def command(
    receipts: tuple[Path, ...], fail_below: float | None, common: bool, as_json: bool
) -> None:
    """Compares RECEIPTS of `gpuport bench --json` with the first of them.

    What differs in the setup comes first. A ratio is a speed against the first receipt: 1.10 is
    ten per cent faster; the range behind it sets quartile against quartile.

    \b
    Example: gpuport compare before.json after.json --fail-below 0.95

    Exit code 0: compared. 1: a kernel of gpuport's has less than --fail-below of the first's speed,
    or no time where the first has one. 2: no receipts, or they measure different work.
    """
    from gpuport.bench import receipt
    from gpuport.bench.compare import (
        DifferentWorkError,
        common_work,
        compare,
        require_same_work,
        setup_differences,
        too_slow,
    )

    if len(receipts) < 2:
        raise click.UsageError("name at least two receipts")
    names = [path.name if len({p.name for p in receipts}) > 1 else str(path) for path in receipts]
    try:
        documents = [receipt.read(path) for path in receipts]
        if common:
            documents = common_work(documents)
        require_same_work(documents, names)
    except (ValueError, DifferentWorkError) as error:
        raise click.UsageError(str(error)) from None
    if not documents[0]["rows"]:
        raise click.UsageError("there is no work that all of them have")
    differences = setup_differences(documents)
    rows = compare(documents)
    slow = [] if fail_below is None else too_slow(rows, fail_below)
    if as_json:
        found = {
            "ok": not slow,
            "receipts": names,
            "setup": differences,
            "rows": [asdict(row) for row in rows],
            "too_slow": slow,
        }
        click.echo(json.dumps(found, indent=1))
    else:
        _print(names, differences, rows)
        for line in slow:
            click.echo(f"too slow: {line}")
    sys.exit(1 if slow else 0)


def _print(names: list[str], differences: dict[str, list[Any]], rows: list[Any]) -> None:
    if differences:
        click.echo("What differs in the setup:")
        for key, values in differences.items():
            click.echo(f"  {key}: " + " | ".join(_short(value) for value in values))
    else:
        click.echo("The setups are the same.")
    click.echo(f"\nMicroseconds, and the speed against {names[0]}")
    last = ""
    for row in rows:
        if row.work != last:
            click.echo(row.work)
            last = row.work
        click.echo(f"  {f'{row.library} {row.name}'.removeprefix('gpuport '):40}" + _numbers(row))


def _short(value: Any) -> str:
    text = "-" if value in (None, "") else str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."


def _numbers(row: Any) -> str:
    text = "-".rjust(12) if row.times[0] is None else f"{row.times[0]:12.2f}"
    for time, speed in zip(row.times[1:], row.speeds, strict=True):
        text += "-".rjust(12) if time is None else f"{time:12.2f}"
        text += "" if speed is None else f"  {speed.ratio:.3f} ({speed.low:.3f}-{speed.high:.3f})"
    return text
