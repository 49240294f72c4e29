"""Runs one case: places the operands between guards, calls the kernel, judges what came back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gpuport.testing import dtypes, memory
from gpuport.testing.case import Case, Difference, Operand, Problem, Sparse, Spec, Target
from gpuport.testing.compare import compare
from gpuport.testing.dtypes import Array
from gpuport.testing.regimes import reason

# op, operands by name, options, out -> the result
Call = Callable[[str, Mapping[str, Any], Mapping[str, Any], Any], Any]
Place = Callable[[memory.Image], memory.Buffer]


@dataclass(frozen=True, slots=True)
class Machine:
    """How to call a kernel on a target, and where its arrays live."""

    call: Call
    place: Place = memory.HostBuffer
    place_sparse: Callable[[Sparse], Any] | None = None
    read: Callable[[Any], tuple[Array, str]] = lambda result: (result, str(result.dtype))


@dataclass(frozen=True, slots=True)
class Failure:
    """What was wrong, and how to see it again."""

    kernel: str
    target: Target
    case: Case
    check: str
    difference: Difference
    command: str = ""  # what runs a case of a user's own kernel again

    @property
    def reproduce(self) -> str:
        if self.command:
            return self.command
        call = f"t.reproduce({self.kernel!r}, backend={self.target.backend!r}, "
        call += f"warp_size={self.target.warp_size}, case={self.case.name!r}"
        call += f", device={self.target.device})" if self.target.device else ")"
        return f'python -c "import gpuport.testing as t; {call}"'

    def lines(self) -> list[str]:
        found = self.difference
        text = [f"{self.kernel} on {self.target}, {self.case.name}: {self.check}: {found.message}"]
        if found.expected or found.got:
            text.append(f"  expected {found.expected}, got {found.got}")
        if not self.command:
            text.append(f"  input: {reason(self.case.regime)}")
        return [*text, f"  {self.reproduce}"]


@dataclass(frozen=True, slots=True)
class Outcome:
    status: Literal["passed", "failed", "skipped"]
    failure: Failure | None = None
    reason: str = ""


class _WrongError(Exception):
    def __init__(self, check: str, difference: Difference) -> None:
        super().__init__(check)
        self.check, self.difference = check, difference


def run_case(
    spec: Spec, case: Case, target: Target, machine: Machine, problem: Problem | None = None
) -> Outcome:
    """Everything that a case asks. An exception is a failure of the case, not of the sweep.

    `problem`, where given, is the case's own, already made for another target.
    """
    why_not = spec.skip(case, target)
    if why_not:
        return Outcome("skipped", reason=why_not)
    try:
        _check(spec, case, machine, problem or spec.problem(case))
    except _WrongError as wrong:
        return Outcome("failed", Failure(spec.kernel, target, case, wrong.check, wrong.difference))
    except Exception as error:
        difference = Difference(f"{type(error).__name__}: {error}")
        return Outcome("failed", Failure(spec.kernel, target, case, "raised", difference))
    return Outcome("passed")


def _check(spec: Spec, case: Case, machine: Machine, problem: Problem) -> None:
    if case.refused:
        _check_refusal(case, problem, machine)
        return
    got = _checked_call(case, problem, machine)
    difference = compare(problem.answer, got)
    if difference is not None:
        raise _WrongError("wrong result", _explain_poison(problem, got, difference))
    if not case.invariants:
        return

    def rerun(*, out: bool = True, in_place: bool = False, **operands: Array) -> Array:
        changed = dict(problem.operands)
        for name, values in operands.items():
            old = changed[name]
            assert isinstance(old, Operand)
            changed[name] = replace(old, values=values)
        again = replace(problem, operands=changed, takes_out=problem.takes_out and out)
        return _checked_call(case, again, machine, in_place=in_place)

    for name, invariant in spec.invariants(case).items():
        found = invariant(case, problem, got, rerun)
        if found is not None:
            raise _WrongError(name, found)


def _checked_call(
    case: Case, problem: Problem, machine: Machine, *, in_place: bool = False
) -> Array:
    """The values of one call, after its guards and its inputs are found unchanged.

    In place, the results are written over x.
    """
    images: dict[str, memory.Image] = {}
    inputs: dict[str, memory.Buffer] = {}
    arrays: dict[str, Any] = {}
    for name, operand in problem.operands.items():
        twin = next((other for other in arrays if problem.operands[other] is operand), None)
        if twin is not None:
            arrays[name] = arrays[twin]
        elif isinstance(operand, Sparse):
            assert machine.place_sparse is not None
            arrays[name] = machine.place_sparse(operand)
        else:
            images[name] = memory.input_image(operand.values, operand.dtype, operand.layout)
            inputs[name] = machine.place(images[name])
            arrays[name] = inputs[name].array

    answer = problem.answer
    if problem.takes_out:
        if in_place:
            image, output = images.pop("x"), inputs.pop("x")
        else:
            image = memory.output_image(answer.values.shape, answer.dtype, case.layout)
            output = machine.place(image)
        machine.call(case.op, arrays, problem.options, output.array)
        data = output.fetch()
        beyond = image.guards_changed(data)
        if beyond is not None:
            raise _WrongError("wrote outside out", Difference(_where(beyond, image)))
        stored = image.elements(data)
    else:
        stored, kind = machine.read(machine.call(case.op, arrays, problem.options, None))
        if kind != answer.dtype:
            raise _WrongError("wrong dtype", Difference("of the result", answer.dtype, kind))

    for name, buffer in inputs.items():
        before, after = images[name].data, buffer.fetch()
        if not np.array_equal(before, after):
            changed = int(np.argmax(before != after)) - images[name].offset
            raise _WrongError(
                f"changed the input {name}", Difference(_where(changed, images[name]))
            )
    return dtypes.decode(stored, answer.dtype)


def _check_refusal(case: Case, problem: Problem, machine: Machine) -> None:
    try:
        got = _checked_call(case, problem, machine)
    except problem.refusal:
        return
    expected = problem.refusal.__name__
    difference = Difference("took an input that its limits exclude", expected, str(got.dtype))
    raise _WrongError("not refused", difference)


def _where(byte: int, image: memory.Image) -> str:
    width = dtypes.storage(image.dtype).itemsize
    return f"byte {byte} from its first element ({byte // width:+d} elements of {width} bytes)"


def _explain_poison(problem: Problem, got: Array, difference: Difference) -> Difference:
    """Says so where the first wrong element still holds what was there before the call."""
    if not problem.takes_out or got.size == 0:
        return difference
    width = dtypes.storage(problem.answer.dtype).itemsize
    before = np.full(width, memory.POISON, np.uint8).view(dtypes.storage(problem.answer.dtype))
    poison = dtypes.decode(before, problem.answer.dtype)[0]
    if difference.got != str(poison):
        return difference
    return replace(difference, message=difference.message + "; never written")
