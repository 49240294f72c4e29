"""What calls came to the first time, for launcher/replay.hpp, which repeats them.

While a call runs for the first time, what it launches is noted below every check. Where that is one
launch on the caller's own arrays, it becomes a plan; whatever else a call does rules a plan out: a
conversion, a copy, temporary memory, a wait.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, cast

from gpuport import _launcher
from gpuport._kinds import cupy_kind
from gpuport._layout import contiguous_strides
from gpuport.device_array import DeviceArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuport._arguments import Site
    from gpuport._kinds import Kind
    from gpuport._layout import Ints
    from gpuport._native import BoundCall, NativeModule
    from gpuport._view import View

P = ParamSpec("P")
R = TypeVar("R")

_plans = _launcher.Plans(4096)


@dataclass(slots=True)
class _Record:
    """What a call came to."""

    runs: list[tuple[Any, ...]] = field(default_factory=list)
    site: Site | None = None
    source: View | None = None
    target: View | None = None
    is_simple: bool = True


class _Recorder(threading.local):
    current: _Record | None = None


_recorder = _Recorder()


class _Watched:
    """A native module whose launches are recorded. Whatever else it is asked rules a plan out."""

    def __init__(self, native: NativeModule, record: _Record) -> None:
        self._native = native
        self._record = record

    def run(self, *arguments: Any) -> None:
        self._native.run(*arguments)
        self._record.runs.append(arguments)

    def __getattr__(self, name: str) -> Any:
        self._record.is_simple = False
        return getattr(self._native, name)


def watched(site: Site) -> NativeModule:
    """The module that a session works with; its launches are noted while a call is recorded."""
    record = _recorder.current
    if record is None:
        return site.native
    if record.site is not None or site.is_staged:
        record.is_simple = False
    record.site = site
    return cast("NativeModule", _Watched(site.native, record))


def note_operands(source: View, target: View) -> None:
    """The arrays of the caller that the call reads and writes."""
    record = _recorder.current
    if record is not None:
        record.is_simple &= record.source is None
        record.source, record.target = source, target


def note_temporary() -> None:
    """The call needed memory of its own: an address that no plan knows."""
    if _recorder.current is not None:
        _recorder.current.is_simple = False


@contextmanager
def _recording() -> Iterator[_Record]:
    previous, _recorder.current = _recorder.current, _Record()
    try:
        yield _recorder.current
    finally:
        _recorder.current = previous


def _meet(kind: type) -> None:
    """Tells the launcher how arrays of a type are read, if it can read them.

    By exact type: a subclass may mean anything by its attributes.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        _launcher.add_constant_type(numpy.dtype)
    if kind is getattr(numpy, "ndarray", None):
        _launcher.replay_numpy(kind)
    elif kind is DeviceArray:
        _launcher.replay_device_array(kind)
    elif kind is getattr(sys.modules.get("torch"), "Tensor", None):
        torch = sys.modules["torch"]
        _launcher.add_constant_type(torch.dtype)
        _launcher.replay_torch(
            kind,
            getattr(kind, "__dlpack_c_exchange_api__", None),
            getattr(torch._C, "_cuda_getCurrentRawStream", None),
            torch._C._increment_version,
            _samples(torch),
        )
    elif kind is getattr(sys.modules.get("cupy"), "ndarray", None):
        cupy_stream = sys.modules["cupy"].cuda.get_current_stream
        _launcher.replay_cupy(kind, cupy_stream, cupy_kind.stream_function())


def _samples(torch: Any) -> list[Any]:
    """Tensors on which the launcher tries functions of PyTorch's: a view, and a negated one."""
    with torch.inference_mode(False):
        numbers = torch.zeros(2, dtype=torch.complex64, device="cpu")
        return [torch.zeros(4, device="cpu")[1:], numbers.conj().imag]


class _Plan(NamedTuple):
    """One launch, with what must hold of the arrays' addresses besides their layouts."""

    entry: tuple[int, int]
    owner: BoundCall  # of what the entry names
    x: tuple[int, int]  # bytes that it takes up, from its address on: first and past the last
    out: tuple[int, int]
    in_place: bool  # out is x itself; else no byte may be of both
    make: Callable[[Any], Any]  # the result, where out= was not given


def replayed(function: Callable[P, R]) -> Callable[P, R]:
    """A function of x and out= that goes straight to its launch when a call repeats."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    call = _launcher.replayed(function, parameters, code.co_argcount, _record, _meet, _plans)
    return cast("Callable[P, R]", update_wrapper(call, function))


def _record(
    function: Callable[..., R],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    address: int,
    out_address: int | None,
    key: _launcher.Key,
) -> R:
    """The whole way, and the plan that it leads to. The addresses are those of x and of out."""
    with _recording() as record:
        result = function(*args, **kwargs)
    _plans.add(key, _plan_of(record, address, out_address))
    return result


def _plan_of(record: _Record, address: int, out_address: int | None) -> _Plan | None:
    site, source, target = record.site, record.source, record.target
    if not record.is_simple or len(record.runs) != 1 or site is None:
        return None
    if source is None or target is None or source.address != address:
        return None
    if out_address is not None and target.address != out_address:
        return None
    name, op, rows, cols, read, written, mask, device, _, *further = record.runs[0]
    if mask is not None or any(further):
        return None
    prepared = site.native.prepare(
        name,
        op,
        rows,
        cols,
        (_offset(read[0], source.address), *read[1:]),
        (_offset(written[0], target.address), *written[1:]),
        None,
        device,
        0,
    )
    in_place = out_address is not None and source.address == target.address
    if in_place and not source.is_same_as(target):
        return None
    make = _maker(site.kind, target.shape, target.dtype)
    return _Plan(prepared.entry, prepared, _reach(source), _reach(target), in_place, make)


def _maker(kind: Kind, shape: Ints, dtype: str) -> Callable[[Any], Any]:
    """A function that makes such an array beside x, for the stream that is current."""
    if kind.name == "PyTorch":  # spares what the kind does for streams that are not current
        torch = sys.modules["torch"]
        torch_dtype, strides = getattr(torch, dtype), contiguous_strides(shape)
        empty = torch.empty_strided  # takes two thirds of the time of torch.empty
        return lambda x: empty(shape, strides, dtype=torch_dtype, device=x.device)
    return lambda x: kind.empty(x, shape, dtype, kind.current_stream(x))[0]


def _offset(address: int, base: int) -> int:
    """As an unsigned word, which wraps when it is added."""
    return (address - base) % 2**64


def _reach(view: View) -> tuple[int, int]:
    ends = [(n - 1) * s * view.itemsize for n, s in zip(view.shape, view.strides, strict=True)]
    return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0) + view.itemsize
