"""Textures and surfaces on the CPU, against what the programming guide says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpuport

SOURCE = """
constexpr int kW = 7, kH = 5, kD = 3;
__device__ float image[kD * kH * kW];
__device__ unsigned char bytes[4 * 6];
__device__ unsigned long long objects[64];
__device__ int codes[8];

cudaTextureDesc how(int address, int filter, int normalized, int read = 0) {
  cudaTextureDesc d = {};
  for (int i = 0; i < 3; ++i) d.addressMode[i] = cudaTextureAddressMode(address);
  d.filterMode = cudaTextureFilterMode(filter);
  d.normalizedCoords = normalized;
  d.readMode = cudaTextureReadMode(read);
  d.borderColor[0] = 9;
  return d;
}
int make() {
  for (int i = 0; i < kD * kH * kW; ++i) image[i] = float((i * 37 + 11) % 101);
  for (int i = 0; i < 24; ++i) bytes[i] = (unsigned char)(i * 11);
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaArray_t row, plane, cube, drawn;
  codes[0] = cudaMallocArray(&row, &f, kW);
  codes[1] = cudaMallocArray(&plane, &f, kW, kH);
  codes[2] = cudaMalloc3DArray(&cube, &f, make_cudaExtent(kW, kH, kD));
  cudaMemcpy2DToArray(row, 0, 0, image, kW * 4, kW * 4, 1, cudaMemcpyHostToDevice);
  cudaMemcpy2DToArray(plane, 0, 0, image, kW * 4, kW * 4, kH, cudaMemcpyHostToDevice);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(image, kW * 4, kW, kH);
  copy.dstArray = cube;
  copy.extent = make_cudaExtent(kW, kH, kD);
  codes[3] = cudaMemcpy3D(&copy);
  cudaArray_t arrays[] = {row, plane, cube};
  for (int a = 0; a < 3; ++a)
    for (int mode = 0; mode < 16; ++mode) {
      cudaResourceDesc r = {};
      r.resType = cudaResourceTypeArray;
      r.res.array.array = arrays[a];
      cudaTextureDesc d = how(mode % 4, mode / 4 % 2, mode / 8);
      codes[4] |= cudaCreateTextureObject(&objects[a * 16 + mode], &r, &d, nullptr);
    }
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeLinear;
  r.res.linear = {bytes, cudaCreateChannelDesc<uchar4>(), 24};
  cudaTextureDesc d = how(0, 0, 0), unit = how(0, 0, 0, 1);
  codes[5] = cudaCreateTextureObject(&objects[48], &r, &d, nullptr);
  cudaCreateTextureObject(&objects[49], &r, &unit, nullptr);
  r = {};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D = {bytes, cudaCreateChannelDesc<signed char>(), 5, 4, 6};
  cudaTextureDesc clamp = how(1, 0, 0);
  codes[6] = cudaCreateTextureObject(&objects[50], &r, &clamp, nullptr);
  cudaMallocArray(&drawn, &f, kW, kH, cudaArraySurfaceLoadStore);
  r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = drawn;
  codes[7] = cudaCreateSurfaceObject(&objects[51], &r);
  return 0;
}
int made = make();

