"""Target `hip`: names, headers, cub, and what has no counterpart."""

from __future__ import annotations

import textwrap

import pytest

from gpuport.translate import TranslationError, hipify
from gpuport.translate.translation import translate_bytes


def hip(source: str) -> str:
    return hipify(source + "\n").text.removesuffix("\n")


def rules(source: str) -> list[str]:
    return [finding.rule for finding in hipify(source + "\n", strict=False).findings]


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("cudaMalloc((void**)&p, n)", "hipMalloc((void**)&p, n)"),
        (
            "(cudaMemsetAsync)(p, 0, n, cudaStreamPerThread)",
            "(hipMemsetAsync)(p, 0, n, hipStreamPerThread)",
        ),
        ("cudaDeviceProp d; cudaError_t e;", "hipDeviceProp_t d; hipError_t e;"),
        ("e == cudaErrorMemoryAllocation", "e == hipErrorOutOfMemory"),
        ("cudaMallocHost(h, 1); cudaFreeHost(h);", "hipHostMalloc(h, 1); hipHostFree(h);"),
        ("cudaHostAllocMapped", "hipHostMallocMapped"),
        ("cudaDevAttrWarpSize", "hipDeviceAttributeWarpSize"),
        ("CU_DEVICE_ATTRIBUTE_WARP_SIZE", "hipDeviceAttributeWarpSize"),
        ("cuLaunchKernel(f)", "hipModuleLaunchKernel(f)"),
        (
            "cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)",
            "hipStreamCreateWithFlags(&s, hipStreamNonBlocking)",
        ),
        ("cuMemAlloc_v2(&d, n); cuMemFree(d);", "hipMalloc(&d, n); hipFree(d);"),
        (
            "CUresult r = CUDA_SUCCESS; CUdeviceptr d;",
            "hipError_t r = hipSuccess; hipDeviceptr_t d;",
        ),
        ("cuGetErrorString(r, &s)", "hipDrvGetErrorString(r, &s)"),
        ("nvrtcCompileProgram(p, 0, 0)", "hiprtcCompileProgram(p, 0, 0)"),
        ("cublasSgemm_v2(h)", "hipblasSgemm(h)"),
        ("cublasZgemm(h)", "hipblasZgemm_v2(h)"),
        ("curandState s; curand_uniform(&s)", "hiprandState s; hiprand_uniform(&s)"),
        ("cufftExecC2C(p, a, b, CUFFT_FORWARD)", "hipfftExecC2C(p, a, b, HIPFFT_FORWARD)"),
        ("cusparseCreate(&h)", "hipsparseCreate(&h)"),
        ("make_cuFloatComplex(1, 2)", "make_hipFloatComplex(1, 2)"),
        ("CUDART_PI_F", "HIP_PI_F"),
        ("#ifdef __CUDACC__\n#endif", "#ifdef __HIPCC__\n#endif"),
        ("#if defined(__CUDA_ARCH__)\n#endif", "#if defined(__HIP_DEVICE_COMPILE__)\n#endif"),
        ("void k(const __grid_constant__ T t);", "void k(const  T t);"),
        ("using R = cub::BlockReduce<T, 4>;", "using R = hipcub::BlockReduce<T, 4>;"),
        ("using namespace cub;", "using namespace hipcub;"),
        ("namespace c = cub;", "namespace c = hipcub;"),
        (
            "extern __shared__ alignas(alignof(cudaStream_t)) char raw[];",
            "alignas(alignof(hipStream_t)) extern __shared__ char raw[];",
        ),
        ("thrust::cuda::par.on(s)", "thrust::hip::par.on(s)"),
        ("return ::cub::f();", "return ::hipcub::f();"),
        (
            "#define CUDA_API_PER_THREAD_DEFAULT_STREAM",
            "#define HIP_API_PER_THREAD_DEFAULT_STREAM",
        ),
        (
            '#if __has_include(<cuda_runtime.h>) || __has_include("cuComplex.h")\n#endif',
            '#if __has_include(<hip/hip_runtime.h>) || __has_include("hip/hip_complex.h")\n#endif',
        ),
    ],
)
def test_names(cuda: str, expected: str) -> None:
    assert hip(cuda) == expected


