"""Each function's docstring stands for itself: its arguments, its result, its errors."""

from __future__ import annotations

import inspect
import re

import pytest

import gpuport
from gpuport import ops

WANTED = {  # where a function has the argument, the errors that it may raise
    "overflow": "OverflowError",
    "keep": "gpuport.Error",
    "offsets": "gpuport.Error",
}


def sections(text: str) -> dict[str, str]:
    """What stands under each heading."""
    found = re.split(r"^(Args|Returns|Raises):\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.parametrize("name", ops.__all__)
def test_a_docstring_has_arguments_result_and_errors(name: str) -> None:
    function = getattr(gpuport, name)
    text = inspect.getdoc(function)
    assert text is not None
    assert not re.search(r"\b(those of|otherwise as|see) `", text), "refers to a sibling"
    parts = sections(text)
    assert list(parts) == ["Args", "Returns", "Raises"]
    described = re.findall(r"^    ([a-z][a-z, ]*): ", parts["Args"], re.MULTILINE)
    positional = [
        argument.name
        for argument in inspect.signature(function).parameters.values()
        if argument.kind is argument.POSITIONAL_OR_KEYWORD
    ]
    assert ", ".join(described).split(", ") == positional
    errors = {"TypeError", "ValueError"}
    errors |= {error for argument, error in WANTED.items() if argument in positional}
    assert errors <= set(re.findall(r"^    ([\w.]+): ", parts["Raises"], re.MULTILINE))
