"""PyTorch tensors on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpuport

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SUMS = {
    "bool": "int64", "int8": "int64", "int16": "int64", "int32": "int64", "int64": "int64",
    "uint8": "uint64", "uint16": "uint64", "uint32": "uint64", "uint64": "uint64",
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "float64": "float64",
}  # fmt: skip


@pytest.mark.parametrize("dtype", SUMS)
def test_every_dtype(dtype: str) -> None:
    values = torch.arange(12).reshape(3, 4) % (2 if dtype == "bool" else 12)
    x = values.to(getattr(torch, dtype))
    total = gpuport.sum(x, axis=0)
    assert isinstance(total, torch.Tensor)
    assert total.dtype == getattr(torch, SUMS[dtype])
    assert total.to(torch.int64).tolist() == values.sum(0).tolist()
    assert gpuport.max(x, axis=1).to(torch.int64).tolist() == values.amax(1).tolist()
    assert gpuport.max(x).dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_softmax(dtype: str) -> None:
    x = torch.randn(5, 70, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    for axis in (0, 1):
        got = gpuport.softmax(x, axis=axis)
        assert got.dtype == x.dtype
        expected = torch.softmax(x.double(), axis)
        tolerance = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}[dtype]
        torch.testing.assert_close(got.double(), expected, rtol=tolerance, atol=tolerance)


def test_layouts_and_views() -> None:
    x = torch.arange(60, dtype=torch.int32).reshape(3, 4, 5)
    for view in (x.mT, x[:, ::2], x.permute(2, 0, 1), x[:1].expand(6, 4, 5), x[0, 0, 0], x[:0]):
        for axis in (None, *range(view.ndim)):
            total = gpuport.sum(view, axis=axis)
            assert total.is_contiguous()
            assert total.tolist() == view.sum(dim=axis).tolist() if axis is not None else True
        assert gpuport.sum(view).item() == view.sum().item()


def test_negated_views() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert x.is_neg()
    assert gpuport.sum(x).item() == 2
    with pytest.raises(ValueError, match="negated"):
        gpuport.softmax(torch.zeros(2), out=x)


def test_copies_of_x_overlap_as_x_does() -> None:
    """A negated view is resolved, a misaligned one packed: what counts is the tensor itself."""
    numbers = torch.arange(20, dtype=torch.float32).to(torch.complex64) * (1 + 1j)
    x = numbers.conj().imag
    before = numbers.clone()
    with pytest.raises(ValueError, match="out overlaps x without being x itself"):
        gpuport.softmax(x, out=numbers.imag)
    assert torch.equal(numbers, before)
    expected = torch.softmax(x, 0)
    torch.testing.assert_close(gpuport.softmax(x, out=numbers.real), expected)
    memory = bytearray(81)
    line = torch.frombuffer(memory, dtype=torch.float32, offset=1)
    own = np.frombuffer(memory, np.float32, offset=1)
    with pytest.raises(ValueError, match="out overlaps x without being x itself"):
        gpuport.inclusive_scan(line[:8], out=own[1:9])
    line[:8] = 1
    gpuport.inclusive_scan(line[:8], out=own[:8])
    assert line[:9].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]


def test_dtype_argument_takes_torch_dtypes() -> None:
    assert gpuport.sum(torch.ones(3, dtype=torch.int8), dtype=torch.float64).dtype == torch.float64
    with pytest.raises(TypeError, match="int64, float64"):
        gpuport.sum(torch.ones(3, dtype=torch.int8), dtype=torch.float16)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(3, dtype=torch.complex64), "complex64"),
        (torch.zeros(3).to(torch.float8_e4m3fn), "float8_e4m3fn"),
        (torch.zeros(3, 3).to_sparse(), "dense"),
        (torch.zeros(3, device="meta"), "meta"),
        (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
        (
            torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
            "nested",
        ),
        (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8), "quantized"),
    ],
)
def test_refused_tensors(x, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        gpuport.sum(x)


def test_tensors_inside_transforms_are_refused() -> None:
    for transform in (torch.vmap, torch.func.functionalize):
        with pytest.raises((TypeError, ValueError), match=r"^x .*memory"):
            transform(gpuport.softmax)(torch.ones(3, 4))


def freed(tensor: torch.Tensor, nbytes: int = 0) -> torch.Tensor:
    tensor.untyped_storage().resize_(nbytes)
    return tensor


def fake(*shape: int) -> torch.Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(*shape)


@pytest.mark.parametrize(
    "tensor",
    [
        freed(torch.ones(8)),
        freed(torch.ones(9)[1:]),
        fake(8),
        fake(9)[1:],
        torch._efficientzerotensor(8),
    ],
    ids=["freed", "freed slice", "fake", "fake slice", "zero tensor"],
)
def test_tensors_without_memory(tensor: torch.Tensor) -> None:
    x = torch.ones(8)
    with pytest.raises(ValueError, match=r"^x has no memory"):
        gpuport.sum(tensor)
    with pytest.raises(ValueError, match=r"^out has no memory"):
        gpuport.softmax(x, out=tensor)


def test_masks_without_memory() -> None:
    mask = freed(torch.ones(8, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"^mask has no memory"):
        gpuport.softmax(torch.ones(8), mask=mask)


def test_storage_that_shrank() -> None:
    with pytest.raises(ValueError, match=r"^x needs 32 bytes of storage, which has 28"):
        gpuport.sum(freed(torch.ones(8), 28))
    with pytest.raises(ValueError, match=r"^out needs 36 bytes"):
        gpuport.softmax(torch.ones(8), out=freed(torch.ones(9)[1:], 32))
    assert gpuport.sum(freed(torch.ones(8), 28)[:7]) == 7
    assert gpuport.sum(freed(torch.ones(8), 4)[:1].expand(6)) == 6
    assert gpuport.sum(freed(torch.ones(8))[:0]) == 0


def test_misaligned_storage() -> None:
    raw = np.zeros(4 * 4 + 1, np.uint8)
    x = torch.from_numpy(raw)[1:].numpy().view(np.float32)
    x[:] = [1, 2, 3, 4]
    shifted = torch.from_dlpack(x)
    assert shifted.data_ptr() % 4
    assert gpuport.sum(shifted) == 10
    with pytest.raises(ValueError, match="aligned"):
        gpuport.softmax(torch.zeros(4), out=shifted)


def test_no_gradient_is_lost_silently() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="detach"):
        gpuport.sum(x)
    with pytest.raises(ValueError, match="detach"):
        gpuport.sum(torch.ones(3), out=torch.zeros((), requires_grad=True))
    assert gpuport.sum(x.detach()) == 3
    with torch.no_grad():
        assert gpuport.sum(x) == 3


def test_writing_to_out_tells_autograd() -> None:
    weight = torch.ones(4, requires_grad=True)
    saved = torch.ones(4)
    product = (weight * saved).sum()
    gpuport.softmax(torch.zeros(4), out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_out() -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    expected = gpuport.softmax(x)
    for out in (torch.empty(4, 6), torch.empty(6, 4).T, torch.empty(4, 12)[:, ::2]):
        assert gpuport.softmax(x, out=out) is out
        assert torch.equal(out, expected)
    assert gpuport.softmax(x, out=x) is x
    assert torch.equal(x, expected)
    with pytest.raises(ValueError, match="twice"):
        gpuport.sum(x, axis=1, out=torch.zeros(1).expand(4))
    with pytest.raises(TypeError, match="float64"):
        gpuport.sum(x, axis=1, out=torch.zeros(4, dtype=torch.float64))
    with torch.inference_mode():
        assert gpuport.sum(torch.ones(3), out=torch.zeros(())) == 3


def test_masks() -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[1] = False
    mask[2, ::2] = False
    expected = torch.softmax(x.masked_fill(~mask, -torch.inf), -1).nan_to_num(0)
    torch.testing.assert_close(gpuport.softmax(x, mask=mask), expected)
    torch.testing.assert_close(
        gpuport.softmax(x, mask=mask[2]), gpuport.softmax(x, mask=mask[2].expand(4, 6))
    )


def test_kinds_mix_on_one_device() -> None:
    x = torch.arange(6, dtype=torch.float32)
    out = np.empty(6, np.float32)
    assert gpuport.softmax(x, mask=np.ones(6, bool), out=out) is out
    # A mask has a kernel of its own.
    np.testing.assert_allclose(out, gpuport.softmax(x).numpy(), rtol=2e-6)


def test_parameters_under_no_grad() -> None:
    with torch.no_grad():
        total = gpuport.sum(torch.nn.Parameter(torch.ones(3)))
    assert type(total) is torch.Tensor


@pytest.mark.parametrize("dtype", SUMS)
def test_scans_and_selections(dtype: str) -> None:
    values = torch.arange(12).reshape(3, 4) % (2 if dtype == "bool" else 5)
    x = values.to(getattr(torch, dtype))
    sums = gpuport.inclusive_scan(x.T, axis=0)
    assert sums.dtype == getattr(torch, SUMS[dtype])
    assert sums.to(torch.int64).tolist() == values.T.cumsum(0).tolist()
    index = gpuport.argmax(x, axis=1)
    assert (index.dtype, index.tolist()) == (torch.int64, np.argmax(values, axis=1).tolist())
    kept = gpuport.compact(x, values > 0)
    assert kept.dtype == x.dtype
    assert kept.to(torch.int64).tolist() == values[values > 0].tolist()
    offsets = torch.tensor([0, 1, 1, 4], dtype=torch.int32)
    for ends in (offsets, offsets.tolist(), offsets.numpy()):
        folded = gpuport.segmented_sum(x[1], ends)
        assert isinstance(folded, torch.Tensor)
        assert folded.to(torch.int64).tolist() == [values[1, 0], 0, values[1, 1:].sum()]
    assert gpuport.nonzero(values).tolist() == np.flatnonzero(values.numpy()).tolist()
