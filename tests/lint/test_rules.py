"""Every rule on small sources: the wrong one has exactly the findings it says, its right twin has
none.

A line of a source ends with `// expect: RULE ...`, a rule once for each finding. The files d01 to
d10 are the width faults that are known to have broken others.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuport.linting import RULES, lint

SOURCES = Path(__file__).parent / "sources"
WRONG = sorted(SOURCES.glob("*.wrong.cu"))
RIGHT = sorted(SOURCES.glob("*.right.cu"))
_EXPECTED = re.compile(r"// expect: ([A-Z0-9 ]+)")


def expected(text: str) -> list[tuple[int, str]]:
    return sorted(
        (number, rule)
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _EXPECTED.search(line))
        for rule in match[1].split()
    )


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.name.split(".")[0])
def test_every_fault_is_found_where_it_is(path: Path) -> None:
    wanted = expected(path.read_text())
    assert wanted
    assert sorted((f.line, f.rule) for f in lint(path)) == wanted


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.name.split(".")[0])
def test_the_right_twin_is_clean(path: Path) -> None:
    assert [f"{f.line}: {f.rule} {f.message}" for f in lint(path)] == []


def test_each_wrong_source_has_a_twin_and_each_rule_a_source() -> None:
    assert [p.name.split(".")[0] for p in WRONG] == [p.name.split(".")[0] for p in RIGHT]
    shown = {rule for path in WRONG for _, rule in expected(path.read_text())}
    assert shown == {rule for rule in RULES if rule < "GPL900"}


def test_our_own_kernels_are_clean() -> None:
    kernels = Path(__file__).parents[2] / "kernels"
    sources = [p for p in kernels.rglob("*") if p.suffix in {".cu", ".cuh", ".cpp", ".hpp", ".h"}]
    hip = kernels / "hip"  # makes the names with masks out of HIP's names without
    sources = [p for p in sources if not p.is_relative_to(hip)]
    assert len(sources) > 20
    found = [f"{f.file}:{f.line}: {f.rule} {f.message}" for p in sources for f in lint(p)]
    assert found == []
