"""What each family promises at the edges, in a sentence; rules.md beside this is the whole of it.

An operation that has kernels to itself stands here by its name.
"""

from __future__ import annotations

from collections.abc import Sequence

# Where the page is installed, and what everything that refers to it calls it. In the source tree
# the file is a link to docs/rules.md.
PAGE = "gpuport/rules.md"

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
    "checked_sum": "A running sum, from left to right, that leaves int64 or uint64 is refused, "
    "also where later elements would bring it back; the sum of nothing is 0.",
    "compensated_sum": "Of any dtype to a float; NaN wins; inf - inf is NaN; the sum of nothing "
    "is 0; added in pairs of float64 and rounded once: the error does not grow with the number of "
    "elements.",
    "softmax_state": "A masked element takes no part; (-inf, 0) for a row that is empty, masked "
    "out altogether or all -inf; a NaN makes d NaN, and no other row.",
    "merge_softmax_states": "The empty state (-inf, 0) changes no bit of the other; two of them "
    "give the empty state.",
    "softmax": "A masked element is exactly 0 (-inf in a logarithm) and takes no part; NaN, +inf "
    "or only -inf make a row NaN, and no other row; a row masked out altogether is 0 (-inf).",
}


def of_kernel(name: str, operations: Sequence[str] = ()) -> str:
    """The rules of a kernel's only operation or else of its family, and where the page is."""
    own = RULES.get(operations[0]) if len(operations) == 1 else None
    rule = own or RULES.get(name.partition(".")[0], "")
    return f"{rule} See {PAGE}." if rule else f"See {PAGE}."
