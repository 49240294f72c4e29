"""The engine itself: it passes a right kernel, and finds each planted fault."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport import specs
from gpuport.testing import Case, Failure, Machine, Outcome, Target, cases, run_case, sweep_kernels
from gpuport.testing.dtypes import Array, sum_dtype

Options = Mapping[str, Any]
TARGET = Target("cpu", 32)
TAKEN = ("int32", "float32", "float64")


def reduce(op: str, x: Array, options: Options) -> Array:
    """A right reduction, as reduce.serial promises it."""
    if x.dtype.name not in TAKEN:
        raise ValueError(f"takes {TAKEN}")
    if op != "sum":
        return np.asarray(getattr(np, op)(x, **options))
    result = sum_dtype(x.dtype.name)
    with np.errstate(invalid="ignore"):
        wide = np.sum(x, dtype=np.longdouble if x.dtype.kind == "f" else result, **options)
    return np.asarray(wide).astype(result)


def softmax(op: str, x: Array, mask: Array | None, options: Options) -> Array:
    """A right softmax by another formula than the spec's: through the logarithm."""
    axis = options["axis"]
    keep = np.broadcast_to(True if mask is None else mask, x.shape)
    wide = np.where(keep, x, -np.inf).astype(np.longdouble)
    with np.errstate(all="ignore"):
        top = np.max(wide, axis=axis, keepdims=True, initial=-np.inf)
        base = np.where(np.isfinite(top), top, 0)
        log_sum = np.log(np.sum(np.exp(wide - base), axis=axis, keepdims=True))
        if op == "logsumexp":
            return np.asarray((base + log_sum).squeeze(axis), x.dtype)
        logs = np.where(np.isinf(top), np.nan, wide - top - log_sum)
        logs = np.where(keep, logs, -np.inf)
        return np.asarray(logs if op == "log_softmax" else np.exp(logs), x.dtype)


