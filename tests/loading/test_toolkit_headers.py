"""Headers of the CUDA toolkit beside the runtime's, on the CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import gpuport
from gpuport.loading.ahead import require_compiler
from gpuport.loading.cpu_toolchain import HEADER_FOLDERS, runtime_folder
from gpuport.loading.host_errors import explained_hip
from gpuport.testing import Target

UNUSED = """
curand_kernel.h curand.h cublas_v2.h cublasLt.h cufft.h cusparse.h cusolverDn.h mma.h cuda_fp8.h
cuda/barrier cuda/pipeline cuda/atomic cuda/functional cuda/cmath cuda/std/type_traits
cuda/std/atomic cuda/std/barrier cuda/std/limits cuda/std/array cuda/std/complex cub/cub.cuh
cub/block/block_reduce.cuh thrust/device_vector.h thrust/iterator/counting_iterator.h
cuda_pipeline.h cuda_pipeline_primitives.h cooperative_groups/scan.h cuda_gl_interop.h
cooperative_groups/memcpy_async.h nvToolsExt.h nvtx3/nvToolsExt.h nvtx3/nvtx3.hpp
sm_20_atomic_functions.h sm_60_atomic_functions.h device_functions.h math_functions.h
cuda_profiler_api.h library_types.h channel_descriptor.h
""".split()


def test_headers_that_are_included_and_not_used() -> None:
    includes = "".join(f"#include <{name}>\n" for name in UNUSED)
    module = gpuport.load(f"{includes}__global__ void k(int* p) {{ *p = 1; }}\n", backend="cpu")
    p = np.zeros(1, "i4")
    module.k(1, 1, (p,))
    assert p[0] == 1


def test_every_header_is_complete_by_itself(tmp_path: Path) -> None:
    root = Path(runtime_folder()) / "include" / "simt"
    files = [p for p in root.rglob("*") if p.is_file() and "gpuport_simt" not in p.parts]
    assert len(files) > 100
    folders = {str(p.parent.relative_to(root.parents[1])) for p in files}
    shims = {f for f in folders if f.split("/")[2:3] in (["cub"], ["thrust"])}
    assert folders - shims <= set(HEADER_FOLDERS)  # what the key of the cache covers
    chosen = "cuda/atomic cuda/pipeline cuda/std/barrier cuda_fp8.h curand_kernel.h cusolverDn.h"
    for name in [*chosen.split(), "cooperative_groups/scan.h", "nvtx3/nvtx3.hpp", "cusparse.h"]:
        source = tmp_path / "one.cpp"
        source.write_text(f"#include <{name}>\n#include <{name}>\n")
        command = ["c++", "-std=c++20", "-fsyntax-only", f"-I{root}", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr[:500])


LIBRARIES = {
    "cub/cub.cuh": (
        "typedef cub::BlockReduce<int, 128> R; R::TempStorage t; R(t).Sum(1);",
        "no cub (<cub/...>): write it with shuffles, or load for cuda",
    ),
    "thrust/sort.h": (
        "using namespace thrust; thrust::device_vector<int> v(3); thrust::sort(v);",
        "no thrust (<thrust/...>): call kernels, or load for cuda",
    ),
    "mma.h": (
        "using namespace nvcuda; wmma::fragment<half> f; wmma::fill_fragment(f, half(0));",
        "no nvcuda::wmma (<mma.h>): write the product out, or load for cuda",
    ),
}


@pytest.mark.parametrize("headers", [*([h] for h in LIBRARIES), list(LIBRARIES)], ids=str)
def test_use_of_a_library_that_is_not_here_is_one_error(headers: list[str]) -> None:
    source = "".join(f"#include <{header}>\n" for header in headers)
    source += "__global__ void k(half* p) { *p = half(1); }\n" * ("mma.h" in headers)
    first = source.count("\n") + 1
    source += "".join(
        f"void f{n}() {{ {LIBRARIES[header][0]} }}\n" for n, header in enumerate(headers)
    )
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(source, backend="cpu")
    assert str(caught.value).split("\n") == [
        f"<source>:{first + n}: error: the CPU backend has {LIBRARIES[header][1]}"
        for n, header in enumerate(headers)
    ]


def test_a_header_of_a_library_that_is_not_there_at_all() -> None:
    for header in ("thrust/mr/allocator.h", "cub/block/block_topk.cuh"):
        library = header.partition("/")[0]
        with pytest.raises(gpuport.CompileError) as caught:
            gpuport.load(f"\n#include <{header}>\n", backend="cpu")
        assert str(caught.value).startswith(
            f"<source>:2: <{header}> is not available on cpu: the CPU backend has no {library}: "
        )


def test_libraries_that_hip_lacks_or_this_toolchain(tmp_path: Path) -> None:
    try:
        require_compiler("hip")
    except gpuport.BackendUnavailableError as error:
        pytest.skip(str(error))
    use = "\nusing namespace nvcuda;\nvoid f() { nvcuda::wmma::fragment<int> a; }\n"
    with pytest.raises(gpuport.TranslationError) as caught:
        gpuport.load(f"#include <mma.h>{use}", backend="hip", archs=["gfx90a"])
    assert [f.line for f in caught.value.findings] == [1]
    assert "HIP has no counterpart of the header 'mma.h'" in str(caught.value)
    assert "rocWMMA" in str(caught.value)
    # What no rocThrust has, and what the hipCUB of HIP 5.2 would have if it were installed here.
    said = (
        "a.cu:2:10: fatal error: 'hipcub/hipcub.hpp' file not found\n#include <hipcub/hipcub.hpp>"
    )
    assert explained_hip(said) == (
        "a.cu:2: <hipcub/hipcub.hpp> is not available on hip: hipCUB (HIP's <cub/...>) is not "
        f"installed with this HIP toolchain, or lacks it\n{said}"
    )
    header = "thrust/no_such_header.h"
    with pytest.raises(gpuport.CompileError) as refused:
        gpuport.load(f"\n#include <{header}>\n", backend="hip", archs=["gfx90a"])
    lines = str(refused.value).splitlines()
    assert lines[0] == (
        f"<source>:2: <{header}> is not available on hip: rocThrust is not installed with this "
        "HIP toolchain, or lacks it"
    )
    assert lines[1].startswith(f"<source>:2:10: fatal error: '{header}' file not found")
    assert len(lines) < 7


HOST = """
#include <cublas_v2.h>
#include <cufft.h>
#include <nvToolsExt.h>
__device__ int status[3];
__global__ void k(int* p) { *p = 5; }
int run() {
  cublasHandle_t handle; float one = 1;
  status[0] = cublasCreate(&handle);
  status[1] = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, 1, &one, &one, 1, &one, 1, &one,
                          &one, 1);
  cufftHandle plan;
  status[2] = cufftPlan1d(&plan, 8, CUFFT_C2C, 1);
  nvtxRangePushA("range"); nvtxRangePop();
  return 0;
}
int done = run();
"""


def test_calls_of_a_library_that_is_not_here_fail() -> None:
    module = gpuport.load(HOST, backend="cpu")
    assert module.get_global("status").get().tolist() == [15, 15, 16]


RANDOM = """
#include <curand_kernel.h>
typedef unsigned long long Seed;
template <typename State>
__device__ void draw(Seed seed, Seed sequence, Seed offset, unsigned* bits, double* numbers) {
  State state;
  curand_init(seed, sequence, offset, &state);
  for (int i = 0; i < 6; ++i) bits[i] = curand(&state);
  numbers[0] = curand_uniform(&state);
  numbers[1] = curand_normal(&state);
  numbers[2] = curand_normal(&state);
  numbers[3] = curand_uniform_double(&state);
  numbers[4] = curand_normal_double(&state);
}
__global__ void philox(Seed s, Seed q, Seed o, unsigned* b, double* n) {
  draw<curandStatePhilox4_32_10_t>(s, q, o, b, n);
}
__global__ void xorwow(Seed s, Seed q, Seed o, unsigned* b, double* n) {
  draw<curandState>(s, q, o, b, n);
}
__global__ void encrypt(uint4 counter, uint2 key, uint4* out) {
  *out = curand_Philox4x32_10(counter, key);
}
"""
# By cuRAND itself, for (seed, subsequence, offset).
SEQUENCES = [
    ("philox", (1234, 0, 0), [546353992, 3665621163, 1140953199, 3419031310, 2666454581, 482218876],
     [0.977164328, 2.24717617, 0.0116805658, 0.98448146716691554, 0.8588441142258092]),
    ("xorwow", (1234, 0, 0),
     [624778773, 1867875844, 3739671282, 1954919316, 3681184389, 2501467243],
     [0.201403871, 0.657660067, -0.2172198, 0.57685927422247207, -1.138048303222539]),
    ("philox", (0x123456789ABCDEF, 7, 5),
     [518091411, 1053221229, 3314847808, 1776042077, 1868462954, 2686953279],
     [0.21151118, -1.41249526, 1.07514524, 0.50343206780962646, 1.5618046477567971]),
    ("xorwow", (0x123456789ABCDEF, 7, 5),
     [4166864432, 3337679445, 899443776, 2634276899, 4010228463, 3099096422],
     [0.164877996, 0.632435381, 0.0533755012, 0.99865773076975595, -0.12385672376973325]),
    ("philox", (42, 0x100000001, 3),
     [3682552094, 1141605868, 412622924, 2371264957, 3251791087, 146458605],
     [0.16265215, -0.0730913505, 0.63322258, 0.35570848733186722, 0.046932907897097677]),
    ("xorwow", (42, 0x100000001, 3),
     [3795312216, 1933071614, 1976461006, 3389461198, 1515425404, 141078195],
     [0.62937808, 0.137985915, 1.06804895, 0.38997809698401881, -0.79453295039732463]),
    ("philox", (99, 3, 1000003),
     [2825947917, 3102050945, 340967127, 2242304878, 3767133609, 3814826297],
     [0.958211362, -0.0383895598, 1.34736359, 0.9038118701428175, 2.0218266655656443]),
    ("xorwow", (99, 3, 1000003),
     [1633370388, 1388954667, 3119041795, 2658175567, 3049323956, 159215622],
     [0.0448178723, -1.82579839, 0.347589731, 0.92417945509938204, -0.63120515328689808]),
]  # fmt: skip
# The known answers that the authors of Philox publish.
PHILOX = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def test_random_numbers() -> None:
    module = gpuport.load(RANDOM, backend="cpu")
    for name, start, bits, numbers in SEQUENCES:
        got, drawn = np.full(6, 77, "u4"), np.full(5, 77, "f8")
        module[name](1, 1, (*start, got, drawn))
        assert got.tolist() == bits, (name, start)
        np.testing.assert_allclose(drawn, numbers, rtol=2e-6)
    for counter, key, answer in PHILOX:
        texts = (counter, key, answer)
        words = [np.array([int(w, 16) for w in text.split()], "u4") for text in texts]
        out = np.full(4, 77, "u4")
        module.encrypt(1, 1, (words[0].tobytes(), words[1].tobytes(), out))
        assert out.tolist() == words[2].tolist()


FP8 = """
#include <cuda_fp8.h>
__global__ void narrow(const float* v, unsigned char* out, int n) {
  const int i = threadIdx.x;
  out[i] = __nv_fp8_e4m3(v[i]).__x;
  out[n + i] = __nv_fp8_e5m2(v[i]).__x;
  out[2 * n + i] = __nv_cvt_float_to_fp8(v[i], __NV_NOSAT, __NV_E4M3);
  out[3 * n + i] = __nv_cvt_float_to_fp8(v[i], __NV_NOSAT, __NV_E5M2);
}
__global__ void widen(float* e4m3, float* e5m2) {
  __nv_fp8_e4m3 a; __nv_fp8_e5m2 b;
  a.__x = b.__x = threadIdx.x;
  e4m3[threadIdx.x] = float(a);
  e5m2[threadIdx.x] = float(b);
}
"""


def test_numbers_of_8_bits() -> None:
    module = gpuport.load(FP8, backend="cpu")
    e4m3, e5m2 = np.full(256, 77, "f4"), np.full(256, 77, "f4")
    module.widen(1, 256, (e4m3, e5m2))
    # E5M2 is the upper half of a half; E4M3 has the bias 7 and one NaN of each sign.
    halves = (np.arange(256, dtype="u2") << 8).view("f2").astype("f4")
    np.testing.assert_array_equal(e5m2, halves)
    code = np.arange(128)
    fraction, exponent = code % 8, code // 8
    normal = (1 + fraction / 8) * 2.0 ** (exponent - 7)
    size = np.where(exponent == 0, fraction / 8 * 2.0**-6, normal)
    size[127] = np.nan
    np.testing.assert_array_equal(e4m3, np.concatenate([size, -size]).astype("f4"))

    v = np.array([0, -0.0, 1, 1.0625, 1.1875, 448, 464, 465, -1e9, 2.0**-10, 2.0**-9, 3e-3, 61439,
                  61440, np.inf, -np.inf], "f4")  # fmt: skip
    out = np.full((4, v.size), 77, "u1")
    module.narrow(1, v.size, (v, out, v.size))

    def nearest(table: np.ndarray, x: float) -> int:
        distance = np.abs(table.astype("f8") - abs(x))
        best = np.flatnonzero(distance == distance.min())
        even = best[best % 2 == 0] if best.size > 1 else best
        return int(even[0]) | (128 * bool(np.signbit(x)))

    small = size[:127], halves[:124]
    want = [[nearest(table, min(max(float(x), -1e6), 1e6)) for x in v] for table in small]
    assert out[:2].tolist() == want
    for row, table, last, above in ((2, want[0], 464, 0x7F), (3, want[1], 61439, 0x7C)):
        signs = np.signbit(v) * 128
        past = [above | s if abs(x) > last else w for x, w, s in zip(v, table, signs, strict=True)]
        assert out[row].tolist() == past


TOGETHER = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/limits>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

__global__ void staged(const int* in, int* out, int rounds) {
  constexpr int kStages = 2;
  __shared__ int tile[kStages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int fetched = 0, round = 0; round < rounds; ++round) {
    for (; fetched < rounds && fetched < round + kStages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[fetched % kStages], in + 64 * fetched, 64 * sizeof(int), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[round % kStages][63 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
__global__ void halves(const int* in, int* out) {
  __shared__ int tile[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 3; ++i) {
    auto token = ready.arrive();
    ready.wait(std::move(token));
    const int other = tile[(threadIdx.x + 1) % 64];
    ready.arrive_and_wait();
    tile[threadIdx.x] += other;
  }
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void counted(int* counter, int* most, int* flag) {
  cuda::atomic_ref<int, cuda::thread_scope_device> count(*counter), top(*most), signal(*flag);
  count.fetch_add(1, cuda::memory_order_relaxed);
  top.fetch_max(int(blockIdx.x));
  if (threadIdx.x != 0) return;
  const int full = cuda::std::numeric_limits<int>::max();
  if (blockIdx.x == 0) signal.store(full, cuda::memory_order_release);
  while (signal.load(cuda::memory_order_acquire) == 0) {
  }
  count++;
}
"""


def test_copies_barriers_and_atomics(cpu: Target) -> None:
    module = gpuport.load(TOGETHER, backend="cpu", warp_size=cpu.warp_size)
    values = np.random.default_rng(3).integers(0, 99, 64 * 5).astype("i4")
    out = np.full(65, 77, "i4")
    module.staged(1, 64, (values, out, 5))
    np.testing.assert_array_equal(out[:64], values.reshape(5, 64).sum(axis=0)[::-1])
    assert out[64] == 77
    module.halves(1, 64, (values, out))
    want = values[:64]
    for _ in range(3):
        want = want + np.roll(want, -1)
    np.testing.assert_array_equal(out[:64], want)
    counter, most, flag = (np.zeros(1, "i4") for _ in range(3))
    module.counted(6, 40, (counter, most, flag))
    assert (counter[0], most[0], flag[0]) == (6 * 40 + 6, 5, 2**31 - 1)
