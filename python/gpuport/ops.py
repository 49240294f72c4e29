"""The functions: reductions and the softmax family.

Rules for all of them.

Arrays: NumPy, PyTorch, CuPy, JAX, `gpuport.DeviceArray`, and objects with `__dlpack__` or
`__cuda_array_interface__`. Any number of dimensions, any strides, read-only, empty and 0-d. The
result is a new array of the same kind on the same device, C-contiguous and (except JAX's) writable.
Tensors that require grad are refused unless grad mode is off, since no gradient would flow.

dtypes: bool, int8 to int64, uint8 to uint64, float16, bfloat16 (ml_dtypes or the library's own),
float32, float64. Others are a TypeError that names them.

Keywords:
    backend: "cpu", "cuda" or "hip"; where the array lives if None. An array on the host is copied
        to GPU 0 of a backend asked for by name, and the result back. BackendUnavailableError says
        why a backend cannot be used; it never becomes another one.
    variant: a kernel of the family, see `kernels()`; the fastest if None. ValueError for one that
        does not take the dtype.
    warp_size: 32 (the default) or 64 on the CPU; on a GPU only what the device has.
    stream: a raw handle, an object with `__cuda_stream__`, a PyTorch or CuPy stream; the array
        library's current stream if None. Calls on GPU arrays return before the work is done, except
        that JAX and libraries that know no streams get finished results.
    nonfinite: "propagate", or "raise": ValueError naming the first index of x that holds a NaN or
        an infinity and is not masked out. This waits for the device, so it is refused while a graph
        is captured.
    deterministic: True asks for results that repeat bit for bit; ValueError where the
        variant does not give them.
    out: an array to write to, of the result's dtype (else TypeError), shape and device, which
        overlaps x not at all or is x itself (else ValueError). Its layout does not change the
        values. It is returned. A JAX array is a TypeError.

An error in the arguments is raised before anything is written.
"""

from __future__ import annotations

from typing import Any

from gpuport._arguments import Options
from gpuport._dispatch import Operation, perform
from gpuport._dtypes import FLOATS, sum_result

__all__ = ["log_softmax", "logsumexp", "max", "min", "softmax", "sum"]


def _is_exact(dtype: str) -> bool:
    return dtype not in FLOATS


def sum(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """Sum of all elements, or along axes.

    Every element is widened before it is added. Integers wrap as NumPy's do. float16 and bfloat16
    are added in float32 and rounded once. NaN and infinities propagate; the sum of nothing is 0.

    Args:
        x: an array.
        axis: the axes to sum along; all of them if None, in C order.
        dtype: of result and accumulator. Default: int64 for bool and signed, uint64 for unsigned,
            x's own for floats. Allowed too: float64 for all, float32 for float16 and bfloat16,
            int64 for unsigned of up to 32 bits, uint64 for bool.
        out: see the module.

    Returns:
        An array of x's shape without the axes.

    Raises:
        TypeError: x, dtype or out of an unsupported dtype.
        ValueError: an axis out of bounds, an unfit out, variant or keyword.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)

    def exact(name: str) -> bool:
        return _is_exact(name) and sum_result(name, dtype) not in FLOATS

    operation = Operation(
        "sum", "reduce", "sum", lambda name: sum_result(name, dtype), reduces=True, any_order=exact
    )
    return perform(operation, x, axis, None, out, options)


def max(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Largest element, or largest along axes, in x's dtype. NaN wins, as in NumPy.

    Raises:
        ValueError: the reduced axes hold no elements.
    """
    return _extreme("max", x, axis, out, Options(backend, variant, warp_size, stream, nonfinite))


def min(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
) -> Any:
    """Smallest element, or smallest along axes, in x's dtype. NaN wins, as in NumPy.

    Raises:
        ValueError: the reduced axes hold no elements.
    """
    return _extreme("min", x, axis, out, Options(backend, variant, warp_size, stream, nonfinite))


def softmax(
    x: Any,
    axis: int | None = -1,
    mask: Any = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """exp(x - max) / sum(exp(x - max)) along an axis.

    A row that holds NaN or +inf, or only -inf, comes out all NaN, as in SciPy and PyTorch; other
    rows are not touched by it. Where the mask is False the element takes no part and its result is
    exactly 0; a row that is masked out altogether is all 0.

    Args:
        x: an array; integers are computed as float64.
        axis: along which each row sums to 1; None takes the whole array as one row.
        mask: a boolean array that broadcasts to x's shape, on the same device.
        out: see the module; may be x itself.

    Returns:
        An array of x's shape: x's dtype, float64 for integers and bool. Empty for an empty x.

    Raises:
        ValueError: with nonfinite="raise" also for a row that is masked out altogether.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _softmax("softmax", x, axis, mask, out, options)


def log_softmax(
    x: Any,
    axis: int | None = -1,
    mask: Any = None,
    out: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """The logarithm of `softmax`, without its underflow: (x - max) - log(sum(exp(x - max))).

    Arguments, result and errors are those of `softmax`. Where the mask is False the result is -inf,
    also in a row that is masked out altogether.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    return _softmax("log_softmax", x, axis, mask, out, options)


def logsumexp(
    x: Any,
    axis: int | tuple[int, ...] | None = -1,
    mask: Any = None,
    *,
    backend: str | None = None,
    variant: str | None = None,
    warp_size: int | None = None,
    stream: Any = None,
    nonfinite: str = "propagate",
    deterministic: bool | None = None,
) -> Any:
    """log(sum(exp(x))) along axes, without overflow.

    -inf for a row that is empty, masked out altogether, or all -inf; +inf for a row that holds +inf
    and no NaN; NaN for a row that holds NaN, as in SciPy.

    Returns:
        An array of x's shape without the axes: x's dtype, float64 for integers and bool.

    Raises:
        ValueError: with nonfinite="raise" also for a row that is masked out altogether.
    """
    options = Options(backend, variant, warp_size, stream, nonfinite, deterministic)
    operation = Operation("logsumexp", "softmax", "logsumexp", _float_of, reduces=True)
    return perform(operation, x, axis, mask, None, options)


def _extreme(op: str, x: Any, axis: Any, out: Any, options: Options) -> Any:
    operation = Operation(
        op,
        "reduce",
        op,
        lambda name: name,
        reduces=True,
        any_order=lambda name: True,
        has_identity=False,
    )
    return perform(operation, x, axis, None, out, options)


def _softmax(op: str, x: Any, axis: Any, mask: Any, out: Any, options: Options) -> Any:
    if isinstance(axis, tuple):
        raise TypeError(f"{op}: axis must be an integer or None, not {axis!r}")
    operation = Operation(op, "softmax", op, _float_of, reduces=False)
    return perform(operation, x, axis, mask, out, options)


def _float_of(name: str) -> str:
    return name if name in FLOATS else "float64"
