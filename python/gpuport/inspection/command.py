"""`gpuport inspect`: what GPU code a binary really holds, and what its kernels take."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from . import baseline as baselines
from . import require as requirements
from .errors import FormatError
from .model import Inspection, KernelResources
from .report import LEGEND, console, print_inspection
from .scan import inspect


def _architectures(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[str]:
    try:
        return [name for value in values for name in requirements.parse(value)]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("inspect", short_help="Architectures and kernel resources inside binaries.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--require",
    "required",
    multiple=True,
    callback=_architectures,
    metavar="ARCHS",
    help="Fail unless there is machine code for each, such as sm_90,gfx942.",
)
@click.option(
    "--arch",
    multiple=True,
    callback=_architectures,
    metavar="ARCHS",
    help="Show and compare these architectures only.",
)
@click.option("--baseline", type=click.Path(), help="Fail on what is worse than in this JSON file.")
@click.option("--write-baseline", type=click.Path(), help="Write such a file.")
@click.option(
    "--register-jump",
    type=click.IntRange(min=0),
    default=baselines.REGISTER_JUMP,
    show_default=True,
    help="How many more registers than the baseline are let through.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    required: list[str],
    arch: list[str],
    baseline: str | None,
    write_baseline: str | None,
    register_jump: int,
    as_json: bool,
) -> None:
    """Shows the architectures inside FILE and, per kernel and architecture, registers, shared
    memory, stack, spills and wavefront size. FILE is a .so, a program, an object, a wheel, a static
    library, a cubin, a fatbin, an hsaco or an offload bundle.

    --require: PTX does not count for sm_90 (ask for it as compute_90), sm_90a does. Each module
    that holds code of a vendor must hold every required architecture of that vendor.

    --baseline fails on new spills, on a new or larger stack frame, and on more registers than
    --register-jump above the baseline.

    \b
    Example: gpuport inspect module.so --require sm_90,gfx942 --json

    Exit code 0: everything asked for holds. 1: an architecture is missing or a kernel is worse than
    the baseline. 2: a file cannot be read.
    """
    found, errors = _inspect_all(files)
    kernels = [k for inspection in found for k in inspection if not arch or k.architecture in arch]
    compilers = {a: made_by for i in found for a, made_by in i.compilers.items()}
    failures = requirements.missing(found, required) if found else []
    notes: list[str] = []
    try:
        if baseline is not None:
            known = baselines.read(baseline)
            known = known.only(arch) if arch else known
            comparison = baselines.compare(kernels, known, compilers, register_jump)
            failures += comparison.failures
            notes = comparison.notes
        if write_baseline is not None and not errors:
            baselines.write(write_baseline, kernels, compilers)
    except (OSError, baselines.BaselineError) as error:
        errors.append(_reason(error))
    if as_json:
        click.echo(json.dumps(_as_json(found, kernels, failures, notes, errors), indent=2))
    else:
        _print(found, arch, notes)
    for line in failures:
        click.echo(f"failed: {line}", err=True)
    for line in errors:
        click.echo(f"error: {line}", err=True)
    ctx.exit(2 if errors else 1 if failures else 0)


def _inspect_all(files: tuple[str, ...]) -> tuple[list[Inspection], list[str]]:
    found, errors = [], []
    for file in files:
        try:
            found.append(inspect(file))
        except (OSError, FormatError) as error:
            errors.append(_reason(error))
    return found, errors


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _print(found: list[Inspection], arch: list[str], notes: list[str]) -> None:
    out = console()
    for index, inspection in enumerate(found):
        if index:
            out.print()
        shown = [k for k in inspection if not arch or k.architecture in arch]
        print_inspection(
            out, Inspection(inspection.path, shown, inspection.images, inspection.modules)
        )
    if any(found):
        out.print(f"\n{LEGEND}", style="dim", soft_wrap=not out.is_terminal)
    for note in notes:
        out.print(f"note: {note}", soft_wrap=True)


def _as_json(
    found: list[Inspection],
    kernels: list[KernelResources],
    failures: list[str],
    notes: list[str],
    errors: list[str],
) -> dict[str, Any]:
    shown = {id(kernel) for kernel in kernels}
    return {
        "ok": not failures and not errors,
        "failures": failures,
        "notes": notes,
        "errors": errors,
        "files": [
            {
                "path": inspection.path,
                "architectures": inspection.architectures,
                "ptx": inspection.ptx,
                "ir": inspection.ir,
                "host_only": not inspection.images,
                "modules": [asdict(module) for module in inspection.modules],
                "images": [asdict(image) for image in inspection.images],
                "kernels": [asdict(kernel) for kernel in inspection if id(kernel) in shown],
            }
            for inspection in found
        ],
    }
