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
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise TypeError(f"{argument} must be a dense tensor, not {tensor.layout}")
    if torch.is_grad_enabled() and tensor.requires_grad:
        raise ValueError(
            f"{argument} requires grad, and gpuport computes no gradients: "
            f"pass {argument}.detach(), or call under torch.no_grad()"
        )


def _view(tensor: Any, place: Place) -> View:
    return View(
        tensor.data_ptr(),
        str(tensor.dtype).removeprefix("torch."),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        place,
        tensor,
    )


class TorchKind:
    name = "PyTorch"
    has_pool = True

    def place(self, array: Any) -> Place:
        device = array.device
        if device.type == "cpu":
            return HOST
        if device.type == "cuda":
            return Place("hip" if _torch().version.hip else "cuda", device.index)
        raise TypeError(
            f"a tensor on {device} is out of reach: gpuport works on cpu and cuda devices"
        )

    def current_stream(self, array: Any) -> int:
        if array.device.type == "cpu":
            return 0
        return int(_torch().cuda.current_stream(array.device).cuda_stream)

    def view(self, array: Any, argument: str, stream: int) -> View:
        _require_strided(array, argument)
        return _view(array.resolve_neg() if array.is_neg() else array, self.place(array))

    def output(self, array: Any, argument: str, stream: int) -> Output:
        _require_strided(array, argument)
        if array.is_neg() or array.is_conj():
            raise ValueError(f"{argument} is a negated or conjugated view, which cannot be written")
        # Writing through the address passes autograd by; tell it, so that a backward pass that
        # saved the old values is an error and not a wrong gradient.
        bump = _torch().autograd.graph.increment_version
        return Output(
            _view(array, self.place(array)),
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
