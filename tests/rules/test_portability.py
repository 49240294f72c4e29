"""What translated kernels must not hold: masks of 32 bits, a warp width from the compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpuport

KERNELS = Path(__file__).resolve().parents[2] / "kernels" / "cuda"
SOURCES = sorted(p for p in KERNELS.rglob("*") if p.suffix in {".cu", ".cuh", ".hpp", ".cpp"})


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(KERNELS)))
def test_a_translated_kernel(source: Path) -> None:
    text = without_comments(gpuport.hipify(source).text)
    for call in re.findall(r"\w+_sync\s*\([^;]*;", text):
        assert not re.search(r"\b0x[fF]{8}[uU]?[lL]{0,2}\b|\b~0[uU]?\b|\b-1\b", call), call
    # ROCm 7 made it a value of run time: a width is a template argument here, asked of the device.
    assert not re.search(r"(?<![.>])\bwarpSize\b", text)
    intrinsics = re.findall(r"\b__(?:shfl|ballot|any|all)\w*\s*\(", text)
    assert not intrinsics or source.name == "warp.cuh", "warps belong to warp.cuh"