def give(result: Array, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def right(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    return give(reduce(op, arrays["x"], options), out)


def elsewhere(array: Array, byte: int) -> Array:
    """The element that lies so many bytes away from the first one: outside what the caller gave."""
    start = array.__array_interface__["data"][0] + byte
    holder = type("Memory", (), {})()
    holder.__array_interface__ = {
        "version": 3,
        "shape": (1,),
        "typestr": array.dtype.str,
        "data": (start, False),
    }
    return np.asarray(holder)


# Each fault: the op it stands in for, what it does, and what the engine must say.
Fault = Callable[[str, Mapping[str, Array], Options, Any], Any]


def writes_past_the_end(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    right(op, arrays, options, out)
    if out is not None and out.flags.c_contiguous:
        elsewhere(out, out.nbytes)[...] = 0
    return out


def writes_before_the_start(
    op: str, arrays: Mapping[str, Array], options: Options, out: Any
) -> Any:
    right(op, arrays, options, out)
    if out is not None:
        elsewhere(out, -out.itemsize)[...] = 0
    return out


def ignores_the_stride(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    result = reduce(op, arrays["x"], options)
    if out is None:
        return result
    for index, value in enumerate(result.reshape(-1)):
        elsewhere(out, index * out.itemsize)[...] = value
    return out


def leaves_the_last_unwritten(
    op: str, arrays: Mapping[str, Array], options: Options, out: Any
) -> Any:
    result = reduce(op, arrays["x"], options)
    if out is None or out.size == 0:
        return give(result, out)
    kept = out.reshape(-1)[-1].copy()
    out[...] = result
    out.reshape(-1)[-1] = kept
    return out


def drops_nan(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    x = arrays["x"]
    if op == "sum" or x.dtype.kind != "f" or np.isnan(x).all():
        return right(op, arrays, options, out)
    return give(np.asarray({"max": np.nanmax, "min": np.nanmin}[op](x, **options)), out)


def adds_in_int32(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    x = arrays["x"]
    if op != "sum" or x.dtype != np.int32:
        return right(op, arrays, options, out)
    return give(np.asarray(np.sum(x, dtype=np.int32, **options)).astype(np.int64), out)


def starts_max_at_zero(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    if op != "max" or arrays["x"].dtype.name not in TAKEN:
        return right(op, arrays, options, out)
    return give(np.asarray(np.max(arrays["x"], initial=0, **options)), out)


def changes_its_input(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    result = right(op, arrays, options, out)
    if arrays["x"].size:
        arrays["x"].reshape(-1)[:1] += 1
    return result


def reads_past_the_end(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    x = arrays["x"]
    if options or not x.flags.c_contiguous or x.ndim != 1:
        return right(op, arrays, options, out)
    more = [elsewhere(x, x.nbytes), elsewhere(x, x.nbytes + x.itemsize)]
    return right(op, {"x": np.append(x, more)}, options, out)


def takes_everything(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    result = np.asarray(getattr(np, op)(arrays["x"], **options))
    return give(result, out)


def raises(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
    raise RuntimeError("no such instruction")


def answers_in_the_wrong_dtype(
    op: str, arrays: Mapping[str, Array], options: Options, out: Any
) -> Any:
    result = reduce(op, arrays["x"], options)
    return give(result, out) if out is not None else result.astype(np.float64)


class Unrepeatable:
    """Right within the bound, but the last bit depends on how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        self.calls += 1
        result = reduce(op, arrays["x"], options)
        if self.calls % 2 and result.dtype.kind == "f":
            result = np.nextafter(result, np.array(np.inf, result.dtype))
        return give(result, out)


FAULTS: list[tuple[Fault, str, str]] = [
    (writes_past_the_end, "sum-int32-33-uniform", "wrote outside out"),
    (writes_before_the_start, "max-float64-1025-uniform", "wrote outside out"),
    (ignores_the_stride, "sum-float32-33x33-axis1-uniform-padded", "wrote outside out"),
    (leaves_the_last_unwritten, "sum-int32-33x33-axis1-uniform", "never written"),
    (drops_nan, "max-float32-1025-nan@63", "wrong result"),
    (adds_in_int32, "sum-int32-1025-greatest", "wrong result"),
    (starts_max_at_zero, "max-int32-1025-below_zero", "wrong result"),
    (starts_max_at_zero, "max-float32-130-all_minus_inf", "wrong result"),
    (changes_its_input, "sum-int32-33-uniform", "changed the input x"),
    (reads_past_the_end, "sum-float32-33-uniform", "wrong result"),
    (reads_past_the_end, "max-int32-33-uniform", "wrong result"),
    (takes_everything, "sum-bool-33-uniform-refused", "not refused"),
    (raises, "sum-int32-33-uniform", "RuntimeError: no such instruction"),
    (answers_in_the_wrong_dtype, "sum-int32-33-uniform", "wrong dtype"),
    (Unrepeatable(), "sum-float32-1025-normal", "not repeatable"),
]


def outcomes(kernel: str, machine: Machine, only: str = "") -> dict[str, Outcome]:
    spec = specs.find(kernel)
    assert spec is not None
    return {
        case.name: run_case(spec, case, TARGET, machine)
        for case in cases(kernel, TARGET)
        if only in ("", case.name)
    }


def not_passed(found: dict[str, Outcome]) -> dict[str, Failure | None]:
    return {name: found.failure for name, found in found.items() if found.status != "passed"}


def test_a_right_reduction_passes() -> None:
    found = outcomes("reduce.serial", Machine(right))
    assert len(found) > 500
    assert not_passed(found) == {}


def test_a_right_softmax_passes() -> None:
    def call(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        return give(softmax(op, arrays["x"], arrays.get("mask"), options), out)

    found = outcomes("softmax.serial", Machine(call))
    assert len(found) > 500
    assert not_passed(found) == {}


@pytest.mark.parametrize(
    ("fault", "case", "message"),
    FAULTS,
    ids=[f"{getattr(fault, '__name__', 'unrepeatable')}-{case}" for fault, case, _ in FAULTS],
)
def test_a_planted_fault_is_found(fault: Fault, case: str, message: str) -> None:
    (outcome,) = outcomes("reduce.serial", Machine(fault), only=case).values()
    assert outcome.failure is not None
    assert message in "\n".join(outcome.failure.lines())


def test_a_failure_names_the_first_index_and_both_values() -> None:
    def call(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        result = reduce(op, arrays["x"], options)
        result[[7, 20]] += 1
        return give(result, out)

    case = "sum-int32-33x33-axis1-uniform"
    (outcome,) = outcomes("reduce.serial", Machine(call), only=case).values()
    assert outcome.failure is not None
    difference = outcome.failure.difference
    assert difference.message == "2 of 33 wrong, the first at index 7"
    assert int(difference.got) == int(difference.expected) + 1


def test_softmax_that_adds_up_to_half_is_found() -> None:
    """What a width of 64 assumed on a device of 32 gives."""

    def call(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        return give(softmax(op, arrays["x"], arrays.get("mask"), options) / 2, out)

    found = not_passed(
        outcomes("softmax.serial", Machine(call), "softmax-float32-33x33-axis1-normal")
    )
    assert len(found) == 1


def test_log_softmax_by_max_plus_log_of_the_sum_is_found() -> None:
    def call(op: str, arrays: Mapping[str, Array], options: Options, out: Any) -> Any:
        x = arrays["x"]
        top = np.max(x, axis=1, keepdims=True)
        return give(x - (top + np.log(np.sum(np.exp(x - top), axis=1, keepdims=True))), out)

    found = not_passed(
        outcomes("softmax.serial", Machine(call), "log_softmax-float32-5x129-axis1-near_1e7")
    )
    assert len(found) == 1


def test_the_line_of_a_failure_runs_as_it_is() -> None:
    case = Case("sum", "int32", (33,), quick=True)
    failure = Failure("reduce.single_pass", TARGET, case, "wrong result", _difference())
    line = failure.reproduce
    assert re.fullmatch(r'python -c "[^"]+"', line)
    program = line.removeprefix('python -c "').removesuffix('"')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "reduce.single_pass on cpu w32, sum-int32-33-uniform: passed\n"


def test_reproduce_shows_the_failure_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gpuport.testing import reproduce

    monkeypatch.setattr(gpuport, "sum", lambda x, out=None, **_: give(np.array(12345), out))
    with pytest.raises(SystemExit, match="got 12345") as stopped:
        reproduce("reduce.serial", backend="cpu", warp_size=32, case="sum-int32-33-uniform")
    assert isinstance(stopped.value.code, str)  # printed by the interpreter, exit code 1


@pytest.mark.parametrize(
    ("kernel", "case", "message"),
    [
        ("reduce.none", "x", "reduce.none has no spec"),
        ("nothing.at_all", "x", "nothing.at_all has no spec"),
        ("reduce.serial", "x", "has no case 'x'"),
    ],
)
def test_reproduce_says_what_it_does_not_know(kernel: str, case: str, message: str) -> None:
    from gpuport.testing import reproduce

    with pytest.raises(SystemExit, match=message):
        reproduce(kernel, backend="cpu", warp_size=32, case=case)


def test_a_kernel_without_a_spec_is_not_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = sweep_kernels(["reduce.unheard_of"], [TARGET])
    assert step.cell.problem == "no spec"
    assert not step.cell.ok


def test_a_registry_that_contradicts_the_spec_is_not_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    record = gpuport.Kernel("reduce.serial", ("int32", "float32"), True, "", "")
    monkeypatch.setattr(gpuport, "kernels", lambda: [record])
    step = list(sweep_kernels(["reduce.serial"], [TARGET]))[-1]
    assert step.cell.problem == "registry and spec disagree about float64"
    assert not step.cell.ok


def _difference() -> Any:
    from gpuport.testing import Difference

    return Difference("made up")
