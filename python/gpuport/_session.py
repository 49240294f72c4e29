"""One call on one device: memory to work in, strided copies, kernel launches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gpuport._dtypes import numpy_dtype
from gpuport._layout import Ints, Launch, contiguous_strides, matrix_strides, plan
from gpuport._native import NativeModule
from gpuport._view import Place, View, host_array, packed


@dataclass(frozen=True, slots=True)
class Session:
    """A native module, a device's ordinal and a stream.

    `allocate` gives C-contiguous memory on the device. It may be dropped while the work that uses
    it is still to come on the stream: libraries hand memory out in stream order, native buffers
    wait.
    """

    native: NativeModule
    ordinal: int
    stream: int
    allocate: Callable[[Ints, str], View]

    def copy(self, src: View, dst: View) -> None:
        if src.size:
            self.native.copy(src.shape, src.strided, dst.strided, self.ordinal, self.stream)

    def matrix_copy(self, view: View, axes: Ints, dtype: str) -> View:
        """A packed copy, converted, whose `axes` lie innermost."""
        memory = self.allocate((math.prod(view.shape),), dtype)
        copy = replace(memory, shape=view.shape, strides=matrix_strides(view.shape, axes))
        self.copy(view, copy)
        return copy

    def run(
        self,
        kernel: str,
        op: str,
        x: View,
        target: View,
        mask: View | None,
        axes: Ints,
        *,
        any_order: bool,
    ) -> None:
        """Run a kernel along `axes`. The target has x's shape, or lacks the axes that were reduced.

        How the work is cut into launches depends on x and the mask alone, so that the results do
        not depend on where they are put.
        """
        reduces = len(target.shape) != len(x.shape)

        def spread(strides: Ints) -> Ints:
            """A target's strides under x's shape."""
            left = iter(strides)
            return tuple(0 if reduces and d in axes else next(left) for d in range(len(x.shape)))

        def cut(operands: list[View], strides: Ints) -> list[Launch] | None:
            first, *rest = (view.strides for view in operands)
            return plan(x.shape, axes, [first, strides, *rest], any_order=any_order)

        operands = [x] if mask is None else [x, mask]
        if 0 in (x.shape[d] for d in axes):  # nothing is read, so no layout is too odd
            operands = [replace(view, strides=(0,) * len(x.shape)) for view in operands]
        ideal = spread(contiguous_strides(target.shape))
        launches = cut(operands, ideal)
        if launches is None:
            operands = [self._as_matrix(view, axes, any_order) for view in operands]
            if not reduces:
                ideal = matrix_strides(x.shape, axes)
            launches = cut(operands, ideal)
            assert launches is not None, "packed operands always form a matrix"

        actual = target
        direct = cut(operands, spread(target.strides))
        if direct is not None and _same_cut(direct, launches):
            launches = direct
        else:
            memory = self.allocate((target.size,), target.dtype)
            strides = contiguous_strides(target.shape) if reduces else ideal
            actual = replace(memory, shape=target.shape, strides=strides)
        bound = [operands[0], actual, *operands[1:]]
        for launch in launches:
            matrices = [
                view.matrix(*place)
                for view, *place in zip(
                    bound, launch.offsets, launch.row_strides, launch.col_strides, strict=True
                )
            ]
            self.native.run(
                kernel,
                op,
                launch.rows,
                launch.cols,
                matrices[0],
                matrices[1],
                matrices[2] if mask is not None else None,
                self.ordinal,
                self.stream,
            )
        if actual is not target:
            self.copy(actual, target)

    def _as_matrix(self, view: View, axes: Ints, any_order: bool) -> View:
        alone = plan(view.shape, axes, [view.strides], any_order=any_order, limit=1)
        return view if alone is not None else self.matrix_copy(view, axes, view.dtype)

    def first_nonfinite(self, view: View) -> int:
        """C-order index of the first NaN or infinity, -1 if there is none."""
        if view.size == 0:
            return -1
        return self.native.first_nonfinite(view.shape, view.strided, self.ordinal, self.stream)

    def upload(self, view: View, place: Place) -> View:
        """A C-contiguous copy of host memory on the device."""
        buffer = self.native.allocate(max(view.size * view.itemsize, 1), self.ordinal)
        if view.size:
            data = np.ascontiguousarray(host_array(view)).reshape(-1).view(np.uint8)
            self.native.upload(buffer.address, data, self.stream)
        return packed(buffer.address, view.dtype, view.shape, place, buffer)

    def download(self, view: View) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        """A C-contiguous copy of device memory on the host."""
        made = np.empty(view.shape, numpy_dtype(view.dtype))
        if made.size:
            if view.strides != contiguous_strides(view.shape):
                view = self.matrix_copy(view, (), view.dtype)
            self.native.download(view.address, made.reshape(-1).view(np.uint8), self.stream)
        return made


def _same_cut(a: list[Launch], b: list[Launch]) -> bool:
    """Whether both give the kernels the same matrices, wherever the results go."""
    return [(m.rows, m.cols, m.offsets[0]) for m in a] == [
        (m.rows, m.cols, m.offsets[0]) for m in b
    ]
