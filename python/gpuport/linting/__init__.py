"""Faults of warp width and portability in CUDA C++: rules with stable ids, each with its reason and
its remedy.

Standard library only. The package is not called `lint` because `gpuport.lint` is the function.
"""

from ._reader import Finding
from .engine import lint, lint_bytes
from .rules import RULES, Rule

__all__ = ["RULES", "Finding", "Rule", "lint", "lint_bytes"]
