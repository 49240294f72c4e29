"""`gpuport traffic`: global-memory sectors of one call, with the ideal beside them."""

import json
import sys
from typing import Any

import click

from gpuport.errors import BackendUnavailableError, Error


@click.command("traffic", short_help="Count global-memory sectors with Nsight Compute.")
@click.argument("kernels", nargs=-1, required=True)
@click.option("--shape", required=True, help="2^24 or 4096x1024.")
@click.option("--dtype", default="float32", show_default=True)
@click.option("--pattern", default="", help="Of segments or of what is kept; see the specs.")
@click.option("--device", type=int, default=0, show_default=True, help="Ordinal of the GPU.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def command(
    kernels: tuple[str, ...], shape: str, dtype: str, pattern: str, device: int, as_json: bool
) -> None:
    """Counts the 32-byte sectors that one call of each of KERNELS loads and stores.

    Needs an NVIDIA GPU and ncu. Every launch of the call is counted, caches are not looked at.
    Asynchronous and bulk copies into shared memory are counted apart and are part of the sum.

    \b
    Example: gpuport traffic reduce.single_pass --shape 2^24 --json

    Exit code 0: counted. 1: the profiled call failed. 2: the request cannot be met here.
    """
    from gpuport._backends import usable_module
    from gpuport.bench.plan import chosen, parse_size
    from gpuport.bench.traffic import count, find_profiler
    from gpuport.specs.workloads import workload
    from gpuport.testing.case import Shape
    from gpuport.testing.dtypes import ALL

    try:
        if dtype not in ALL:
            raise ValueError(f"no dtype is called {dtype}; there are {', '.join(ALL)}")
        names = chosen(kernels)
        asked = Shape(dtype, parse_size(shape), "asked for", pattern=pattern)
        usable_module("cuda")
        find_profiler()
    except (ValueError, BackendUnavailableError) as error:
        raise click.UsageError(str(error)) from None
    found = []
    try:
        for name in names:
            found.append(count(name, workload(name.partition(".")[0], asked), device))
    except Error as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    if as_json:
        click.echo(json.dumps([_as_json(one, asked) for one in found], indent=1))
    else:
        for one in found:
            _print(one)


def _as_json(traffic: Any, shape: Any) -> dict[str, Any]:
    return {
        "kernel": traffic.name,
        "dtype": shape.dtype,
        "shape": list(shape.shape),
        "pattern": shape.pattern,
        "reads": traffic.reads,
        "writes": traffic.writes,
        "ideal_reads": traffic.ideal_reads,
        "ideal_writes": traffic.ideal_writes,
        "not_counted": list(traffic.not_counted),
        "launches": [
            {"kernel": launch.kernel, "sectors": dict(launch.sectors)}
            for launch in traffic.launches
        ],
    }


def _print(traffic: Any) -> None:
    columns = list(traffic.launches[0].sectors) if traffic.launches else []
    click.echo(f"\n{traffic.name}, sectors of 32 bytes")
    click.echo("  " + "launch".ljust(40) + "".join(column.rjust(14) for column in columns))
    for launch in traffic.launches:
        numbers = ("-" if n is None else str(n) for n in launch.sectors.values())
        click.echo("  " + launch.kernel[:39].ljust(40) + "".join(n.rjust(14) for n in numbers))
    for what, got, least in (
        ("reads", traffic.reads, traffic.ideal_reads),
        ("writes", traffic.writes, traffic.ideal_writes),
    ):
        click.echo(f"  {what}: {got}, ideal {least}, {got / max(least, 1):.2f} times as many")
    for column in traffic.not_counted:
        click.echo(f"  {column}: some are not counted, this profiler has no such metric")
