"""Fixtures of the API tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuport import _backends, _replay

sys.path.insert(0, str(Path(__file__).parent))

import fake_gpu

_CACHED = (
    _backends._import,
    _backends._device_count,
    _backends.ordinals,
    _backends.kernel_table,
)


def _forget() -> None:
    for function in _CACHED:
        function.cache_clear()
    _replay._plans.clear()


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_gpu.FakeModule]:
    """The backend "cuda" as a recording fake over host memory, with three devices."""
    module = fake_gpu.FakeModule()
    monkeypatch.setitem(sys.modules, "gpuport._cuda", module)
    monkeypatch.setattr(_backends, "build_record", dict)
    _forget()
    yield module
    _forget()


@pytest.fixture(params=[32, 64])
def warp_size(request: pytest.FixtureRequest) -> int:
    """Both warp sizes of the CPU backend."""
    return int(request.param)