@pytest.mark.parametrize(
    "text",
    [
        "std::min(a, b); std::max<int>(c, d);",
        "k<float, 256><<<dim3(1, 2), n << 3 >> 1, 0, s>>>(a);",
        "#define CUDA_CHECK(x) check(x)\nCUDA_CHECK(f()); CU_SAFE_CALL(g());",
        "int cub = 3; cub += cub; mycub::cub::F(); a.cub(); p->cub();",
        "struct cub { static int x; }; int y = cub::x;",
        "namespace cub { int x; } int y = cub::x;",
        "int umin(int a, int b) { return a < b ? a : b; } int c = umin(1, 2);",
        "namespace cg = cooperative_groups; cg::tiled_partition<32>(b).shfl_down(v, 1);",
        'asm volatile("" ::: "memory");',
        '#include "cuda_runtime.h.in"\n#include "x/cuda_runtime.h"\n#include "cuda-user.h"',
        "#include <thrust/sort.h>\n#include <vector>",
        "expf(x); __expf(y); atomicAdd(p, 1); __popc(m); __syncthreads();",
        "half h = __float2half(1.f);",
        "hipMalloc(&p, n); hipcub::BlockReduce<int, 3> r;",
        "#if __has_include(<cuda/barrier>) || __has_include(<own.h>)\n#endif",
        "my::cuda::x(); int cuda = 3; a.cuda; cuda = 4; s.cuda::f();",
        "namespace my { namespace cuda { int x; } int y = cuda::x; }",
        "namespace at::cuda { int x; } int y = cuda::x;",
        "namespace cuda = my::cuda; int y = cuda::x;",
        "using my::cuda; int y = cuda::x;",
        "class cuda; cuda::x y;",
        "my::cudaInitDevice(1); A<int>::cudaInitDevice(); s.cudaInitDevice = p->cudaInitDevice(2);",
        "namespace my { int cudaInitDevice(int); struct S { S* cudaInitDevice; }; }",
        "my::nvtxRangePop(); s.nvtxRangePop(); int mynvtxMark, nvtx;",
    ],
)
def test_what_is_not_cudas_stays(text: str) -> None:
    result = hipify(text + "\n")
    assert result.text == text + "\n"
    assert result.findings == ()


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("cuda_runtime.h", "hip/hip_runtime.h"),
        ("cuda.h", "hip/hip_runtime.h"),
        ("cuda_runtime_api.h", "hip/hip_runtime_api.h"),
        ("cooperative_groups.h", "hip/hip_cooperative_groups.h"),
        ("cub/block/block_reduce.cuh", "hipcub/hipcub.hpp"),
        ("curand_kernel.h", "hiprand/hiprand_kernel.h"),
        ("cuda_fp16.h", "hip/hip_fp16.h"),
    ],
)
def test_headers(cuda: str, expected: str) -> None:
    assert hip(f"#include <{cuda}>") == f"#include <{expected}>"
    assert hip(f'# include "{cuda}" // why') == f'# include "{expected}" // why'
    assert hip(f"#import <{cuda}>") == f"#import <{expected}>"
    for gap in ("\\\n", " \\\n  ", " /* a */ \\\r\n "):
        assert hip(f"#include{gap}<{cuda}>\nint x;") == f"#include{gap}<{expected}>\nint x;"
        assert hip(f'#{gap}include "{cuda}"') == f'#{gap}include "{expected}"'


def test_a_header_that_hip_has_built_in_becomes_a_comment() -> None:
    text = hip("#include <device_launch_parameters.h>  // threadIdx")
    assert text.startswith("/* #include <device_launch_parameters.h> ")
    assert text.endswith(" */  // threadIdx")


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("cudaInitDevice(0, 0, 0);", "no-hip-name"),
        ("cudaGraphicsD3D11RegisterResource(r);", "no-hip-name"),
        ("x = CUBLASLT_MATMUL_TILE_8x8;", "no-hip-name"),
        ("__dadd_ru(a, b);", "no-hip-name"),
        ("__nv_bfloat16 x;", "no-hip-name"),
        ("cub::DeviceFor::Bulk(n, op);", "no-hip-name"),
        ("namespace g = cooperative_groups; g::memcpy_async(t, v, p, 4);", "no-hip-name"),
        ("x = cooperative_groups::this_cluster();", "no-hip-name"),
        ("#if __CUDACC_VER_MAJOR__ > 11\n#endif", "no-hip-name"),
        ("#if CUDART_VERSION >= 12000\n#endif", "no-hip-name"),
        ("int arch = __CUDA_ARCH__;", "cuda-arch-value"),
        ("__pipeline_commit();", "no-hip-name"),
        ("__mbarrier_t b;", "no-hip-name"),
        ("__mbarrier_arrive(&b);", "no-hip-name"),
        ('nvtxRangePushA("x");', "no-hip-name"),
        ("x = NVTX_VERSION;", "no-hip-name"),
        ("nvtx3::scoped_range r;", "no-hip-name"),
        ("using namespace nvcuda;", "no-hip-name"),
        ("nvcuda::wmma::fragment<int> f;", "no-hip-name"),
        ("namespace w = nvcuda::wmma;", "no-hip-name"),
        ("cuda::barrier<scope> b;", "no-hip-name"),
        ("return ::cuda::std::min(a, b);", "no-hip-name"),
        ("using namespace cuda::std;", "no-hip-name"),
        ("namespace c = cuda;", "no-hip-name"),
        ("friend class cuda::x;", "no-hip-name"),
        ("int cuda; cuda::atomic<int> x;", "no-hip-name"),
        ("atomicInc_system(p, 1);", "no-hip-name"),
        ("atomicDec_system(p, 1);", "no-hip-name"),
        ("__tanhf(x);", "no-hip-name"),
        ("__double2half(x);", "no-hip-name"),
        ("CubDebugExit(x);", "no-hip-name"),
        ("x = CUB_VERSION;", "no-hip-name"),
        ("return ::cudaInitDevice(1);", "no-hip-name"),
        ("f(x..., cudaInitDevice);", "no-hip-name"),
        ("namespace my { int x = 2 * cudaInitDevice(1); }", "no-hip-name"),
        ("namespace my { void f() { return cudaInitDevice(1); } }", "no-hip-name"),
        ('extern "C" { int cudaInitDevice(int); }', "no-hip-name"),
        ("#import <cuda/atomic>", "no-hip-header"),
        ("#include \\\n <cuda/atomic>", "no-hip-header"),
        ("#include <cuda/atomic>", "no-hip-header"),
        ("#include <mma.h>", "no-hip-header"),
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));', "inline-ptx"),
        ('__asm__("bar.sync 0;");', "inline-ptx"),
        ("texture<float, 2, cudaReadModeElementType> t;", "texture-reference"),
        ("#define CALL(name) cuda##name\nCALL(Free)(p);", "pasted-name"),
    ],
)
def test_what_hip_lacks_is_an_error(source: str, rule: str) -> None:
    assert rules(source) == [rule]
    with pytest.raises(TranslationError) as caught:
        hipify(source + "\n")
    assert [finding.rule for finding in caught.value.findings] == [rule]
    assert all(finding.hint for finding in caught.value.findings)


