"""--require: does every module hold machine code for every architecture that it must?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .model import Image, Inspection, Vendor, architectures_of

_NAME = re.compile(
    r"(?:sm|compute)_\d{2,3}[af]?|gfx[0-9a-f]{3,4}(?::(?:xnack|sramecc)[+-])*|gfx[0-9-]+-generic"
)


def parse(value: str) -> list[str]:
    """The architectures of a list such as sm_90,gfx942; ValueError for what is none."""
    names = [name for name in re.split(r"[,;\s]+", value) if name]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no architecture such as sm_90, compute_90 or gfx942")
    if not names:
        raise ValueError("no architecture is named")
    return names


def missing(inspections: Sequence[Inspection], required: Iterable[str]) -> list[str]:
    """One line for each thing that is missing.

    A module that holds anything for a vendor must hold every required architecture of that vendor;
    what no module holds anything for is missing altogether.
    """
    images = [image for inspection in inspections for image in inspection.images]
    modules = list(dict.fromkeys((image.module, image.vendor) for image in images))
    lines = []
    for name in required:
        wanted = _vendor(name)
        holders = [module for module, vendor in modules if vendor == wanted]
        if not holders:
            files = ", ".join(inspection.path for inspection in inspections)
            lines.append(f"{files}: {name} is missing; {_no_code(images, wanted)}")
        for module in holders:
            own = [i for i in images if i.module == module and i.vendor == wanted]
            if not any(_satisfies(image, name) for image in own):
                lines.append(f"{module}: {name} is missing; {_instead(own, name)}")
    return lines


def _vendor(name: str) -> Vendor:
    return "amd" if name.startswith("gfx") else "nvidia"


def _satisfies(image: Image, name: str) -> bool:
    if name.startswith("compute_"):
        return image.kind == "ptx" and image.architecture == name
    if image.kind != "code":
        return False
    have = image.architecture
    if have == name:
        return True
    if name.startswith("sm_"):  # sm_90a is for the same GPUs as sm_90, with all of their features
        return have.rstrip("af") == name
    return have.partition(":")[0] == name


def _no_code(images: Sequence[Image], wanted: Vendor) -> str:
    vendor = {"amd": "AMD", "nvidia": "NVIDIA"}[wanted]
    return f"no {vendor} code inside" if images else "host code only"


def _instead(images: Sequence[Image], name: str) -> str:
    code, ptx, ir = (architectures_of(images, kind) for kind in ("code", "ptx", "ir"))
    parts = [f"inside: {', '.join(code) or 'no machine code'}"]
    if ptx:
        parts.append(f"PTX {', '.join(ptx)}")
    if ir:
        parts.append(f"intermediate code {', '.join(ir)}")
    line = ", ".join(parts)
    if ptx and name.startswith("sm_"):
        line += f" (PTX is no {name} code: the driver has to compile it when it loads the module)"
    return line
