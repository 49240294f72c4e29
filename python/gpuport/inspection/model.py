"""What an inspection finds, in the same words for both vendors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Vendor = Literal["nvidia", "amd", "other"]
ImageKind = Literal["code", "ptx", "ir", "other"]


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one kernel takes on one architecture. None: the file does not say, or no such thing.

    `spills` counts 32-bit registers: on AMD the vector registers that the compiler moved to memory,
    on NVIDIA those that spill stores write (ptxas reports four times that in bytes, without those
    it keeps in shared memory). `stack` includes the functions that the kernel calls.
    """

    module: str  # the file, or file!member inside a wheel or an archive
    architecture: str  # sm_90, gfx90a, gfx90a:xnack+
    symbol: str
    name: str  # the symbol demangled, where a demangler was found
    registers: int  # per thread; VGPRs on AMD
    agprs: int | None  # accumulation registers (CDNA)
    sgprs: int | None  # scalar registers per wavefront (AMD)
    shared: int  # static shared memory or LDS, bytes per block, without what the system reserves
    stack: int  # stack frame or private segment, bytes per thread
    spills: int | None
    sgpr_spills: int | None
    local_accesses: int | None  # local-memory loads and stores in the code (NVIDIA)
    wavefront: int


@dataclass(frozen=True, slots=True)
class Image:
    """One piece of GPU code. `ptx` and `ir` (LTO-IR, LLVM bitcode) run on nothing as they are;
    `other` is not known here (for SYCL, say) and was not looked into.
    """

    module: str
    vendor: Vendor
    kind: ImageKind
    architecture: str  # compute_90 for PTX, the target's name for other
    compiler: str = ""  # ptxas 13.0.88, clang 15.0.6; empty where the code does not say
    relocatable: bool = False  # not linked yet: the linker may still raise stack and registers


@dataclass(frozen=True, slots=True)
class Module:
    """A file, or a member of a wheel or an archive. `host` is the processor of its host code."""

    name: str
    host: str | None


class Inspection(list[KernelResources]):
    """The kernels of a file, sorted by name and architecture, and what holds them."""

    def __init__(
        self,
        path: str,
        kernels: list[KernelResources],
        images: list[Image],
        modules: list[Module],
    ) -> None:
        super().__init__(sorted(kernels, key=lambda k: (k.module, k.name, _order(k.architecture))))
        self.path = path
        self.images = images
        self.modules = modules

    @property
    def architectures(self) -> list[str]:
        """Those that there is machine code for; PTX and IR do not count."""
        return architectures_of(self.images, "code")

    @property
    def ptx(self) -> list[str]:
        return architectures_of(self.images, "ptx")

    @property
    def compilers(self) -> dict[str, str]:
        """Architecture to what made its machine code."""
        found: dict[str, set[str]] = {}
        for image in self.images:
            if image.kind == "code" and image.compiler:
                found.setdefault(image.architecture, set()).add(image.compiler)
        return {architecture: ", ".join(sorted(names)) for architecture, names in found.items()}

    @property
    def ir(self) -> list[str]:
        return architectures_of(self.images, "ir")


def architectures_of(images: Iterable[Image], kind: ImageKind) -> list[str]:
    """Each once, in order."""
    names = {image.architecture for image in images if image.kind == kind}
    return sorted(names, key=_order)


def _order(architecture: str) -> tuple[str, int, str]:
    """sm_90 before sm_100."""
    return architecture[:3], len(architecture.partition(":")[0]), architecture
