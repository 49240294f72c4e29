"""Files with a main() of their own: what host code names beside the kernels has to compile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpuport

# One statement a line, as programs write them.
STATEMENTS = """
int mode; cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0)
out[0] = mode != cudaComputeModeProhibited
cudaDeviceProp p; cudaGetDeviceProperties(&p, 0)
out[1] = int(p.memPitch) + p.computeMode + p.deviceOverlap
out[2] = int(p.textureAlignment) + p.maxTexture1D + p.maxSurface2D[1] + p.pciBusID + p.tccDriver
out[3] = p.clockRate > 0 && p.kernelExecTimeoutEnabled == 0 && p.memoryClockRate == 0
cudaGraphicsResource** r = nullptr; out[4] = cudaGraphicsMapResources(2, r, 0)
cudaTextureObject_t t = 0; out[5] = int(t)
cudaSurfaceObject_t s = 0; out[6] = int(s)
cudaExtent extent = make_cudaExtent(1, 2, 3); out[7] = int(extent.depth)
cudaGraph_t g; out[8] = cudaGraphCreate(&g, 0)
cudaGraphExec_t ge; out[9] = cudaGraphInstantiate(&ge, g, NULL, NULL, 0)
int b = 0; out[10] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&b, k, 128, 0) + b
cudaIpcMemHandle_t h; out[11] = cudaIpcGetMemHandle(&h, out)
cudaMemLocation l = {cudaMemLocationTypeDevice, 0}
out[12] = cudaMemAdvise(out, 4, cudaMemAdviseSetReadMostly, l)
cudaHostFn_t tell = [](void* data) { static_cast<int*>(data)[14] = 14; }
out[13] = cudaLaunchHostFunc(0, tell, out)
cudaPitchedPtr m
out[15] = cudaMalloc3D(&m, make_cudaExtent(10, 4, 2)) + int(m.pitch / 512 + m.ysize)
out[16] = cudaMemset3D(m, 3, make_cudaExtent(10, 4, 2)) + static_cast<char*>(m.ptr)[7 * m.pitch + 9]
cudaFree(m.ptr); std::size_t bytes; cudaGetSymbolSize(&bytes, table); out[17] = int(bytes)
out[18] = cudaErrorInvalidTextureBinding == 19 ? cudaErrorECCUncorrectable : 0
int width = 0; out[19] = cudaDeviceGetAttribute(&width, cudaDevAttrMaxTexture2DWidth, 0) + width
out[20] = cudaDeviceGetAttribute(&width, cudaDeviceAttr(4711), 0)
cudaMemPool_t pool; cudaDeviceGetDefaultMemPool(&pool, 0); cudaGetLastError()
out[21] = cudaGetLastError()
"""
NOT_SUPPORTED = 801
EXPECTED = [1, 2**31 - 1, 512, 1, NOT_SUPPORTED, 0, 0, 3, NOT_SUPPORTED, NOT_SUPPORTED, 16,
            NOT_SUPPORTED, 0, 0, 14, 5, 3, 20, 214, 0, 1, 0, 77]  # fmt: skip


def test_names_of_the_runtime(tmp_path: Path) -> None:
    # Host code runs where it can here: as the initialiser of a variable.
    lines = STATEMENTS.strip().replace("\n", ";\n  ")
    source = (
        "#include <cstdio>\n__device__ int table[5];\n"
        "__global__ void k(int* p) { *p = table[0]; }\n"
        f"int host(int* out) {{\n  {lines};\n  return 0;\n}}\n"
        "__device__ int answers[23];\nint done = (answers[22] = 77, host(answers));\n"
    )
    answers = gpuport.load(source, backend="cpu").get_global("answers").get()
    assert answers.tolist() == EXPECTED


def test_what_is_missing_says_so() -> None:
    source = (
        "#include <cstring>\n__global__ void k(int* p) { *p = 1; }\n__device__ char text[200];\n"
        "int done = (cudaGraphCreate(nullptr, 0),"
        " std::strncpy(text, cudaGetErrorString(cudaGetLastError()), 199), 0);\n"
    )
    module = gpuport.load(source, backend="cpu")
    text = bytes(module.get_global("text").get().astype("u1")).rstrip(b"\0").decode()
    assert text == (
        "operation not supported: cudaGraphCreate: on the CPU backend there are no graphs: "
        "work is done when a call returns, so there is nothing to record"
    )


@pytest.mark.parametrize("text", ["cudaErrorNotAName", "cudaDevAttrNotAName"])
def test_other_names_are_still_errors(text: str) -> None:
    with pytest.raises(gpuport.CompileError, match=text):
        gpuport.load(f"__global__ void k(int* p) {{ *p = {text}; }}\n", backend="cpu")


def test_the_kernel_of_such_a_file_runs() -> None:
    source = """
    #include <cuda_gl_interop.h>
    cudaGraphicsResource* resource;
    __global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
    int main() {
      int* p; size_t bytes;
      cudaGraphicsGLRegisterBuffer(&resource, 1u, cudaGraphicsMapFlagsWriteDiscard);
      cudaGraphicsMapResources(1, &resource, 0);
      cudaGraphicsResourceGetMappedPointer((void**)&p, &bytes, resource);
      fill<<<1, 8>>>(p);
      cudaGraphicsUnmapResources(1, &resource, 0);
      return 0;
    }
    """
    p = np.zeros(8, "i4")
    gpuport.load(source, backend="cpu").fill(1, 8, (p,))
    assert p.tolist() == list(range(8))
