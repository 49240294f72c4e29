"""Where the tests run: every backend at every warp width, or a skip that says why not."""

from __future__ import annotations

import os

import pytest

from gpuport.testing import Target, targets, why_not

# JAX would take three quarters of the GPU at its first use, and the largest cases need the room.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

WIDTHS = {"cpu": (32, 64), "cuda": (32,), "hip": (32, 64)}
PLACES = [(backend, width) for backend, widths in WIDTHS.items() for width in widths]


@pytest.fixture(
    params=[
        pytest.param(
            place, id=f"{place[0]}-w{place[1]}", marks=[pytest.mark.gpu] * (place[0] != "cpu")
        )
        for place in PLACES
    ]
)
def target(request: pytest.FixtureRequest) -> Target:
    """A device of one backend with one warp width."""
    backend, warp_size = request.param
    found = targets(backend, warp_size)
    if not found:
        pytest.skip(why_not(backend, warp_size))
    return found[0]


@pytest.fixture(params=[32, 64], ids=["w32", "w64"])
def cpu(request: pytest.FixtureRequest) -> Target:
    """The CPU backend at one warp width; it is always built."""
    (found,) = targets("cpu", request.param)
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """`-ra` lists the reasons; this adds how many tests they kept from running."""
    skipped = len(terminalreporter.stats.get("skipped", []))
    if skipped:
        terminalreporter.write_line(
            f"{skipped} tests did not run here; the reasons are listed above"
        )
