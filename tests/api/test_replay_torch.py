"""Repeated calls on PyTorch's tensors, read in each of three ways: by DLPack's table of C functions
with functions of PyTorch's library, by the table with methods, and by attributes and methods.

Each test repeats a call until it goes straight to its launch, then changes what the layout of the
tensors does not tell.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import gpuport
from gpuport import _launcher, _replay

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

TABLE = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)


def register(table: Any, samples: Any, increment: Any = torch._C._increment_version) -> None:
    stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    _launcher.replay_torch(torch.Tensor, table, stream, increment, samples)


@pytest.fixture(autouse=True, params=["functions", "table", "attributes"])
def no_plans(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param != "attributes" and TABLE is None:
        pytest.skip("this PyTorch has no table of C functions")
    table = None if request.param == "attributes" else TABLE
    register(table, _replay._samples(torch) if request.param == "functions" else None)
    _replay._plans.clear()
    yield
    _replay._plans.clear()
    _replay._meet(torch.Tensor)


def plans() -> list[bool]:
    return _replay._plans.filled()


def scanned(x: Any, out: Any) -> Any:
    return gpuport.inclusive_scan(x, out=out)


def settled(x: Any, out: Any) -> None:
    """The call goes straight to its launch."""
    for _ in range(2):
        assert scanned(x, out) is out
    assert plans() == [True]
    assert out.tolist() == x.cumsum(0).tolist()


def test_results_with_and_without_out() -> None:
    out = torch.empty(3, dtype=torch.int64)
    for start in range(3):
        x = torch.arange(start, start + 12).reshape(3, 4)
        assert gpuport.sum(x, axis=1).tolist() == x.sum(1).tolist()
        assert isinstance(gpuport.sum(x, axis=1), torch.Tensor)
        assert gpuport.sum(x, axis=1, out=out) is out
        assert out.tolist() == x.sum(1).tolist()
        assert gpuport.argmax(x).tolist() == 11
    assert plans() == [True, True, True]


def test_layouts_and_dtypes_are_different_calls() -> None:
    x = torch.arange(64, dtype=torch.float32)
    integers = torch.arange(64, dtype=torch.int32)
    cases = [
        x,
        x[:32],
        x[::2],
        x[1:33],
        x.reshape(8, 8),
        x.reshape(8, 8).T,
        integers,
        integers.view(torch.uint32),
        x.to(torch.bfloat16),
        x.to(torch.float16),
        x.bool(),
        x.to(torch.uint8),
    ]
    for _ in range(2):
        for case in cases:
            assert gpuport.max(case).item() == case.to(torch.float64).max().item()
    assert plans() == [True] * len(cases)


def test_a_dtype_of_pytorch() -> None:
    x = torch.arange(5.0)
    for _ in range(2):
        assert gpuport.sum(x, dtype=torch.float64).dtype == torch.float64
        assert gpuport.sum(x, dtype=torch.float32).dtype == torch.float32
    assert plans() == [True, True]


def test_a_tensor_that_requires_grad() -> None:
    x, out = torch.arange(1.0, 9.0), torch.empty(8)
    settled(x, out)
    x.requires_grad_()
    with pytest.raises(ValueError, match="x requires grad"):
        scanned(x, out)
    with torch.no_grad():
        scanned(x, out)
    x.requires_grad_(False)
    with pytest.raises(ValueError, match="out requires grad"):
        scanned(x, out.requires_grad_())


def test_a_negated_view() -> None:
    numbers = torch.tensor([1 + 2j, 3 - 4j, 5 + 6j])
    plain, negated = numbers.imag, numbers.conj().imag
    assert negated.is_neg()
    assert plain.stride() == negated.stride()
    out = torch.empty(3)
    settled(plain, out)
    scanned(negated, out)
    assert out.tolist() == [-2.0, 2.0, -4.0]


@pytest.mark.parametrize("small", ["x", "out"])
@pytest.mark.parametrize("count", [0, 4])
def test_memory_that_became_too_small(small: str, count: int) -> None:
    tensors = {"x": torch.arange(64.0), "out": torch.empty(64)}
    settled(**tensors)
    tensors[small].untyped_storage().resize_(4 * count)
    with pytest.raises(ValueError, match=f"{small} .*(storage|memory)"):
        scanned(**tensors)
    tensors[small].untyped_storage().resize_(4 * 64)
    tensors[small].fill_(1.0)
    settled(**tensors)


def test_a_view_whose_storage_ends_before_it() -> None:
    base = torch.arange(4096.0)
    x, out = base[2048:2112], torch.empty(64)
    settled(x, out)
    base.untyped_storage().resize_(4 * 100)
    with pytest.raises(ValueError, match="x needs 8448 bytes of storage"):
        scanned(x, out)


def test_what_is_written_is_a_new_version() -> None:
    x, out = torch.arange(1.0, 9.0), torch.empty(8)
    settled(x, out)
    version = out._version
    scanned(x, out)
    assert out._version == version + 1
    product = torch.ones(8, requires_grad=True) * out
    scanned(x, out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_tensors_of_inference_mode() -> None:
    with torch.inference_mode():
        x, out = torch.arange(1.0, 9.0), torch.empty(8)
    assert out.is_inference()
    for _ in range(3):
        scanned(x, out)
    with torch.inference_mode():
        scanned(x, out)
    assert out.tolist() == x.cumsum(0).tolist()


def test_a_library_that_cannot_count_the_versions() -> None:
    """Its error arrives, but for a tensor of inference mode, which has no version."""

    def refuse(tensors: tuple[Any, ...]) -> None:
        raise RuntimeError("no version here")

    x, out = torch.arange(1.0, 9.0), torch.empty(8)
    with torch.inference_mode():
        made_in_inference = torch.empty(8)
    settled(x, out)
    register(TABLE, None, refuse)
    _replay._plans.clear()
    scanned(x, out)
    with pytest.raises(RuntimeError, match="no version here"):
        scanned(x, out)
    scanned(x, made_in_inference)
    assert made_in_inference.tolist() == x.cumsum(0).tolist()


class Liar:
    """A tensor whose methods do not say what the library's functions do."""

    def __init__(self, tensor: Any, **lies: Any) -> None:
        self.tensor, self.lies = tensor, lies

    def __getattr__(self, name: str) -> Any:
        return self.lies.get(name, getattr(self.tensor, name))


