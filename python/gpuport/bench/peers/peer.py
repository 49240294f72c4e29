"""A peer library, whether it is here, and how one of its calls is prepared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from gpuport.bench.calls import Steps, UnsupportedError
from gpuport.bench.rig import BufferSet, Rig
from gpuport.specs.workloads import Workload

# Name: the module behind it here, and the package that it needs.
_HOMES = {
    "cub": ("gpuport.bench.peers.cub_peer", ""),
    "rocprim": ("gpuport.bench.peers.rocprim_peer", ""),
    "torch": ("gpuport.bench.peers.torch_peer", "torch"),
    "triton": ("gpuport.bench.peers.triton_peer", "triton"),
    "cupy": ("gpuport.bench.peers.cupy_peer", "cupy"),
    "quack": ("gpuport.bench.peers.quack_peer", "quack"),
}
NAMES = tuple(_HOMES)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The calls of a peer, for each set of buffers, and what is called."""

    calls: list[Steps]
    what: str
    note: str = ""
    temporary_bytes: int | None = None
    has_count: bool = False


# One call, the name of what is called, and what its time covers besides.
Made = tuple[Callable[[], Any], str, str]


def prepare_from(
    table: Mapping[str, Callable[[Workload, BufferSet], Made]],
    library: str,
    work: Workload,
    sets: Sequence[BufferSet],
) -> Prepared:
    """By a table of what a library's public functions can do, as "family.operation"."""
    make = table.get(f"{work.family}.{work.op}")
    if make is None:
        raise UnsupportedError(f"{library} has no {work.op} of the family {work.family}")
    made = [make(work, each) for each in sets]
    _, what, note = made[-1]
    return Prepared([[call] for call, _, _ in made], what, note)


class Peer(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def prepare(self, work: Workload, sets: Sequence[BufferSet], rig: Rig) -> Prepared:
        """Raises UnsupportedError where the library has no such call."""
        ...


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that was asked for and is not here."""

    name: str
    reason: str


def find(names: Iterable[str], rig: Rig) -> tuple[list[Peer], list[Missing]]:
    """The peers that can run on the rig's device, and why the others cannot."""
    here: list[Peer] = []
    missing: list[Missing] = []
    for name in names:
        home, package = _HOMES[name]
        if rig.backend == "cpu":
            missing.append(Missing(name, "it runs on GPUs only; this is the cpu backend"))
        elif package and find_spec(package) is None:
            missing.append(Missing(name, f"the package {package} is not installed"))
        else:
            try:
                here.append(import_module(home).load(rig))
            except (UnsupportedError, ImportError) as error:
                missing.append(Missing(name, str(error)))
    return here, missing
