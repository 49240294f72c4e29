"""Which backends are here, with which devices and kernels, and why the others are not."""

from __future__ import annotations

import importlib
import json
import platform
from dataclasses import dataclass
from functools import cache
from os.path import dirname, join
from typing import Any, cast

from gpuport import _rules
from gpuport._native import NativeModule
from gpuport.errors import BackendUnavailableError

__all__ = ["NAMES", "Backend", "Device", "Kernel", "backends", "devices", "kernels"]

NAMES = ("cpu", "cuda", "hip")


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend: what was built, and whether it can run here.

    `built` tells of the native module, `available` of a device that it can use; `reason` says why
    one of them is False. `architectures` are those that the module holds code for.
    """

    name: str
    built: bool
    available: bool
    reason: str
    architectures: tuple[str, ...] = ()
    architectures_from: str = ""
    compiler: str = ""
    compiler_path: str = ""
    runtime: str = ""
    flags: str = ""
    warp_sizes: tuple[int, ...] = ()
    searched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """One device. `memory` is in bytes; the CPU runs warps of either size, a GPU of its own."""

    backend: str
    index: int
    name: str
    architecture: str
    warp_sizes: tuple[int, ...]
    multiprocessors: int
    memory: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of the registry.

    `name` is "family.variant"; `dtypes` are those of its input; `deterministic` says whether the
    results repeat bit for bit for all of them, `repeatable` for which. `operations` are what it
    computes.
    `rules` says what holds for ties, NaN, infinities, masks, empty input and overflow.
    """

    name: str
    dtypes: tuple[str, ...]
    deterministic: bool
    limits: str
    doc: str
    operations: tuple[str, ...] = ()
    repeatable: tuple[str, ...] = ()
    rules: str = ""


@cache
def build_record() -> dict[str, Any]:
    """What the build wrote down, or {} in a source tree that was never built."""
    # Without pathlib, which takes as long to import as a twentieth of this package with NumPy.
    try:
        with open(join(dirname(__file__), "_build_info.json"), encoding="utf-8") as file:
            return cast(dict[str, Any], json.load(file))
    except FileNotFoundError:
        return {}


@cache
def _import(name: str) -> NativeModule | str:
    """The native module, or the reason why there is none."""
    recorded = build_record().get("backends", {}).get(name, {})
    if recorded and not recorded["built"]:
        return str(recorded["reason"]) or "it was not built"
    try:
        return cast(NativeModule, importlib.import_module(f"gpuport._{name}"))
    except ModuleNotFoundError:
        return "it was never built here"
    except ImportError as error:
        return f"its module cannot be loaded: {error}"


def preload() -> None:
    """Load the CPU backend, and ask it what it has, so that no call has to."""
    if not isinstance(_import("cpu"), str):
        ordinals("cpu", 0)
        kernel_table("cpu")


def native_module(name: str) -> NativeModule:
    """The native module of a backend, whether or not it has a device.

    Raises:
        ValueError: there is no backend of that name.
        BackendUnavailableError: it is not built or cannot be loaded; says why.
    """
    if not isinstance(name, str) or name not in NAMES:
        raise ValueError(f"there is no backend {name!r}; there are {', '.join(NAMES)}")
    module = _import(name)
    if isinstance(module, str):
        raise BackendUnavailableError(f"backend {name} cannot be used: {module}")
    return module


@cache
def _device_count(name: str) -> int:
    return native_module(name).device_count()


def usable_module(name: str) -> NativeModule:
    """As `native_module`, and BackendUnavailableError where there is no device to work on."""
    module = native_module(name)
    if _device_count(name) == 0:
        raise BackendUnavailableError(f"backend {name} has no device: {module.device_error()}")
    return module


