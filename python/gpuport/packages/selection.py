"""The backend modules of a package that `gpuport_add_module` has built."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from gpuport._backends import NAMES, ordinals
from gpuport._view import Place
from gpuport.arrays import kind_of
from gpuport.errors import BackendUnavailableError

__all__ = ["Selection", "select"]


def select(package: str) -> Selection:
    """The backend modules of a package, such as `mypkg._cpu` and `mypkg._cuda`.

    Usual in the package's own `__init__`::

        kernels = gpuport.select(__name__)
        kernels.scale(x, 2.0)  # of mypkg._cpu, _cuda or _hip, by where the array x is

    No module is imported before it is needed, and none of a backend that is not asked for.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    return Selection(package)


class Selection:
    """Calls a package's functions in the module of the backend that has the arrays.

    A function of the modules is an attribute. Its arguments pass through as they are; the first
    array among them decides, and the others must be on the same device.
    """

    def __init__(self, package: str) -> None:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"there is no package {package!r}", name=package)
        self._package = package

    def __repr__(self) -> str:
        return f"gpuport.select({self._package!r})"

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that the package was built for, in the order cpu, cuda, hip."""
        return tuple(n for n in NAMES if find_spec(f"{self._package}._{n}") is not None)

    def module(self, backend: str) -> ModuleType:
        """The module of one backend.

        Raises:
            ValueError: there is no backend of that name.
            BackendUnavailableError: the package was built without it, or it cannot be loaded.
        """
        if backend not in NAMES:
            raise ValueError(f"there is no backend {backend!r}; there are {', '.join(NAMES)}")
        name = f"{self._package}._{backend}"
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            built = ", ".join(self.backends) or "none"
            reason = f"it was built without that backend (with: {built})"
        except ImportError as error:
            reason = f"{name} cannot be loaded: {error}"
        raise BackendUnavailableError(f"{self._package} has nothing for {backend}: {reason}")

    def place(self, *arguments: Any) -> Place:
        """Backend and device ordinal of the arrays among the arguments.

        Raises:
            TypeError: there is no array among them.
            ValueError: two of them are on different devices.
        """
        places = list(dict.fromkeys(_places(arguments)))
        if not places:
            raise TypeError(f"{self._package}: none of the arguments is an array")
        if len(places) > 1:
            where = " and ".join(str(place) for place in places)
            raise ValueError(f"{self._package}: the arrays are on different devices: {where}")
        return places[0]

    def ordinal(self, *arguments: Any, warp_size: int | None = None) -> int:
        """What the module passes to `cudaSetDevice` for these arrays.

        A GPU has its own ordinal. The CPU is device 0 with warps of 32 lanes and device 1 with
        warps of 64, over the same memory; `warp_size` chooses, and None is 32.

        Raises:
            ValueError: `warp_size` is not that of the GPU, or of the CPU; and those of `place`.
        """
        place = self.place(*arguments)
        if warp_size is None:
            return place.device
        found = ordinals(place.backend, place.device)
        if warp_size not in found:
            widths = " or ".join(map(str, sorted(found)))
            raise ValueError(f"{place} has warps of {widths} lanes, not {warp_size}")
        return found[warp_size]

    def of(self, *arguments: Any) -> ModuleType:
        """The module of the backend that has these arrays; the errors of `place` and `module`."""
        return self.module(self.place(*arguments).backend)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self!r} has no attribute {name!r}")

        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self.of(*args, *kwargs.values()), name)(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        return call


def _places(arguments: tuple[Any, ...]) -> Iterator[Place]:
    for argument in arguments:
        try:
            kind = kind_of(argument, "the argument")
        except TypeError:
            continue
        yield kind.place(argument, "the argument")
