"""The faults of plant.py still fit the sources; planting them is a command of its own."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

PLANT = runpy.run_path(str(Path(__file__).with_name("plant.py")))
FAULTS: list[Any] = list(PLANT["FAULTS"])


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_fits_the_sources_once(fault: Any) -> None:
    path = PLANT["ROOT"] / "kernels" / "cuda" / fault.file
    assert path.read_text(encoding="utf-8").count(fault.sound) == 1
    assert fault.sound != fault.broken
    assert set(fault.widths) <= {32, 64}
