"""A stand-in for a GPU's native module, in NumPy over host memory. It records its calls.

With it, everything around a launch (staging, placement, streams) is tested without a GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import gpuport._view as _view
from gpuport._dtypes import ALL, EXACT, FLOATS, WIDE
from gpuport._view import Place, View, host_array

Array = np.ndarray[Any, Any]


class Buffer:
    def __init__(self, nbytes: int) -> None:
        self._data = np.full(max(nbytes, 1) + 64, 0xA5, np.uint8)
        self.address = self._data.ctypes.data + (-self._data.ctypes.data) % 64
        self.nbytes = nbytes


def _array(address: int, dtype: str, shape: tuple[int, ...], strides: Any) -> Array:
    return host_array(View(address, dtype, shape, tuple(strides), Place("cpu"), None))


class Prepared:
    """A call of `run` that C code can repeat on other memory."""

    def __init__(self, run: Callable[..., None], input: Any, output: Any) -> None:
        def enqueue(_: int | None, x: int | None, out: int | None, stream: int | None) -> int:
            moved = [
                ((operand[0] + (base or 0)) % 2**64, *operand[1:])
                for operand, base in ((input, x), (output, out))
            ]
            run(*moved, stream or 0)
            return 0

        self._function = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(enqueue)
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        assert address is not None
        self.entry = (address, 0)


class FakeModule:
    """Devices 0 and 1 have warps of 32 lanes, device 2 of 64."""

    WARPS = (32, 32, 64)

    def __init__(self, backend: str = "cuda") -> None:
        self.backend = backend
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.capturing: set[int] = set()
        self.buffers: list[tuple[int, int, int]] = []

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def _log(self, name: str, **details: Any) -> None:
        self.calls.append((name, details))

    def build_info(self) -> dict[str, Any]:
        return {
            "backend": self.backend,
            "architectures": "sm_80 sm_90",
            "compiler": "fake 1.0",
            "runtime": "fake",
            "flags": "",
            "warp_sizes": [32, 64],
        }

    def kernels(self) -> list[dict[str, Any]]:
        operations = {
            "reduce": ["sum", "max", "min"],
            "scan": ["inclusive_scan", "exclusive_scan"],
            "argmax": ["argmax", "argmin"],
            "compact": ["count", "compact", "nonzero"],
            "segmented": ["sum", "max", "min"],
            "softmax": ["softmax", "log_softmax", "logsumexp"],
        }

        def record(name: str, dtypes: Any, repeatable: Any = ALL, op: str = "") -> dict[str, Any]:
            return {
                "name": name,
                "operations": op.split() or operations[name.partition(".")[0]],
                "dtypes": list(dtypes),
                "repeatable": [dtype for dtype in dtypes if dtype in repeatable],
                "limits": "",
                "doc": f"{name}.",
            }

        return [
            record("reduce.serial", ("int32", "float32", "float64")),
            record("reduce.atomic", ("int32", "float32", "float64"), repeatable=EXACT),
            record("reduce.single_pass", ALL),
            record("reduce.checked", EXACT, op="checked_sum"),
            record("scan.serial", ("int32", "float32", "float64")),
            record("scan.short_rows", ALL),
            record("scan.lookback", ALL),
            record("scan.pipelined", WIDE),
            record("scan.reduce_scan", ALL),
            record("argmax.single_pass", ALL),
            record("compact.two_pass", ALL),
            record("compact.pipelined", WIDE, op="compact"),
            record("segmented.merge_path", ALL),
            record("softmax.serial", ("float32", "float64")),
            record("softmax.online_shuffle", FLOATS),
            record("softmax.warp_row", FLOATS),
            record("softmax.merge_states", FLOATS, op="merge_softmax_states"),
        ]

    def device_count(self) -> int:
        return len(self.WARPS)

    def device_error(self) -> str:
        return ""

    def device(self, index: int) -> dict[str, Any]:
        return {
            "index": index,
            "name": f"Fake {index}",
            "architecture": "sm_80",
            "warp_size": self.WARPS[index],
            "multiprocessors": 4,
            "memory": 1 << 30,
        }

    def run(
        self,
        name: str,
        op: str,
        rows: int,
        cols: int,
        input: Any,
        output: Any,
        mask: Any,
        device: int,
        stream: int,
        scratch: Any = None,
        more_inputs: Any = (),
        more_outputs: Any = (),
    ) -> None:
        self._log("run", kernel=name, op=op, rows=rows, cols=cols, device=device, stream=stream)
        if name.startswith("segmented."):
            offsets = _array(scratch[0], scratch[1], (rows + 1,), (scratch[3],))
            x = _array(*input[:2], (cols,), input[3:])
            _array(*output[:2], (rows,), output[2:3])[...] = fold_segments(op, x, offsets)
            return
        if name.startswith("compact."):
            compact(op, cols, input, output, mask, scratch, name == "compact.pipelined")
            return
        address, dtype, *strides = input
        x = _array(address, dtype, (rows, cols), strides) if cols else np.empty((rows, 0), dtype)
        keep = None if mask is None else _array(mask[0], mask[1], (rows, cols), mask[2:])
        address, result, row_stride, col_stride = output
        if op == "checked_sum":
            running = np.cumsum(x.astype(object), axis=1)
            limits = np.iinfo(output[1])
            flags = _array(*more_outputs[0][:2], (rows,), more_outputs[0][2:3])
            flags[...] = ((running > limits.max) | (running < limits.min)).any(axis=1)
            op = "sum"
        reduces = op in ("sum", "max", "min", "argmax", "argmin", "logsumexp")
        shape = (rows,) if reduces else (rows, cols)
        target = _array(address, result, shape, (row_stride, col_stride)[: len(shape)])
        target[...] = compute(op, x, keep, result).astype(target.dtype)

    def prepare(
        self,
        name: str,
        op: str,
        rows: int,
        cols: int,
        input: Any,
        output: Any,
        mask: Any,
        device: int,
        stream: int,
    ) -> Prepared:
        def run(x: Any, out: Any, stream: int) -> None:
            self.run(name, op, rows, cols, x, out, mask, device, stream)

        return Prepared(run, input, output)

    def copy(self, shape: Any, src: Any, dst: Any, device: int, stream: int) -> None:
        self._log("copy", shape=tuple(shape), device=device, stream=stream)
        to = _array(dst[0], dst[1], tuple(shape), dst[2])
        to[...] = _array(src[0], src[1], tuple(shape), src[2]).astype(to.dtype)

    def first_nonfinite(self, shape: Any, src: Any, device: int, stream: int) -> int:
        self._log("first_nonfinite", device=device, stream=stream)
        values = _array(src[0], src[1], tuple(shape), src[2]).astype(np.float64).reshape(-1)
        bad = np.flatnonzero(~np.isfinite(values))
        return int(bad[0]) if bad.size else -1

    def allocate(self, nbytes: int, device: int, stream: int | None = None) -> Buffer:
        self._log("allocate", nbytes=nbytes, device=device)
        buffer = Buffer(nbytes)
        self.buffers.append((buffer.address, nbytes, device))
        return buffer

    def upload(self, address: int, data: Any, stream: int) -> None:
        self._log("upload", stream=stream)
        source = np.frombuffer(data, np.uint8)
        _array(address, "uint8", source.shape, (1,))[...] = source

    def download(self, address: int, data: Any, stream: int) -> None:
        self._log("download", stream=stream)
        target = np.frombuffer(data, np.uint8)
        target[...] = _array(address, "uint8", target.shape, (1,))

    def synchronize(self, device: int, stream: int) -> None:
        self._log("synchronize", device=device, stream=stream)

    def stream_busy(self, device: int, stream: int) -> bool:
        return False

    def is_capturing(self, device: int, stream: int) -> bool:
        return stream in self.capturing

    def pointer_device(self, address: int) -> int:
        for start, nbytes, device in self.buffers:
            if start <= address < start + max(nbytes, 1):
                return device
        return -1


def compute(op: str, x: Array, keep: Array | None, result: str) -> Array:
    wide = np.float64 if result in FLOATS else _view.numpy_dtype(result)
    with np.errstate(all="ignore"):
        if op == "sum":
            return x.sum(axis=1, dtype=wide)
        if op in ("max", "min", "argmax", "argmin"):
            return getattr(x, op)(axis=1)
        if op.endswith("_scan"):
            sums = np.cumsum(x, axis=1, dtype=wide)
            return sums if op == "inclusive_scan" else np.insert(sums, 0, 0, 1)[:, :-1]
        values = x.astype(np.float64)
        if keep is None:
            keep = np.ones(x.shape, bool)
        values = np.where(keep, values, -np.inf)
        top = values.max(axis=1, keepdims=True, initial=-np.inf)
        top[~keep.any(axis=1)] = 0
        shift = np.where(np.isinf(top), 0, top) if op == "logsumexp" else top
        total = np.where(keep, np.exp(values - shift), 0).sum(axis=1, keepdims=True)
        if op == "logsumexp":
            return (np.log(total) + shift)[:, 0]
        if op == "softmax":
            out = np.exp(values - top) / total
            return np.where(keep, out, 0)
        return np.where(keep, values - top - np.log(total), -np.inf)


def fold_segments(op: str, x: Array, offsets: Array) -> list[Any]:
    """Of numbers; an empty segment gives 0 whatever the operation: no test here looks at one."""
    assert offsets.dtype == np.int64
    fold = {"sum": np.sum, "max": np.max, "min": np.min}[op]
    return [fold(x[a:b]) if b > a else 0 for a, b in pairwise(offsets.tolist())]


def compact(
    op: str, size: int, input: Any, output: Any, mask: Any, scratch: Any, one_launch: bool
) -> None:
    """Count leaves a sign in the scratch that the other two look for; one launch the count."""
    address, dtype, _, stride = input if mask is None else mask
    kept = np.flatnonzero(_array(address, dtype, (size,), (stride,)))
    left = _array(scratch[0], scratch[1], (1 if one_launch else 4096,), (1,))
    if one_launch:
        left[...] = kept.size
    if op == "count":
        left[...] = kept.size
        _array(*output[:2], (1,), (1,))[...] = kept.size
        return
    assert (left == kept.size).all(), "count ran first, over the same scratch"
    x = _array(*input[:2], (size,), input[3:])
    result = kept if op == "nonzero" else x[kept]
    _array(*output[:2], (kept.size,), output[3:])[...] = result
