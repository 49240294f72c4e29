"""The sweep of a user's kernels: one CUDA source and its file of specs, on every target."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np

from gpuport._backends import native_module
from gpuport.errors import Error
from gpuport.loading import Module, load
from gpuport.testing.case import Case, Target
from gpuport.testing.engine import Machine, Outcome, run_case
from gpuport.testing.machine import place_on
from gpuport.testing.own_kernel import KernelSpec, OwnKernel
from gpuport.testing.own_process import TIME_LIMIT, OwnProcess
from gpuport.testing.sweeping import Cell, Step

_MODULE: Final = "gpuport_spec"


class SpecError(Error):
    """A file of specs that cannot be used; the message says where and why."""


@dataclass(frozen=True)
class OwnSource:
    """A CUDA source, the specs of its kernels by name, how it is compiled, seconds for a case."""

    file: str
    spec_file: str
    options: tuple[str, ...] = ()
    timeout: int = TIME_LIMIT
    kernels: Mapping[str, OwnKernel] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", read_specs(self.spec_file))

    def command(self, target: Target, case: Case) -> str:
        """The line that runs one case again."""
        words = ["gpuport", "check", self.file, "--spec", self.spec_file]
        words += ["--backend", target.backend, "--warp-size", str(target.warp_size)]
        words += ["--case", case.name, *self.options]
        if self.timeout != TIME_LIMIT:
            words += ["--timeout", str(self.timeout)]
        return shlex.join(words)


def read_specs(path: str) -> dict[str, OwnKernel]:
    """Run a file of specs; every `KernelSpec` in it, by the name of its variable.

    Raises:
        SpecError: it cannot be read or run, or holds no spec.
    """
    module = ModuleType(_MODULE)
    module.__file__ = path
    sys.modules[_MODULE] = module  # what a dataclass in the file asks for
    try:
        exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}") from None
    except (Exception, SystemExit) as error:
        raise SpecError(f"{_where(error, path)}: {type(error).__name__}: {error}") from None
    found = {
        name: OwnKernel(name, value.dtypes, spec=value)
        for name, value in vars(module).items()
        if isinstance(value, KernelSpec)
    }
    if not found:
        raise SpecError(f"{path}: no variable in it is a gpuport.testing.KernelSpec")
    return found


def _where(error: BaseException, path: str) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    return f"{path}:{lines[-1]}" if lines else path


def sweep_own(
    source: OwnSource,
    kernels: Iterable[str],
    targets: Sequence[Target],
    *,
    quick: bool = False,
    only: str | None = None,
) -> Iterator[Step]:
    """Runs every case of every kernel on every target, or the one case named `only`."""
    plans = {}
    for kernel in kernels:
        for target in targets:
            plans[kernel, target] = [
                case
                for case in source.kernels[kernel].cases(target)
                if (case.name == only if only else case.quick or not quick)
            ]
    total, done = sum(map(len, plans.values())), 0
    modules = {target: compile_own(source, target) for target in targets}
    process = OwnProcess(source.file, source.spec_file, source.options, source.timeout)
    try:
        for (kernel, target), cases in plans.items():
            cell = Cell(kernel, target)
            module = modules[target]
            if isinstance(module, str):
                cell.problem, cell.words = "does not compile", module
            else:
                cell.problem = _missing(module, source.kernels[kernel])
            if cell.problem:
                done += len(cases)
                yield Step(cell, done, total)
                continue
            for case in cases:
                start = perf_counter()
                cell.add(_with_command(source, process.run(kernel, case, target)))
                cell.seconds += perf_counter() - start
                done += 1
                yield Step(cell, done, total)
    finally:
        process.close()


def _with_command(source: OwnSource, outcome: Outcome) -> Outcome:
    failure = outcome.failure
    if failure is None:
        return outcome
    command = source.command(failure.target, failure.case)
    return replace(outcome, failure=replace(failure, command=command))


def compile_own(source: OwnSource, target: Target) -> Module | str:
    """The module, or the words of what refused it."""
    names = {own.spec.name(dtype) for own in source.kernels.values() for dtype in own.spec.dtypes}
    try:
        return load(
            Path(source.file),
            backend=target.backend,
            device=target.device,
            warp_size=target.warp_size,
            options=source.options,
            name_expressions=sorted(name for name in names if "<" in name),
        )
    except Error as error:
        return str(error)


def _missing(module: Module, own: OwnKernel) -> str:
    """What is wrong with the kernel's name, or nothing."""
    for dtype in own.dtypes:
        try:
            module[own.spec.name(dtype)]
        except KeyError as error:
            return str(error.args[0])
    return ""


def run_own(own: OwnKernel, case: Case, target: Target, module: Module) -> Outcome:
    """One case, in this process."""
    return run_case(own, case, target, Machine(_Call(own.spec, module, target), place_on(target)))


@dataclass(frozen=True, slots=True)
class _Call:
    """Launches the kernel as its spec says."""

    spec: KernelSpec
    module: Module
    target: Target

    def __call__(
        self, op: str, arrays: Mapping[str, Any], options: Mapping[str, Any], out: Any
    ) -> None:
        spec, n = self.spec, options["n"]
        named = SimpleNamespace(**arrays, out=out)
        if spec.updates:
            self._copy(arrays[spec.updates], out)
            setattr(named, spec.updates, out)
        kernel = self.module[spec.name(options["dtype"])]
        kernel(spec.blocks(n), spec.block, tuple(spec.args(named, n)), spec.shared_mem(n))

    def _copy(self, source: Any, out: Any) -> None:
        if not self.target.is_gpu:
            out[...] = source
            return
        native = native_module(self.target.backend)
        data = np.empty(out.size * out.view.itemsize, np.uint8)
        native.download(source.view.address, data, 0)
        native.upload(out.view.address, data, 0)