__global__ void sample(int mode, const float* at, float* out, int n) {
  const int i = threadIdx.x;
  const float x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2];
  out[i] = tex1D<float>(objects[mode], x);
  out[n + i] = tex2D<float>(objects[16 + mode], x, y);
  tex3D(&out[2 * n + i], objects[32 + mode], x, y, z);
}
__global__ void fetch(int* out, float* unit, int* plane) {
  const int i = int(threadIdx.x) - 1;
  const uchar4 v = tex1Dfetch<uchar4>(objects[48], i);
  out[threadIdx.x] = v.x | v.y << 8 | v.z << 16 | v.w << 24;
  unit[threadIdx.x] = tex1Dfetch<float4>(objects[49], i).y;
  for (int y = 0; y < 5; ++y)
    plane[8 * y + threadIdx.x] = tex2D<signed char>(objects[50], i + .5f, y + .5f);
}
__global__ void draw(float* out) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(x + 10.0f * y, objects[51], x * 4, y);
  surf2Dwrite(1000.0f, objects[51], -4, y, cudaBoundaryModeZero);
  __syncthreads();
  out[y * kW + x] = surf2Dread<float>(objects[51], (kW - 1 - x) * 4, y);
  float* const rest = out + kW * kH;
  if (x == 0) rest[y] = surf2Dread<float>(objects[51], 4 * kW + 80, y, cudaBoundaryModeClamp);
  if (x == 1) rest[kH + y] = surf2Dread<float>(objects[51], 0, -1 - y, cudaBoundaryModeZero);
}
__global__ void outside(float* out) { *out = surf2Dread<float>(objects[51], 0, kH); }
"""
W, H, D = 7, 5, 3
IMAGE = ((np.arange(W * H * D) * 37 + 11) % 101).reshape(D, H, W).astype("f8")
WRAP, CLAMP, MIRROR, BORDER = range(4)


def element(
    index: list[int], sizes: list[int], image: np.ndarray, address: int, norm: bool
) -> float:
    found = []
    for i, n in zip(index, sizes, strict=True):
        if not 0 <= i < n:
            if address == BORDER:
                return 9.0
            if norm and address == WRAP:
                i %= n
            elif norm and address == MIRROR:
                i = (i % (2 * n)) if i % (2 * n) < n else 2 * n - 1 - i % (2 * n)
            else:
                i = min(max(i, 0), n - 1)
        found.append(i)
    return float(image[tuple(reversed(found))])


def sampled(image: np.ndarray, at: list[float], address: int, linear: bool, norm: bool) -> float:
    sizes = list(reversed(image.shape))
    places = [float(np.float32(a)) * (n if norm else 1) for a, n in zip(at, sizes, strict=True)]
    if not linear:
        return element([math.floor(p) for p in places], sizes, image, address, norm)
    below = [math.floor(p - 0.5) for p in places]
    shares = [round((p - 0.5 - b) * 256) / 256 for p, b in zip(places, below, strict=True)]
    total = 0.0
    for corner in range(1 << len(sizes)):
        steps = [corner >> d & 1 for d in range(len(sizes))]
        weight = math.prod(s if step else 1 - s for s, step in zip(shares, steps, strict=True))
        if weight:
            index = [b + step for b, step in zip(below, steps, strict=True)]
            total += weight * element(index, sizes, image, address, norm)
    return total


@pytest.fixture(scope="module")
def module() -> gpuport.loading.Module:
    loaded = gpuport.load(SOURCE, backend="cpu")
    assert loaded.get_global("codes").get().tolist() == [0] * 8
    return loaded


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("address", [WRAP, CLAMP, MIRROR, BORDER])
def test_sampling(
    module: gpuport.loading.Module, address: int, linear: bool, normalized: bool
) -> None:
    rng = np.random.default_rng(5)
    at = rng.uniform(-1.5, 2.5, (100, 3)) * ([1, 1, 1] if normalized else [W, H, D])
    at[:8] = np.array([0, 0.5, 1, W - 0.5, W, -0.5, 2.25, 0.25])[:, None]
    at = np.ascontiguousarray(at, "f4")
    out = np.full((3, 100), 77, "f4")
    module.sample(1, 100, (address + 4 * linear + 8 * normalized, at, out, 100))
    for dims, got in zip((1, 2, 3), out, strict=True):
        image = IMAGE[0, 0] if dims == 1 else IMAGE[0] if dims == 2 else IMAGE
        want = [sampled(image, p[:dims].tolist(), address, linear, normalized) for p in at]
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("linear", [False, True])
def test_far_coordinates(module: gpuport.loading.Module, linear: bool) -> None:
    far = np.float32([1e9, 9e18, 1e19, 1e38, np.inf])
    at = np.ascontiguousarray(np.concatenate([far, -far, [np.nan]]).repeat(3).reshape(-1, 3), "f4")
    out = np.full((3, 11), 77, "f4")
    module.sample(1, 11, (CLAMP + 4 * linear, at, out, 11))
    for got, last in zip(out, (IMAGE[0, 0, -1], IMAGE[0, -1, -1], IMAGE[-1, -1, -1]), strict=True):
        assert got.tolist() == [last] * 5 + [IMAGE[0, 0, 0]] * 6


def test_integers_are_filtered_as_fractions_only() -> None:
    module = gpuport.load(
        """
