"""What the lint takes from the translator: tokens, live code, findings, launches.

From the source tree (`PYTHONPATH=python/gpuport python -m linting`) the translator is a top-level
package, as in the build; installed, it is `gpuport.translate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING or (__package__ or "").startswith("gpuport."):
    from gpuport.translate.architecture import ARCH, architecture_values
    from gpuport.translate.conditions import TARGET_MACROS, Directive
    from gpuport.translate.findings import WARNING, Finding
    from gpuport.translate.launches import Launch, find_launches
    from gpuport.translate.source import Source
    from gpuport.translate.tokens import tokenize
    from gpuport.translate.trees import UsageError, read_source, source_files
else:
    from translate.architecture import ARCH, architecture_values
    from translate.conditions import TARGET_MACROS, Directive
    from translate.findings import WARNING, Finding
    from translate.launches import Launch, find_launches
    from translate.source import Source
    from translate.tokens import tokenize
    from translate.trees import UsageError, read_source, source_files

__all__ = [
    "ARCH",
    "TARGET_MACROS",
    "WARNING",
    "Directive",
    "Finding",
    "Launch",
    "Source",
    "UsageError",
    "architecture_values",
    "find_launches",
    "read_source",
    "source_files",
    "tokenize",
]
