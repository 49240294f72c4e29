"""CUDA C++ for a HIP compiler (`hip`), or for a host compiler and the SIMT runtime (`cpu`).

Standard library only: the build runs this package from the source tree, before anything is
installed.
"""

from .errors import TranslationError
from .findings import Finding
from .translation import TARGETS, Translation, hipify

__all__ = ["TARGETS", "Finding", "Translation", "TranslationError", "hipify"]
