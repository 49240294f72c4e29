"""The table of names: the irregular families, and the table against the headers that are here."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from gpuport.translate.names import NameTable, load_names, table_path
from gpuport.translate.naming import regular_name

# One or two names a family, with the traps: the swapped name exists in HIP and is another thing.
PAIRS = """
cudaMalloc hipMalloc                        cudaThreadSynchronize hipDeviceSynchronize
cudaErrorInitializationError hipErrorNotInitialized
cudaErrorECCUncorrectable hipErrorECCNotCorrectable
cudaDeviceAttr hipDeviceAttribute_t         cudaPointerAttributes hipPointerAttribute_t
cudaDevAttrMaxSharedMemoryPerBlockOptin hipDeviceAttributeSharedMemPerBlockOptin
cudaDevAttrMaxTexture2DMipmappedHeight hipDeviceAttributeMaxTexture2DMipmap
CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT hipDeviceAttributeMultiprocessorCount
CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH hipDeviceAttributeMaxSurface3D
CUDA_ERROR_LAUNCH_TIMEOUT hipErrorLaunchTimeOut
CUDA_ERROR_NO_BINARY_FOR_GPU hipErrorNoBinaryForGpu
cuLaunchKernel hipModuleLaunchKernel        cuEventCreate hipEventCreateWithFlags
cuMemcpy2D_v2 hipMemcpyParam2D              cuMemcpy3D hipDrvMemcpy3D
cuPointerGetAttributes hipDrvPointerGetAttributes
cuGraphAddMemsetNode hipDrvGraphAddMemsetNode
cuCtxGetLimit hipDeviceGetLimit             cuDeviceGetCount hipGetDeviceCount
cuOccupancyMaxPotentialBlockSize hipModuleOccupancyMaxPotentialBlockSize
cuLinkCreate_v2 hiprtcLinkCreate            nvrtcGetPTX hiprtcGetCode
CUmodule hipModule_t                        CUevent_st ihipEvent_t
CU_STREAM_NON_BLOCKING hipStreamNonBlocking CU_MEMHOSTALLOC_DEVICEMAP hipHostMallocMapped
CU_FUNC_ATTRIBUTE_NUM_REGS HIP_FUNC_ATTRIBUTE_NUM_REGS
CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK hipDevP2PAttrPerformanceRank
CUDA_R_16F HIP_R_16F                        CUDART_PI_F HIP_PI_F
cublasSgemm_v2 hipblasSgemm                 cublasCgemm_v2 hipblasCgemm_v2
cublasCreate_v2 hipblasCreate               cublasScnrm2 hipblasScnrm2_v2
cublasIdamax_v2_64 hipblasIdamax_64         cublasScopy_v2 hipblasScopy
CUBLAS_OP_T HIPBLAS_OP_T                    cufftPlan3d hipfftPlan3d
curand_init hiprand_init                    cusparseDcsrsm2_solve hipsparseDcsrsm2_solve
cudaDeviceGetTexture1DLinearMaxWidth hipDeviceGetTexture1DLinearMaxWidth
CUB_PTX_ARCH HIPCUB_ARCH                    CubDebug HipcubDebug
""".split()


@pytest.fixture(scope="module")
def names() -> NameTable:
    return load_names()


@pytest.mark.parametrize(("cuda", "hip"), list(zip(PAIRS[::2], PAIRS[1::2], strict=True)))
def test_hip_names(names: NameTable, cuda: str, hip: str) -> None:
    meaning = names.meaning(cuda)
    assert meaning is not None
    assert meaning.hip == hip


@pytest.mark.parametrize(
    "name",
    [
        *(
            "cudaInitDevice",
            "cudaEglFrame",
            "cudaD3D9SetDirect3DDevice",
            "cudaGraphAddDependencies_v2",
        ),
        *("cuCtxCreate_v3", "CU_TARGET_COMPUTE_90", "CUd3d11DeviceList", "cuTensorMapEncodeTiled"),
        *("CUBLASLT_CLUSTER_SHAPE_2x1x1", "cublasXerbla"),
        *("cusparseShyb2dense", "curandMethod_t", "nvrtcGetLTOIR", "__vadd4", "__fsqrt_rz"),
        *("__nv_fp8_e4m3", "__float2bfloat16", "CUDART_VERSION", "__ldcv"),
    ],
)
def test_names_that_hip_lacks(names: NameTable, name: str) -> None:
    meaning = names.meaning(name)
    assert meaning is not None
    assert meaning.unsupported
    assert names.hint(name)


@pytest.mark.parametrize(
    "name",
    ["cudaGaugeField", "cudaMallocator", "CUDA_CHECK", "CUstomType", "cuda", "cu", "cublasWrapper"],
)
def test_names_of_users(names: NameTable, name: str) -> None:
    assert names.meaning(name) is None


def test_the_table_says_each_thing_once() -> None:
    seen: set[str] = set()
    for group in tomllib.loads(table_path().read_text())["names"].values():
        renamed = group.get("renamed", "").split()
        assert [
            c for c, h in zip(renamed[::2], renamed[1::2], strict=True) if regular_name(c) == h
        ] == []
        for key in ("regular", "unsupported", "plain"):
            words = group.get(key, "").split()
            assert seen.isdisjoint(words)
            seen.update(words)
        assert seen.isdisjoint(renamed[::2])
        seen.update(renamed[::2])


def test_a_project_adds_names_of_its_own(tmp_path: Path) -> None:
    table = tmp_path / "own.toml"
    table.write_text(
        "[names.own]\nrenamed = '''cudaOwn hipOwn  cudaMalloc own_malloc'''\n"
        "unsupported = '''cudaFree'''\n[headers]\n'own.cuh' = 'own.hip.h'\n"
        "[hints]\n'cudaFree' = 'use the pool'\n"
    )
    names = load_names(table)
    assert [
        getattr(names.meaning(n), "hip", "") for n in ("cudaOwn", "cudaMalloc", "cudaMemset")
    ] == [
        "hipOwn",
        "own_malloc",
        "hipMemset",
    ]
    meaning = names.meaning("cudaFree")
    assert meaning is not None
    assert meaning.unsupported
    assert names.hint("cudaFree") == "use the pool"
    assert names.headers["own.cuh"] == "own.hip.h"


@pytest.mark.parametrize("text", ["[names", "[names.x]\nrenamed = 'odd'\n", "names = 3\n"])
def test_a_broken_table_names_its_file(tmp_path: Path, text: str) -> None:
    table = tmp_path / "broken.toml"
    table.write_text(text)
    with pytest.raises(ValueError, match=r"broken\.toml"):
        load_names(table)


def identifiers(*files: Path) -> set[str]:
    found: set[str] = set()
    for file in files:
        found.update(re.findall(r"\w+", file.read_text("latin-1")))
    return found


def cuda_include() -> Path:
    """The headers of the CUDA toolkit here; a skip if there is none."""
    nvcc = shutil.which("nvcc")
    roots = [Path(nvcc).resolve().parents[1]] if nvcc else []
    roots += [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    roots += sorted(Path("/usr/local").glob("cuda*"))
    for root in roots:
        if (root / "include/cuda_runtime_api.h").is_file():
            return root / "include"
    pytest.skip("no CUDA headers here")


@pytest.mark.parametrize(
    ("header", "function"),
    [
        ("cuda_runtime_api.h", r"CUDARTAPI\s+(cuda\w+)\("),
        ("cuda.h", r"CUresult\s+CUDAAPI\s+(cu\w+)\("),
        ("driver_types.h", r"^\s+(cuda(?:Error|DevAttr|Limit|Memcpy|Graph)\w+)\s*="),
    ],
)
def test_every_name_of_the_cuda_headers_is_known(
    names: NameTable, header: str, function: str
) -> None:
    text = (cuda_include() / header).read_text("latin-1")
    declared = set(re.findall(function, text, re.MULTILINE))
    assert len(declared) > 100
    assert sorted(name for name in declared if names.meaning(name) is None) == []


def test_every_hip_name_is_in_a_hip_header(names: NameTable) -> None:
    triton = importlib.util.find_spec("triton")
    if triton is None or triton.origin is None:
        pytest.skip("no HIP 7 headers here: the triton wheel has them")
    folders = [Path(triton.origin).parent / "backends/amd/include", Path("/usr/include/hip")]
    declared = identifiers(*(file for folder in folders for file in folder.rglob("*.h")))
    # Later than 7.1, in hiprtc.h or in hip_math_constants.h: not in the headers that are here.
    elsewhere = re.compile(
        r"HIP_[A-Z0-9_]*|hipDeviceAttribute\w*|i?hiprtc\w*|HIPRTC\w*|hipMem\w+Fabric"
    )
    missing = set()
    for name in names.cuda_names():
        meaning = names.meaning(name)
        if re.match(r"cuda[A-Z]|cu[A-Z]|CU_", name) and meaning and meaning.hip:
            hip = meaning.hip
            if hip not in declared and not elsewhere.fullmatch(hip):
                missing.add(hip)
    assert missing <= {
        *("hipErrorLossyQuery", "hipGraphNodeTypeConditional", "hipGraphDebugDotFlagsRuntimeTypes"),
    }


@pytest.mark.parametrize(("version", "count"), [("5.2", 32), ("7.1", 8)])
def test_what_hip_has_for_nvidia_only_is_a_warning(
    names: NameTable, version: str, count: int
) -> None:
    root = {"5.2": "/usr/include", "7.1": os.environ.get("GPUPORT_HIP7_INCLUDE", "/nowhere")}
    header = Path(root[version]) / "hip/hip_runtime_api.h"
    if not header.is_file():
        pytest.skip(f"no headers of HIP {version} here")
    marked = set(re.findall(r"\b(hipDeviceAttribute\w+),\s*///<\s*Cuda only", header.read_text()))
    assert len(marked) == count
    asked = 0
    for name in names.cuda_names():
        meaning = names.meaning(name)
        if meaning is not None and meaning.hip in marked:
            asked += 1
            assert meaning.rule == "nvidia-only"
            assert ("before HIP 7" in meaning.warning) <= (version == "5.2")
        elif meaning is not None and version == "5.2":
            assert meaning.rule != "nvidia-only" or not meaning.warning
    assert asked >= count
