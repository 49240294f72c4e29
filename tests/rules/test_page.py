"""docs/rules.md names tests that exist, is installed, and every function and kernel leads to it."""

from __future__ import annotations

import re
from pathlib import Path

import gpuport
from gpuport import _rules, ops

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
TESTS = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).parent.glob("test_rules*.py"))
)


def test_every_test_that_the_page_names_exists() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and "`test_" in line]
    assert len(rows) > 30
    for row in rows:
        last = row.rstrip("| ").rpartition("|")[2]
        elsewhere = re.findall(r"`(tests/\S+\.py)`", last)
        source = TESTS + "".join((ROOT / path).read_text(encoding="utf-8") for path in elsewhere)
        for name in re.findall(r"`(test_\w+)`", last):
            assert f"def {name}(" in source, name
    for path in re.findall(r"`(tests/\S+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path


def test_every_test_of_the_rules_is_on_the_page() -> None:
    for name in re.findall(r"^def (test_\w+)\(", TESTS, re.MULTILINE):
        assert f"`{name}`" in PAGE, name


def test_the_page_is_where_they_lead() -> None:
    """In the package that is imported, whether it is installed or the source tree."""
    installed = Path(gpuport.__file__).parents[1] / _rules.PAGE
    assert installed.read_text(encoding="utf-8") == PAGE


def test_functions_and_kernels_lead_to_the_page() -> None:
    for name in ops.__all__:
        text = getattr(gpuport, name).__doc__
        assert text is not None
        assert _rules.PAGE in text, name
        assert name in PAGE or name.startswith("segmented_"), name
    for kernel in gpuport.kernels():
        alone = len(kernel.operations) == 1 and kernel.operations[0] in _rules.RULES
        topic = kernel.operations[0] if alone else kernel.name.partition(".")[0]
        assert kernel.rules == f"{_rules.RULES[topic]} See {_rules.PAGE}."
