"""AMD code objects: ELF files whose kernels are described by a MessagePack note."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import msgpack
from .elf import Elf
from .errors import FormatError
from .model import KernelResources

_METADATA_NOTE = 32
_YAML_METADATA_NOTE = 10  # code objects before version 3, of 2019

# EF_AMDGPU_MACH, for code objects that do not name their target (version 3).
_MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702",
    0x25: "gfx703", 0x26: "gfx704", 0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803",
    0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906",
    0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011",
    0x35: "gfx1012", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033",
    0x3A: "gfx602", 0x3B: "gfx705", 0x3C: "gfx805", 0x3D: "gfx1035", 0x3E: "gfx1034",
    0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150",
    0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200",
    0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201", 0x4F: "gfx950",
    0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic",
    0x54: "gfx11-generic", 0x55: "gfx1152", 0x58: "gfx1153", 0x59: "gfx12-generic",
    0x5F: "gfx9-4-generic",
}  # fmt: skip


def metadata(elf: Elf) -> dict[Any, Any]:
    """The metadata map; empty for a code object without kernels, such as a device library."""
    for note in elf.notes():
        if note.owner == "AMDGPU" and note.type == _METADATA_NOTE:
            value = msgpack.decode(note.description)
            if not isinstance(value, dict):
                raise FormatError("code object metadata: not a map")
            return value
        if note.owner == "AMD" and note.type == _YAML_METADATA_NOTE:
            raise FormatError(
                "code object of version 2 (before 2019): its metadata is not read here; "
                "`llvm-readelf --notes FILE` shows it"
            )
    return {}


def architecture(elf: Elf, described: dict[Any, Any]) -> str:
    """gfx90a, or gfx90a:xnack+ where the code insists on a mode."""
    target = described.get("amdhsa.target")
    if isinstance(target, str) and "--" in target:  # amdgcn-amd-amdhsa--gfx90a:xnack+
        return target.partition("--")[2]
    machine = elf.flags & 0xFF
    return _MACHINES.get(machine, f"gfx?(machine 0x{machine:02x})")


def compiler(elf: Elf) -> str:
    """clang 15.0.6. The device libraries that were linked in name theirs too, which is no newer."""
    for section in elf.sections:
        if section.name == ".comment":
            comment = bytes(elf.content(section)).decode("latin-1")
            versions = re.findall(r"\bclang version (\d+)\.(\d+)\.(\d+)", comment)
            if versions:
                return "clang " + ".".join(max(versions, key=lambda found: [*map(int, found)]))
    return ""


def kernels(described: dict[Any, Any], module: str, arch: str) -> Iterator[KernelResources]:
    """The resources of every kernel; names are still mangled."""
    described_kernels = described.get("amdhsa.kernels", [])
    if not isinstance(described_kernels, list):
        raise FormatError("code object metadata: amdhsa.kernels is not a list")
    for kernel in described_kernels:
        if not isinstance(kernel, dict) or not isinstance(kernel.get(".name"), str):
            raise FormatError("code object metadata: a kernel without a name")
        agprs = _optional(kernel, ".agpr_count")
        yield KernelResources(
            module=module,
            architecture=arch,
            symbol=kernel[".name"],
            name=kernel[".name"],
            registers=_number(kernel, ".vgpr_count"),
            agprs=agprs,
            sgprs=_number(kernel, ".sgpr_count"),
            shared=_number(kernel, ".group_segment_fixed_size"),
            stack=_number(kernel, ".private_segment_fixed_size"),
            spills=_optional(kernel, ".vgpr_spill_count"),
            sgpr_spills=_optional(kernel, ".sgpr_spill_count"),
            local_accesses=None,
            wavefront=_number(kernel, ".wavefront_size"),
        )


def _optional(kernel: dict[Any, Any], key: str) -> int | None:
    return _number(kernel, key) if key in kernel else None


def _number(kernel: dict[Any, Any], key: str) -> int:
    value = kernel.get(key)
    if not isinstance(value, int):
        raise FormatError(f"code object metadata: {kernel['.name']} has no {key}")
    return value
