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
# What reads or writes global memory: elements of views, copies, tickets, tags, states.
ACCESS = (
    r"\b(in|out|states|value|takes_part|begin|publish|take_tag|tag_of_service|fold|load|store)\("
    r"|copy_async|fetch_add|load_|store_|\b(offsets|flags|data|words)\b ?\[|[=(,] \*\w"
)


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
        assert not re.search(ACCESS, body[: body.index("run_pipeline<")])
        return
    assert body.count(AWAIT) == 1
    before = re.sub(r"//.*|\{ return [^{};]*; \}", "", body[: body.index(AWAIT)])  # lambdas
    before = before.replace("&rows.in(", "address(")
    assert not re.search(ACCESS, before)
    # At the level of the function, by no condition, after no return but for a width that is no
    # device's.
    assert before.count("{") - before.count("}") == 1
    assert before.rstrip()[-1] in ";}{"
    assert not re.search(r"\breturn\b(?! \S*refuse\(\);)", before)


def test_none_is_overlooked() -> None:
    """As many kernels as have the parameter, and at least one launch for each."""
    text = "".join(p.read_text(encoding="utf-8") for p in KERNELS.rglob("*.cu*"))
    parameters = len(re.findall(r"\bOverlap \w+[,)]", text))
    assert len(overlapping()) == parameters > 15
    assert text.count("Overlap{}") >= parameters - 1  # run_pipeline() is no kernel
