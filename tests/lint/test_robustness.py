"""Whatever the text, the lint comes to an end and its findings point into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuport.linting import lint

PIECES = """
threadIdx . x & 31 % 32 >> 5 ( ) [ ] { } < > << ; , : :: ? = == if else for while do switch case
return template typename struct enum namespace operator static_assert __shared__ float auto
const constexpr __shfl_sync __ballot_sync __syncthreads 0xffffffff (1u << lane) - 1 warpSize
#define #if #else #endif \\ // /* */ " ' R"( )" 1'000 [&] -> = default kernel<<<1,32>>>(x)
lambda <<< >>> unsigned f<7>(x)
""".split()
SOURCES = sorted((Path(__file__).parent / "sources").glob("*.cu"))


def positions_hold(text: str) -> None:
    lines = text.split("\n")
    for finding in lint(text):
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([" ", "\n", ""])), max_size=80))
def test_soups_of_tokens(pieces: list[tuple[str, str]]) -> None:
    positions_hold("".join(piece + blank for piece, blank in pieces) + "\n")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_cut_of_a_source(path: Path) -> None:
    text = path.read_text()
    for end in range(0, len(text), 7):
        positions_hold(text[:end] + "\n")


@pytest.mark.parametrize("opener", ["(", "[", "{", "-", "f(", "a ? ", "if (x) ", "[]{"])
def test_deep_nesting(opener: str) -> None:
    positions_hold("__global__ void k() { threadIdx.x; " + opener * 3000 + "\n")


@pytest.mark.parametrize(
    "piece", ["k<<<", "k<<<(", "k[3]<<<", "k<", "k<a><<<1, 2>>>() ", "if (x) k<<<1, 2>>>();\n"]
)
def test_length(piece: str) -> None:
    # Work that grows with the cube of the length would take an hour here.
    positions_hold("void f() {\n" + piece * 3_000 + "\n}\n")
