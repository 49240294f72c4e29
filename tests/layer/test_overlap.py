"""Kernels that may begin while the one ahead of them ends wait for it before they touch memory.

That they do is seen only where there is such a device (tests/api/test_gpu_overlap.py). Here: every
kernel with an Overlap asks for it, and nothing but launch() and prefetch() comes first.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parents[2] / "kernels" / "cuda"
AWAIT = "overlap.await_kernels_ahead();"


def body_after(text: str, start: int) -> str:
    depth = 0
    for i in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[start : i + 1]
    raise AssertionError("a function without an end")


def overlapping() -> list[tuple[str, str]]:
    found = []
    for path in sorted([*KERNELS.rglob("*.cu"), *KERNELS.rglob("*.cuh")]):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"(\w+)\([^()]*\bOverlap overlap\) \{", text):
            found.append((f"{path.stem}.{match[1]}", body_after(text, match.end() - 1)))
    return found


@pytest.mark.parametrize(("name", "body"), [pytest.param(n, b, id=n) for n, b in overlapping()])
def test_every_kernel_that_overlaps_waits(name: str, body: str) -> None:
    if "run_pipeline<" in body and not name.endswith("run_pipeline"):
        assert re.search(r"run_pipeline<[^;]*, overlap\);", body)
        return
    assert body.count(AWAIT) == 1
    before = body[: body.index(AWAIT)].replace("&rows.in(", "address(")
    # No access: neither an element of a view nor a copy, a ticket or a tag.
    assert not re.search(r"\b(in|out)\(|copy_async|fetch_add|begin\(", before)
    # At the level of the function: every thread comes by.
    assert before.count("{") - before.count("}") == 1


def test_there_are_such_kernels() -> None:
    assert len(overlapping()) > 15
