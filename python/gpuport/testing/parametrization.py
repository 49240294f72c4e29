"""`@sweep()`: a pytest test on every backend and warp width, at the sizes where kernels break."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeVar

from gpuport.testing.sizes import SMALL_SIZES
from gpuport.testing.sweeping import targets, why_not

if TYPE_CHECKING:
    import pytest

Item = TypeVar("Item", str, int)
Test = TypeVar("Test", bound=Callable[..., Any])

# The widths that the devices of a backend may have.
WIDTHS: Final = {"cpu": (32, 64), "cuda": (32,), "hip": (32, 64)}


def sweep(
    test: object = None,
    /,
    *,
    backends: Iterable[str] = tuple(WIDTHS),
    warp_sizes: Iterable[int] = (32, 64),
    sizes: Iterable[int] = SMALL_SIZES,
) -> Callable[[Test], Test]:
    """Parametrise a pytest test over backends, warp widths and sizes.

    The test takes `target`, a `gpuport.testing.Target` with `backend`, `warp_size` and `device`,
    and may take `size`, one of `sizes` (default: 0, 1, 2, and the edges of warps, blocks and
    tiles). A target that is not here is one skipped test, whose reason says what is missing.

        @gpuport.testing.sweep()
        def test_sum(target, size):
            x = numpy.ones(size, "float32")
            assert gpuport.sum(x, backend=target.backend, warp_size=target.warp_size) == size

    Raises:
        ValueError: no such backend or warp width, a negative size, or nothing to run at all.
        TypeError: no sequences of strings and of ints, or `@sweep` without its parentheses.
    """
    import pytest

    if test is not None:
        raise TypeError("sweep is called: write @gpuport.testing.sweep(), with parentheses")
    backends = _sequence("backends", backends, str)
    warp_sizes = _sequence("warp_sizes", warp_sizes, int)
    sizes = _sequence("sizes", sizes, int)
    unknown = [name for name in backends if name not in WIDTHS]
    if unknown:
        raise ValueError(f"there is no backend {unknown[0]!r}; there are {', '.join(WIDTHS)}")
    if any(size < 0 for size in sizes):
        raise ValueError("a size is negative")
    if not sizes or not _places(backends, warp_sizes):
        raise ValueError("there is nothing to sweep over: no size, or no backend of such a width")

    def mark(test: Test) -> Test:
        marked: Test = pytest.mark.gpuport_sweep(
            backends=backends, warp_sizes=warp_sizes, sizes=sizes
        )(test)
        return marked

    return mark


def _sequence(name: str, values: Any, kind: type[Item]) -> tuple[Item, ...]:
    if isinstance(values, str):
        raise TypeError(f"{name}: a sequence is wanted, not the one string {values!r}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of {kind.__name__}, not {values!r}")
    found = tuple(values)
    for value in found:
        if not isinstance(value, SupportsIndex if kind is int else kind):
            raise TypeError(f"{name} must be a sequence of {kind.__name__}; {value!r} is none")
    return found


def parametrize(
    metafunc: pytest.Metafunc,
    backends: Sequence[str],
    warp_sizes: Sequence[int],
    sizes: Sequence[int],
) -> None:
    """What the plugin does with a marked test."""
    import pytest

    if "target" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a test under @gpuport.testing.sweep takes `target`"
        )
    with_size = "size" in metafunc.fixturenames
    names = ["target", "size"] if with_size else ["target"]
    cases = []
    for backend, width in _places(backends, warp_sizes):
        found = targets(backend, width)
        place = f"{backend}-w{width}"
        if not found:
            absent = pytest.mark.skip(reason=why_not(backend, width))
            cases.append(pytest.param(*[None] * len(names), id=place, marks=absent))
        for target in found:
            label = f"{place}-device{target.device}" if len(found) > 1 else place
            if with_size:
                cases += [pytest.param(target, size, id=f"{label}-n{size}") for size in sizes]
            else:
                cases.append(pytest.param(target, id=label))
    metafunc.parametrize(names, cases)


def _places(backends: Sequence[Any], widths: Sequence[Any]) -> list[tuple[str, int]]:
    return [(name, width) for name in backends for width in WIDTHS[name] if width in widths]
