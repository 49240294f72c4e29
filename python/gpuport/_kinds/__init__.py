"""One module per kind of array. Each says where its arrays live, how they lie in memory, and how to
make more of them; none imports its library, since an argument of that kind brings it along."""

from __future__ import annotations

from typing import Any, Protocol

from gpuport._layout import Ints
from gpuport._view import Output, Place, View


class Kind(Protocol):
    """What gpuport asks of an array library. `like` is the caller's array, `stream` a handle."""

    name: str
    # Whether memory of `empty` that is dropped is reused in stream order, without a wait.
    has_pool: bool

    def place(self, array: Any, argument: str = "x") -> Place: ...

    def current_stream(self, array: Any) -> int:
        """The stream that the library would use now; 0 on the host."""

    def view(self, array: Any, argument: str, stream: int) -> View:
        """The array for reading. Work on `stream` sees what was written to it before the call."""

    def output(self, array: Any, argument: str, stream: int) -> Output:
        """The array for writing; TypeError or ValueError where it cannot be written."""

    def empty(self, like: Any, shape: Ints, dtype: str, stream: int) -> tuple[Any, View]:
        """New C-contiguous memory on the device of `like`, ready for work on `stream`."""

    def finish(self, like: Any, made: Any, stream: int) -> Any:
        """What `empty` made, filled by work on `stream`, as the array that the caller gets."""
