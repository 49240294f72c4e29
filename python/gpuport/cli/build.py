"""`gpuport build`: kernels compiled ahead of time, and a manifest of what came of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import click

from gpuport.cli.progress import counting
from gpuport.errors import BackendUnavailableError
from gpuport.inspection import Inspection
from gpuport.inspection.report import LEGEND, console, print_inspection
from gpuport.loading import ahead
from gpuport.loading.archs import backend_of
from gpuport.loading.request import Request, make_request

BACKENDS = ("cpu", "cuda", "hip")


def _by_backend(backends: Iterable[str], archs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The architectures of each backend that is asked for, by name or by an architecture."""
    asked = list(dict.fromkeys(backends))
    found: dict[str, tuple[str, ...]] = dict.fromkeys(asked, ())
    for arch in dict.fromkeys(name for word in archs for name in word.split(",") if name):
        backend = backend_of(arch)
        if asked and backend not in asked:
            raise ValueError(f"--arch {arch} is of the backend {backend}, which is not asked for")
        found[backend] = (*found.get(backend, ()), arch)
    for backend, own in found.items():
        if backend != ahead.CPU and not own:
            example = "sm_90" if backend == "cuda" else "gfx90a"
            raise ValueError(f"backend {backend} needs an architecture, as --arch {example}")
    return found or {ahead.CPU: ()}


def _jobs(
    files: tuple[str, ...],
    backends: dict[str, tuple[str, ...]],
    words: tuple[str, ...],
    expressions: tuple[str, ...],
) -> list[ahead.Job]:
    def request(file: str, backend: str) -> Request:
        return make_request(
            Path(file),
            backend=backend,
            options=words,
            archs=backends[backend],
            name_expressions=expressions,
        )

    for backend in backends:
        ahead.require_compiler(backend)
    return ahead.plan(request(file, backend) for file in files for backend in backends)


def _run(jobs: list[ahead.Job], folder: Path, *, show_progress: bool) -> list[ahead.Built]:
    progress = counting()
    results = []
    with progress if show_progress else nullcontext():
        task = progress.add_task("compiling", total=len(jobs))
        for built in ahead.build(jobs, folder):
            results.append(built)
            outcome = "refused" if built.refusal else "done"
            progress.update(task, description=f"{built.job.label}: {outcome}", advance=1)
    return results


def _print_table(results: list[ahead.Built]) -> None:
    """The table of `gpuport inspect`, of all outputs in one."""
    found = [built.inspection for built in results if built.inspection is not None]
    found.sort(key=lambda inspection: inspection.path)
    together = Inspection(
        "",
        [kernel for inspection in found for kernel in inspection],
        [image for inspection in found for image in inspection.images],
        [module for inspection in found for module in inspection.modules],
    )
    out = console()
    if together.modules:
        print_inspection(out, together)
    if together:
        out.print(f"\n{LEGEND}", style="dim", soft_wrap=not out.is_terminal)


@click.command("build", short_help="Compile kernels ahead of time.")
@click.argument("files", nargs=-1, required=True, metavar="FILE.cu...")
@click.option(
    "--backend", "backends", multiple=True, type=click.Choice(BACKENDS), help="Repeatable."
)
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="ARCHS",
    help="sm_90, compute_90 (PTX), gfx90a; several with commas or by repeating.",
)
@click.option(
    "-o", "--output", "folder", required=True, metavar="DIR", type=click.Path(path_type=Path)
)
@click.option("-I", "folders", multiple=True, metavar="DIR", help="A folder of headers.")
@click.option("-D", "macros", multiple=True, metavar="NAME[=VALUE]", help="A macro.")
@click.option(
    "--option", "options", multiple=True, metavar="FLAG", help="For the compiler, as --option=-G."
)
@click.option(
    "--name-expression",
    "expressions",
    multiple=True,
    metavar="NAME",
    help="An instantiation of a template, as 'scale<float, 4>'.",
)
@click.option("--json", "as_json", is_flag=True, help="The manifest on standard output.")
def command(
    files: tuple[str, ...],
    backends: tuple[str, ...],
    archs: tuple[str, ...],
    folder: Path,
    folders: tuple[str, ...],
    macros: tuple[str, ...],
    options: tuple[str, ...],
    expressions: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compiles each FILE.cu for each architecture into DIR, side by side, as `gpuport.load` does
    it. An --arch chooses its backend; with neither --arch nor --backend it is the CPU.

    DIR gets FILE.ARCH.cubin, .ptx or .hsaco, for the CPU FILE.cpu.so, and manifest.json: the
    SHA-256 of sources, headers and outputs, compilers, flags, kernels with their signatures.

    \b
    Example: gpuport build saxpy.cu --arch sm_90,gfx90a --backend cuda --backend hip -o out

    Exit code 0: everything is built. 1: something did not compile; its compiler's words are on
    standard error. 2: the request cannot be met (no such file, architecture or compiler).
    """
    words = (*(f"-I{name}" for name in folders), *(f"-D{macro}" for macro in macros), *options)
    try:
        jobs = _jobs(files, _by_backend(backends, archs), words, expressions)
        results = _run(jobs, folder, show_progress=sys.stderr.isatty() and not as_json)
        described = ahead.manifest(results, version("gpuport"))
        path = ahead.write_manifest(described, folder)
    except (ValueError, BackendUnavailableError) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise click.UsageError(f"{place}{error.strerror or error}") from None
    if as_json:
        kernels = [asdict(k) for built in results for k in built.inspection or ()]
        click.echo(json.dumps({**described, "resources": kernels}, indent=2))
    else:
        _print_table(results)
        click.echo(f"{len(described['outputs'])} of {len(jobs)} built; {path}")
    for line in dict.fromkeys(w for output in described["outputs"] for w in output["warnings"]):
        click.echo(f"warning: {line}", err=True)
    for failure in described["failures"]:
        click.echo(f"\n{failure['source']} for {failure['architecture']}:", err=True)
        click.echo(failure["message"], err=True)
    sys.exit(0 if described["ok"] else 1)
