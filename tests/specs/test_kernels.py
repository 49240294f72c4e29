"""The kernels by their specs: what `gpuport check` runs, one test for each cell of its table."""

from __future__ import annotations

import pytest

import gpuport
from gpuport import specs
from gpuport.testing import Target, cases, sweep_kernels

KERNELS = [kernel.name for kernel in gpuport.kernels()]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel(kernel: str, target: Target) -> None:
    steps = list(sweep_kernels([kernel], [target]))
    cell = steps[-1].cell
    report = [line for failure in cell.failures[:5] for line in failure.lines()]
    assert cell.ok, "\n".join([f"{len(cell.failures)} of {cell.ran} failed", *report, cell.problem])
    assert cell.passed > 100
    assert cell.passed + sum(cell.skipped.values()) == steps[-1].total


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_a_spec(kernel: str) -> None:
    spec = specs.find(kernel)
    assert spec is not None
    assert spec.kernel == kernel


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_names_of_cases_are_unique(kernel: str, backend: str) -> None:
    names = [case.name for case in cases(kernel, Target(backend, 32))]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_quick_cases_are_a_small_part(kernel: str) -> None:
    everything = cases(kernel, Target("cpu", 32))
    quick = cases(kernel, Target("cpu", 32), quick=True)
    assert set(quick) < set(everything)
    assert 20 < len(quick) < len(everything) / 3
    assert any(case.order for case in quick)
