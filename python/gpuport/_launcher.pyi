"""The native launcher: launcher/module.cpp."""

from collections.abc import Callable, Sequence
from typing import Any

def register_scalar(type: type[Any], kind: int, size: int, sample: Any, bytes: bytes) -> None: ...
def register_numpy(
    ndarray: type[Any], dtypes: dict[Any, tuple[int, int]], samples: list[Any]
) -> None: ...
def register_device_array(type: type[Any], dtypes: dict[str, tuple[int, int]]) -> None: ...
def register_library(
    type: type[Any],
    name: str,
    backend: str,
    dtypes: dict[Any, tuple[int, int]],
    current_stream: Callable[[int], int],
    c_stream: Any = None,
) -> None: ...

class Target:
    def __init__(
        self,
        launch: int,
        launch_cooperative: int,
        get_current: int,
        set_current: int,
        current: int,
        is_context: bool,
        backend: str,
        device: int,
        resolve: Callable[[Any, str], tuple[int, int, int, int, bool]],
        stream: Callable[[Any, tuple[Any, ...]], int],
        on_error: Callable[[str, int, tuple[int, ...], tuple[int, ...]], None],
    ) -> None: ...

class Kernel:
    def __init__(
        self,
        name: str,
        function: int,
        parameters: Sequence[tuple[str, str, int, int, int, int, int, bool]],
        target: Target,
    ) -> None: ...
    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Any = (),
        shared_mem: int = 0,
        stream: Any = None,
        cooperative: bool = False,
    ) -> None: ...
    def check(self, args: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def function(self) -> int: ...

class Key: ...

class Plans:
    most: int
    def __init__(self, most: int) -> None: ...
    def add(self, key: Key, plan: tuple[Any, ...] | None) -> None: ...
    def __len__(self) -> int: ...
    def filled(self) -> list[bool]: ...
    def clear(self) -> None: ...

class Replayed:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def replayed(
    whole: Callable[..., Any],
    parameters: tuple[str, ...],
    positional: int,
    record: Callable[..., Any],
    meet: Callable[[type[Any]], None],
    plans: Plans,
) -> Replayed: ...
def add_constant_type(type: type[Any]) -> None: ...
def replay_torch(
    type: type[Any],
    table: Any,
    stream: Callable[[int], int] | None,
    increment_version: Callable[[tuple[Any, ...]], None],
    samples: list[Any] | None,
) -> None: ...
def replay_cupy(type: type[Any], stream: Callable[[int], Any], c_stream: Any) -> None: ...
def replay_numpy(type: type[Any]) -> None: ...
def replay_device_array(type: type[Any]) -> None: ...