@pytest.mark.parametrize("target", ["hip", "cpu"])
def test_a_target_has_assembly_of_its_own(target: str) -> None:
    mine, other = {"hip": ("AMD", "CPU"), "cpu": ("CPU", "AMD")}[target]
    own = f'#if defined(GP_TARGET_{mine})\nasm volatile("pause");\n#endif\n'
    rest = f'#ifdef GP_TARGET_{other}\n#else\nasm volatile("pause");\n#endif\n'
    assert hipify(own + rest, target=target).text == own + rest
    for condition in ("1", "X", f"defined(GP_TARGET_{mine}) || X"):
        source = f'#if {condition}\nasm volatile("pause");\n#endif\n'
        rules = [finding.rule for finding in hipify(source, target=target, strict=False).findings]
        assert rules == ([] if "GP" in condition else ["inline-ptx"])


def test_everyday_names_are_warnings() -> None:
    (finding,) = hipify("int a = mul24(b, c);\n").findings
    assert (finding.rule, finding.severity, finding.column) == ("no-hip-name", "warning", 9)


def test_masks_of_a_warp_are_warnings_on_their_lines() -> None:
    source = "a = __shfl_down_sync(0xffffffff, v, o);\nb = __popc(x);\nc = __activemask();\n"
    result = hipify(source)
    assert result.text == source
    assert [(f.rule, f.severity, f.line, f.column) for f in result.findings] == [
        ("warp-mask", "warning", 1, 5),
        ("warp-mask", "warning", 3, 5),
    ]


def test_what_amds_runtime_refuses_is_renamed_with_a_warning() -> None:
    source = (
        "ask(&n, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);\nask(&n, cudaDevAttrWarpSize, 0);\n"
    )
    text, findings = hipify(source)
    assert text == (
        "ask(&n, hipDeviceAttributeSharedMemPerBlockOptin, 0);\n"
        "ask(&n, hipDeviceAttributeWarpSize, 0);\n"
    )
    assert [(f.rule, f.severity, f.line, f.column) for f in findings] == [
        ("nvidia-only", "warning", 1, 9)
    ]


def test_a_finding_shows_the_place_and_what_to_do() -> None:
    source = "int a;\n\té = cudaInitDevice(0);\n"
    (finding,) = hipify(source, strict=False).findings
    assert finding.render() == textwrap.dedent(
        """\
        <source>:2:6: error: HIP has no counterpart of 'cudaInitDevice' [no-hip-name]
          \té = cudaInitDevice(0);
          \t    ^~~~~~~~~~~~~~
          put it in a branch of its own, #if defined(GP_TARGET_CUDA), or do without"""
    )


