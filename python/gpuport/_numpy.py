"""NumPy, imported when something of it is first asked for.

Its import takes longer than all of gpuport's own, and arrays of other libraries do without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]


class _Later:
    def __getattr__(self, name: str) -> Any:
        import ml_dtypes  # noqa: F401  registers bfloat16 with NumPy
        import numpy

        found = getattr(numpy, name)
        setattr(self, name, found)  # the next time there is nothing to do
        return found


if TYPE_CHECKING:
    import numpy as np
else:
    np = _Later()
