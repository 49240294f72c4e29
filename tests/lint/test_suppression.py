"""Suppressions in the source: they need a reason, a known rule and something to suppress."""

from __future__ import annotations

import pytest

from gpuport.linting import lint

FAULT = "  v = __shfl_sync(0xffffffff, v, 0);"


def found(*lines: str) -> list[tuple[int, str]]:
    text = "\n".join(["__device__ void f(int v) {", *lines, "}", ""])
    return [(finding.line, finding.rule) for finding in lint(text)]


def test_without_a_suppression() -> None:
    assert found(FAULT) == [(2, "GPL003")]


@pytest.mark.parametrize(
    "lines",
    [
        (f"{FAULT}  // gpuport-lint: allow(GPL003) runs on one vendor only",),
        ("  // gpuport-lint: allow(GPL003) runs on one vendor only", FAULT),
        ("  /* gpuport-lint: allow(GPL003) runs on one vendor only */", FAULT),
        ("  // gpuport-lint: allow(GPL003) a reason", "  // and more words", "", FAULT),
        ("  // gpuport-lint: allow(GPL003): a reason after a colon", FAULT),
    ],
)
def test_on_the_line_or_above_it(lines: tuple[str, ...]) -> None:
    assert found(*lines) == []


def test_several_rules_in_one() -> None:
    line = "  unsigned m = __ballot_sync(0xffffffff, v);"
    assert found(line) == [(2, "GPL004"), (2, "GPL003")]
    assert found(f"{line}  // gpuport-lint: allow(GPL003, GPL004) NVIDIA only") == []


def test_another_rule_or_another_line_stays() -> None:
    assert found(f"{FAULT}  // gpuport-lint: allow(GPL004) a reason") == [
        (2, "GPL003"),
        (2, "GPL901"),
    ]
    assert found("  // gpuport-lint: allow(GPL003) a reason", FAULT, FAULT) == [(4, "GPL003")]
    assert found(f"{FAULT}  // gpuport-lint: allow(GPL003) a reason", FAULT) == [(3, "GPL003")]


@pytest.mark.parametrize("reason", ["", " ", " -", ":"])
def test_without_a_reason_it_suppresses_nothing(reason: str) -> None:
    assert found(f"{FAULT}  // gpuport-lint: allow(GPL003){reason}") == [
        (2, "GPL003"),
        (2, "GPL900"),
    ]


@pytest.mark.parametrize(
    "comment",
    ["allow(GPL999) no such rule", "allow() no rule", "ignore GPL003", "allow GPL003 no brackets"],
)
def test_what_is_no_suppression_is_a_finding(comment: str) -> None:
    assert found(f"{FAULT}  // gpuport-lint: {comment}") == [(2, "GPL003"), (2, "GPL900")]


def test_one_that_suppresses_nothing_is_a_finding() -> None:
    assert found("  // gpuport-lint: allow(GPL003) nothing here", "  v = 1;") == [(2, "GPL901")]


def test_in_a_string_it_is_text() -> None:
    assert found('  const char* s = "// gpuport-lint: allow(GPL003) text";', FAULT) == [
        (3, "GPL003")
    ]
