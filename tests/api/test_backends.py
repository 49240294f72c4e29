"""backends(), devices(), kernels(), and what importing gpuport loads."""

from __future__ import annotations

import dataclasses
import platform
import subprocess
import sys

import pytest

import gpuport


def test_every_backend_is_told_of() -> None:
    records = gpuport.backends()
    assert [record.name for record in records] == ["cpu", "cuda", "hip"]
    for record in records:
        assert record.built or record.reason
        assert record.available or record.reason
        assert not (record.available and not record.built)
    cpu = records[0]
    assert cpu.available
    assert cpu.warp_sizes == (32, 64)


def test_the_cpu_is_one_device_with_both_warp_sizes() -> None:
    cpus = [device for device in gpuport.devices() if device.backend == "cpu"]
    assert len(cpus) == 1
    assert cpus[0].warp_sizes == (32, 64)
    assert cpus[0].memory > 0
    assert (cpus[0].name, cpus[0].architecture) == ("SIMT machine", platform.machine())


def test_kernels_are_described() -> None:
    kernels = gpuport.kernels()
    names = [kernel.name for kernel in kernels]
    assert len(set(names)) == len(names)
    assert {"reduce.serial", "reduce.single_pass", "softmax.warp_row"} <= set(names)
    for kernel in kernels:
        assert kernel.doc
        assert kernel.dtypes
        with pytest.raises(dataclasses.FrozenInstanceError):
            kernel.doc = ""  # type: ignore[misc]


@pytest.mark.parametrize("name", ["cuda", "hip"])
def test_a_backend_that_cannot_be_used_says_why(name: str) -> None:
    record = next(record for record in gpuport.backends() if record.name == name)
    if record.available:
        pytest.skip(f"{name} has a device here")
    import numpy as np

    with pytest.raises(gpuport.BackendUnavailableError, match=f"backend {name}") as error:
        gpuport.sum(np.ones(3), backend=name)
    assert record.reason in str(error.value)


def test_errors_are_of_one_family() -> None:
    for name in (
        "BackendUnavailableError",
        "UnsupportedArchError",
        "TranslationError",
        "CompileError",
        "LaunchError",
    ):
        assert issubclass(getattr(gpuport, name), gpuport.Error)
    assert issubclass(gpuport.Error, RuntimeError)


def output_of(script: str) -> str:
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_importing_loads_no_array_library() -> None:
    script = (
        "import sys, gpuport, numpy\n"
        "gpuport.sum(numpy.ones(3))\n"
        "print(sorted({'torch', 'cupy', 'jax'} & set(sys.modules)))\n"
    )
    assert output_of(script) == "[]\n"


def test_calls_import_nothing() -> None:
    """A fork or a signal in the middle of a first call would meet the import half done."""
    script = (
        "import sys, gpuport, ml_dtypes, numpy as np\n"
        "before = set(sys.modules)\n"
        "x = np.ones(4, np.float32)\n"
        "gpuport.softmax(x, mask=x > 0, out=x, nonfinite='raise')\n"
        "gpuport.sum(x.astype(ml_dtypes.bfloat16), warp_size=64)\n"
        "gpuport.exclusive_scan(x)\n"
        "gpuport.argmax(x)\n"
        "gpuport.compact(x, x > 0)\n"
        "gpuport.segmented_sum(x, [0, 4])\n"
        "gpuport.DeviceArray.from_numpy(x, backend='cpu').to_numpy()\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    assert output_of(script) == "[]\n"


def test_public_names_resolve() -> None:
    for name in gpuport.__all__:
        assert getattr(gpuport, name) is not None
    assert callable(gpuport.backends)
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = gpuport.nonesuch
