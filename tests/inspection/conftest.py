"""Binaries of known kernels, compiled once a session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from inspect_inputs import cubin_of, gencode, hip, nvcc


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspection")


@pytest.fixture(scope="session")
def cuda_library(built: Path) -> Path:
    """Two real architectures and PTX in a shared library."""
    options = ["-shared", "-Xcompiler", "-fPIC", *gencode("80:sm_80", "90:sm_90,compute_90")]
    return nvcc(built / "cuda_library.so", *options)


@pytest.fixture(scope="session")
def hip_library(built: Path) -> Path:
    """A wave64 and a wave32 target in a shared library."""
    targets = ["--offload-arch=gfx90a", "--offload-arch=gfx1030"]
    return hip(built / "hip_library.so", *targets, "-shared", "-fPIC")


@pytest.fixture(scope="session")
def cubin() -> Path:
    return cubin_of("sm_90")[0]


@pytest.fixture(scope="session")
def code_object(built: Path) -> Path:
    options = ["--offload-arch=gfx90a", "--cuda-device-only", "--no-gpu-bundle-output", "-c"]
    return hip(built / "kernels.hsaco", *options)
