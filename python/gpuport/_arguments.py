"""The operands and keywords of a call, checked: whatever is wrong is refused here, untouched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpuport._backends import ordinals, usable_module
from gpuport._dtypes import EXACT, INTEGERS, ITEMSIZE, require_supported
from gpuport._kinds import Kind
from gpuport._layout import Ints, as_integer, repeats_elements
from gpuport._native import NativeModule
from gpuport._numpy import np
from gpuport._view import HOST, Output, Place, View, host_array, packed, require_address
from gpuport.arrays import kind_of, resolve_stream


def require_word(argument: str, value: Any, *words: str) -> None:
    """ValueError for a keyword that is none of the words."""
    if not isinstance(value, str) or value not in words:
        known = " or ".join(repr(word) for word in words)
        raise ValueError(f"{argument} must be {known}, not {value!r}")


def require_bool(argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{argument} must be True or False, not {value!r}")


@dataclass(frozen=True, slots=True)
class Options:
    """The keywords that all functions take."""

    backend: str | None
    variant: str | None
    warp_size: int | None
    stream: Any
    nonfinite: str
    deterministic: bool | None = None

    def __post_init__(self) -> None:
        require_word("nonfinite", self.nonfinite, "propagate", "raise")
        if self.deterministic is not None and self.deterministic is not True:
            raise ValueError(f"deterministic must be None or True, not {self.deterministic!r}")


class Site(NamedTuple):
    """Where a call takes place: x's library, where x lives, and where the kernels run.

    `name` is what the function calls x.
    """

    kind: Kind
    home: Place
    work: Place
    native: NativeModule
    ordinal: int
    stream: int
    name: str = "x"

    @property
    def is_staged(self) -> bool:
        """Whether the operands are on the host and the kernels on a GPU."""
        return self.home != self.work


def find_site(x: Any, options: Options, name: str = "x") -> Site:
    kind = kind_of(x, name)
    home = kind.place(x, name)
    backend = home.backend if options.backend is None else options.backend
    native = usable_module(backend)
    if home != HOST and backend != home.backend:
        raise ValueError(f"backend={backend!r}, but {name} is on {home}: copy it to the host first")
    work = home if backend == home.backend else Place(backend, 0)
    ordinal = _ordinal(work, options.warp_size)
    stream = resolve_stream(options.stream, kind, x, work)
    return Site(kind, home, work, native, ordinal, stream, name)


def _ordinal(work: Place, asked: int | None) -> int:
    """The native device. The CPU has one for each warp size, the first of 32 lanes."""
    sizes = ordinals(work.backend, work.device)
    size = next(iter(sizes)) if asked is None else as_integer(asked)
    if size is None:
        raise TypeError(f"warp_size must be an integer, not {asked!r}")
    if size not in sizes:
        has = " and ".join(str(s) for s in sorted(sizes))
        raise ValueError(f"warp_size={asked!r}: {work} has warps of {has} lanes")
    return sizes[size]


def state_view(function: str, state: Any, argument: str, site: Site) -> View:
    """One array of a softmax state, with the first array of the call."""
    view = _view_beside(state, argument, site)
    if view.dtype not in ("float32", "float64"):
        raise TypeError(f"{function}: {argument} must be float32 or float64, not {view.dtype}")
    return _aligned(view, argument)


def source_view(function: str, x: Any, site: Site) -> View:
    view = site.kind.view(x, "x", site.stream)
    require_supported(view.dtype, f"{function}: x of dtype")
    return _aligned(_with_memory(view, "x"), "x")


def _with_memory(view: View, argument: str) -> View:
    """The view of an operand, of whatever kind: no kernel may be handed a null address."""
    if view.dtype in ITEMSIZE:  # others have no address, and are refused by name
        require_address(view.address, view.size, argument)
    return view


def _kind_beside(array: Any, argument: str, site: Site, *others: Place) -> Kind:
    """The kind of an operand that lives with x, or in one of the other places."""
    kind = kind_of(array, argument)
    place = kind.place(array, argument)
    if place != site.home and place not in others:
        raise ValueError(f"{argument} is on {place}, {site.name} on {site.home}")
    return kind


def _view_beside(array: Any, argument: str, site: Site, *others: Place) -> View:
    kind = _kind_beside(array, argument, site, *others)
    return _with_memory(kind.view(array, argument, site.stream), argument)


def _aligned(view: View, argument: str) -> View:
    if view.address % view.itemsize == 0:
        return view
    if view.place != HOST:
        raise ValueError(f"{argument} is not aligned to its elements; copy it first")
    copy = np.array(host_array(view), order="C")
    made = packed(copy.ctypes.data, view.dtype, view.shape, HOST, copy)
    return made._replace(origin=view.memory)


def mask_view(mask: Any, source: View, site: Site) -> View:
    """The mask in its own shape, which broadcasts to x's."""
    view = _view_beside(mask, "mask", site)
    if view.dtype != "bool":
        raise TypeError(f"mask must be boolean, not {view.dtype}")
    try:
        view.broadcast_to(source.shape)
    except ValueError:
        raise ValueError(
            f"mask of shape {view.shape} does not broadcast to x of shape {source.shape}"
        ) from None
    return view


