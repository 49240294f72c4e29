"""The functions of half and bfloat16 on the CPU, and questions about places."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import gpuport

SOURCE = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__device__ float as_float(half v) { return __half2float(v); }
__device__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }

__global__ void fma_half(const float* v, float* out, int n) {
  const int i = blockIdx.x;
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < n; ++k)
      out[(i * n + j) * n + k] = as_float(__hfma(half(v[i]), half(v[j]), half(v[k])));
}
__global__ void fma_bfloat16(const float* v, float* out, int n) {
  const int i = blockIdx.x;
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < n; ++k)
      out[(i * n + j) * n + k] =
          as_float(__hfma(__nv_bfloat16(v[i]), __nv_bfloat16(v[j]), __nv_bfloat16(v[k])));
}
__global__ void conversions(const double* v, const long long* w, float* out, int n) {
  const int i = threadIdx.x;
  const float f = float(v[i]);
  out[i] = as_float(__double2half(v[i]));
  out[n + i] = as_float(__float2half_rn(f));
  out[2 * n + i] = as_float(__float2half_rz(f));
  out[3 * n + i] = as_float(__float2half_ru(f));
  out[4 * n + i] = as_float(__float2half_rd(f));
  out[5 * n + i] = as_float(__ll2half_rn(w[i]));
  out[6 * n + i] = as_float(__int2half_rz(int(w[i])));
  out[7 * n + i] = float(__half2int_ru(__float2half(f)));
}
__global__ void pairs(float* out) {
  const __half2 a = __floats2half2_rn(1.0f, 2.0f), b = __floats2half2_rn(3.0f, NAN);
  const __half2 e = h2exp(a), q = __h2div(b, a), m = __hmax2(a, b), s = __hfma2_sat(a, a, a);
  int n = 0;
  for (half2 p : {e, q, m, s, __hneg2(a), __hgt2(b, a), __hgtu2(b, a),
                  h2rint(__half2half2(half(2.5f))), __lowhigh2highlow(a), __highs2half2(a, a),
                  a / a, h2exp2(a), __hmax2_nan(a, b)}) {
    out[n++] = __low2float(p);
    out[n++] = __high2float(p);
  }
  out[n++] = __hbeq2(a, a) + 2 * __hbne2(a, b) + 4 * __hbneu2(a, b) + 8 * (a == a);
  out[n++] = float(__heq2_mask(a, __floats2half2_rn(1.0f, 5.0f)));
  out[n++] = float(hexp10(half(2.0f))) + float(hfloor(half(-1.5f)));
}
__global__ void atomics(half2* h, __nv_bfloat162* b, float2* f2, float4* f4) {
  atomicAdd(h, __floats2half2_rn(1, 2));
  atomicAdd(b, __floats2bfloat162_rn(1, 2));
  atomicAdd(f2, make_float2(1, 2));
  atomicAdd(f4, make_float4(1, 2, 3, 4));
}
__shared__ int outside[4];
__global__ void places(int* out, int* given) {
  __shared__ int inside;
  extern __shared__ int dynamic[];
  int local = 0;
  const int* all[] = {given, &inside, dynamic + 1, outside + 3, &local};
  __syncwarp();
  for (int i = 0; i < 5; ++i)
    out[i] = __isGlobal(all[i]) + 2 * __isShared(all[i]) + 4 * __isLocal(all[i]);
  __prof_trigger(0);
  __builtin_assume(out != nullptr);
}
__global__ void stops() { __brkpt(); }
"""


@pytest.fixture(scope="module")
def module() -> gpuport.loading.Module:
    return gpuport.load(SOURCE, backend="cpu")


def nearest(exact: Fraction, digits: int, least: int) -> float:
    if exact == 0:
        return 0.0
    exponent = least + digits - 1
    while Fraction(2) ** (exponent + 1) <= abs(exact):
        exponent += 1
    unit = Fraction(2) ** (exponent - digits + 1)
    return float(round(exact / unit) * unit)


@pytest.mark.parametrize(("name", "digits", "least"), [("half", 11, -24), ("bfloat16", 8, -133)])
def test_multiply_add_rounds_once(
    module: gpuport.loading.Module, name: str, digits: int, least: int
) -> None:
    eps = 2.0 ** (1 - digits)
    values = [
        1,
        1 + eps,
        1 - eps / 2,
        -3,
        2.0**-9,
        -(2.0**-14),
        1.5 * 2.0**-12,
        100 * eps,
        2.0**-20,
    ]
    v = np.array([nearest(Fraction(x), digits, least) for x in values], "f4")
    n = v.size
    out = np.full((n, n, n), 77, "f4")
    module[f"fma_{name}"](n, 1, (v, out, n))
    exact = [Fraction(float(x)) for x in v]
    want = [nearest(a * b + c, digits, least) for a in exact for b in exact for c in exact]
    np.testing.assert_array_equal(out.ravel(), np.array(want, "f4"))


