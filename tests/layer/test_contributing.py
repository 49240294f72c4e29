"""The kernel that CONTRIBUTING.md shows is one that compiles."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def test_the_kernel_of_three_edits(compile_text: Callable[[str], str]) -> None:
    block = re.search(r"```cpp\n(.*?void warp_row.*?)\n *```", PAGE.read_text("utf-8"), re.DOTALL)
    assert block is not None
    text = textwrap.dedent(block[1])
    assert compile_text(text.replace('"operators.hpp"', "<reduce/operators.hpp>")) == ""
