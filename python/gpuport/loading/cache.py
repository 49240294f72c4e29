"""The cache of compiled modules: a folder an entry, which appears at once or not at all.

Nothing is locked. Whoever needs an entry that is not there compiles it in a folder of its own and
renames that to its place; of several, the first stands and the others are dropped. A process that
is killed while it compiles leaves a folder that nobody looks at, and that is swept later.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuport.loading.hashing import blake2b

if TYPE_CHECKING:  # a module that is in the cache does not wait for it
    from pathlib import Path

VARIABLE = "GPUPORT_CACHE_DIR"
RECORD = "module.json"
_LAYOUT = "1"  # another one for what earlier versions cannot read
_ABANDONED = 3600.0  # seconds after which an unfinished compilation is nobody's


def _folder() -> str:
    if named := os.environ.get(VARIABLE, ""):
        return named
    base = os.environ.get("XDG_CACHE_HOME", "") or os.path.expanduser("~/.cache")
    return os.path.join(base, "gpuport")


def cache_folder() -> Path:
    """`GPUPORT_CACHE_DIR`, or `gpuport` in the user's cache folder."""
    from pathlib import Path

    return Path(_folder())


class Entry(NamedTuple):
    """A compiled module: its folder, and what `module.json` says of it."""

    folder: str
    record: dict[str, Any]


class CacheInfo(NamedTuple):
    """What the cache holds. `unfinished` counts compilations under way or killed."""

    folder: Path
    entries: int
    nbytes: int
    unfinished: int


def _unique() -> str:
    return os.urandom(8).hex()


def _modules() -> Path:
    return cache_folder() / _LAYOUT


def find(key: str) -> Entry | None:
    """The entry of that key, if it is whole."""
    return _read(f"{_folder()}/{_LAYOUT}/{key}")


def _read(folder: str) -> Entry | None:
    try:
        with open(f"{folder}/{RECORD}", "rb") as file:
            record = json.loads(file.read())
        if record.pop("digest") != _digest_of_record(record):
            return None
        for name, digest in record["digests"].items():
            # A crash of the machine or a bad disk may leave a name with other content, and nothing
            # behind this looks: such code would be run.
            if _digest_of_file(f"{folder}/{name}") != digest:
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Entry(folder, record)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _digest_of_file(path: str) -> str:
    with open(path, "rb") as file:
        return _digest(file.read())


def _digest_of_record(record: dict[str, Any]) -> str:
    return _digest(json.dumps(record).encode())


@contextmanager
def workplace() -> Iterator[Path]:
    """A new folder to compile in, gone afterwards; in the cache, so that a rename will do."""
    try:
        parent = cache_folder() / "unfinished"
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = parent / f"{os.uname().nodename}.{os.getpid()}.{_unique()}"
        folder.mkdir(mode=0o700)
    except OSError:  # a cache that cannot be written: the module is compiled, and not kept
        import tempfile
        from pathlib import Path

        folder = Path(tempfile.mkdtemp(prefix="gpuport-"))
    try:
        yield folder
    finally:
        import shutil  # not for a module that is in the cache

        shutil.rmtree(folder, ignore_errors=True)


def store(key: str, work: Path, record: dict[str, Any], files: list[str]) -> Entry | None:
    """Put what was compiled in `work` in its place; None where the cache cannot be written."""
    kept = work / "entry"
    kept.mkdir()
    for name in files:
        os.rename(work / name, kept / name)
    record = {**record, "digests": {name: _digest_of_file(f"{kept}/{name}") for name in files}}
    sealed = {**record, "digest": _digest_of_record(record)}
    (kept / RECORD).write_text(json.dumps(sealed), encoding="utf-8")
    place = _modules() / key
    for _ in range(3):
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.rename(kept, place)
            return Entry(str(place), record)
        except OSError:
            if found := _read(str(place)):
                return found  # somebody was faster
            with suppress(OSError):  # a damaged entry is moved away, then removed
                damaged = work / f"damaged-{_unique()}"
                os.rename(place, damaged)
    return None


def get_or_make(
    key: str | None,
    make: Callable[[Path], tuple[dict[str, Any], list[str]]],
    use: Callable[[Entry], Any],
) -> Any:
    """`use` of the entry of that key, which `make` compiles in a folder where it is not there.

    Without a key the module is compiled and not kept.
    """
    entry = find(key) if key else None
    if entry is not None:
        with suppress(FileNotFoundError):  # cleared since it was found
            return use(entry)
    with workplace() as work:
        record, files = make(work)
        entry = store(key, work, record, files) if key else None
        if entry is None:
            kept = work / "entry"
            folder = kept if kept.is_dir() else work
            return use(Entry(str(folder), record))
    _sweep()
    return use(entry)


def _sweep() -> None:
    """Remove what killed compilations left; one in a hundred compilations looks."""
    if os.urandom(1)[0] < 3:
        remove_unfinished()


def remove_unfinished() -> int:
    """Remove the folders of compilations whose process has ended."""
    import shutil

    count = 0
    with suppress(OSError):
        for folder in (cache_folder() / "unfinished").iterdir():
            with suppress(OSError):
                if _is_abandoned(folder):
                    shutil.rmtree(folder, ignore_errors=True)
                    count += 1
    return count


def _is_abandoned(folder: Path) -> bool:
    host, _, rest = folder.name.rpartition(".")[0].rpartition(".")
    if host == os.uname().nodename and rest.isdigit():
        try:
            os.kill(int(rest), 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
    # Of another machine that shares the folder nothing is known but the time.
    return time.time() - folder.stat().st_mtime > _ABANDONED


def info() -> CacheInfo:
    """Count what is there."""
    entries = nbytes = unfinished = 0
    with suppress(OSError):
        for folder in _modules().iterdir():
            entries += 1
            with suppress(OSError):
                nbytes += sum(path.stat().st_size for path in folder.iterdir())
    with suppress(OSError):
        unfinished = sum(1 for _ in (cache_folder() / "unfinished").iterdir())
    return CacheInfo(cache_folder(), entries, nbytes, unfinished)


def clear(age: float = 0.0) -> CacheInfo:
    """Remove every entry that has not been made in the last `age` seconds; says what went.

    A module that is in use stays usable: its files are open.
    """
    entries = nbytes = 0
    with suppress(OSError):
        for folder in list(_modules().iterdir()):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime < age:
                    continue
                size = sum(path.stat().st_size for path in folder.iterdir())
                with workplace() as away:
                    os.rename(folder, away / "cleared")  # at once: nobody finds half of it
                entries, nbytes = entries + 1, nbytes + size
    return CacheInfo(cache_folder(), entries, nbytes, remove_unfinished())
