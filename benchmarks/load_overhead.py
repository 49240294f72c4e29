"""What `gpuport.load` and a launch cost on the host.

    python benchmarks/load_overhead.py [--backend cpu|cuda|hip] [--json]

A launch: an empty kernel with six arguments (four arrays, two numbers), per call, the median of
several rounds; on a GPU beside CuPy's RawKernel in the same process, over the same arrays, where
CuPy is installed. Of it: what the arguments take, and what a kernel without any on stream 0 does,
which is little more than the driver's own time. A load: the first compilation of a 50-line kernel,
and the same from the cache in a fresh process, after the import.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gpuport

EMPTY = """
extern "C" __global__ void empty(const float* a, const float* b, float* c, int* d, int n,
                                 float s) {}
extern "C" __global__ void bare() {}
"""

# About 50 lines: a tile loop, shared memory, a template, a helper.
KERNEL = """
#include <cuda_runtime.h>
#include <math.h>
#define TILE 16
template <typename T>
__device__ T clamp_to(T v, T low, T high) {
  return v < low ? low : v > high ? high : v;
}
__global__ void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
    int ka = t * TILE + threadIdx.x;
    int kb = t * TILE + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
__global__ void activate(float* c, const float* bias, int m, int n, float slope) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int stride = gridDim.x * blockDim.x;
  for (; i < m * n; i += stride) {
    float v = c[i] + bias[i % n];
    v = v > 0.0f ? v : slope * v;
    c[i] = clamp_to(tanhf(v), -0.5f, 0.5f);
  }
}
__global__ void row_max(const float* c, float* out, int n) {
  __shared__ float best[256];
  float v = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v = fmaxf(v, c[blockIdx.x * n + i]);
  best[threadIdx.x] = v;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = best[0];
}
"""

LOAD = """
import sys, time, gpuport
started = time.perf_counter()
gpuport.load(sys.argv[1], backend=sys.argv[2])
print(time.perf_counter() - started)
"""


def per_call(call: Callable[[], object], wait: Callable[[], object], rounds: int = 30) -> float:
    """Microseconds, the median of the rounds; the queue is empty before each."""
    found = []
    for _ in range(rounds):
        wait()
        started = time.perf_counter_ns()
        for _ in range(200):
            call()
        found.append((time.perf_counter_ns() - started) / 200 / 1000)
    wait()
    return statistics.median(found)


def _arrays(backend: str) -> tuple[list[Any], Any]:
    """Four arrays and CuPy, where it is installed; DeviceArrays where it is not."""
    host = [np.zeros(1024, dtype) for dtype in ("f4", "f4", "f4", "i4")]
    if backend == "cpu":
        return host, None
    try:
        import cupy
    except ImportError:
        return [gpuport.DeviceArray.from_numpy(a, backend=backend) for a in host], None
    return [cupy.asarray(a) for a in host], cupy


def measure_launch(backend: str) -> dict[str, float]:
    arrays, cupy = _arrays(backend)
    args = (*arrays, 1024, np.float32(2))
    module = gpuport.load(EMPTY, backend=backend)
    kernel, bare = module.empty, module.bare
    found: dict[str, float] = {}

    def wait() -> None:
        if cupy is not None:
            cupy.cuda.get_current_stream().synchronize()
        elif backend != "cpu":
            arrays[0].synchronize()

    grid, block = (1,), (32,)
    found["gpuport"] = per_call(lambda: kernel(grid, block, args), wait)
    if cupy is not None:
        raw = cupy.RawKernel(EMPTY, "empty")
        same = (*arrays, np.int32(1024), np.float32(2))
        found["cupy.RawKernel"] = per_call(lambda: raw(grid, block, same), wait)
        found["gpuport again"] = per_call(lambda: kernel(grid, block, args), wait)
    found["of it the conversion of the arguments"] = per_call(lambda: kernel.check(args), wait)
    found["without arguments, on stream 0"] = per_call(lambda: bare(grid, block, (), 0, 0), wait)
    return found


def measure_load(backend: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GPUPORT_CACHE_DIR": folder}
        found = {}
        for name in ("compiled", "cached"):
            command = [sys.executable, "-c", LOAD, KERNEL, backend]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            found[name] = float(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--backend", choices=("cpu", "cuda", "hip"), default="cpu")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    launch, load = measure_launch(options.backend), measure_load(options.backend)
    if options.json:
        print(json.dumps({"launch_us": launch, "load_s": load}, indent=2))
        return
    for name, microseconds in launch.items():
        print(f"launch, six arguments: {name}: {microseconds:.2f} us")
    for name, seconds in load.items():
        print(f"load, 50 lines: {name}: {seconds * 1000:.1f} ms")


if __name__ == "__main__":
    main()
