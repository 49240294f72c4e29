"""One CUDA source, checked on NVIDIA, on AMD and on a plain CPU.

Importing gpuport loads nothing else: each name below is fetched from its module when it is first
used, so that tools which only read sources start without NumPy, and no GPU or driver is needed. The
rules that all functions share (arrays, dtypes, keywords) stand in `help("gpuport.ops")`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuport.errors import (
    BackendUnavailableError,
    CompileError,
    Error,
    LaunchError,
    TranslationError,
    UnsupportedArchError,
)

if TYPE_CHECKING:
    from gpuport._backends import Backend, Device, Kernel, backends, devices, kernels
    from gpuport.device_array import DeviceArray
    from gpuport.inspection import inspect
    from gpuport.linting import lint
    from gpuport.ops import (
        argmax,
        argmin,
        compact,
        exclusive_scan,
        inclusive_scan,
        log_softmax,
        logsumexp,
        max,
        min,
        nonzero,
        segmented_max,
        segmented_min,
        segmented_sum,
        softmax,
        sum,
    )
    from gpuport.translate import Translation, hipify

_HOMES = {
    "gpuport._backends": ("Backend", "Device", "Kernel", "backends", "devices", "kernels"),
    "gpuport.device_array": ("DeviceArray",),
    "gpuport.inspection": ("inspect",),
    "gpuport.linting": ("lint",),
    "gpuport.ops": (
        "argmax",
        "argmin",
        "compact",
        "exclusive_scan",
        "inclusive_scan",
        "log_softmax",
        "logsumexp",
        "max",
        "min",
        "nonzero",
        "segmented_max",
        "segmented_min",
        "segmented_sum",
        "softmax",
        "sum",
    ),
    "gpuport.translate": ("Translation", "hipify"),
}
_PACKAGES = ("models", "testing")
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Backend",
    "BackendUnavailableError",
    "CompileError",
    "Device",
    "DeviceArray",
    "Error",
    "Kernel",
    "LaunchError",
    "Translation",
    "TranslationError",
    "UnsupportedArchError",
    "argmax",
    "argmin",
    "backends",
    "compact",
    "devices",
    "exclusive_scan",
    "hipify",
    "inclusive_scan",
    "inspect",
    "kernels",
    "lint",
    "log_softmax",
    "logsumexp",
    "max",
    "min",
    "nonzero",
    "segmented_max",
    "segmented_min",
    "segmented_sum",
    "softmax",
    "sum",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gpuport")
    if name in _PACKAGES:
        return import_module(f"gpuport.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'gpuport' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
