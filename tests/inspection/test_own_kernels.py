"""The installed modules: every architecture is really inside, and no kernel has become worse.

The baseline is ci/resources/kernels.json. After a change that is meant to cost something, write it
anew from modules built with the compilers that CI has:

    gpuport inspect MODULE... --arch sm_90,gfx90a,gfx1030 --write-baseline ci/resources/kernels.json
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import gpuport
from gpuport.inspection import Inspection, inspect
from gpuport.inspection.baseline import compare, read
from gpuport.inspection.require import missing

BASELINE = Path(__file__).parents[2] / "ci" / "resources" / "kernels.json"


@pytest.fixture(scope="module", params=["cuda", "hip"])
def module(request: pytest.FixtureRequest) -> Inspection:
    spec = find_spec(f"gpuport._{request.param}")
    if spec is None or spec.origin is None:
        pytest.skip(f"gpuport._{request.param} is not built")
    return inspect(spec.origin)


def test_every_architecture_that_the_build_promises_is_inside(module: Inspection) -> None:
    backend = "cuda" if module.images[0].vendor == "nvidia" else "hip"
    record = next(record for record in gpuport.backends() if record.name == backend)
    assert record.architectures
    assert missing([module], record.architectures) == []


def test_wavefront_size_is_what_the_target_has(module: Inspection) -> None:
    """GCN and CDNA (gfx9 and before) have waves of 64 lanes; RDNA is compiled for 32 here."""
    assert module
    for kernel in module:
        wave64 = kernel.architecture.startswith("gfx9")
        assert kernel.wavefront == (64 if wave64 else 32), kernel


def test_no_kernel_is_worse_than_its_baseline(module: Inspection) -> None:
    baseline = read(BASELINE)
    here = [arch for arch in module.architectures if arch in baseline.kernels]
    if not here:
        pytest.skip(f"built for {module.architectures}, the baseline has {list(baseline.kernels)}")
    for arch in here:
        if module.compilers[arch] != baseline.compilers[arch]:
            pytest.skip(f"{arch}: by {module.compilers[arch]}, not {baseline.compilers[arch]}")
    kernels = [kernel for kernel in module if kernel.architecture in here]
    assert compare(kernels, baseline.only(here)).failures == []
