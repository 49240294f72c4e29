"""cubin: NVIDIA machine code of one architecture, an ELF file with attributes in .nv.info.

No NVIDIA tool is asked: the attributes hold registers and stack, the size of .nv.shared.<kernel>
the static shared memory. Since CUDA 12.6 ptxas marks each spill instruction, so that spills can be
told from arrays that the program itself keeps in local memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct, iter_unpack

from . import sass
from .binary import cut, unpack
from .elf import SYMBOL_FUNCTION, Elf, Section, Symbol
from .errors import FormatError
from .model import KernelResources

WARP = 32

_ENTRY_FLAG = 0x10  # in a symbol's st_other: a kernel, not a device function
_ATTRIBUTE = Struct("<BBH")
_SIZED_ATTRIBUTE = 4  # others keep their value in the two bytes of the size
_FRAME_SIZE, _MIN_STACK_SIZE, _REGISTER_COUNT, _ANNOTATIONS = 0x11, 0x12, 0x2F, 0x55
_SPILL_ANNOTATION = 1
_SPILLS_MARKED_SINCE = 126

# From sm_90 on a kernel's section of shared memory begins with what the system keeps for itself.
_RESERVES_SINCE = 90
_RESERVED_SHARED = 1024

_TOOL_NOTE = 2000


def architecture(elf: Elf, label: str = "") -> str:
    """sm_90, or sm_90a where the code says so or `label`, which is what its wrapping says."""
    number = _number(elf)
    suffix = label.removeprefix(f"sm_{number}") if label.startswith(f"sm_{number}") else ""
    for note in elf.notes():
        if note.type == _TOOL_NOTE:
            command = bytes(note.description).decode("latin-1")
            if match := re.search(rf"\bsm_{number}([af])\b", command):
                suffix = match[1]
    return f"sm_{number}{suffix}"


def kernels(elf: Elf, module: str, arch: str) -> Iterator[KernelResources]:
    """The resources of every kernel; names are still mangled."""
    sections = {section.name: section for section in elf.sections}
    table = sections.get(".nv.info")
    totals = _totals(elf.content(table)) if table else {}
    spills_marked = _toolkit(elf) >= _SPILLS_MARKED_SINCE
    for index, symbol in enumerate(elf.symbols):
        if not _is_kernel(symbol):
            continue
        if symbol.section >= len(elf.sections):
            raise FormatError(f"cubin: the code of {symbol.name} does not exist")
        code_section = elf.sections[symbol.section]
        code = elf.content(code_section)
        stack = max(totals.get((kind, index), 0) for kind in (_FRAME_SIZE, _MIN_STACK_SIZE))
        accesses = _local_accesses(_number(elf), code, stack)
        spills: int | None = None
        if spills_marked:
            info = sections.get(f".nv.info.{symbol.name}")
            spills = _marked_spills(elf.content(info), code) if info else 0
        elif accesses == 0:
            spills = 0
        yield KernelResources(
            module=module,
            architecture=arch,
            symbol=symbol.name,
            name=symbol.name,
            # Toolkits before 11 keep the count in the section header alone.
            registers=totals.get((_REGISTER_COUNT, index), code_section.info >> 24),
            agprs=None,
            sgprs=None,
            shared=_shared(elf, sections.get(f".nv.shared.{symbol.name}")),
            stack=stack,
            spills=spills,
            sgpr_spills=None,
            local_accesses=accesses,
            wavefront=WARP,
        )


def _number(elf: Elf) -> int:
    # CUDA 13 moved the architecture up by a byte, and says so in the ABI version.
    return (elf.flags >> 8 if elf.abi_version >= 8 else elf.flags) & 0xFF


def compiler(elf: Elf) -> str:
    """ptxas 13.0.88, where the code tells it so exactly."""
    for note in elf.notes():
        version = re.search(rb"\bV(\d+\.\d+\.\d+)", bytes(note.description))
        if note.type == _TOOL_NOTE and version:
            return f"ptxas {version[1].decode()}"
    toolkit = _toolkit(elf)
    return f"ptxas {toolkit // 10}.{toolkit % 10}" if toolkit else ""


def _toolkit(elf: Elf) -> int:
    """126 for CUDA 12.6; 0 where the file does not say."""
    if elf.abi_version < 8:
        return elf.version
    for note in elf.notes():
        release = re.search(rb"\brelease (\d+)\.(\d+)", bytes(note.description))
        if note.type == _TOOL_NOTE and release:
            return int(release[1]) * 10 + int(release[2])
    return 0


def _is_kernel(symbol: Symbol) -> bool:
    defined = symbol.section != 0
    return defined and symbol.type == SYMBOL_FUNCTION and bool(symbol.other & _ENTRY_FLAG)


def _attributes(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    offset = 0
    while offset < len(content):
        form, kind, size = unpack(_ATTRIBUTE, content, offset, "cubin attributes")
        offset += _ATTRIBUTE.size
        if form == _SIZED_ATTRIBUTE:
            yield kind, cut(content, offset, size, "cubin attributes")
            offset += size


def _totals(content: memoryview) -> dict[tuple[int, int], int]:
    """(attribute, symbol index) to value, of the attributes that name a function."""
    wanted = (_FRAME_SIZE, _MIN_STACK_SIZE, _REGISTER_COUNT)
    found = {}
    for kind, value in _attributes(content):
        if kind in wanted and len(value) == 8:
            symbol, number = Struct("<II").unpack(value)
            found[kind, symbol] = number
    return found


def _marked_spills(info: memoryview, code: memoryview) -> int | None:
    """Registers stored by the instructions that ptxas marked; None if the marks point elsewhere."""
    stored = 0
    for kind, value in _attributes(info):
        if kind != _ANNOTATIONS:
            continue
        if len(value) % 8:
            return None
        for mark, offset in iter_unpack("<II", value):
            if mark != _SPILL_ANNOTATION:
                continue
            access = sass.spill_access(code, offset)
            if access is None:
                return None
            stored += access.nbytes if access.store else 0
    return (stored + 3) // 4


def _local_accesses(number: int, code: memoryview, stack: int) -> int | None:
    if number < sass.FIRST_ARCHITECTURE:
        return None
    return sass.local_accesses(code) if stack else 0


def _shared(elf: Elf, section: Section | None) -> int:
    if section is None:
        return 0
    reserved = _RESERVED_SHARED if _number(elf) >= _RESERVES_SINCE else 0
    return max(section.size - reserved, 0)
