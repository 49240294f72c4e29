"""The interface of the native modules gpuport._cpu, gpuport._cuda and gpuport._hip, as types.

All three have the same functions. Addresses are integers, strides count elements, and dtypes are
NumPy's names. A stream is a raw handle; 0 is the default stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

# (address, dtype, row_stride, col_stride)
Matrix: TypeAlias = tuple[int, str, int, int]
# (address, dtype, strides)
Strided: TypeAlias = tuple[int, str, Sequence[int]]


class Buffer(Protocol):
    """Device memory that is freed with the object."""

    @property
    def address(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


class BoundCall(Protocol):
    """A kernel call that is ready to be enqueued."""

    def __call__(self) -> None: ...

    @property
    def entry(self) -> tuple[int, int]:
        """For the launcher: the addresses of a C function and of its first argument.

        `function(argument, input, output, stream)` enqueues the call on other memory, into which
        the addresses of its operands are offsets; not 0 with Python's error set.
        """


class Stream(Protocol):
    """A stream that is destroyed with the object."""

    @property
    def handle(self) -> int: ...


class NativeModule(Protocol):
    __file__: str

    def build_info(self) -> dict[str, Any]: ...

    def kernels(self) -> list[dict[str, Any]]: ...

    def device_count(self) -> int: ...

    def device_error(self) -> str: ...

    def device(self, index: int, /) -> dict[str, Any]: ...

    def run(
        self,
        name: str,
        op: str,
        rows: int,
        cols: int,
        input: Matrix,
        output: Matrix,
        mask: Matrix | None,
        device: int,
        stream: int,
        scratch: Matrix | None = None,
        more_inputs: Sequence[Matrix] = (),
        more_outputs: Sequence[Matrix] = (),
        /,
    ) -> None: ...

    def prepare(
        self,
        name: str,
        op: str,
        rows: int,
        cols: int,
        input: Matrix,
        output: Matrix,
        mask: Matrix | None,
        device: int,
        stream: int,
        scratch: Matrix | None = None,
        more_inputs: Sequence[Matrix] = (),
        more_outputs: Sequence[Matrix] = (),
        /,
    ) -> BoundCall: ...

    def prepare_copy(
        self, dst: int, src: int, nbytes: int, by_kernel: bool, device: int, stream: int, /
    ) -> Callable[[], None]: ...

    def time_calls(
        self,
        calls: list[list[Any]],
        warmups: int,
        samples: int,
        graph: bool,
        device: int,
        stream: int,
        /,
    ) -> list[float]: ...

    def device_facts(self, device: int, /) -> dict[str, int]: ...

    def workspace_bytes(self, device: int, stream: int, /) -> int: ...

    def Stream(self, device: int, /) -> Stream: ...  # noqa: N802

    def copy(
        self, shape: Sequence[int], src: Strided, dst: Strided, device: int, stream: int, /
    ) -> None: ...

    def first_nonfinite(
        self, shape: Sequence[int], src: Strided, device: int, stream: int, /
    ) -> int: ...

    def allocate(self, nbytes: int, device: int, stream: int | None = None, /) -> Buffer: ...

    def upload(self, address: int, data: Any, stream: int, /) -> None: ...

    def download(self, address: int, data: Any, stream: int, /) -> None: ...

    def synchronize(self, device: int, stream: int, /) -> None: ...

    def stream_busy(self, device: int, stream: int, /) -> bool: ...

    def is_capturing(self, device: int, stream: int, /) -> bool: ...

    def pointer_device(self, address: int, /) -> int: ...
