"""What is refused, with what error, before anything is launched or written."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpuport

X = np.arange(12, dtype=np.float32).reshape(3, 4)
CALLS = [gpuport.sum, gpuport.max, gpuport.min, gpuport.softmax, gpuport.log_softmax,
         gpuport.logsumexp, gpuport.inclusive_scan, gpuport.exclusive_scan]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("x", [[1, 2], (1, 2), 3.0, "12", None, {1: 2}])
def test_what_is_no_array(call, x: object) -> None:
    with pytest.raises(TypeError, match=f"x must be an array.*not {type(x).__name__}"):
        call(x)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("x", "name"),
    [
        (np.zeros(3, np.complex64), "complex64"),
        (np.array(["a"]), "str"),
        (np.array([None]), "object"),
        (np.zeros(3, "datetime64[s]"), "datetime64"),
        (np.zeros(3, "timedelta64[s]"), "timedelta64"),
        (np.zeros(3, [("a", "i4")]), "void32"),
        (np.zeros(3, np.longdouble), np.dtype(np.longdouble).name),
    ],
)
def test_unsupported_dtype_is_named(call, x: np.ndarray, name: str) -> None:
    with pytest.raises(
        TypeError, match=f"^{call.__name__}: x of dtype {name}.* is not supported.*bfloat16"
    ):
        call(x)


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="filled"):
        gpuport.sum(np.ma.masked_array(X, X > 3))


@pytest.mark.parametrize("call", CALLS)
def test_wrong_keywords(call) -> None:
    refused = [
        ({"axis": 2}, ValueError, "axis 2 is out of bounds"),
        ({"axis": 0.5}, TypeError, "axis must be"),
        ({"backend": "gpu"}, ValueError, "cpu, cuda, hip"),
        ({"variant": "nonesuch"}, ValueError, "there are serial"),
        ({"warp_size": 16}, ValueError, "32 and 64"),
        ({"warp_size": "32"}, TypeError, "warp_size must be an integer"),
        ({"warp_size": 64.0}, TypeError, "warp_size must be an integer"),
        ({"warp_size": True}, TypeError, "warp_size must be an integer"),
        ({"stream": 5}, ValueError, "no stream"),
        ({"stream": -1}, ValueError, "not negative"),
        ({"stream": "0"}, TypeError, "stream must be"),
        ({"stream": True}, TypeError, "stream must be"),
        ({"nonfinite": "ignore"}, ValueError, "nonfinite"),
    ]
    for keywords, error, message in refused:
        with pytest.raises(error, match=message):
            call(X, **keywords)


@pytest.mark.parametrize("call", CALLS)
def test_a_warp_size_may_be_a_numpy_integer(call) -> None:
    assert call(X, warp_size=np.int64(64)).tobytes() == call(X, warp_size=64).tobytes()


def test_variants_name_what_they_take() -> None:
    with pytest.raises(ValueError, match=r"serial takes int32, float32, float64, not uint8"):
        gpuport.sum(np.ones(3, np.uint8), variant="serial")
    with pytest.raises(ValueError, match=r"reduce\.shared_tree takes .* not float16"):
        gpuport.max(np.ones(3, np.float16), variant="reduce.shared_tree")
    with pytest.raises(ValueError, match="softmax has no variant 'single_pass'"):
        gpuport.softmax(X, variant="single_pass")


@pytest.mark.parametrize("call", [c for c in CALLS if c not in (gpuport.max, gpuport.min)])
def test_deterministic(call) -> None:
    assert call(X, deterministic=True).tobytes() == call(X).tobytes()
    for value in (False, 1, "yes"):
        with pytest.raises(ValueError, match="deterministic"):
            call(X, deterministic=value)


@pytest.mark.parametrize("call", CALLS)
def test_a_stream_of_zero_is_fine_on_the_host(call) -> None:
    assert call(X, stream=0).tobytes() == call(X).tobytes()


def test_masks() -> None:
    with pytest.raises(TypeError, match="mask must be boolean, not uint8"):
        gpuport.softmax(X, mask=np.ones((3, 4), np.uint8))
    with pytest.raises(TypeError, match="mask must be an array"):
        gpuport.softmax(X, mask=[True] * 4)
    for shape in ((3,), (4, 4), (2, 3, 4)):
        with pytest.raises(ValueError, match="does not broadcast"):
            gpuport.softmax(X, mask=np.ones(shape, bool))


def test_nothing_is_written_where_an_argument_is_wrong() -> None:
    out = np.full((3, 4), 7, np.float32)
    for keywords in (
        {"axis": 5},
        {"variant": "nonesuch"},
        {"warp_size": 48},
        {"stream": 3},
        {"backend": "nonesuch"},
        {"mask": np.ones(3, bool)},
        {"nonfinite": "raise", "mask": np.zeros(4, bool)},
        {"deterministic": False},
    ):
        with pytest.raises(ValueError, match=r"."):
            gpuport.softmax(X, out=out, **keywords)
        assert (out == 7).all()


def test_nonfinite_names_the_first_index() -> None:
    x = np.zeros((3, 4, 5), np.float32)
    for call in CALLS:
        assert np.isfinite(call(x, nonfinite="raise")).all()
    x[1, 2, 3] = math.inf
    x[2, 0, 0] = math.nan
    out = np.full((3, 4), 7, np.float32)
    for call in CALLS:
        with pytest.raises(ValueError, match=r"not finite at index \(1, 2, 3\)"):
            call(x, nonfinite="raise")
    with pytest.raises(ValueError, match=r"index \(1, 2, 3\)"):
        gpuport.sum(x, axis=2, out=out, nonfinite="raise")
    assert (out == 7).all()
    with pytest.raises(ValueError, match="index 44"):
        gpuport.sum(np.concatenate([np.zeros(44), [math.nan]]), nonfinite="raise")
    with pytest.raises(ValueError, match=r"index \(0, 0, 2\)"):
        gpuport.sum(x.T, nonfinite="raise")
    with pytest.raises(ValueError, match=r"index \(\)"):
        gpuport.sum(np.float64(math.nan), nonfinite="raise")
    assert gpuport.sum(np.ones(5, np.int32), nonfinite="raise") == 5
    assert gpuport.sum(np.ones(0), nonfinite="raise") == 0


def test_nonfinite_looks_only_at_what_takes_part() -> None:
    x = X.copy()
    x[0, 1] = -math.inf
    mask = np.ones((3, 4), bool)
    mask[0, 1] = False
    np.testing.assert_array_equal(
        gpuport.softmax(x, mask=mask, nonfinite="raise"), gpuport.softmax(x, mask=mask)
    )
    x[2, 3] = math.nan
    with pytest.raises(ValueError, match=r"not finite at index \(2, 3\)"):
        gpuport.softmax(x, mask=mask, nonfinite="raise")
    mask[1] = False
    with pytest.raises(ValueError, match=r"leaves nothing of the row at index \(1, 0\)"):
        gpuport.softmax(X, mask=mask, nonfinite="raise")
    with pytest.raises(ValueError, match="leaves nothing"):
        gpuport.logsumexp(X.astype(np.int32), mask=np.zeros(4, bool), nonfinite="raise")
