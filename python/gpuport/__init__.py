"""One CUDA source, checked on NVIDIA, on AMD and on a plain CPU.

Importing gpuport needs no GPU and no driver, and loads NumPy but no other array library. The rules
that all functions share (arrays, dtypes, keywords) stand in `help("gpuport.ops")`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# What a call needs is here before the first one, the CPU's native module too: an import inside a
# call would leave a lock that nobody holds in a process forked meanwhile, and half a module for a
# signal handler.
from gpuport._backends import Backend, Device, Kernel, backends, devices, kernels, preload
from gpuport.device_array import DeviceArray
from gpuport.errors import (
    BackendUnavailableError,
    CompileError,
    Error,
    LaunchError,
    PortabilityWarning,
    TranslationError,
    UnsupportedArchError,
)
from gpuport.ops import (
    argmax,
    argmin,
    compact,
    exclusive_scan,
    inclusive_scan,
    log_softmax,
    logsumexp,
    max,
    merge_softmax_states,
    min,
    nonzero,
    segmented_max,
    segmented_min,
    segmented_sum,
    softmax,
    softmax_state,
    sum,
)

if TYPE_CHECKING:
    from gpuport.inspection import inspect
    from gpuport.linting import lint
    from gpuport.loading import load
    from gpuport.packages import select
    from gpuport.translate import Translation, hipify

preload()

# The tools are fetched from their modules when they are first used.
_HOME_OF = {
    "Translation": "gpuport.translate",
    "hipify": "gpuport.translate",
    "inspect": "gpuport.inspection",
    "lint": "gpuport.linting",
    "load": "gpuport.loading",
    "select": "gpuport.packages",
}
_PACKAGES = ("models", "testing")

__all__ = [
    "Backend",
    "BackendUnavailableError",
    "CompileError",
    "Device",
    "DeviceArray",
    "Error",
    "Kernel",
    "LaunchError",
    "PortabilityWarning",
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
    "load",
    "log_softmax",
    "logsumexp",
    "max",
    "merge_softmax_states",
    "min",
    "nonzero",
    "segmented_max",
    "segmented_min",
    "segmented_sum",
    "select",
    "softmax",
    "softmax_state",
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
