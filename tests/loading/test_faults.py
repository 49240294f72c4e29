"""What ends a process elsewhere: stack overflows, wild addresses, divisions by zero in kernels."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import gpuport
from gpuport.testing import Target

SOURCE = """
__device__ int deep(int n, int* p) {
  volatile char pad[1000];
  pad[n % 1000] = char(n);
  return n == 0 ? 0 : deep(n - 1, p) + pad[n % 1000] - char(n) + p[0];
}
__global__ void recursive(int n, int* p) {
  const int d = deep(n, p);
  __syncthreads();
  p[1 + threadIdx.x] = d + 5;
}
__global__ void one_array(int n, int* p) {
  volatile int local[100000];
  for (int i = 0; i < n; ++i) local[i] = i;
  p[1] = local[0];
}
__global__ void store(long long* where, int lane) {
  if (int(threadIdx.x) == lane) *(volatile long long*)where = 1;
  __syncthreads();
}
__global__ void divide(int over, int* p) { p[1] = over / p[threadIdx.x]; }
__global__ void far_away(long long where) { *(volatile long long*)where = 1; }
__global__ void trap(int* p) { if (p[threadIdx.x] == 0) __builtin_trap(); }
"""


# Frames of every size, filled: one of them writes where the guard of the lowest stack was.
FRAMES = """
template <int kInts>
__device__ int deep(int n, volatile int* p) {
  volatile int pad[kInts];
  for (int i = 0; i < kInts; ++i) pad[i] = n;
  return n == 0 ? p[0] : deep<kInts>(n - 1, p) + pad[n % kInts];
}
template <int kInts>
__global__ void frames(int* p) { p[threadIdx.x] = deep<kInts>(100000, p); }
__global__ void fine(int* p) { p[threadIdx.x] = 5; }
"""


def check_working(module: gpuport.loading.Module) -> None:
    p = np.zeros(65, "i4")
    module.recursive(1, 64, (3, p))
    assert p.tolist() == [0, *[5] * 64]


@pytest.mark.parametrize("threads", [1, 64, 1024])
def test_a_deep_stack_is_an_error(cpu: Target, threads: int) -> None:
    module = gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)
    for depth in (60, 500, 100000):
        p = np.zeros(1025, "i4")
        with pytest.raises(gpuport.LaunchError, match="more stack than 32768 bytes") as caught:
            module.recursive(3, threads, (depth, p))
        assert "kernel recursive" in str(caught.value)
        assert "(thread (" in str(caught.value)
        check_working(module)
    for count in (10, 100000):
        with pytest.raises(gpuport.LaunchError):
            module.one_array(1, 1, (count, np.zeros(2, "i4")))
        check_working(module)


def test_the_stacks_are_whole_after_every_overflow(cpu: Target) -> None:
    sizes = [f"frames<{ints}>" for ints in range(1, 25)]
    module = gpuport.load(
        FRAMES, backend="cpu", warp_size=cpu.warp_size, name_expressions=sizes, options=("-O1",)
    )
    for size in sizes:
        with pytest.raises(gpuport.LaunchError, match="more stack than"):
            module[size](8, 64, (np.zeros(64, "i4"),))
        p = np.zeros(64, "i4")
        module.fine(8, 64, (p,))
        assert p.tolist() == [5] * 64, size


def test_a_wild_address_is_an_error(cpu: Target) -> None:
    module = gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)
    with pytest.raises(gpuport.LaunchError) as caught:
        module.store(2, 128, (None, 70))
    warp, lane = divmod(70, cpu.warp_size)
    assert "an access of address 0, which is not the process's; block (" in str(caught.value)
    assert f"warp {warp}, lane {lane} (thread (70,0,0))" in str(caught.value)
    check_working(module)
    with pytest.raises(gpuport.LaunchError, match="an integer division by zero, or of the least"):
        module.divide(1, 1, (7, np.zeros(2, "i4")))
    check_working(module)
    with pytest.raises(gpuport.LaunchError, match="or of the least number by -1; block"):
        module.divide(1, 1, (-(2**31), np.full(2, -1, "i4")))
    check_working(module)
    with pytest.raises(gpuport.LaunchError, match="an instruction that ends the thread"):
        module.trap(1, 4, (np.int32([1, 1, 0, 1]),))
    check_working(module)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors tell the address")
def test_an_address_that_no_process_has(cpu: Target) -> None:
    module = gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)
    with pytest.raises(gpuport.LaunchError, match="an address that no process has; block"):
        module.far_away(1, 4, (1 << 60,))
    check_working(module)


def test_on_another_thread_of_the_host(cpu: Target) -> None:
    module = gpuport.load(SOURCE, backend="cpu", warp_size=cpu.warp_size)
    seen: list[str] = []

    def run() -> None:
        try:
            module.store(1, 4, (None, 1))
        except gpuport.LaunchError as error:
            seen.append(str(error))

    for _ in range(3):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert len(seen) == 3
    assert all("an access of address 0" in text for text in seen)


def test_faults_of_the_host_stay_what_they_were() -> None:
    script = (
        "import ctypes, numpy as np, gpuport\n"
        "gpuport.load('__global__ void k(int* p) { *p = 1; }\\n', backend='cpu')"
        ".k(1, 1, (np.zeros(1, 'i4'),))\n"
        "ctypes.string_at(8)\n"
    )
    for options in ([], ["-X", "faulthandler"]):
        done = subprocess.run(
            [sys.executable, *options, "-c", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == -signal.SIGSEGV, done.stderr
        assert ("Segmentation fault" in done.stderr) == bool(options)
