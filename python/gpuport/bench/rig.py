"""Where a benchmark runs: a device, a stream, and the sets of buffers that calls take in turn."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuport._backends import ordinals, usable_module
from gpuport._native import Buffer, NativeModule
from gpuport.specs.workloads import Workload
from gpuport.testing.dtypes import Array, decode, smallest, storage

ALIGNMENT = 512
POISON = 0xA5A5A5A5A5A5A5A5  # in outputs before a call: a large negative number, or nearly 0
CHUNK_BYTES = 1 << 26
STRETCHES = 4096  # int64 words of scratch that a compaction needs
MOST_SETS = 1024


class Rig:
    """One device of a backend and a stream of its own, which also other libraries enqueue on."""

    def __init__(self, backend: str, device: int = 0, warp_size: int | None = None) -> None:
        self.backend = backend
        self.native: NativeModule = usable_module(backend)
        sizes = ordinals(backend, device)
        self.warp_size = warp_size or next(iter(sizes))
        if self.warp_size not in sizes:
            widths = " and ".join(map(str, sizes))
            raise ValueError(f"backend {backend} has warps of {widths}, not of {self.warp_size}")
        self.device = device
        self.ordinal = sizes[self.warp_size]
        self._stream = self.native.Stream(self.ordinal)
        self.stream = int(self._stream.handle)

    @property
    def facts(self) -> dict[str, int]:
        return self.native.device_facts(self.ordinal)

    def synchronize(self) -> None:
        self.native.synchronize(self.ordinal, self.stream)

    def upload(self, address: int, data: Array) -> None:
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        if flat.size:
            self.native.upload(address, flat, self.stream)

    def chunks(self, address: int, count: int, dtype: np.dtype[Any]) -> Iterator[tuple[int, Array]]:
        """The elements at an address, some at a time: where each chunk starts, and the chunk."""
        step = max(CHUNK_BYTES // dtype.itemsize, 1)
        room = np.empty(min(step, count), dtype)
        for start in range(0, count, step):
            part = room[: min(step, count - start)]
            self.native.download(address + start * dtype.itemsize, part.view(np.uint8), self.stream)
            yield start, part


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One array in a set of buffers, for any library that reads `__cuda_array_interface__`."""

    address: int
    dtype: str
    shape: tuple[int, ...]
    owner: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * storage(self.dtype).itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """bfloat16 goes as its 16 bits: the protocol has no name for it."""
        return {
            "shape": self.shape,
            "typestr": "<i2" if self.dtype == "bfloat16" else storage(self.dtype).str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
        }


@dataclass(frozen=True, slots=True)
class BufferSet:
    """The arrays of one call. `count` is where a compaction says how much it kept."""

    x: DeviceMemory
    out: DeviceMemory
    count: DeviceMemory
    scratch: DeviceMemory
    keep: DeviceMemory | None = None
    offsets: DeviceMemory | None = None


def how_many_sets(rig: Rig, set_bytes: int, cold: bool) -> int:
    """Cold: as many as twice the last-level cache holds, and two more."""
    if not cold:
        return 1
    facts = rig.facts
    wanted = 2 + 2 * facts["l2_bytes"] // max(set_bytes, 1)
    fits = int(facts["free_bytes"] * 0.8) // max(set_bytes, 1)
    return max(1, min(wanted, fits, MOST_SETS))


