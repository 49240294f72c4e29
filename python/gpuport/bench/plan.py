"""Which kernels are run on which shapes."""

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import gpuport
from gpuport import specs
from gpuport.specs.workloads import FIRST_AXIS
from gpuport.testing.case import Shape

FAMILIES = ("reduce", "scan", "argmax", "compact", "segmented", "softmax")
# What an emulated call may take of a person's time.
MOST_ON_CPU = 1 << 16


@dataclass(frozen=True, slots=True)
class Task:
    """One workload and the kernels that are to be run on it."""

    family: str
    shape: Shape
    names: tuple[str, ...]


def parse_size(text: str) -> tuple[int, ...]:
    """ "4096", "2^24", "4096x1000", "1x2^24".

    Raises:
        ValueError: it is none of these.
    """
    extents = []
    for part in text.lower().split("x"):
        found = re.fullmatch(r"(\d+)(?:\^(\d+))?", part.strip())
        if found is None:
            raise ValueError(f"{text!r} is no size; write 4096, 2^24 or 4096x1000")
        extents.append(int(found[1]) ** int(found[2] or 1))
    if math.prod(extents) == 0:
        raise ValueError(f"{text!r} has no elements")
    if math.prod(extents) > sys.maxsize:
        raise ValueError(f"{text!r} is more than any array holds")
    return tuple(extents)


def chosen(asked: Iterable[str]) -> list[str]:
    """Kernels by family, by family.variant or as family.default; all where nothing is asked.

    Raises:
        ValueError: no kernel is called that.
    """
    known = [kernel.name for kernel in gpuport.kernels()]
    families = list(dict.fromkeys(name.partition(".")[0] for name in known))
    names: list[str] = []
    for name in asked:
        if name in families:
            names += [kernel for kernel in known if kernel.startswith(f"{name}.")]
        elif name in known or name in [f"{family}.default" for family in families]:
            names.append(name)
        else:
            raise ValueError(f"no kernel is called {name}; there are {', '.join(known)}")
    return list(dict.fromkeys(names)) or known


def tasks(
    names: Sequence[str],
    sizes: Sequence[tuple[int, ...]] = (),
    dtypes: Sequence[str] = (),
    *,
    on_cpu: bool,
) -> tuple[list[Task], list[str]]:
    """The work, and remarks about what was made smaller."""
    table: dict[tuple[str, Shape], list[str]] = {}
    shrunk = False
    for name in names:
        family = name.partition(".")[0]
        for shape in _shapes(name, sizes, dtypes):
            if on_cpu and not sizes and math.prod(shape.shape) > MOST_ON_CPU:
                shape, shrunk = _smaller(shape), True
            table.setdefault((family, replace(shape, why="")), []).append(name)
    remarks = []
    if shrunk:
        remarks.append(
            f"shapes were cut to {MOST_ON_CPU} elements for the emulator; --sizes overrides that"
        )
    found = [Task(family, shape, tuple(who)) for (family, shape), who in table.items()]
    return found, remarks


def _shapes(name: str, sizes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> Iterable[Shape]:
    own = _own_shapes(name)
    if sizes:
        kinds = dtypes or tuple(dict.fromkeys(shape.dtype for shape in own)) or ("float32",)
        patterns = dict.fromkeys(shape.pattern for shape in own)
        return [
            Shape(dtype, size, "asked for", pattern=pattern)
            for size in sizes
            for dtype in kinds
            for pattern in [p for p in patterns if p != FIRST_AXIS or len(size) == 2] or [""]
        ]
    if not dtypes:
        return own
    bare = dict.fromkeys(replace(shape, dtype="", why="asked for") for shape in own)
    return [replace(shape, dtype=dtype) for shape in bare for dtype in dtypes]


def _own_shapes(name: str) -> tuple[Shape, ...]:
    family, _, variant = name.partition(".")
    if variant != "default":
        spec = specs.find(name)
        return spec.benchmark if spec is not None else ()
    every = [specs.find(kernel.name) for kernel in gpuport.kernels()]
    return tuple(
        dict.fromkeys(
            shape
            for spec in every
            if spec is not None and spec.family == family
            for shape in spec.benchmark
        )
    )


def _smaller(shape: Shape) -> Shape:
    """The same columns as far as they go, fewer rows."""
    cols = min(shape.shape[-1], MOST_ON_CPU)
    rows = [max(1, MOST_ON_CPU // cols)] if len(shape.shape) > 1 else []
    return replace(shape, shape=(*rows, cols))