def test_conversions(module: gpuport.loading.Module) -> None:
    # 1 + 2^-11 + 2^-40 is past the middle between two halves; as a float it is the middle.
    v = np.array([1 + 2.0**-11 + 2.0**-40, -(1 + 2.0**-11), 1e-9, -1e-9, 70000.0, -70000.0, 2.5])
    w = np.array([2049, 2051, -4098, 65520, 65519, 2**40, (1 << 62) + 1])
    n = v.size
    out = np.full((8, n), 77, "f4")
    module.conversions(1, n, (v, w, out, n))
    near = v.astype("f4").astype("f2")
    wide = v.astype("f4")
    np.testing.assert_array_equal(out[0], v.astype("f2").astype("f4"))
    np.testing.assert_array_equal(out[1], near.astype("f4"))
    up = np.where(near.astype("f4") < wide, np.nextafter(near, np.float16(np.inf)), near)
    down = np.where(near.astype("f4") > wide, np.nextafter(near, np.float16(-np.inf)), near)
    np.testing.assert_array_equal(out[2], np.where(wide > 0, down, up).astype("f4"))
    np.testing.assert_array_equal(out[3], up.astype("f4"))
    np.testing.assert_array_equal(out[4], down.astype("f4"))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out[5], w.astype("f2").astype("f4"))
    assert out[6].tolist()[:5] == [2048, 2050, -4096, 65504, 65504]
    big = 2**31 - 1
    assert out[7].tolist() == [1, -1, 0, 0, np.float32(big), np.float32(-big - 1), 3]


def test_pairs(module: gpuport.loading.Module) -> None:
    out = np.full(30, 77, "f4")
    module.pairs(1, 1, (out,))
    e = np.exp(np.array([1, 2], "f4")).astype("f2").tolist()
    nan = np.nan
    want = [*e, 3, nan, 3, 2, 1, 1, -1, -2, 1, 0, 1, 1, 2, 2, 2, 1, 2, 2, 1, 1, 2, 4, 3, nan]
    np.testing.assert_array_equal(out[:26], np.array(want, "f4"))
    assert out[26:].tolist() == [1 + 4 + 8, 0xFFFF, 98, 77]


def test_atomics_of_several_numbers(module: gpuport.loading.Module) -> None:
    h, b = np.zeros(2, "f2"), np.zeros(2, "u2")
    f2, f4 = np.zeros(2, "f4"), np.zeros(4, "f4")
    module.atomics(2, 32, (h, b, f2, f4))
    assert h.tolist() == [64, 128]
    assert (b.astype("u4") << 16).view("f4").tolist() == [64, 128]
    assert (f2.tolist(), f4.tolist()) == ([64, 128], [64, 128, 192, 256])


def test_places(module: gpuport.loading.Module) -> None:
    out = np.full(6, 77, "i4")
    module.places(1, 1, (out, np.zeros(1, "i4")), shared_mem=64)
    assert out.tolist() == [1, 2, 2, 2, 4, 77]
    with pytest.raises(gpuport.LaunchError, match=r"__brkpt\(\) without a debugger at "):
        module.stops(1, 1)
    with pytest.raises(gpuport.CompileError, match="keeps constants in global memory"):
        gpuport.load("__global__ void k(int* p) { *p = __isConstant(p); }\n", backend="cpu")


UNARY = (
    "__hneg __habs hceil hfloor hrint htrunc hexp hexp2 hexp10 hlog hlog2 hlog10 hsqrt hrsqrt hrcp "
    "hsin hcos"
).split()
BINARY = (
    "__hadd __hsub __hmul __hadd_sat __hsub_sat __hmul_sat __hmax __hmin __hmax_nan __hmin_nan"
).split()
ORDER = "__heq __hne __hlt __hle __hgt __hge __hequ __hneu __hltu __hleu __hgtu __hgeu".split()
FUSED = "__hfma __hfma_sat __hfma_relu".split()


def pair_name(scalar: str) -> str:
    """The function of two elements: __hadd_sat has __hadd2_sat, hexp h2exp, __hequ __hequ2."""
    if not scalar.startswith("__"):
        return scalar.replace("h", "h2", 1)
    if scalar in ORDER:
        return f"{scalar}2"
    stem, _, more = scalar.removeprefix("__").partition("_")
    return f"__{stem}2" + (f"_{more}" if more else "")


@pytest.mark.parametrize("element", ["half", "__nv_bfloat16"])
def test_a_function_of_pairs_is_that_of_elements_twice(element: str) -> None:
    calls = [(name, "a", "a.{}") for name in UNARY]
    calls += [(name, "a, b", "a.{0}, b.{0}") for name in BINARY + ORDER]
    calls += [(name, "a, b, c", "a.{0}, b.{0}, c.{0}") for name in FUSED]
    lines = "\n".join(
        f"  keep(out, n, {pair_name(name)}({of_pairs}), {element}({name}({of_one.format('x')})), "
        f"{element}({name}({of_one.format('y')})));"
        for name, of_pairs, of_one in calls
    )
    pair = f"{element}2" if element == "half" else "__nv_bfloat162"
    source = f"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__device__ void keep(float* out, int& n, {pair} got, {element} first, {element} second) {{
  out[n++] = float(got.x);
  out[n++] = float(first);
  out[n++] = float(got.y);
  out[n++] = float(second);
}}
__global__ void pairs(float* out, float p, float q, float r) {{
  const {pair} a = {{{element}(p), {element}(q)}}, b = {{{element}(q), {element}(r)}},
      c = {{{element}(r), {element}(p)}};
  int n = 0;
{lines}
}}
"""
    module = gpuport.load(source, backend="cpu")
    for numbers in [(0.25, 3.0, -1.5), (2.0, 2.0, 0.5), (np.nan, 1.0, np.inf), (-0.0, 0.0, 7.0)]:
        out = np.full((len(calls), 2, 2), 77, np.float32)
        module.pairs(1, 1, (out, *map(np.float32, numbers)))
        for (name, _, _), (first, second) in zip(calls, out, strict=True):
            np.testing.assert_array_equal(first[0], first[1], err_msg=f"{name}, first of {numbers}")
            np.testing.assert_array_equal(
                second[0], second[1], err_msg=f"{name}, second of {numbers}"
            )
