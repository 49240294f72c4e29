"""JAX arrays. They are immutable: results are new arrays, `out=` is refused."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from gpuport._kinds.interchange_kind import InterchangeKind
from gpuport._kinds.numpy_kind import NumpyKind
from gpuport._layout import Ints
from gpuport._numpy import np
from gpuport._view import HOST, Output, Place, View

_numpy = NumpyKind()
_interchange = InterchangeKind()


def _device(array: Any, argument: str = "x") -> Any:
    jax = sys.modules["jax"]
    if isinstance(array, jax.core.Tracer):
        raise TypeError(
            f"{argument} must be an array, not a tracer inside jax.jit, grad or vmap; "
            "wrap the call in jax.pure_callback"
        )
    devices = array.devices()
    if len(devices) != 1:
        raise ValueError(f"{argument} must be on one device, not spread over {len(devices)}")
    return next(iter(devices))


class JaxKind:
    name = "JAX"
    has_pool = False

    def place(self, array: Any, argument: str = "x") -> Place:
        device = _device(array, argument)
        return HOST if device.platform == "cpu" else _interchange.place(array, argument)

    def current_stream(self, array: Any) -> int:
        return 0  # JAX shows no stream of its own; the DLPack handshake orders ours after its work

    def view(self, array: Any, argument: str, stream: int) -> View:
        if self.place(array, argument) == HOST:
            return _numpy.view(np.asarray(array), argument, stream)
        return _interchange.view(array, argument, stream)

    def output(self, array: Any, argument: str, stream: int) -> Output:
        raise TypeError(f"{argument} is a JAX array, which is immutable; use the returned array")

    def empty(self, like: Any, shape: Ints, dtype: str, stream: int) -> tuple[Any, View]:
        if self.place(like) == HOST:
            return _numpy.empty(like, shape, dtype, stream)
        return _interchange.empty(like, shape, dtype, stream)

    def finish(self, like: Any, made: Any, stream: int) -> Any:
        jax = sys.modules["jax"]
        # With 64-bit types disabled, JAX would turn an int64 sum into int32 and wrap it silently.
        with _enable_x64():
            if isinstance(made, np.ndarray) or made.size == 0:
                host = made if isinstance(made, np.ndarray) else made.to_numpy()
                return jax.device_put(host, _device(like))
            # JAX neither waits for our stream nor keeps the memory: it gets a copy that is done.
            made.synchronize(stream)
            bits = made.reinterpret("uint16") if made.dtype == "bfloat16" else made
            copy = jax.numpy.array(bits, copy=True).block_until_ready()
            return copy.view("bfloat16") if bits is not made else copy


def _enable_x64() -> Any:
    jax = sys.modules["jax"]
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return import_module("jax.experimental").enable_x64(True)  # where older JAX has it