def require_flags(function: str, argument: str, dtype: str) -> None:
    if dtype not in EXACT:
        raise TypeError(f"{function}: {argument} must be boolean or integers, not {dtype}")


def keep_view(function: str, keep: Any, source: View, site: Site) -> View:
    """What to keep of x: an array of its shape."""
    view = _view_beside(keep, "keep", site)
    require_flags(function, "keep", view.dtype)
    if view.shape != source.shape:
        raise ValueError(f"{function}: keep has shape {view.shape}, x has {source.shape}")
    return _aligned(view, "keep")


def offsets_view(function: str, offsets: Any, site: Site, length: int) -> View:
    """The ends of segments: integers in one dimension, with x or on the host."""
    if isinstance(offsets, list | tuple):
        offsets = _listed_offsets(function, offsets, length)
    view = _view_beside(offsets, "offsets", site, HOST)
    if len(view.shape) != 1:
        raise ValueError(f"{function}: offsets must have one dimension, not {len(view.shape)}")
    if view.size == 0:
        raise ValueError(f"{function}: offsets is empty; k segments have k + 1 offsets")
    if view.dtype not in INTEGERS:
        raise TypeError(f"{function}: offsets must be integers, not {view.dtype}")
    return _aligned(view, "offsets")


def _listed_offsets(function: str, offsets: Sequence[Any], length: int) -> np.ndarray[Any, Any]:
    """A list of offsets as an array."""
    try:
        array = np.asarray(offsets)
    except ValueError:
        raise ValueError(
            f"{function}: offsets must have one dimension; the list holds others of unlike lengths"
        ) from None
    if array.ndim != 1 or array.size == 0 or array.dtype.name in INTEGERS:
        return array
    # NumPy makes floats or objects of integers that do not share a type.
    numbers = []
    for offset in offsets:
        number = as_integer(offset)
        if number is None:
            raise TypeError(f"{function}: offsets must be integers, not {type(offset).__name__}")
        numbers.append(number)
    if max(abs(number) for number in numbers) >= 2**63:  # so one is below 0 or past any end
        check_offsets(function, np.array(numbers, object), length)
    return np.array(numbers, np.int64)


def check_offsets(function: str, offsets: np.ndarray[Any, np.dtype[Any]], length: int) -> None:
    """ValueError naming the first offset that is not one of x's, or decreases."""
    wrong = offsets > length
    wrong[1:] |= offsets[1:] < offsets[:-1]
    wrong[0] |= offsets[0] < 0
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    what = f"{function}: offsets[{at}] is {int(offsets[at])}"
    if offsets[at] > length:
        raise ValueError(f"{what}, past the end of x, which has {length} elements")
    if at == 0:
        raise ValueError(f"{what}; the first one is 0 or more")
    raise ValueError(f"{what}, less than offsets[{at - 1}], which is {int(offsets[at - 1])}")


def output_of(
    out: Any, site: Site, dtype: str, shape: Ints, source: View, mask: View | None
) -> Output:
    """The caller's `out`, fit for results of that dtype and shape."""
    output = _kind_beside(out, "out", site).output(out, "out", site.stream)
    view = _with_memory(output.view, "out")
    if view.dtype != dtype:
        raise TypeError(f"out has dtype {view.dtype}, the result is {dtype}")
    if view.shape != shape:
        raise ValueError(f"out has shape {view.shape}, the result is {shape}")
    if view.address % view.itemsize:
        raise ValueError("out is not aligned to its elements")
    _, _, itemsize, _, steps = view.memory
    if repeats_elements(shape, steps, itemsize):
        whole = not any(step % itemsize for step in steps)
        strides = tuple(step // itemsize for step in steps) if whole else f"{steps} in bytes"
        raise ValueError(f"out names some elements twice: shape {shape}, strides {strides}")
    if view.overlaps(source) and not view.is_same_as(source):
        raise ValueError("out overlaps x without being x itself")
    if mask is not None and view.overlaps(mask):
        raise ValueError("out overlaps mask")
    return output
