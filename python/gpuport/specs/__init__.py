"""What each kernel must compute: one module per family, whose `SPECS` lists the variants."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuport.testing.case import Spec


def find(kernel: str) -> "Spec | None":
    """The spec of `family.variant`, or None where nobody has written one."""
    family, _, _ = kernel.partition(".")
    module = f"{__name__}.{family}"
    if not family.isidentifier() or find_spec(module) is None:
        return None
    specs: tuple[Spec, ...] = import_module(module).SPECS
    return next((spec for spec in specs if spec.kernel == kernel), None)
