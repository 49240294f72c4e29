"""From a file to the GPU code in it, through every wrapping: wheel, archive, host ELF, bundle."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from . import amdgpu, archive, bundle, cubin, fatbin
from .demangle import demangled
from .elf import HOSTS, MACHINE_AMDGPU, MACHINE_CUDA, MAGIC, RELOCATABLE, Elf
from .errors import FormatError
from .model import Image, Inspection, KernelResources, Module, Vendor

_ZIP_MAGIC = b"PK\x03\x04"
# What zipfile raises on damage, on encryption and on methods that it does not know.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, OverflowError, RuntimeError,
    ValueError,
)  # fmt: skip
_BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_DEEPEST = 8
_BUNDLE_SECTION = "__CLANG_OFFLOAD_BUNDLE__"


def inspect(path: str | PathLike[str]) -> Inspection:
    """The resource table of every kernel in a `.so`, program, object, wheel, static library,
    cubin, fatbin, hsaco or offload bundle.

    Raises OSError where the file cannot be read, FormatError (a gpuport.Error) where it is damaged
    or none of these. A file with host code only gives an empty table.
    """
    name = fspath(path)
    scanner = _Scanner()
    try:
        scanner.file(memoryview(Path(name).read_bytes()), name)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None
    names = demangled(kernel.symbol for kernel in scanner.kernels)
    kernels = [replace(kernel, name=names[kernel.symbol]) for kernel in scanner.kernels]
    return Inspection(name, kernels, scanner.images, scanner.modules)


class _Scanner:
    def __init__(self) -> None:
        self.kernels: list[KernelResources] = []
        self.images: list[Image] = []
        self.modules: list[Module] = []
        self._depth = 0

    def file(self, data: memoryview, name: str) -> None:
        if not data:
            raise FormatError("the file is empty")
        if data[:4] == _ZIP_MAGIC:
            self._members(_zip_members(data), name)
        elif data[: len(archive.MAGIC)] == archive.MAGIC:
            self._members(archive.members(data), name)
        else:
            host = None
            if data[:4] == MAGIC and not _is_device(elf := Elf(data)):
                host = HOSTS.get(elf.machine, f"machine {elf.machine}")
            self.modules.append(Module(name, host))
            self._image(data, name, "")

    def _members(self, members: Iterable[tuple[str, memoryview]], name: str) -> None:
        """Those that are modules; the Python files and texts of a wheel say nothing here."""
        for member, data in members:
            if any(data[: len(magic)] == magic for magic in (archive.MAGIC, *_READERS)):
                try:
                    self.file(data, f"{name}!{member}")
                except FormatError as error:
                    raise FormatError(f"{member}: {error}") from None

    def _image(self, data: memoryview, module: str, label: str) -> None:
        """`label` is the architecture that the wrapping tells, where the content does not."""
        for magic, read in _READERS.items():
            if data[: len(magic)] == magic:
                if self._depth == _DEEPEST:
                    raise FormatError("wrapped too many times; a wrapping that contains itself?")
                self._depth += 1
                read(self, data, module, label)
                self._depth -= 1
                return
        if re.search(rb"^\s*\.version\s+\d", bytes(data[:4096]), re.MULTILINE):
            self._ptx_text(data, module)
            return
        raise FormatError(
            "no format that is read here (ELF, wheel, static library, fatbin, offload bundle, PTX)"
        )

    def _elf(self, data: memoryview, module: str, label: str) -> None:
        elf = Elf(data)
        if elf.machine == MACHINE_CUDA:
            arch = cubin.architecture(elf, label)
            self.kernels += cubin.kernels(elf, module, arch)
            self._add_code(module, "nvidia", arch, cubin.compiler(elf), elf)
        elif elf.machine == MACHINE_AMDGPU:
            described = amdgpu.metadata(elf)
            arch = amdgpu.architecture(elf, described)
            self.kernels += amdgpu.kernels(described, module, arch)
            self._add_code(module, "amd", arch, amdgpu.compiler(elf), elf)
        else:
            self._host(elf, module)

    def _add_code(self, module: str, vendor: Vendor, arch: str, compiler: str, elf: Elf) -> None:
        relocatable = elf.type == RELOCATABLE
        self.images.append(Image(module, vendor, "code", arch, compiler, relocatable))

    def _host(self, elf: Elf, module: str) -> None:
        if not elf.sections:
            raise FormatError("ELF: no section table, so code for a GPU could not be found")
        parts = {section.name: elf.content(section) for section in elf.sections if section.size}
        # After device linking the objects that went into it stay in __nv_relfatbin.
        for name in (".nv_fatbin", "__nv_relfatbin"):
            if name in parts:
                self._fatbin(parts[name], module, "")
                break
        for name, content in parts.items():
            if name.startswith(".hip_fatbin"):
                self._bundle(content, module, "")
            elif name == ".llvm.offloading":
                self._offload_binary(content, module, "")
            elif name.startswith(_BUNDLE_SECTION):
                self._bundle_entry(name.removeprefix(_BUNDLE_SECTION), content, module)

    def _fatbin(self, data: memoryview, module: str, label: str) -> None:
        for entry in fatbin.entries(data):
            number = f"{entry.number}{entry.suffix}"
            if entry.kind == fatbin.CUBIN:
                self._elf(entry.payload(), module, f"sm_{number}")
            elif entry.kind == fatbin.PTX:
                self.images.append(Image(module, "nvidia", "ptx", f"compute_{number}"))
            elif entry.kind == fatbin.LTO_IR:
                self.images.append(Image(module, "nvidia", "ir", f"lto_{number}"))
            else:
                kind = f"sm_{number} (fat binary entry of kind {entry.kind})"
                self.images.append(Image(module, "nvidia", "other", kind))

    def _bundle(self, data: memoryview, module: str, label: str) -> None:
        for name, content in bundle.bundled(data):
            self._bundle_entry(name, content, module)

    def _bundle_entry(self, name: str, content: memoryview, module: str) -> None:
        if name.startswith("host-") or not len(content):
            return
        if not re.search(r"\b(amdgcn|nvptx64)\b", name):
            self.images.append(Image(module, "other", "other", name))
        else:
            # hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-; older: hip-amdgcn-amd-amdhsa-gfx90a
            target = re.search(r"-((?:gfx|sm_)\w+(?:-generic)?(?::\S+)?)$", name)
            self._image(content, module, target[1] if target else "")

    def _offload_binary(self, data: memoryview, module: str, label: str) -> None:
        for arch, content in bundle.offload_binaries(data):
            self._image(content, module, arch)

    def _bitcode(self, data: memoryview, module: str, label: str) -> None:
        vendor: Vendor = "nvidia" if label.startswith("sm_") else "amd"
        self.images.append(Image(module, vendor, "ir", label or "bitcode"))

    def _ptx_text(self, data: memoryview, module: str) -> None:
        target = re.search(rb"^\s*\.target\s+sm_(\d+[af]?)", bytes(data), re.MULTILINE)
        if target is None:
            raise FormatError("PTX without a .target")
        self.images.append(Image(module, "nvidia", "ptx", f"compute_{target[1].decode()}"))


_READERS: dict[bytes, Callable[[_Scanner, memoryview, str, str], None]] = {
    MAGIC: _Scanner._elf,
    fatbin.MAGIC: _Scanner._fatbin,
    bundle.MAGIC: _Scanner._bundle,
    bundle.COMPRESSED_MAGIC: _Scanner._bundle,
    bundle.BINARY_MAGIC: _Scanner._offload_binary,
    **dict.fromkeys(_BITCODE_MAGICS, _Scanner._bitcode),
}


def _is_device(elf: Elf) -> bool:
    return elf.machine in (MACHINE_CUDA, MACHINE_AMDGPU)


def _zip_members(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    """One at a time: the binaries of a wheel together may not fit into memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            for entry in wheel.infolist():
                yield entry.filename, memoryview(wheel.read(entry))
    except _ZIP_ERRORS as error:
        raise FormatError(f"wheel: {error}") from None
