"""What each family promises at the edges, in a sentence; docs/rules.md is the whole of it."""

from __future__ import annotations

PAGE = "docs/rules.md"

RULES = {
    "reduce": "NaN wins; inf - inf is NaN; the sum of nothing is 0, max and min of nothing are "
    "refused; integer sums wrap in 64 bits, 16-bit floats are added in float32.",
    "scan": "A NaN reaches every later result and none before; integers wrap in 64 bits, 16-bit "
    "floats are added in float32 and each result is rounded once.",
    "argmax": "Ties go to the lowest index, -0.0 and 0.0 are equal; the first NaN wins; the index "
    "of nothing is refused.",
    "compact": "Kept elements stay in order, bit for bit; whatever is not 0 keeps, in any integer "
    "type.",
    "segmented": "An empty segment gives the identity; a NaN or an infinity stays in its segment; "
    "integer sums wrap in 64 bits; repeatable bit for bit.",
    "softmax": "A masked element is exactly 0 (-inf in a logarithm) and takes no part; NaN, +inf "
    "or only -inf make a row NaN, and no other row; a row masked out altogether is 0 (-inf).",
}


def of_kernel(name: str) -> str:
    """The rules of a kernel's family, and where the page is."""
    rule = RULES.get(name.partition(".")[0], "")
    return f"{rule} See {PAGE}." if rule else f"See {PAGE}."
