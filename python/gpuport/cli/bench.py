"""`gpuport bench`: kernels and what users would run instead, timed by one clock, with a receipt."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gpuport.errors import BackendUnavailableError

BACKENDS = ("cpu", "cuda", "hip")
SAMPLES_ON_CPU, WARMUPS_ON_CPU = 3, 1


def _words(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    words = tuple(word.strip() for word in (value or "").split(",") if word.strip())
    if value is not None and not words:
        raise click.BadParameter("names nothing; leave the option out")
    return words


def pick_backend(asked: str | None) -> str:
    """The backend asked for, or the first GPU's, or the CPU."""
    import gpuport

    if asked is not None:
        return asked
    usable = [backend.name for backend in gpuport.backends() if backend.available]
    return next((name for name in ("cuda", "hip") if name in usable), "cpu")


@click.command("bench", short_help="Time kernels and their peers; leave a receipt.")
@click.argument("kernels", nargs=-1)
@click.option("--backend", type=click.Choice(BACKENDS), help="A GPU's if there is one, else cpu.")
@click.option("--device", type=int, default=0, show_default=True, help="Ordinal of the GPU.")
@click.option("--warp-size", type=click.Choice(["32", "64"]), help="On the cpu backend.")
@click.option("--sizes", callback=_words, help="4096,2^24,16384x1000; those of the specs if none.")
@click.option("--dtypes", callback=_words, help="int32,float32; those of the specs if none.")
@click.option("--against", callback=_words, help="cub, rocprim, torch, triton, cupy, quack.")
@click.option(
    "--cold/--warm", default=True, help="Buffers rotate past L2 (default), or stay in it."
)
@click.option("--graph", is_flag=True, help="Time replays of a CUDA graph.")
@click.option("--samples", type=click.IntRange(1), help="Timed calls in a run; 50, 3 on the cpu.")
@click.option("--warmups", type=click.IntRange(0), help="Calls before them; 5, 1 on the cpu.")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Repetitions.")
@click.option("--label", default="", help="A word of yours for the receipt.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the receipt here; - for standard output.",
)
@click.option(
    "--plot",
    "plot_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw throughput against size, as PNG or SVG (needs matplotlib).",
)
def command(
    kernels: tuple[str, ...],
    backend: str | None,
    device: int,
    warp_size: str | None,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    against: tuple[str, ...],
    cold: bool,
    graph: bool,
    samples: int | None,
    warmups: int | None,
    runs: int,
    label: str,
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Times KERNELS (family, family.variant or family.default; all if none is named).

    Every result is checked before and after the timed part, on poisoned outputs; a row that fails
    has no time. GB/s are the bytes that any implementation must move, over the median.

    \b
    Example: gpuport bench reduce softmax.default --sizes 4096,2^24 --json -

    Exit code 0: every row that was timed is right; peers that are not here are named. 1: a check
    failed, or no kernel and no peer could be timed. 2: the request cannot be met.
    """
    from gpuport.bench import receipt
    from gpuport.bench.plan import chosen, parse_size, tasks
    from gpuport.bench.run import Request, run
    from gpuport.bench.table import print_receipt

    place = pick_backend(backend)
    on_cpu = place == "cpu"
    if graph and on_cpu:
        raise click.UsageError("the cpu backend has no graphs")
    try:
        work, remarks = tasks(
            chosen(kernels), [parse_size(s) for s in sizes], dtypes, on_cpu=on_cpu
        )
        _require_dtypes(dtypes)
        if not work:
            raise ValueError("no shapes: these kernels have none of their own, so name --sizes")
        request = Request(
            backend=place,
            device=device,
            warp_size=int(warp_size) if warp_size else None,
            peers=_known_peers(against),
            protocol=_protocol(samples, warmups, runs, cold=cold, graph=graph, on_cpu=on_cpu),
            label=label,
        )
        for path in (json_path, plot_path):
            _require_place(path)
        if plot_path is not None:
            from gpuport.bench import plot

            plot.require(plot_path)
        document = run(work, request, show_progress=sys.stderr.isatty())
    except (ValueError, BackendUnavailableError) as error:
        raise click.UsageError(str(error)) from None
    document["remarks"] += remarks
    _deliver(document, json_path)
    if json_path is None or str(json_path) != "-":
        print_receipt(document)
    if plot_path is not None:
        from gpuport.bench import plot

        plot.draw([document], plot_path)
    failed = any(row["status"] == "FAILED" for row in document["rows"])
    sys.exit(1 if failed or not receipt.has_times(document) else 0)


def _protocol(
    samples: int | None, warmups: int | None, runs: int, *, cold: bool, graph: bool, on_cpu: bool
) -> Any:
    from gpuport.bench.measure import Protocol

    return Protocol(
        warmups=(WARMUPS_ON_CPU if on_cpu else 5) if warmups is None else warmups,
        samples=samples or (SAMPLES_ON_CPU if on_cpu else 50),
        runs=runs,
        cold=cold,
        graph=graph,
    )


def _known_peers(asked: Iterable[str]) -> tuple[str, ...]:
    from gpuport.bench.peers import NAMES

    for name in asked:
        if name not in NAMES:
            raise ValueError(f"no peer is called {name}; there are {', '.join(NAMES)}")
    return tuple(dict.fromkeys(asked))


def _require_dtypes(asked: Iterable[str]) -> None:
    from gpuport.testing.dtypes import ALL

    for name in asked:
        if name not in ALL:
            raise ValueError(f"no dtype is called {name}; there are {', '.join(ALL)}")


def _require_place(path: Path | None) -> None:
    """Before the run: what it found would be lost."""
    if path is None or str(path) == "-":
        return
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written")


def _deliver(document: dict[str, Any], path: Path | None) -> None:
    from gpuport.bench import receipt

    if path is None:
        return
    if str(path) == "-":
        click.echo(json.dumps(document, indent=1))
        return
    try:
        receipt.write(document, path)
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}") from None
