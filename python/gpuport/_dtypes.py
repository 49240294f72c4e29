"""Element types by their NumPy names, and which of them each operation takes and gives."""

from __future__ import annotations

from typing import Any

from gpuport._numpy import np

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
REDUCED_FLOATS = ("float16", "bfloat16")
FLOAT32_SUMS = (*REDUCED_FLOATS, "float32")  # what is accumulated in float32
INTEGERS = (*SIGNED, *UNSIGNED)
EXACT = ("bool", *INTEGERS)
ALL = (*EXACT, *FLOATS)
# Of 4 and 8 bytes: what GPUs copy asynchronously.
WIDE = ("int32", "int64", "uint32", "uint64", "float32", "float64")

ITEMSIZE = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
}  # fmt: skip


def dtype_name(dtype: Any) -> str:
    """The NumPy name of a dtype as NumPy, ml_dtypes, PyTorch, CuPy and JAX write it."""
    if type(dtype).__module__.split(".")[0] == "torch":
        return str(dtype).removeprefix("torch.")
    if isinstance(dtype, str) and dtype in ITEMSIZE:
        return dtype
    try:
        return str(np.dtype(dtype).name)
    except (TypeError, ValueError, SyntaxError):  # NumPy parses strings and lists of fields
        raise TypeError(f"dtype {dtype!r} is none that gpuport knows") from None


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(name)


def require_supported(name: str, what: str) -> None:
    if name not in ITEMSIZE:
        raise TypeError(f"{what} {name} is not supported; it takes {', '.join(ALL)}")


def sum_dtypes(name: str) -> tuple[str, ...]:
    """The result dtypes of a sum over `name`, the default first.

    Each one holds every element exactly or is a wider float: a sum never narrows what it adds.
    """
    if name == "bool":
        return ("int64", "uint64", "float64")
    if name in SIGNED:
        return ("int64", "float64")
    if name in UNSIGNED:
        return ("uint64", "float64") if name == "uint64" else ("uint64", "int64", "float64")
    if name in ("float16", "bfloat16"):
        return (name, "float32", "float64")
    return ("float32", "float64") if name == "float32" else ("float64",)


def scan_dtypes(name: str) -> tuple[str, ...]:
    """The result dtypes of a scan over `name`: a sum's, but a float keeps its own."""
    return (name,) if name in FLOATS else sum_dtypes(name)


def sum_result(name: str, dtype: Any) -> str:
    return _one_of("sum", sum_dtypes(name), name, dtype)


def scan_result(function: str, name: str, dtype: Any) -> str:
    return _one_of(function, scan_dtypes(name), name, dtype)


def _one_of(function: str, allowed: tuple[str, ...], name: str, dtype: Any) -> str:
    if dtype is None:
        return allowed[0]
    asked = dtype_name(dtype)
    if asked not in allowed:
        raise TypeError(
            f"{function}: dtype={asked} does not fit an input of {name}; "
            f"allowed: {', '.join(allowed)}"
        )
    return asked
