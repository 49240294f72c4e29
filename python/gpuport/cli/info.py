"""`gpuport info`: what was built, for what, by what, and what it can run on here."""

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import click
from rich.console import Console

import gpuport


def collect() -> dict[str, Any]:
    return {
        "versions": {
            "gpuport": version("gpuport"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        },
        "backends": [asdict(backend) for backend in gpuport.backends()],
        "devices": [asdict(device) for device in gpuport.devices()],
        "kernels": [kernel.name for kernel in gpuport.kernels()],
    }


@click.command("info", short_help="Backends, architectures, compilers, devices.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def command(as_json: bool) -> None:
    """Every backend: built or why not, its architectures, its compiler, its devices.

    \b
    Example: gpuport info --json

    Exit code 0, whatever there is.
    """
    found = collect()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(", ".join(f"{name} {number}" for name, number in found["versions"].items()))
    for backend in found["backends"]:
        _print_backend(console, backend, found["devices"])
    console.print(f"\n{len(found['kernels'])} kernels: {', '.join(found['kernels'])}")


def _print_backend(
    console: Console, backend: dict[str, Any], devices: list[dict[str, Any]]
) -> None:
    def line(label: str, text: str) -> None:
        console.print(f"  {label:<15}{text}")

    console.print()
    if not backend["built"]:
        console.print(f"{backend['name']}: not built", style="bold")
        line("reason", backend["reason"])
        if backend["searched"]:
            line("looked in", ", ".join(backend["searched"]))
        return
    console.print(f"{backend['name']}: built", style="bold")
    origin = f" (from {backend['architectures_from']})" if backend["architectures_from"] else ""
    line("architectures", ", ".join(backend["architectures"]) + origin)
    line("compiler", backend["compiler"])
    line("runtime", backend["runtime"])
    line("warp widths", ", ".join(map(str, backend["warp_sizes"])))
    own = [device for device in devices if device["backend"] == backend["name"]]
    for device in own:
        widths = " or ".join(map(str, device["warp_sizes"]))
        memory = f"{device['memory'] / 2**30:.1f} GiB"
        units = f"{device['multiprocessors']} processors"
        label = f"{device['name']}, {device['architecture']}, warps of {widths}, {units}, {memory}"
        line(f"device {device['index']}", label)
    if not own:
        line("devices", f"none: {backend['reason']}")
