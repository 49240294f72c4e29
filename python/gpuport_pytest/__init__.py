"""The pytest plugin: what `@gpuport.testing.sweep()` marked, it runs on every target and size.

pytest loads this in every project of an environment that has gpuport, so it imports nothing of
gpuport before it meets a test that is marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MARK = "gpuport_sweep"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}: run on every backend, warp width and boundary size (@gpuport.testing.sweep)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is not None:
        from gpuport.testing.parametrization import parametrize

        parametrize(metafunc, **mark.kwargs)
