"""PyTorch tensors, on the CPU, on CUDA and on ROCm (which PyTorch calls "cuda" too)."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

from gpuport._layout import Ints
from gpuport._view import HOST, Output, Place, View, packed


def _torch() -> Any:
    return sys.modules["torch"]


def _require_strided(tensor: Any, argument: str) -> None:
    torch = _torch()
    if tensor.is_nested or tensor.is_quantized:
        what = "nested" if tensor.is_nested else "quantized"
        raise TypeError(f"{argument} must be a plain dense tensor, not a {what} one")
    if tensor.layout is not torch.strided:
        raise TypeError(f"{argument} must be a dense tensor, not {tensor.layout}")
    if torch.is_grad_enabled() and tensor.requires_grad:
        raise ValueError(
            f"{argument} requires grad, and gpuport computes no gradients: "
            f"pass {argument}.detach(), or call under torch.no_grad()"
        )


def _address(tensor: Any, argument: str) -> int:
    """Of the first element; 0 for a tensor without memory, ValueError for one with too little."""
    try:
        address = int(tensor.data_ptr())
    except RuntimeError:
        raise TypeError(
            f"{argument} must be a tensor with memory of its own, not one of those that torch.vmap "
            "and the other transforms pass in"
        ) from None
    before = tensor.storage_offset() * tensor.element_size()
    if address == before or tensor.numel() == 0:
        return 0
    # The storage may have been resized after the tensor was made.
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    needed, has = before + reach * tensor.element_size(), tensor.untyped_storage().nbytes()
    if needed > has:
        raise ValueError(f"{argument} needs {needed} bytes of storage, which has {has}")
    return address


def _view(tensor: Any, argument: str, place: Place) -> View:
    return View(
        _address(tensor, argument),
        str(tensor.dtype).removeprefix("torch."),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        place,
        tensor,
    )


class TorchKind:
    name = "PyTorch"
    has_pool = True

    def place(self, array: Any, argument: str = "x") -> Place:
        device = array.device
        if device.type == "cpu":
            return HOST
        if device.type == "cuda":
            return Place("hip" if _torch().version.hip else "cuda", device.index)
        raise TypeError(
            f"{argument}, a tensor on {device}, is out of reach: gpuport works on cpu and cuda"
        )

    def current_stream(self, array: Any) -> int:
        if array.device.type == "cpu":
            return 0
        return int(_torch().cuda.current_stream(array.device).cuda_stream)

    def view(self, array: Any, argument: str, stream: int) -> View:
        _require_strided(array, argument)
        place = self.place(array, argument)
        if not array.is_neg():
            return _view(array, argument, place)
        lazy = _view(array, argument, place).memory
        origin = lazy._replace(form=f"{lazy.form}, negated")
        return _view(array.resolve_neg(), argument, place)._replace(origin=origin)

    def output(self, array: Any, argument: str, stream: int) -> Output:
        _require_strided(array, argument)
        if array.is_neg() or array.is_conj():
            raise ValueError(f"{argument} is a negated or conjugated view, which cannot be written")
        # Writing through the address passes autograd by; tell it, so that a backward pass that
        # saved the old values is an error and not a wrong gradient.
        bump = _torch().autograd.graph.increment_version
        return Output(
            _view(array, argument, self.place(array, argument)),
            None if array.is_inference() else lambda: bump(array),
        )

    def empty(self, like: Any, shape: Ints, dtype: str, stream: int) -> tuple[Any, View]:
        torch = _torch()
        # The caching allocator hands memory out in the order of the stream that is current here.
        with self._on(like, stream):
            made = torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
        return made, packed(made.data_ptr(), dtype, shape, self.place(like), made)

    def finish(self, like: Any, made: Any, stream: int) -> Any:
        return made

    def _on(self, like: Any, stream: int) -> Any:
        if like.device.type == "cpu" or stream == self.current_stream(like):
            return nullcontext()
        cuda, device = _torch().cuda, like.device
        if stream == 0:
            return cuda.stream(cuda.default_stream(device))
        return cuda.stream(cuda.ExternalStream(stream, device=device))