class Buffers:
    """Sets of buffers with the same contents, at different addresses."""

    def __init__(self, rig: Rig, work: Workload, *, cold: bool) -> None:
        self.rig, self.work = rig, work
        arrays = [("x", work.x, work.shape.dtype)]
        if work.keep is not None and work.keep is not work.x:
            arrays.append(("keep", work.keep, _flags(work.keep)))
        if work.offsets is not None:
            arrays.append(("offsets", work.offsets, "int64"))
        self._layout: list[tuple[str, str, tuple[int, ...], int]] = []
        at = 0
        for name, array, dtype in arrays:
            self._layout.append((name, dtype, array.shape, at))
            at += _padded(array.nbytes)
        self._inputs_end = at
        room = (work.x.size,) if work.family == "compact" else work.out_shape
        for name, dtype, shape in (
            ("out", work.result, room),
            ("count", "int64", (1,)),
            ("scratch", "int64", (STRETCHES if work.family == "compact" else 1,)),
        ):
            self._layout.append((name, dtype, shape, at))
            at += _padded(math.prod(shape) * storage(dtype).itemsize)
        self.set_bytes = at
        self.count = how_many_sets(rig, at, cold)
        self._arena: Buffer = rig.native.allocate(self.count * at + ALIGNMENT, rig.ordinal)
        self._start = -(-self._arena.address // ALIGNMENT) * ALIGNMENT
        for name, _, _, offset in self._layout:
            source = {"x": work.x, "keep": work.keep, "offsets": work.offsets}.get(name)
            if source is not None:
                rig.upload(self._start + offset, source)
        for index in range(1, self.count):
            target = self._start + index * at
            rig.native.prepare_copy(
                target, self._start, self._inputs_end, True, rig.ordinal, rig.stream
            )()
        rig.synchronize()

    @cached_property
    def sets(self) -> list[BufferSet]:
        made = []
        for index in range(self.count):
            start = self._start + index * self.set_bytes
            arrays = {
                name: DeviceMemory(start + offset, dtype, shape, self._arena)
                for name, dtype, shape, offset in self._layout
            }
            if self.work.keep is self.work.x:
                arrays["keep"] = arrays["x"]
            made.append(BufferSet(**arrays))
        return made

    def poison(self) -> None:
        """Fills every output, so that a call which writes nothing is found out."""
        word = np.array([POISON], np.uint64)
        for each in self.sets:
            for memory in (each.out, each.count):
                words = -(-memory.nbytes // 8)
                self.rig.upload(self._poison_source, word)
                self.rig.native.copy(
                    (words,),
                    (self._poison_source, "uint64", (0,)),
                    (memory.address, "uint64", (1,)),
                    self.rig.ordinal,
                    self.rig.stream,
                )
        self.rig.synchronize()

    @cached_property
    def _poison_source(self) -> int:
        self._word = self.rig.native.allocate(8, self.rig.ordinal)
        return self._word.address

    def wrong(self, index: int, *, has_count: bool = True) -> str:
        """What is wrong with the output of one set; empty where it is the expected one."""
        each, work = self.sets[index], self.work
        if work.family == "compact" and has_count:
            ((_, found),) = self.rig.chunks(each.count.address, 1, np.dtype(np.int64))
            if int(found[0]) != work.expected.size:
                return f"kept {int(found[0])} elements, not {work.expected.size}"
        expected = work.expected.reshape(-1)
        for start, stored in self.rig.chunks(each.out.address, expected.size, storage(work.result)):
            part = expected[start : start + stored.size]
            problem = _difference(stored, part, work, start)
            if problem:
                return problem
        return ""


def _difference(stored: Array, expected: Array, work: Workload, start: int) -> str:
    if work.tolerance == 0:
        if np.array_equal(stored, expected):
            return ""
        bad = stored != expected
        got: Array = stored
    else:
        got = decode(stored, work.result)
        wanted = expected if expected.dtype != np.uint16 else decode(expected, work.result)
        with np.errstate(invalid="ignore"):
            # Below the normal numbers a type has steps, and no relative precision.
            step = float(smallest(work.result))
            bad = ~(np.abs(got - wanted) <= work.tolerance * np.abs(wanted) + step)
        expected = wanted
        if not bad.any():
            return ""
    at = int(np.argmax(bad))
    return f"element {start + at} is {got[at]}, not {expected[at]}"


def _flags(keep: Array) -> str:
    return str(keep.dtype.name)


def _padded(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