__global__ void make(int* code, void* data) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D = {data, cudaCreateChannelDesc<uchar4>(), 8, 1, 32};
  cudaTextureDesc d = {};
  d.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t t = 0;
  code[0] = cudaCreateTextureObject(&t, &r, &d, nullptr);
  d.readMode = cudaReadModeNormalizedFloat;
  code[1] = cudaCreateTextureObject(&t, &r, &d, nullptr);
}
""",
        backend="cpu",
    )
    code = np.full(2, 77, "i4")
    module.make(1, 1, (code, np.zeros(32, "u1")))
    assert code.tolist() == [26, 0]  # cudaErrorInvalidFilterSetting


def test_linear_memory(module: gpuport.loading.Module) -> None:
    out, unit, plane = np.full(8, 77, "i4"), np.full(8, 77, "f4"), np.full(40, 77, "i4")
    module.fetch(1, 8, (out, unit, plane))
    raw = (np.arange(24) * 11).astype("u1")
    assert out.tolist() == [0, *raw.view("i4").tolist(), 0]
    np.testing.assert_array_equal(unit[1:7], (raw[1::4] / 255).astype("f4"))
    assert unit[[0, 7]].tolist() == [0, 0]
    rows = raw.view("i1").reshape(4, 6)[:, :5]
    want = rows[np.clip(np.arange(5), 0, 3)][:, np.clip(np.arange(8) - 1, 0, 4)]
    np.testing.assert_array_equal(plane.reshape(5, 8), want)


def test_surfaces(module: gpuport.loading.Module) -> None:
    out = np.full(W * H + 2 * H + 1, 77, "f4")
    module.draw(1, (W, H), (out,))
    x, y = np.meshgrid(np.arange(W), np.arange(H))
    np.testing.assert_array_equal(out[: W * H].reshape(H, W), (W - 1 - x) + 10 * y)
    assert out[W * H :].tolist() == [W - 1 + 10 * r for r in range(H)] + [0] * H + [77]
    with pytest.raises(gpuport.LaunchError, match="an access outside of a surface at <source>:"):
        module.outside(1, 1, (out,))


TEXELS = """
template <typename Texel> __global__ void make(unsigned long long* object, void* memory, int unit) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D = {memory, cudaCreateChannelDesc<Texel>(), 2, 2, 2 * sizeof(Texel)};
  cudaTextureDesc d = {};
  d.readMode = cudaTextureReadMode(unit);
  cudaCreateTextureObject(object, &r, &d, nullptr);
}
template <typename T> __global__ void get(unsigned long long object, float* out) {
  *out = float(tex2D<T>(object, 1, 0));
}
__global__ void both(unsigned long long object, float* out) {
  float4 v;
  tex2D(&v, object, 0, 1);
  *out = v.w + float(tex2D<uchar1>(object, 0, 1).x);
}
"""


def test_a_texel_of_another_kind_than_is_fetched_is_an_error() -> None:
    texels, types = ["int", "float", "uchar4", "unsigned short"], ["float", "int", "unsigned char"]
    module = gpuport.load(
        TEXELS,
        backend="cpu",
        name_expressions=[*(f"make<{t}>" for t in texels), *(f"get<{t}>" for t in types)],
    )
    out = np.zeros(1, "f4")

    def texture(texel: str, unit: bool = False) -> int:
        made = np.zeros(1, "u8")
        memory = np.arange(16, dtype="f4" if texel == "float" else "i4")
        module[f"make<{texel}>"](1, 1, (made, memory, unit))
        assert made[0] != 0
        kept.append(memory)
        return int(made[0])

    kept: list[object] = []
    for texel, unit, fetched, said in [
        ("int", False, "float", "a fetch of float from a texture of int,"),
        ("float", False, "int", "a fetch of int from a texture of float,"),
        ("float", False, "unsigned char", "a fetch of unsigned char from a texture of float,"),
        ("unsigned short", False, "float", "a fetch of float from a texture of unsigned short,"),
        (
            "unsigned short", True, "int",
            r"a fetch of int from a texture of unsigned short that is read as float "
            r"\(cudaReadModeNormalizedFloat\),",
        ),
    ]:  # fmt: skip
        line = TEXELS.split("\n").index("  *out = float(tex2D<T>(object, 1, 0));") + 1
        wanted = f"{said} which CUDA leaves undefined, at <source>:{line}"
        with pytest.raises(gpuport.LaunchError, match=wanted):
            module[f"get<{fetched}>"](1, 1, (texture(texel, unit), out))
    with pytest.raises(gpuport.LaunchError, match="a fetch of float4 from a texture of uchar4, "):
        module.both(1, 1, (texture("uchar4"), out))
    with pytest.raises(gpuport.LaunchError, match="of unsigned char from a texture of uchar4 that"):
        module.both(1, 1, (texture("uchar4", True), out))
    # Of another width or count alone the GPU makes what is asked for.
    for texel, unit, fetched, value in [
        ("int", False, "unsigned char", 1),
        ("unsigned short", False, "int", 0),
        ("unsigned short", True, "float", 0),
        ("float", False, "float", 1),
    ]:
        module[f"get<{fetched}>"](1, 1, (texture(texel, unit), out))
        assert out[0] == value, (texel, fetched)


def test_texture_references_are_one_clear_error() -> None:
    source = (
        "texture<float, 1, cudaReadModeElementType> t;\n"
        "__global__ void k(float* p) { *p = tex1Dfetch(t, 0); }\n"
    )
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(source, backend="cpu")
    first = str(caught.value).split("\n")[0]
    assert first == (
        "<source>:1: texture references are gone since CUDA 12: pass a cudaTextureObject_t, "
        "made by cudaCreateTextureObject"
    )
    # The name is free again, and a source may have its own.
    own = "struct texture { int v; };\n__global__ void k(int* p) { texture t{3}; *p = t.v; }\n"
    p = np.zeros(1, "i4")
    gpuport.load(own, backend="cpu").k(1, 1, (p,))
    assert p[0] == 3