def test_macros_with_launches_and_continued_lines() -> None:
    source = textwrap.dedent(
        """\
        #define CHECK(call)                              \\
          do {                                           \\
            cudaError_t e = (call);                      \\
            if (e != cudaSuccess) fail(#call, "cudaX");  \\
          } while (0)
        #define LAUNCH(k, g, ...) k<<<(g), 32>>>(__VA_ARGS__)
        #define HALF <<<1, 32>>>
        """
    )
    expected = source.replace("cudaError_t", "hipError_t").replace("cudaSuccess", "hipSuccess")
    assert hipify(source).text == expected


def test_a_header_that_our_own_stands_for_becomes_a_comment_and_a_warning() -> None:
    text, findings = hipify(
        "# include <cooperative_groups/reduce.h>\ncooperative_groups::reduce(t, 1);\n"
    )
    assert text == (
        "/* # include <cooperative_groups/reduce.h> is a part of gpuport_hip.h */\n"
        "cooperative_groups::reduce(t, 1);\n"
    )
    assert [(f.rule, f.severity, f.line) for f in findings] == [("compat-header", "warning", 1)]


def test_a_comparison_of_the_architecture_is_one_with_0_and_a_warning() -> None:
    source = (
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 600\n#elif __CUDA_ARCH__ > 300\n#endif\n"
        "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600\n#endif\n"
        "#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 600)\n#endif\n"
        "#ifdef __CUDA_ARCH__\n#endif\n#if defined(GP_TARGET_CUDA) && __CUDA_ARCH__ > 1\n#endif\n"
    )
    for target in ("hip", "cpu"):
        text, findings = hipify(source, target=target)
        assert text == (
            source.replace("#ifdef __CUDA_ARCH__", "#ifdef __HIP_DEVICE_COMPILE__")
            if target == "hip"
            else source
        )
        assert [(f.rule, f.severity, f.line, f.column) for f in findings] == [
            ("cuda-arch-value", "warning", 1, 31),
            ("cuda-arch-value", "warning", 2, 7),
        ]
        assert "-D__CUDA_ARCH__=800" in findings[0].hint


@pytest.mark.parametrize(
    ("source", "severities"),
    [
        ("#define B(x) __nv_bfloat162(x)", ["warning"]),
        ("#define B(x) __nv_bfloat162(x)\nint i = B(1);", ["error"]),
        ("#define B(x) __nv_bfloat162(x)\n#define C B(1)", ["warning"]),
        ("#define B(x) __nv_bfloat162(x)\n#define C B(1)\nC", ["error"]),
        ("#define B(x) __nv_bfloat162(x)\n#if B(1)\n#endif", ["error"]),
        ('#define LOAD(r) asm volatile("ld;" : "=r"(r)) \\\n ; asm("x")', ["warning", "warning"]),
        ("#define CALL(name) cuda##name", ["warning"]),
    ],
)
def test_what_stands_in_a_macro_that_nothing_expands(source: str, severities: list[str]) -> None:
    for name, elsewhere, expected in (
        ("<source>", None, severities),
        ("k.cu", None, severities),
        ("k.cuh", None, ["error"] * len(severities)),  # other files may expand it
        ("k.cuh", lambda word: word == "D", severities),
        ("k.cuh", lambda word: word == source[8:12].split("(")[0], ["error"] * len(severities)),
    ):
        found = translate_bytes(source.encode(), name, "hip", elsewhere=elsewhere).findings
        assert [f.severity for f in found if f.rule != "compat-header"] == expected


def test_braced_launch_configurations() -> None:
    # clang takes no braces there.
    source = "k<<<{1}, {n, cudaSuccess}, 0, s>>>(x);\nk<<<g, b>>>({1, 2});\nint a[] = {1 << 2};\n"
    assert hipify(source).text == (
        "k<<<::dim3(1), ::dim3(n, hipSuccess), 0, s>>>(x);\nk<<<g, b>>>({1, 2});\n"
        "int a[] = {1 << 2};\n"
    )


def test_a_launch_with_blanks_in_its_chevrons() -> None:
    source = "f(1 <<2, v<B<int>> {});\nk << <cudaSuccess, v<A<int> > >> >(x);\nk<<<1, 2>>\n  >();\n"
    expected = (
        "f(1 <<2, v<B<int>> {});\nk <<< hipSuccess, v<A<int> > >>> (x);\nk<<<1, 2>>>\n  ();\n"
    )
    assert hipify(source).text == expected


def test_what_the_header_of_our_own_gives_is_a_warning() -> None:
    text, findings = hipify("a = __ldcs(p);\n__trap();\nown::__trap();\n__ldcv(p);\n", strict=False)
    assert text == "a = __ldcs(p);\n__trap();\nown::__trap();\n__ldcv(p);\n"
    assert [(f.rule, f.severity, f.line) for f in findings] == [
        ("compat-header", "warning", 1),
        ("compat-header", "warning", 2),
        ("no-hip-name", "error", 4),
    ]
    assert "gpuport_hip.h" in findings[0].message
