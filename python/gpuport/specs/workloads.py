"""What benchmarks run: for each family the call, its data, the answer and the bytes it must move.

The specs' own cases are small and their references thorough. Here arrays have up to 2^28 elements,
so the data is such that NumPy knows the answer within seconds: whole numbers in [-9, 9], whose sums
are exact, and softmax rows that are drawn from a few.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpuport.testing.case import Shape
from gpuport.testing.dtypes import Array, encode, is_float, round_to, storage, sum_dtype

SEED = 20261129
DISTINCT_ROWS = 64  # of a softmax; every row is one of them, in random order
FIRST_AXIS = "axis0"  # the pattern of what runs along the first axis of a matrix


@dataclass(frozen=True)
class Workload:
    """One call to time. Arrays are as they lie in memory: bfloat16 as its 16 bits.

    `rows` x `cols` is what the native module gets. `nbytes` is what any implementation must read
    and write: the rates of all of them are these bytes over their time.
    """

    family: str
    op: str
    shape: Shape
    rows: int
    cols: int
    x: Array
    result: str  # dtype of the result
    expected: Array
    nbytes: int
    bytes_rule: str
    tolerance: float = 0.0  # relative; 0 asks for equality
    keep: Array | None = None
    offsets: Array | None = None

    @property
    def axis(self) -> int:
        """What a reduction or a softmax runs along."""
        return 0 if self.shape.pattern == FIRST_AXIS else len(self.shape.shape) - 1

    @property
    def out_shape(self) -> tuple[int, ...]:
        return self.expected.shape

    @property
    def result_nbytes(self) -> int:
        return self.expected.size * _item(self.result)


def _item(dtype: str) -> int:
    return storage(dtype).itemsize


def _matrix(shape: Shape) -> tuple[int, int]:
    """The last axis is the row, the first where the pattern says so; one dimension is one row."""
    extents = shape.shape
    if shape.pattern == FIRST_AXIS:
        return math.prod(extents[1:]), extents[0]
    return math.prod(extents[:-1]), extents[-1]


def _rows_of(values: Array, shape: Shape) -> Array:
    """A view of the values with a line for each row."""
    rows, cols = _matrix(shape)
    return (
        values.reshape(cols, rows).T if shape.pattern == FIRST_AXIS else values.reshape(rows, cols)
    )


def _left(shape: Shape) -> tuple[int, ...]:
    """The shape of what a reduction leaves."""
    return shape.shape[1:] if shape.pattern == FIRST_AXIS else shape.shape[:-1]


@lru_cache(maxsize=1)
def _small(size: int) -> Array:
    return np.random.default_rng(SEED).integers(-9, 9, size, np.int8, endpoint=True)


def _small_integers(shape: Shape) -> tuple[Array, Array]:
    """As int8, to compute answers from, and as they are given to the kernel."""
    values = _small(math.prod(shape.shape)).reshape(shape.shape)
    if shape.dtype in ("bool", "uint8", "uint16", "uint32", "uint64"):
        values = np.abs(values)
    return values, encode(values.astype(np.float32), "bfloat16") if shape.dtype == "bfloat16" else (
        values.astype(shape.dtype)
    )


def _sums_of(values: Array, shape: Shape) -> Array:
    return values != 0 if shape.dtype == "bool" else values


def _reduce(shape: Shape) -> Workload:
    values, x = _small_integers(shape)
    op = shape.op or "sum"
    result = sum_dtype(shape.dtype) if op == "sum" else shape.dtype
    matrix = _rows_of(_sums_of(values, shape), shape)
    rows, cols = matrix.shape
    found = matrix.sum(1, np.int64) if op == "sum" else getattr(matrix, op)(1)
    expected = encode(found.reshape(_left(shape)), result)
    nbytes = x.size * _item(shape.dtype)
    return Workload(
        *("reduce", op, shape, rows, cols, x, result, expected, nbytes),
        "each element read once",
        tolerance=_tolerance(shape.dtype, found),
    )


def _tolerance(dtype: str, sums: Array) -> float:
    """Sums below the integers that a type can hold are exact in any order; others are rounded."""
    exact = {"float16": 2048, "bfloat16": 256, "float32": 2**23, "float64": 2**53}
    if dtype in exact and np.max(np.abs(sums), initial=0) > exact[dtype]:
        return 2.0**-8 if dtype == "bfloat16" else 2.0**-10
    return 0.0


def _scan(shape: Shape) -> Workload:
    values, x = _small_integers(shape)
    rows, cols = _matrix(shape)
    op = shape.op or ("inclusive_scan" if is_float(shape.dtype) else "exclusive_scan")
    result = sum_dtype(shape.dtype)
    matrix = _sums_of(values, shape).reshape(rows, cols)
    # A bfloat16 is made from float32, everything else from integers.
    sums = np.cumsum(matrix, 1, np.int64)
    if op == "exclusive_scan":
        sums[:, 1:] = sums[:, :-1].copy()
        sums[:, 0] = 0
    expected = encode(sums, result).reshape(shape.shape)
    nbytes = x.size * (_item(shape.dtype) + _item(result))
    return Workload(
        *("scan", op, shape, rows, cols, x, result, expected, nbytes),
        "each element read once, each result written once",
        tolerance=_tolerance(shape.dtype, sums) if is_float(shape.dtype) else 0.0,
    )


def _argmax(shape: Shape) -> Workload:
    values, x = _small_integers(shape)
    op = shape.op or "argmax"
    x = x.copy()
    given = _rows_of(x, shape)
    compared = _rows_of(_sums_of(values, shape), shape).copy()
    rows, cols = given.shape
    # Whole numbers in [-9, 9] tie within the first elements; one element near the end decides.
    at = np.arange(rows), cols - 1 - np.arange(rows) % min(cols, 7)
    if shape.dtype != "bool":
        extreme = 99 if op == "argmax" else -99
        if shape.dtype == "bfloat16":
            given[at] = encode(np.array([extreme], np.float32), "bfloat16")
        else:
            given[at] = 0 if extreme < 0 and shape.dtype.startswith("u") else extreme
        compared[at] = extreme
    expected = getattr(np, op)(compared, axis=1).astype(np.int64).reshape(_left(shape))
    nbytes = x.size * _item(shape.dtype)
    return Workload(
        *("argmax", op, shape, rows, cols, x, "int64", expected, nbytes), "each element read once"
    )


def _compact(shape: Shape) -> Workload:
    values, x = _small_integers(shape)
    if shape.pattern == "itself":  # keep is x: what is not zero stays
        keep = np.where(values > 0, x, np.zeros((), x.dtype))
        x = keep
        kept = (values > 0).reshape(-1)
    else:
        keep = values > 0
        kept = keep.reshape(-1)
    expected = x.reshape(-1)[kept]
    flags = 0 if shape.pattern == "itself" else keep.size
    nbytes = (x.size + expected.size) * _item(shape.dtype) + flags
    rule = "each element and flag read once, what is kept written once"
    return Workload(
        *("compact", "compact", shape, 1, x.size, x, shape.dtype, expected, nbytes, rule),
        keep=keep,
    )


def _segmented(shape: Shape) -> Workload:
    values, x = _small_integers(shape)
    op = shape.op or "sum"
    offsets = segments(shape.pattern or "equal.10000", x.size)
    result = sum_dtype(shape.dtype) if op == "sum" else shape.dtype
    sums = np.concatenate([[0], np.cumsum(_sums_of(values, shape).reshape(-1), dtype=np.int64)])
    found = sums[offsets[1:]] - sums[offsets[:-1]]
    nbytes = x.size * _item(shape.dtype) + offsets.nbytes + found.size * _item(result)
    return Workload(
        *("segmented", op, shape, found.size, x.size, x, result, encode(found, result), nbytes),
        "each element and offset read once, each result written once",
        tolerance=_tolerance(shape.dtype, found),
        offsets=offsets,
    )


def segments(pattern: str, size: int) -> Array:
    """Offsets of segments: "equal.K", or "power.K" with lengths like 1 / rank, shuffled."""
    kind, _, count = pattern.partition(".")
    parts = min(int(count), max(size, 1))
    if kind == "equal":
        return np.asarray(np.arange(parts + 1, dtype=np.int64) * size // parts)
    if kind != "power":
        raise ValueError(f"no segments are called {pattern!r}; there are equal.K and power.K")
    lengths = 1.0 / np.arange(1, parts + 1)
    np.random.default_rng(SEED).shuffle(lengths)
    ends = np.concatenate([[0], np.cumsum(lengths)]) * (size / lengths.sum())
    offsets: Array = np.minimum(np.round(ends).astype(np.int64), size)
    offsets[-1] = size
    return offsets


def _softmax(shape: Shape) -> Workload:
    rows, cols = _matrix(shape)
    rng = np.random.default_rng(SEED)
    distinct = max(1, min(rows, DISTINCT_ROWS))
    base = round_to(rng.standard_normal((distinct, cols), np.float32) * 3, shape.dtype)
    wide = base.astype(np.float64)
    terms = np.exp(wide - wide.max(1, keepdims=True))
    answer = (terms / terms.sum(1, keepdims=True)).astype(
        np.float64 if shape.dtype == "float64" else np.float32
    )
    order = rng.integers(0, distinct, rows)
    x, expected = encode(base, shape.dtype)[order], answer[order]
    if shape.pattern == FIRST_AXIS:
        x, expected = np.ascontiguousarray(x.T), np.ascontiguousarray(expected.T)
    x, expected = x.reshape(shape.shape), expected.reshape(shape.shape)
    nbytes = 2 * x.size * _item(shape.dtype)
    tolerance = {"float16": 2.0**-10, "bfloat16": 2.0**-8}.get(shape.dtype, 0.0) + 1e-4
    return Workload(
        *("softmax", "softmax", shape, rows, cols, x, shape.dtype),
        expected,
        nbytes,
        "each element read once, each result written once",
        tolerance=tolerance,
    )


_FAMILIES: dict[str, Callable[[Shape], Workload]] = {
    "reduce": _reduce,
    "scan": _scan,
    "argmax": _argmax,
    "compact": _compact,
    "segmented": _segmented,
    "softmax": _softmax,
}


def workload(family: str, shape: Shape) -> Workload:
    """The call that a benchmark of that family makes on that shape."""
    return _FAMILIES[family](shape)
