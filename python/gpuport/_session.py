"""One call on one device: memory to work in, strided copies, kernel launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpuport._dtypes import numpy_dtype
from gpuport._layout import Ints, arrange, contiguous_strides, matrix_strides, merge_axes
from gpuport._native import NativeModule
from gpuport._numpy import np
from gpuport._view import Place, View, host_array, packed


class Session(NamedTuple):
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
            shape, (read, write) = merge_axes(src.shape, (src.strides, dst.strides))
            source, target = (src.address, src.dtype, read), (dst.address, dst.dtype, write)
            self.native.copy(shape, source, target, self.ordinal, self.stream)

    def matrix_copy(self, view: View, axes: Ints, dtype: str) -> View:
        """A packed copy, converted, whose `axes` lie innermost."""
        memory = self.allocate((math.prod(view.shape),), dtype)
        copy = memory._replace(shape=view.shape, strides=matrix_strides(view.shape, axes))
        self.copy(view, copy)
        return copy

    def run(
        self,
        kernel: str,
        op: str,
        x: View,
        targets: Sequence[View],
        mask: View | None,
        axes: Ints,
        *,
        any_order: bool,
    ) -> None:
        """Run a kernel along `axes`. The targets have x's shape, or lack the reduced axes.

        Several targets have the same strides, where their axes are longer than 1.
        """
        inputs = [x] if mask is None else [x, mask]
        way = arrange(
            x.shape, axes, tuple(view.strides for view in inputs), targets[0].strides, any_order
        )
        inputs = [
            self.matrix_copy(view, axes, view.dtype) if pack else view
            for view, pack in zip(inputs, way.packs, strict=True)
        ]
        actual = list(targets)
        if way.scratch is not None:
            actual = [
                self.allocate((view.size,), view.dtype)._replace(
                    shape=view.shape, strides=way.scratch
                )
                for view in targets
            ]
        for launch in way.launches:
            source, result, *masks = (
                view.matrix(*place)
                for view, *place in zip(
                    (inputs[0], actual[0], *inputs[1:]),
                    launch.offsets,
                    launch.row_strides,
                    launch.col_strides,
                    strict=True,
                )
            )
            self.native.run(
                kernel,
                op,
                launch.rows,
                launch.cols,
                source,
                result,
                masks[0] if masks else None,
                self.ordinal,
                self.stream,
                None,
                (),
                [
                    view.matrix(launch.offsets[1], launch.row_strides[1], launch.col_strides[1])
                    for view in actual[1:]
                ],
            )
        if way.scratch is not None:
            for made, target in zip(actual, targets, strict=True):
                self.copy(made, target)

    def row(self, view: View) -> View:
        """All elements in C order as one dimension; a packed copy where no one stride fits."""
        size = view.size
        shape, (strides,) = ((), ((),)) if size == 0 else merge_axes(view.shape, (view.strides,))
        if len(shape) > 1:
            view, strides = self.matrix_copy(view, tuple(range(len(view.shape))), view.dtype), (1,)
        return view._replace(shape=(size,), strides=strides or (1,))

    def first_nonfinite(self, view: View) -> int:
        """C-order index of the first NaN or infinity, -1 if there is none."""
        if view.size == 0:
            return -1
        shape, (strides,) = merge_axes(view.shape, (view.strides,))
        source = (view.address, view.dtype, strides)
        return self.native.first_nonfinite(shape, source, self.ordinal, self.stream)

    def upload(self, view: View, place: Place) -> View:
        """A C-contiguous copy of host memory on the device."""
        buffer = self.native.allocate(view.nbytes, self.ordinal)
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
