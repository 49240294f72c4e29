"""What repeats bit for bit does so 200 times while another stream keeps the GPU busy."""

from __future__ import annotations

from typing import Any

import pytest

import gpuport
from test_gpu import backend, torch  # noqa: F401  (fixtures)

pytestmark = pytest.mark.gpu

RUNS = 200
FUNCTIONS = {
    "reduce": ("sum", "max", "min"),
    "scan": ("inclusive_scan", "exclusive_scan"),
    "argmax": ("argmax", "argmin"),
    "compact": ("compact",),
    "segmented": ("segmented_sum", "segmented_max", "segmented_min"),
    "softmax": ("softmax", "log_softmax", "logsumexp"),
}
KERNELS = [
    kernel
    for kernel in gpuport.kernels()
    if (names := FUNCTIONS.get(kernel.name.partition(".")[0]))
    and any(name.removeprefix("segmented_") in kernel.operations for name in names)
]
# Several blocks and tiles a row, some rows, and no multiple of anything.
SHAPES = {
    "reduce": (3, 200_003),
    "scan": (3, 40_009),
    "argmax": (3, 200_003),
    "softmax": (70, 4001),
}


def load(torch: Any) -> Any:  # noqa: F811
    """Work for all multiprocessors on a stream of its own, a little more at each call."""
    stream = torch.cuda.Stream()
    a = torch.randn(1024, 1024, device="cuda")
    b = torch.empty_like(a)

    def more() -> None:
        with torch.cuda.stream(stream):
            torch.mm(a, a, out=b)

    return more


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_two_hundred_runs(torch: Any, kernel: Any) -> None:  # noqa: F811
    family, _, variant = kernel.name.partition(".")
    torch.manual_seed(7)
    if "float32" in kernel.repeatable:
        x = torch.randn(SHAPES.get(family, (300_007,)), device="cuda")
    else:  # integers are exact, and so repeat, in whatever order they are added
        x = torch.randint(-9, 10, SHAPES[family], dtype=torch.int32, device="cuda")
    if variant == "serial":
        x = x[:, :3001]
    keep = torch.randint(0, 2, x.shape, device="cuda").bool()
    ends = torch.tensor([0, 7, 7, 2048, 150_000, 300_007], device="cuda")
    more = load(torch)
    for name in FUNCTIONS[family]:
        if name.removeprefix("segmented_") not in kernel.operations:
            continue
        on: dict[str, Any] = {"variant": variant}
        arguments = {"compact": (keep,), "segmented": (ends, False)}.get(family, (-1,))

        def call(name: str = name, arguments: Any = arguments, on: Any = on) -> Any:
            got = getattr(gpuport, name)(x, *arguments, **on)
            return got.view(torch.uint8) if got.dim() else got.reshape(1).view(torch.uint8)

        first = call().clone()
        different = torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(RUNS):
            more()
            different += (call() != first).any()
        assert int(different) == 0, f"{name}: {int(different)} of {RUNS} runs differ"


def bits(torch: Any, got: Any) -> Any:  # noqa: F811
    """Of one array, or of the two of a softmax state."""
    parts = got if isinstance(got, tuple) else (got,)
    return torch.cat([part.reshape(-1).view(torch.int32) for part in parts])


def test_what_is_asked_to_repeat_does(torch: Any) -> None:  # noqa: F811
    """What `deterministic=True` chooses, and what always repeats."""
    torch.manual_seed(8)
    x = torch.randn(1 << 20, device="cuda")
    offsets = torch.tensor([0, 9, 1 << 19, 1 << 20], device="cuda")
    asked = {"deterministic": True}
    state = gpuport.softmax_state(x.reshape(1024, 1024))
    calls = {
        "sum": lambda: gpuport.sum(x, **asked),
        "inclusive_scan": lambda: gpuport.inclusive_scan(x, **asked),
        "exclusive_scan": lambda: gpuport.exclusive_scan(x, **asked),
        "softmax": lambda: gpuport.softmax(x, **asked),
        "log_softmax": lambda: gpuport.log_softmax(x, **asked),
        "logsumexp": lambda: gpuport.logsumexp(x, **asked),
        "segmented_sum": lambda: gpuport.segmented_sum(x, offsets, check=False, **asked),
        "sum, compensated": lambda: gpuport.sum(x, compensated=True),
        "softmax_state": lambda: gpuport.softmax_state(x),
        "merge_softmax_states": lambda: gpuport.merge_softmax_states(state, state),
    }
    more = load(torch)
    for name, call in calls.items():
        first = bits(torch, call())
        different = torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(RUNS):
            more()
            different += (bits(torch, call()) != first).any()
        assert int(different) == 0, f"{name}: {int(different)} of {RUNS} runs differ"