@pytest.mark.parametrize(
    "lies",
    [{"is_neg": lambda: True}, {"storage_offset": lambda: 9}, {"_version": 3}],
    ids=lambda lies: next(iter(lies)),
)
def test_functions_that_answer_otherwise_are_not_used(lies: dict[str, Any]) -> None:
    def refuse(tensors: tuple[Any, ...]) -> None:
        raise RuntimeError("the method is used")

    honest = _replay._samples(torch)
    register(TABLE, [*honest, Liar(torch.zeros(4)[1:], **lies)], refuse)
    x, out = torch.arange(1.0, 9.0), torch.empty(8)
    scanned(x, out)
    with pytest.raises(RuntimeError, match="the method is used"):
        scanned(x, out)
    assert out.tolist() == x.cumsum(0).tolist()


def test_a_subclass_takes_the_whole_way() -> None:
    class Own(torch.Tensor):
        pass

    x, out = torch.arange(1.0, 9.0), torch.empty(8)
    settled(x, out)
    for _ in range(2):
        assert gpuport.sum(torch.nn.Parameter(x, requires_grad=False)).item() == 36
        assert gpuport.sum(x.as_subclass(Own)).item() == 36
    assert plans() == [True]


def test_a_tensor_of_a_transform() -> None:
    x = torch.arange(8.0)
    for _ in range(2):
        gpuport.sum(x)
    with pytest.raises(TypeError, match="transforms"):
        torch.vmap(gpuport.sum)(torch.ones(3, 8))
    with pytest.raises(TypeError, match="out of reach"):
        gpuport.sum(x.to("meta"))


def test_a_default_device_changes_nothing() -> None:
    x = torch.arange(8.0)
    with torch.device("meta"):
        for _ in range(3):
            total = gpuport.sum(x)
            assert total.device.type == "cpu"
            assert total.item() == 28


def test_overlaps() -> None:
    memory = torch.arange(200.0)
    x, out = memory[:100], torch.empty(100)
    settled(x, out)
    before = memory.clone()
    with pytest.raises(ValueError, match="overlap"):
        scanned(x, memory[16:116])
    assert torch.equal(memory, before)
    for _ in range(3):
        y = before[:100].clone()
        scanned(y, y)
        assert torch.equal(y, before[:100].cumsum(0))
    assert plans() == [True, True]  # in place is a call of its own


def test_no_tensor_is_kept() -> None:
    x, out = torch.arange(8.0), torch.empty(8)
    settled(x, out)
    kept = weakref.ref(x), weakref.ref(out)
    del x, out
    gc.collect()
    assert [one() for one in kept] == [None, None]
