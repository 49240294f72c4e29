"""What holds for every source: made-up launches, and continuations put anywhere."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuport.translate import hipify

KERNELS = [
    *("k", "a::k", "::a::b<int>::k", "k<T>", "k<T, (x > 2)>", "k<A<B<C>>>", "k<1 << 3>", "(k)"),
    *("(*pick)(n)[3]", "s->k<T>", "table[i < j]", "k<a->b, sizeof(c)>", "s.template k<2>"),
]
# An argument, and whether a macro would take it for several.
ARGUMENTS = [
    *(("1", False), ("n >> 1", False), ("(n + 31) / 32", False), ("dim3(1, 2)", False)),
    *(("n < m ? 1 : 2", False), ("std::min(a, b)", False), ("f<a>(b)", False), ("v<A<B>>", False)),
    *(("f<a, b>(c)", True), ("dim3{1, 2}", True), ("[&] { return n<m; }()", False)),
    *(("[a, b] { return a; }()", True), ("x[i, j]", True), ("sizes[0] * sizeof(int)", False)),
]
BEFORE = ["", "if (n > 4) ", "else ", "return ", "x = ", "for (;;) ", "y < 2 ? f() : ", "label: "]
BLANKS = ["", " ", "\n  ", " /* , > */ ", " // ( \n"]


@given(
    st.sampled_from(BEFORE),
    st.sampled_from(KERNELS),
    st.lists(st.sampled_from(ARGUMENTS), min_size=2, max_size=4),
    st.sampled_from(BLANKS),
    st.sampled_from(BLANKS),
)
@settings(max_examples=600, deadline=None)
def test_launches_of_any_make(
    before: str, kernel: str, arguments: list[tuple[str, bool]], blank: str, inner: str
) -> None:
    chevrons = f",{inner}".join(text for text, _ in arguments)
    source = f"void f() {{\n{before}{kernel}{blank}<<<{chevrons}>>>(p, q);\n}}\n"
    wrapped = f",{inner}".join(f"({text})" if several else text for text, several in arguments)
    comma = ", " if not blank else f"{blank},"
    expected = f"{before}GPUPORT_SIMT_LAUNCH(({kernel}){comma}{wrapped})(p, q);"
    assert hipify(source, target="cpu").text == f"void f() {{\n{expected}\n}}\n"
    assert hipify(source).text == source


TEXT = """\
#include <vector>
#define CHECK(call) do { if ((call) != cudaSuccess) fail("cudaX"); } while (0)
#if defined(GP_TARGET_CUDA)
cudaInitDevice(0);
#else
__global__ void k(float* p) { __shared__ float a[32], b; a[0] = *p; b = '"'; }
#endif
int f(int n) { k<<<n >> 1, 1'000>>>(0); CHECK(cudaMallocHost(&p, 4)); return cudaErrorUnknown; }
"""


@given(
    st.lists(st.integers(0, len(TEXT)), max_size=12, unique=True),
    st.sampled_from(["hip", "cpu"]),
    st.sampled_from(["\\\n", "\\\r\n"]),
)
@settings(max_examples=600, deadline=None)
def test_continuations_change_no_meaning_and_no_line(
    places: list[int], target: str, splice: str
) -> None:
    text = TEXT
    for place in sorted(places, reverse=True):
        text = text[:place] + splice + text[place:]
    result = hipify(text, target=target, strict=False).text

    def bare(code: str) -> str:
        return re.sub(r"\s", "", code.replace(splice, ""))

    assert result.count("\n") == text.count("\n")
    assert bare(result) == bare(hipify(TEXT, target=target).text)
