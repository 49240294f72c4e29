"""A driver that writes down what it is given, for the native launcher alone: no GPU is needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gpuport import _launcher

LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
)  # fmt: skip
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
POINTER, SIGNED, FLOAT, OTHER = 7, 2, 4, 0

Parameter: TypeAlias = tuple[str, str, int, int, int, int, int, bool]

# const float* x, int n, float2* pairs
PARAMETERS = [
    ("x", "const float*", POINTER, 8, 8, FLOAT, 4, True),
    ("n", "int", SIGNED, 4, 4, 0, 0, False),
    ("pairs", "float2*", POINTER, 8, 8, OTHER, 8, False),
]


class Driver:
    """A CUDA driver of one context, 0xC0, where 0xA0 is current."""

    def __init__(self, result: int = 0, count: int = 0) -> None:
        self.current = 0xA0
        self.on_launch: Callable[[list[int]], None] = lambda addresses: None
        self._count = count
        self.launches: list[tuple[Any, ...]] = []
        self.contexts: list[int] = []
        self._functions = [LAUNCH(self._launch), GET(self._get), SET(self._set)]
        self.result = result

    def _launch(self, function: int, *rest: Any) -> int:
        *extents, shared, stream, parameters, _ = rest
        if self._count:  # pointers
            places = (parameters[i] for i in range(self._count))
            self.on_launch([ctypes.c_uint64.from_address(at).value for at in places])
            return self.result
        values = (
            ctypes.c_uint64.from_address(parameters[0]).value,
            ctypes.c_int32.from_address(parameters[1]).value,
            ctypes.c_uint64.from_address(parameters[2]).value,
        )
        self.launches.append((function, tuple(extents), shared, stream, values, self.current))
        return self.result

    def _get(self, place: Any) -> int:
        place[0] = self.current
        return 0

    def _set(self, context: int) -> int:
        self.contexts.append(context)
        self.current = context
        return 0

    def kernel(
        self,
        resolve: Callable[..., Any],
        stream: Callable[..., Any],
        parameters: Sequence[Parameter] = PARAMETERS,
        backend: str = "cuda",
        device: int = 1,
    ) -> _launcher.Kernel:
        launch, get, set_ = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions)

        def on_error(name: str, code: int, grid: Any, block: Any) -> None:
            raise RuntimeError(f"{name} {code} {grid} {block}")

        target = _launcher.Target(
            launch, launch, get, set_, 0xC0, True, backend, device, resolve, stream, on_error
        )
        return _launcher.Kernel("k", 0xF0, parameters, target)


def asked(value: object, where: str) -> Any:
    raise TypeError(f"{where}: asked about a {type(value).__name__}")


def no_stream(stream: object, arguments: tuple[object, ...]) -> int:
    return 0x70


_drivers: list[Driver] = []


def host_kernel(
    *parameters: Parameter,
    resolve: Callable[[Any, str], Any] = asked,
) -> tuple[_launcher.Kernel, list[int]]:
    """A kernel of the CPU backend, and the addresses that its last launch was given."""
    given: list[int] = []
    driver = Driver(count=len(parameters))
    _drivers.append(driver)  # the kernel knows only the addresses of its functions
    driver.on_launch = lambda values: given.__setitem__(slice(None), values)
    return driver.kernel(resolve, no_stream, parameters, backend="cpu", device=0), given


def pointer(name: str, kind: int = FLOAT, size: int = 4, readonly: bool = False) -> Parameter:
    return (name, "T*", POINTER, 8, 8, kind, size, readonly)
