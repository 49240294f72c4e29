"""What GPU code a binary holds, and what each kernel takes: registers, memory, stack, spills.

The formats are read here, so that no vendor tool need be installed.
"""

from __future__ import annotations

from .errors import FormatError
from .model import Image, Inspection, KernelResources, Module
from .scan import inspect

__all__ = ["FormatError", "Image", "Inspection", "KernelResources", "Module", "inspect"]
