"""Plain CUDA kernels, none of which knows of gpuport: compiled, run and compared with NumPy.

    python examples/own_kernels/run.py                            on the CPU, at both warp widths
    python examples/own_kernels/run.py --backend cuda             on a GPU
    python examples/own_kernels/run.py --backend hip --arch gfx90a    compiled only

Exit code 0 only if every kernel compiles and, where there is a device, agrees with NumPy.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import gpuport

HERE = Path(__file__).parent
Array = npt.NDArray[Any]


class Device:
    """Where the kernels run: host arrays go there before a launch and come back after it."""

    def __init__(self, backend: str, how: dict[str, Any]) -> None:
        self.backend = backend
        self.how = how

    def load(self, name: str, **more: Any) -> Any:
        return gpuport.load(HERE / f"{name}.cu", backend=self.backend, **self.how, **more)

    def launch(
        self, kernel: Any, grid: Any, block: Any, args: tuple[Any, ...], **more: Any
    ) -> None:
        """Arrays among the arguments are copied there and back; the CPU uses them in place."""
        if self.backend == "cpu":
            kernel(grid, block, args, **more)
            return
        moved = [self._move(value) if isinstance(value, np.ndarray) else value for value in args]
        kernel(grid, block, tuple(moved), **more)
        for value, there in zip(args, moved, strict=True):
            if isinstance(value, np.ndarray) and value.ndim:
                value[...] = there.to_numpy().reshape(-1).view(value.dtype).reshape(value.shape)

    def _move(self, value: Array) -> gpuport.DeviceArray:
        return gpuport.DeviceArray.from_numpy(value, backend=self.backend)


def check(name: str, got: Array, expected: Array, tolerance: float = 0.0) -> None:
    """Raise AssertionError naming the kernel; without a tolerance every bit counts."""
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=name)


def transpose(device: Device) -> None:
    height, width = 71, 133
    x = np.random.default_rng(1).standard_normal((height, width)).astype(np.float32)
    out = np.full((width, height), np.nan, np.float32)
    module = device.load("transpose")
    grid = (-(-width // 32), -(-height // 32))
    device.launch(module.transpose, grid, (32, 8), (x, out, width, height))
    check("transpose", out, x.T)


def histogram(device: Device) -> None:
    data = np.random.default_rng(2).integers(0, 256, 100_003, np.uint8)
    bins = np.zeros(256, np.uint32)
    module = device.load("histogram")
    device.launch(module.histogram, (13,), (192,), (data, data.size, bins))
    check("histogram", bins, np.bincount(data, minlength=256))


def stencil(device: Device) -> None:
    radius, n, block = 4, 1001, 128
    weights = np.linspace(-1, 1, 2 * radius + 1)
    x = np.random.default_rng(3).standard_normal(n)
    out = np.full(n, np.nan)
    module = device.load("stencil", defines={"RADIUS": radius})
    module.get_global("weights").set(weights)
    shared = (block + 2 * radius) * x.itemsize
    grid = -(-n // block)
    device.launch(module.stencil_1d, grid, block, (x, out, n), shared_mem=shared)
    check("stencil_1d", out, np.convolve(x, weights[::-1], "same"), 1e-13)


def bitonic_sort(device: Device) -> None:
    module = device.load("bitonic_sort", name_expressions=["bitonic_sort<unsigned short, 32>"])
    generator = np.random.default_rng(4)
    for expression, dtype, threads in (
        ("bitonic_sort<int, 128>", np.int32, 128),
        ("bitonic_sort<float, 64>", np.float32, 64),
        ("bitonic_sort<unsigned short, 32>", np.uint16, 32),
    ):
        keys = generator.integers(0, 500, (3, 2 * threads)).astype(dtype)
        for ascending in (True, False):
            out = keys.copy()
            device.launch(module[expression], 3, threads, (out, ascending))
            expected = np.sort(keys, axis=1)
            check(expression, out, expected if ascending else expected[:, ::-1])


def nbody(device: Device) -> None:
    n, block, dt, softening = 300, 64, 0.01, 0.1
    generator = np.random.default_rng(5)
    old = generator.standard_normal((n, 4)).astype(np.float32)
    old[:, 3] = generator.uniform(0.5, 2, n)
    velocities = generator.standard_normal((n, 4)).astype(np.float32)
    x, v = old.astype(np.float64), velocities.astype(np.float64)
    d = x[None, :, :3] - x[:, None, :3]
    strength = x[None, :, 3] * ((d**2).sum(-1) + softening**2) ** -1.5
    v[:, :3] += dt * (d * strength[..., None]).sum(1)
    x[:, :3] += dt * v[:, :3]

    step = np.array((dt, softening), np.dtype([("dt", "f4"), ("softening", "f4")]))[()]
    new = np.full((n, 4), np.nan, np.float32)
    module = device.load("nbody")
    args = (old, new, velocities, n, step)
    device.launch(module.nbody_step, -(-n // block), block, args, shared_mem=16 * block)
    check("nbody_step positions", new, x, 1e-5)
    check("nbody_step velocities", velocities, v, 1e-4)


EXAMPLES: tuple[Callable[[Device], None], ...] = (
    transpose, histogram, stencil, bitonic_sort, nbody,
)  # fmt: skip


def compile_only(backend: str, archs: list[str]) -> None:
    for example in EXAMPLES:
        path = HERE / f"{example.__name__}.cu"
        started = time.perf_counter()
        module = gpuport.load(path, backend=backend, archs=archs)
        seconds = time.perf_counter() - started
        names = ", ".join(module.kernels)
        print(f"{path.name:20}{', '.join(module.archs)}: compiled in {seconds:.2f} s: {names}")


def run(device: Device, title: str) -> None:
    for example in EXAMPLES:
        started = time.perf_counter()
        example(device)
        print(f"{example.__name__:20}{title}: agrees in {time.perf_counter() - started:.2f} s")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--backend", choices=("cpu", "cuda", "hip"), default="cpu")
    parser.add_argument("--warp-size", type=int, help="on the CPU; default: both")
    parser.add_argument("--arch", action="append", default=[], help="compile for it, run nothing")
    options = parser.parse_args()
    try:
        if options.arch:
            compile_only(options.backend, options.arch)
        elif options.backend == "cpu":
            for width in (options.warp_size,) if options.warp_size else (32, 64):
                run(Device("cpu", {"warp_size": width}), f"cpu, warps of {width}")
        else:
            run(Device(options.backend, {}), options.backend)
    except (gpuport.BackendUnavailableError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except AssertionError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
