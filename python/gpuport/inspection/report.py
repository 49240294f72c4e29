"""How an inspection looks on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .model import ImageKind, Inspection, KernelResources, Module, architectures_of

# The same for both vendors; "-" where the file does not say or the vendor has no such thing.
COLUMNS = {
    "arch": "architecture",
    "registers": "registers",
    "AGPRs": "agprs",
    "SGPRs": "sgprs",
    "shared": "shared",
    "stack": "stack",
    "spills": "spills",
    "SGPR spills": "sgpr_spills",
    "local": "local_accesses",
    "wavefront": "wavefront",
}
TITLES: dict[ImageKind, str] = {
    "code": "code for",
    "ptx": "PTX",
    "ir": "intermediate code",
    "other": "not looked into:",
}
LEGEND = (
    "registers: per thread (VGPRs on AMD). shared: static, bytes per block (LDS). stack: bytes per "
    "thread (private segment). spills: 32-bit registers that went to memory. local: loads and "
    "stores of local memory in the code. -: not in the file, or no such thing."
)


def console() -> Console:
    made = Console(highlight=False, markup=False)
    # Into a pipe or a file nothing is cut or folded: the reader there is a program or a log.
    return made if made.is_terminal else Console(highlight=False, markup=False, width=10_000)


def print_inspection(out: Console, inspection: Inspection) -> None:
    for module in inspection.modules:
        out.print(f"{module.name}: {_summary(module, inspection)}", soft_wrap=True)
    if not inspection.modules:
        out.print(f"{inspection.path}: no binary inside", soft_wrap=True)
    if not inspection:
        return
    if out.is_terminal:
        out.print(_table(inspection))
        return
    with out.capture() as capture:
        out.print(_table(inspection))
    for line in capture.get().splitlines():
        print(line.rstrip())


def _summary(module: Module, inspection: Inspection) -> str:
    images = [image for image in inspection.images if image.module == module.name]
    if not images:
        host = f"host code only ({module.host})" if module.host else "nothing in it"
        return f"{host}, no GPU code inside"
    parts = [
        f"{title} {', '.join(names)}"
        for kind, title in TITLES.items()
        if (names := architectures_of(images, kind))
    ]
    if not any(image.kind == "code" for image in images):
        parts.append("no machine code")
    if any(image.relocatable for image in images):
        parts.append("not linked yet")
    return "; ".join(parts)


def _table(inspection: Inspection) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    several = len({kernel.module for kernel in inspection}) > 1
    if several:
        table.add_column("module", overflow="fold")
    for title in COLUMNS:
        table.add_column(title, justify="left" if title == "arch" else "right", no_wrap=True)
    table.add_column("kernel", overflow="fold")  # last: the long names of templates push nothing
    for kernel in inspection:
        head = [kernel.module.partition("!")[2] or kernel.module] if several else []
        table.add_row(*head, *(_cell(kernel, name) for name in COLUMNS.values()), kernel.name)
    return table


def _cell(kernel: KernelResources, name: str) -> str:
    value = getattr(kernel, name)
    return "-" if value is None else str(value)
