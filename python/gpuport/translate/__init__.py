"""CUDA C++ to the text that a HIP compiler (`hip`) or a host compiler with the SIMT runtime (`cpu`) takes.

Standard library only: the build runs this package from the source tree, before anything is installed.
"""

from .errors import TranslationError
from .findings import Finding
from .translation import TARGETS, Translation, hipify

__all__ = ["TARGETS", "Finding", "Translation", "TranslationError", "hipify"]
