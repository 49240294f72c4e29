"""The tokenizer: nothing is lost, and nothing that is no code is taken for code."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuport.translate import hipify
from gpuport.translate.tokens import mask, tokenize

PIECES = [
    *("cudaMalloc", "kernel", "L", "u8", "R", "x1", "1'000", "0x1p-3f", ".5e+3", "'a'", "'\"'"),
    *('"text"', '"a\\"b"', 'R"(raw )x" )"', 'R"d(a)")d"', "// line\n", "// a \\\n b\n", "/* b */"),
    *("/* 'x \" */", "<<<", ">>>", "::", "->", "\\\n", "\\\r\n", "\\ \n", "\r\n", "\n", " ", "\t"),
    *("#define A(x) x##1\n", '#include "a.h"\n', "#include <b.h>\n", "#if 0\n", "#endif\n"),
    *("__shared__ ", "extern ", "alignas(16) ", "int a[2];", "cub::", "thrust::cuda", "struct {"),
    *(
        "asm(",
        "texture<",
        "##",
        "operator",
        "template ",
        "if (",
        "__CUDA_ARCH__",
        "mul24(",
        "=",
        "*",
    ),
    *("#ifdef GP_TARGET_AMD\n", "#else\n", "#elif X\n", "#define B ", "k<a, b>", "<", ">", "&"),
    *("{", "}", "(", ")", "[", "]", ";", ",", "'", '"', "/*", "\xef\xbb\xbf", "\xff", "é", "$"),
]
soups = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(soups)
@example("\xef\xbb\xbf#if 0\r\n'\r\n#endif")
@settings(max_examples=400, deadline=None)
def test_tokens_joined_are_the_source(soup: str) -> None:
    assert "".join(token.text for token in tokenize(soup)) == soup


@given(soups)
@settings(max_examples=400, deadline=None)
def test_masking_keeps_every_offset(soup: str) -> None:
    masked, _ = mask(soup)
    assert len(masked) == len(soup)
    assert all(now == was or now in " \"'#includeR" for now, was in zip(masked, soup, strict=True))


@given(soups, st.sampled_from(["hip", "cpu"]))
@example("__shared__ __shared__ alignas(16) ", "hip")
@settings(max_examples=300, deadline=None)
def test_translating_twice_changes_nothing(soup: str, target: str) -> None:
    once = hipify(soup + "\n", target=target, strict=False).text
    assert hipify(once, target=target, strict=False).text == once


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_bytes_of_any_encoding_survive(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape") + "\n"
    if not any(mark in text for mark in ("cu", "CU", "__", "<<<")):
        assert hipify(text, strict=False).text == text


NOT_CODE = [
    "// cudaMalloc",
    "// cudaMalloc \\\n cudaFree k<<<1, 1>>>()",
    "/* cudaMalloc \n k<<<1, 1>>>() */",
    '"cudaMalloc \\" cudaFree"',
    '"cudaMalloc \\\n cudaFree"',
    'R"d(cudaMalloc ")" cudaFree)d"',
    'u8R"x(cudaMalloc )" cudaFree)x"',
    "'\"'  /* cudaMalloc */",
    "#error cudaMalloc isn't there",
    "#if 0\ncudaMalloc don't\n#endif",
    "mycudaMalloc cudaMallocator cudaMalloc_ cudaGaugeField cudamalloc _cudaMalloc $cudaMalloc",
    "cudaMallocé écudaMalloc",
]


@pytest.mark.parametrize("text", NOT_CODE)
@pytest.mark.parametrize("target", ["hip", "cpu"])
def test_what_is_no_code_stays(text: str, target: str) -> None:
    source = text + "\n"
    result = hipify(source, target=target)
    assert result.text == source
    assert result.findings == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1'000'000; cudaFree(p); b = '\\''; cudaFree(q);", 2),
        ("case'\"': cudaFree(p); // '\"'", 1),
        ("x = L'\"'; cudaFree(p); y = u8'a';", 1),
        ('#include "it\'s.h"\ncudaFree(p);', 1),
        ("// comment ends here\ncudaFree(p);", 1),
        ('R"(a\nb)"; cudaFree(p); "";', 1),
        ('"\\\\"; cudaFree(p);', 1),
        ("'\\\\'; cudaFree(p);", 1),
        ("/**/cudaFree(p);/***/cudaFree(p);/*/*/cudaFree(p);", 3),
        ('FOOR"("; cudaFree(p); ', 1),
    ],
)
def test_code_beside_literals_is_code(text: str, expected: int) -> None:
    assert hipify(text + "\n").text.count("hipFree") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cuda\\\nMalloc(p);", "hip\\\nMalloc(p);"),
        ("cudaMal\\\r\nloc(p);", "hipMal\\\r\nloc(p);"),
        ("c\\\nu\\\nda\\\nMalloc(p);", "hip\\\n\\\n\\\nMalloc(p);"),
        ("a = cudaSuccess \\\n + 1;", "a = hipSuccess \\\n + 1;"),
        ("cudaMallocHo\\\nst(p);", "hipHostMalloc\\\n(p);"),
    ],
)
def test_names_split_over_lines_keep_their_lines(text: str, expected: str) -> None:
    result = hipify(text + "\n").text
    assert result.count("\n") == text.count("\n") + 1
    assert (
        result.replace("\\\n", "").replace("\\\r\n", "")
        == expected.replace("\\\n", "").replace("\\\r\n", "") + "\n"
    )


def test_line_ends_and_byte_order_mark_stay() -> None:
    text = "\ufeff#include <cuda_runtime.h>\r\nint a = cudaFree(p);\n// last\r\nint b;"
    expected = text.replace("cuda_runtime", "hip/hip_runtime").replace("cudaFree", "hipFree")
    assert hipify(text).text == expected


def test_an_unknown_encoding_is_an_error() -> None:
    text = "int x;\n".encode("utf-16").decode("utf-8", "surrogateescape")
    findings = hipify(text, strict=False).findings
    assert [finding.rule for finding in findings] == ["encoding"]