@cache
def ordinals(name: str, device: int) -> dict[int, int]:
    """The native ordinals of a device by warp size. Those of the CPU backend are one device.

    Raises:
        BackendUnavailableError: there is no such device.
    """
    module = native_module(name)
    count = 1 if name == "cpu" else _device_count(name)
    if not 0 <= device < count:
        raise BackendUnavailableError(f"backend {name} has no device {device}: it has {count}")
    own = range(_device_count(name)) if name == "cpu" else [device]
    return {int(module.device(i)["warp_size"]): i for i in own}


def _gpu_backends() -> list[str]:
    return [
        name for name in NAMES[1:] if not isinstance(_import(name), str) and _device_count(name)
    ]


def first_gpu() -> tuple[str, int] | None:
    """Backend and ordinal of the first GPU here, the place of arrays without elements."""
    return next(((name, 0) for name in _gpu_backends()), None)


def gpu_of_address(address: int) -> tuple[str, int] | None:
    """Backend and ordinal of the GPU that owns an address, among the backends that run here."""
    for name in _gpu_backends():
        device = native_module(name).pointer_device(address)
        if device >= 0:
            return name, device
    return None


def backends() -> list[Backend]:
    """Every backend of gpuport, built or not, in a fixed order: cpu, cuda, hip."""
    return [_backend(name) for name in NAMES]


def _backend(name: str) -> Backend:
    module = _import(name)
    recorded = build_record().get("backends", {}).get(name, {})
    searched = tuple(recorded.get("searched", ()))
    if isinstance(module, str):
        return Backend(name, recorded.get("built", False), False, module, searched=searched)
    info = {**recorded, **module.build_info()}
    available = _device_count(name) > 0
    return Backend(
        name,
        built=True,
        available=available,
        reason="" if available else module.device_error(),
        architectures=_words(info.get("architectures", ())),
        architectures_from=info.get("architectures_from", ""),
        compiler=info.get("compiler", ""),
        compiler_path=info.get("compiler_path", ""),
        runtime=info.get("runtime", ""),
        flags=info.get("flags", ""),
        warp_sizes=tuple(info.get("warp_sizes", ())),
        searched=searched,
    )


def _words(value: Any) -> tuple[str, ...]:
    """A list, or as the modules have it, words in one string."""
    return tuple(value.split() if isinstance(value, str) else value)


def devices() -> list[Device]:
    """Every device that a built backend can use: the CPU, then GPUs by backend and ordinal."""
    found = []
    for name in NAMES:
        module = _import(name)
        if isinstance(module, str):
            continue
        records = [module.device(i) for i in range(_device_count(name))]
        widths: list[tuple[int, ...]] = [(int(record["warp_size"]),) for record in records]
        if name == "cpu":  # ordinals of the CPU backend are warp sizes of one and the same device
            records, widths = [_cpu_record(module)], [tuple(sorted(sum(widths, ())))]
        found += [
            Device(
                name,
                index,
                record["name"],
                record["architecture"],
                width,
                record["multiprocessors"],
                record["memory"],
            )
            for index, (record, width) in enumerate(zip(records, widths, strict=True))
        ]
    return found


def _cpu_record(module: NativeModule) -> dict[str, Any]:
    """The module tells of one machine per warp size; here it is one, on this processor."""
    return {**module.device(0), "name": "SIMT machine", "architecture": platform.machine()}


@cache
def kernel_table(name: str) -> dict[str, Kernel]:
    """The kernels of one backend, by name."""
    return {
        record["name"]: Kernel(
            record["name"],
            tuple(record["dtypes"]),
            deterministic=record["repeatable"] == record["dtypes"],
            limits=record["limits"],
            doc=record["doc"],
            operations=tuple(record["operations"]),
            repeatable=tuple(record["repeatable"]),
            rules=_rules.of_kernel(record["name"], record["operations"]),
        )
        for record in native_module(name).kernels()
    }


def kernels() -> list[Kernel]:
    """Every kernel of the registry, in its order. All backends are built from the same registry."""
    table: dict[str, Kernel] = {}
    for name in NAMES:
        if not isinstance(_import(name), str):
            for kernel in kernel_table(name).values():
                table.setdefault(kernel.name, kernel)
    return list(table.values())
