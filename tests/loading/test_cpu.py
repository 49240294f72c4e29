"""Modules on the CPU, at both warp widths: every kind of kernel, argument and variable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpuport
from gpuport.loading import Module
from gpuport.testing import Target

KERNELS = Path(__file__).with_name("kernels.cu")
TEMPLATES = ["scale<float, 3>", "scale<int, 2>"]


@pytest.fixture
def module(cpu: Target) -> Module:
    return gpuport.load(KERNELS, backend="cpu", name_expressions=TEMPLATES, warp_size=cpu.warp_size)


def poisoned(count: int, dtype: str) -> np.ndarray:
    return np.full(count, 77, dtype)


def test_saxpy(module: Module) -> None:
    n = 1000
    x, y = np.arange(n, dtype="f4"), np.ones(n + 1, "f4")
    module.saxpy((4,), (256,), (2.0, x, y, n))
    np.testing.assert_array_equal(y[:n], 2 * np.arange(n, dtype="f4") + 1.5)
    assert y[n] == 1


@pytest.mark.parametrize("grid", [2, (2,), [2], (2, 1), (2, 1, 1), np.int32(2)])
def test_extents(module: Module, grid: object) -> None:
    y = np.ones(8, "f8")
    module["scale<double, 7>"](grid, (4,), (y, 8))
    assert (y == 7).all()


def test_the_width_is_the_device_s(module: Module, cpu: Target) -> None:
    lanes = poisoned(1, "i4")
    module.tell(1, 1, (lanes, np.zeros(1)))
    assert lanes[0] == cpu.warp_size == module.warp_size
    module.tell(1, 1, (lanes, None))
    assert lanes[0] == -cpu.warp_size


def test_templates_by_expression(module: Module) -> None:
    f, i = np.arange(5, dtype="f4"), np.arange(5, dtype="i4")
    module["scale<float, 3>"](1, 8, (f, 5))
    module["scale<int,2>"](1, 8, (i, 5))
    assert f.tolist() == [0, 3, 6, 9, 12]
    assert i.tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(AttributeError, match="may be any of scale<double, 7>, scale<float, 3>"):
        module.scale  # noqa: B018


def test_overloads(module: Module) -> None:
    i, f = poisoned(1, "i4"), poisoned(1, "f4")
    module.put(1, 1, (i, 7))
    module.put(1, 1, (f, 7.5))
    assert (i[0], f[0]) == (7, 7.5)
    module["outer::inner::put(float*, float)"](1, 1, (f, 1.5))
    assert f[0] == 1.5
    with pytest.raises(TypeError, match=r"no overload takes.*\n.*v \(int\).*\n.*p \(float\*\)"):
        module.put(1, 1, (i, 7.5))


def test_a_kernel_without_linkage(module: Module) -> None:
    out = poisoned(1, "i4")
    module["outer::inner::secret"](1, 1, (out,))
    assert out[0] == 42


def test_numbers_arrive(module: Module) -> None:
    out = poisoned(13, "f8")
    values = (
        True,
        -128,
        255,
        -(2**15),
        2**16 - 1,
        -(2**31),
        2**32 - 1,
        -(2**53),
        2**53,
        0.1,
        0.1,
        1,
    )
    module.numbers(1, 1, (*values, out))
    expected = [float(v) for v in values]
    expected[9] = float(np.float32(0.1))
    assert out.tolist() == [*expected, 77.0]


def test_structs_by_value_and_by_address(module: Module) -> None:
    pair = np.dtype([("count", "i4"), ("weight", "f8")], align=True)
    pairs = np.array([(1, 2.5), (3, 4.5)], pair)
    out = poisoned(4, "f8")
    module.structs(1, 1, (pairs[1], np.array([1, 2, 4], "f4"), pairs, out))
    assert out.tolist() == [13.5, 7, 4.5, 77]
    module.structs(1, 1, (pairs[0].tobytes(), np.zeros(3, "f4"), None, out))
    assert out.tolist() == [2.5, 0, -1, 77]


def test_dynamic_shared_memory(module: Module) -> None:
    out = poisoned(65, "i4")
    module.reversed(1, 64, (np.arange(64, dtype="i4"), out), shared_mem=256)
    assert out.tolist() == [*range(63, -1, -1), 77]


SHARED_OUTSIDE = """
extern __shared__ float sm[];
namespace deep { extern __shared__ __align__(16) unsigned char bytes[]; }
template <typename T> __device__ T* as() { return reinterpret_cast<T*>(deep::bytes); }
__global__ void reverse(const float* x, float* y, int n) {
  float* const next = sm + 1;
  sm[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = threadIdx.x == n - 1 ? sm[0] : next[n - 2 - threadIdx.x];
}
__global__ void doubles(const double* x, double* y, int n) {
  double* const d = (double*)sm;
  d[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = as<double>()[n - 1 - threadIdx.x] + reinterpret_cast<double*>(sm)[0];
}
"""


def test_dynamic_shared_memory_declared_outside_of_functions(cpu: Target) -> None:
    module = gpuport.load(SHARED_OUTSIDE, backend="cpu", warp_size=cpu.warp_size)
    x, y = np.arange(100, dtype="f4"), poisoned(100, "f4")
    module.reverse((1,), (100,), (x, y, 100), shared_mem=400)
    np.testing.assert_array_equal(y, x[::-1])
    wide, result = x.astype("f8") + 5, poisoned(100, "f8")
    module.doubles((1,), (100,), (wide, result, 100), shared_mem=800)
    np.testing.assert_array_equal(result, wide[::-1] + 5)


BEHIND_MACROS = """
#define KERNEL extern "C" __global__ void
#define GLOBAL __global__
KERNEL twice(int* y) { y[threadIdx.x] *= 2; }
GLOBAL void thrice(int* y) { y[threadIdx.x] *= 3; }
"""


def test_kernels_behind_macros(cpu: Target) -> None:
    module = gpuport.load(BEHIND_MACROS, backend="cpu", warp_size=cpu.warp_size)
    assert list(module) == ["twice", "thrice"]
    y = np.arange(8, dtype="i4")
    module.twice((1,), (8,), (y,))
    module.thrice((1,), (8,), (y,))
    np.testing.assert_array_equal(y, 6 * np.arange(8))


def test_a_macro_with_arguments_hides_its_kernel() -> None:
    source = "#define MAKE(name) __global__ void name(int* y) { y[0] = 7; }\nMAKE(hidden)\n"
    with pytest.raises(gpuport.CompileError, match="name_expressions"):
        gpuport.load(source, backend="cpu")
    y = poisoned(1, "i4")
    module = gpuport.load(source, backend="cpu", name_expressions=["hidden"])
    module["hidden"]((1,), (1,), (y,))
    assert y[0] == 7


def test_variables(cpu: Target) -> None:
    module, second = (
        gpuport.load(KERNELS, backend="cpu", name_expressions=TEMPLATES, warp_size=cpu.warp_size)
        for _ in range(2)
    )
    lanes = poisoned(1, "i4")
    before = module.get_global("counter").get()[0]
    module.tell(1, 3, (lanes, None))
    assert module.get_global("counter").get().tolist() == [before + 3]
    # Each load has variables of its own, as on a GPU.
    assert second.get_global("counter").get()[0] == 0
    assert module.get_global("other").get().tolist() == [5]
    assert module.get_global("hidden").get().tolist() == [3, -4]
    bias = second.get_global("bias")
    assert (bias.dtype, bias.nbytes) == (np.dtype("f4"), 16)
    bias.set([10, 20, 30, 40])
    y = np.zeros(4, "f4")
    second.add_bias(1, 4, (y,))
    assert y.tolist() == [10, 20, 30, 40]
    with pytest.raises(ValueError, match="bias takes 16 bytes, 12 given"):
        bias.set([1, 2, 3])
    with pytest.raises(AttributeError, match="no variable 'nope'; it has bias, counter"):
        module.get_global("nope")


def test_blocks_that_wait_for_each_other(module: Module) -> None:
    arrived, seen = np.zeros(1, "i4"), poisoned(5, "i4")
    module.meet(4, 1, (arrived, seen), cooperative=True)
    assert seen.tolist() == [4, 4, 4, 4, 77]


def test_attributes_and_occupancy(module: Module) -> None:
    kernel = module.reversed
    assert kernel.attributes == {
        "max_threads_per_block": 1024,
        "max_dynamic_shared_size_bytes": 48 << 10,
    }
    assert kernel.occupancy(256) == 8
    x, out = np.zeros(1, "i4"), np.zeros(1, "i4")
    with pytest.raises(gpuport.LaunchError, match="65536 bytes of dynamic shared memory"):
        kernel(1, 1, (x, out), shared_mem=65536)
    kernel.max_dynamic_shared_size_bytes = 65536
    try:
        kernel(1, 1, (x, out), shared_mem=65536)
        assert kernel.occupancy(256, 65536) == 3
    finally:
        kernel.max_dynamic_shared_size_bytes = 48 << 10
    with pytest.raises(ValueError, match="1048576 bytes"):
        kernel.max_dynamic_shared_size_bytes = 1 << 20


def test_failures_name_the_kernel_and_the_line(module: Module, cpu: Target) -> None:
    p = np.ones(1, "i4")
    line = KERNELS.read_text().split("\n").index("  if (threadIdx.x < 3) __syncthreads();") + 1
    with pytest.raises(gpuport.LaunchError) as caught:
        module.divergent((1, 2), 64, (p,))
    text = str(caught.value)
    assert text.startswith(f"kernel divergent <<<(1,2,1), (64,1,1)>>>, warps of {cpu.warp_size}:")
    assert f"without the barrier at kernels.cu:{line}, where 3 threads" in text
    with pytest.raises(gpuport.LaunchError, match=r"kernel asserting .*assertion `p\[0\] == 0'"):
        module.asserting(1, 1, (p,))
    with pytest.raises(gpuport.LaunchError, match=r"kernel nothing: the block \(2048,1,1\)"):
        module.nothing(1, 2048)
    with pytest.raises(gpuport.LaunchError, match=r"the grid \(0,1,1\) has no blocks"):
        module.nothing(0, 1)
    # An error that was raised is read: it does not come back with the next call.
    module.nothing(1, 1)
    assert gpuport.sum(np.ones(3, "i4"), warp_size=cpu.warp_size) == 3


def test_conditions_choose_kernels() -> None:
    single, double = np.zeros(1, "f4"), np.zeros(1, "f8")
    gpuport.load(KERNELS, backend="cpu", name_expressions=TEMPLATES).chosen(1, 1, (single,))
    with_double = gpuport.load(KERNELS, backend="cpu", defines={"WITH_DOUBLE": None})
    with_double.chosen(1, 1, (double,))
    assert (single[0], double[0]) == (1, 2)
    assert "never" not in with_double.kernels


def test_reprs_and_names(module: Module) -> None:
    assert repr(module.saxpy) == ("<kernel saxpy(float, const float*, float*, int) on the host>")
    assert {"saxpy", "put", "scale", "nothing"} <= set(dir(module))
    assert module.kernels[0] == "saxpy"
    with pytest.raises(AttributeError, match="no kernel 'sax'; it has saxpy, "):
        module.sax  # noqa: B018
    with pytest.raises(KeyError):
        module["scale<short, 1>"]
