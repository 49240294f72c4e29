"""Arguments that do not fit are refused before a launch, naming the parameter."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import gpuport
from gpuport.loading import Kernel, Module

KERNELS = Path(__file__).with_name("kernels.cu")
X, Y = np.zeros(4, "f4"), np.zeros(4, "f4")


@pytest.fixture
def module() -> Module:
    return gpuport.load(
        KERNELS, backend="cpu", name_expressions=["scale<float, 3>", "scale<int, 2>"]
    )


@pytest.fixture
def saxpy(module: Module) -> Kernel:
    return module.saxpy


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), r"takes 4 arguments \(a, x, y, n\), 0 given; a is missing"),
        ((1, X, Y), r"takes 4 arguments \(a, x, y, n\), 3 given; n is missing"),
        ((1, X, Y, 4, 5), r"takes 4 arguments \(a, x, y, n\), 5 given"),
        ((1, 2.0, Y, 4), r"parameter 2, x \(const float\*\): a float given, an array wanted"),
        ((1, X, 5, 4), r"parameter 3, y \(float\*\): an int given, an array wanted"),
        ((1, X, np.float32(5), 4), r"parameter 3, y .*numpy.float32 given, an array wanted"),
        ((1, X[::2], Y, 4), r"parameter 2, x .*not C-contiguous"),
        ((1, np.zeros((2, 2), "f4").T, Y, 4), r"parameter 2, x .*not C-contiguous"),
        ((1, X.astype("f8"), Y, 4), r"x .*an array of float64 given, float32 wanted"),
        ((1, X.astype("i4"), Y, 4), r"x .*an array of int32 given, float32 wanted"),
        ((1, X.astype("f2"), Y, 4), r"x .*an array of float16 given, float32 wanted"),
        ((1, X.astype(ml_dtypes.bfloat16), Y, 4), r"x .*an array of bfloat16 given"),
        ((1, X.astype("c8"), Y, 4), r"x .*an array of elements of 8 bytes given"),
        ((1, X.astype(">f4"), Y, 4), r"x .*other byte order"),
        ((1, X.astype(object), Y, 4), r"x .*Python objects"),
        ((1, np.ma.array(X), Y, 4), r"x .*masks"),
        ((1, [1.0, 2.0], Y, 4), r"x .*must be an array.*not list"),
        ((1, X, readonly(Y.copy()), 4), r"y .*read-only"),
        ((1, X, Y, 4.0), r"parameter 4, n \(int\): a float given, an integer wanted"),
        ((1, X, Y, np.int64(4)), r"n .*numpy.int64 given.*parameter's own type"),
        ((1, X, Y, np.uint32(4)), r"n .*numpy.uint32 given"),
        ((1, X, Y, np.float64(4)), r"n .*numpy.float64 given"),
        ((1, X, Y, "4"), r"n .*str given, an integer wanted"),
        ((1, X, Y, None), r"n .*NoneType given, an integer wanted"),
        ((np.float64(1), X, Y, 4), r"parameter 1, a \(float\): numpy.float64 given"),
        ((np.int32(1), X, Y, 4), r"a .*numpy.int32 given, a number wanted"),
        ((X, X, Y, 4), r"a .*numpy.ndarray given, a number wanted"),
        (("1", X, Y, 4), r"a .*str given"),
    ],
)
def test_type_errors(saxpy: Kernel, args: tuple[object, ...], words: str) -> None:
    with pytest.raises(TypeError, match="saxpy" + ".*" + words):
        saxpy(1, 4, args)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((1, X, Y, 2**31), r"n \(int\): 2147483648 does not fit"),
        ((1, X, Y, -(2**31) - 1), r"n .*does not fit"),
        ((1, X, Y, 2**70), r"n .*does not fit"),
        ((1e39, X, Y, 4), r"a \(float\): 1e\+39 does not fit"),
        ((10**400, X, Y, 4), r"a \(float\): an int of more than 40 digits does not fit$"),
        ((1, X, Y, 10**5000), r"n \(int\): an int of more than 40 digits does not fit$"),
    ],
)
def test_overflow_errors(saxpy: Kernel, args: tuple[object, ...], words: str) -> None:
    with pytest.raises(OverflowError, match=words):
        saxpy(1, 4, args)


@pytest.mark.parametrize(
    "args",
    [
        [1, X, Y, 4],
        (np.float32(1), readonly(X.copy()), Y, np.int32(4)),
        (float("inf"), X.reshape(2, 2), Y, True),
        (float("nan"), np.zeros((0, 3), "f4")[::2], Y, 0),
        (0, np.uintp(X.ctypes.data), Y, 0),
        (0, X[2:3][::5], Y, 0),
    ],
)
def test_what_fits(saxpy: Kernel, args: tuple[object, ...]) -> None:
    saxpy(1, 4, args)


LEAST = (False, -128, 0, -(2**15), 0, -(2**31), 0, -(2**63), 0, 0.0, 0.0, 0)
MOST = (
    True,
    127,
    255,
    2**15 - 1,
    2**16 - 1,
    2**31 - 1,
    2**32 - 1,
    2**63 - 1,
    2**64 - 1,
    0.0,
    0.0,
    255,
)


@pytest.mark.parametrize("position", [i for i in range(12) if i not in (9, 10)])
def test_the_range_of_every_integer(module: Module, position: int) -> None:
    out = np.zeros(12)
    for limits, step in ((LEAST, -1), (MOST, 1)):
        module.numbers(1, 1, (*limits, out))
        beyond = [*limits]
        beyond[position] = int(beyond[position]) + step
        with pytest.raises(OverflowError, match=rf"numbers: parameter {position + 1}, "):
            module.numbers(1, 1, (*beyond, out))


def test_structs_are_taken_by_their_size(module: Module) -> None:
    out, v = np.zeros(3), np.zeros(3, "f4")
    with pytest.raises(TypeError, match=r"pair \(Pair\): 12 bytes given, .* 16 bytes wanted"):
        module.structs(1, 1, (bytes(12), v, None, out))
    with pytest.raises(TypeError, match=r"pair .*an int given"):
        module.structs(1, 1, (3, v, None, out))
    with pytest.raises(TypeError, match=r"v \(float3\): .*not contiguous"):
        module.structs(1, 1, (bytes(16), np.zeros(6, "f4")[::2], None, out))
    with pytest.raises(TypeError, match=r"pairs \(const Pair\*\): an array of float32"):
        module.structs(1, 1, (bytes(16), v, v, out))


def test_configurations(module: Module) -> None:
    for extent in (-1, 2**32):
        with pytest.raises(ValueError, match="nothing: grid has an extent"):
            module.nothing(extent, 1)
    for extents in ((), (1, 1, 1, 1)):
        with pytest.raises(ValueError, match="nothing: block must have one to three extents"):
            module.nothing(1, extents)
    with pytest.raises(TypeError, match="nothing: grid must be an int or a tuple"):
        module.nothing("1", 1)
    with pytest.raises(TypeError, match=r"nothing: shared_mem must be an int$"):
        module.nothing(1, 1, (), shared_mem=1.5)
    for wrong in ({"block": "a"}, {"block": 32, "shared_mem": 1.5}):
        with pytest.raises(TypeError, match=r"nothing: (block|shared_mem) must be an int, not "):
            module.nothing.occupancy(**wrong)
    with pytest.raises(TypeError, match="nothing: args must be a tuple or a list"):
        module.nothing(1, 1, X)
    with pytest.raises(ValueError, match="no stream"):
        module.nothing(1, 1, (), stream=7)
    module.nothing(1, 1, (), 0, 0)


def test_tensors_and_device_arrays(module: Module, saxpy: Kernel) -> None:
    x = gpuport.DeviceArray.from_numpy(np.full(4, 2, "f4"), backend="cpu")
    y = np.zeros(4, "f4")
    saxpy(1, 4, (1, x, y, 4))
    assert (y == 2.5).all()
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = torch.zeros(4)
    saxpy(1, 4, (3, torch.ones(4), t, 4))
    assert (t == 3.5).all()
    with pytest.raises(TypeError, match="not C-contiguous"):
        saxpy(1, 4, (1, torch.zeros(8)[::2], t, 4))


def test_plain_char_is_bytes_of_either_sign() -> None:
    source = """
    __global__ void copy(const char* in, char* out) { out[threadIdx.x] = in[threadIdx.x]; }
    __global__ void of_signed(signed char* p) { *p = -1; }
    """
    module = gpuport.load(source, backend="cpu")
    for dtype in ("i1", "u1"):
        given, out = np.frombuffer(b"\x00\x7f\x80\xff", dtype), np.zeros(4, dtype)
        module["copy"](1, 4, (given, out))
        assert out.tobytes() == given.tobytes()
    with pytest.raises(TypeError, match="an array of bool given, int8 or uint8 wanted"):
        module["copy"](1, 4, (given, np.zeros(4, bool)))
    with pytest.raises(TypeError, match="an array of uint8 given, int8 wanted"):
        module.of_signed(1, 1, (np.zeros(1, "u1"),))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"headers": ["a"]}, "headers must be a mapping, as a dict, not a value of type list"),
        ({"headers": {"a": None}}, r"headers\['a'\] must be a string, not None"),
        ({"headers": {1: "a"}}, "headers must have strings as keys"),
        ({"defines": ["A"]}, "defines must be a mapping, as a dict, not a value of type list"),
        ({"options": 3}, "options must be a sequence of strings, not a value of type int"),
        ({"options": [3]}, "options must hold strings, not a value of type int"),
        ({"archs": "sm_90"}, "archs must be a sequence of strings, not the one string 'sm_90'"),
        ({"archs": [90]}, "archs must hold strings"),
        ({"name_expressions": "k<int>"}, "name_expressions must be a sequence of strings"),
        (
            {"include_dirs": "include"},
            "include_dirs must be a sequence of paths, not the one string",
        ),
        ({"include_dirs": [3]}, "include_dirs must hold paths"),
    ],
)
def test_load_names_the_parameter(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        gpuport.load(KERNELS, backend="cpu", **wrong)  # type: ignore[arg-type]


def test_load_takes_none_and_refuses_a_missing_folder(tmp_path: Path) -> None:
    names = ("headers", "defines", "options", "include_dirs", "archs", "name_expressions")
    gpuport.load(KERNELS, backend="cpu", **dict.fromkeys(names))  # type: ignore[arg-type]
    gpuport.load(KERNELS, backend="cpu", include_dirs=[tmp_path])
    with pytest.raises(ValueError, match=r"include_dirs: there is no folder '.*nowhere'"):
        gpuport.load(KERNELS, backend="cpu", include_dirs=[tmp_path, tmp_path / "nowhere"])
    with pytest.raises(TypeError, match="source must be a string or a path, not bytes"):
        gpuport.load(b"x", backend="cpu")  # type: ignore[arg-type]
