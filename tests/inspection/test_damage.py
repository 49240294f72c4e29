"""Damaged files: a clear error or an answer, never another exception and never a hang."""

from __future__ import annotations

import random
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspect_inputs import gencode, hip, nvcc

from gpuport.inspection import FormatError, inspect

KINDS = ("cubin", "fatbin", "cuda object", "code object", "bundle", "wheel")
EXAMPLES = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@dataclass
class Whole:
    kind: str
    content: bytes = field(repr=False)  # not in hypothesis' report


@pytest.fixture(scope="module", params=KINDS)
def whole(request: pytest.FixtureRequest, built: Path) -> Whole:
    kind = request.param
    if kind == "cubin":
        path = request.getfixturevalue("cubin")
    elif kind == "code object":
        path = request.getfixturevalue("code_object")
    elif kind == "bundle":
        path = hip(built / "damage.hipfb", "--genco", "--offload-arch=gfx90a")
    elif kind == "wheel":
        path = built / "damage-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            out.write(request.getfixturevalue("cubin"), "damage/kernels.cubin")
            out.writestr("damage/__init__.py", "")
    elif kind == "fatbin":
        options = ["-fatbin", "--compress-mode=size", *gencode("90:sm_90,compute_90")]
        path = nvcc(built / "damage.fatbin", *options)
    else:
        path = nvcc(built / "damage.o", "-c", "-arch=sm_90")
    return Whole(kind, path.read_bytes())


@EXAMPLES
@given(where=st.floats(0, 1, exclude_max=True))
def test_truncated(whole: Whole, tmp_path: Path, where: float) -> None:
    path = tmp_path / "truncated"
    path.write_bytes(whole.content[: int(len(whole.content) * where)])
    with pytest.raises(FormatError) as caught:
        inspect(path)
    assert str(caught.value).startswith(f"{path}: ")


@EXAMPLES
@given(seed=st.integers(0, 2**32), count=st.integers(1, 40))
def test_overwritten(whole: Whole, tmp_path: Path, seed: int, count: int) -> None:
    generator = random.Random(seed)
    content = bytearray(whole.content)
    for _ in range(count):
        # Half of them where headers tend to be: at the beginning and at the end.
        limit = len(content) if generator.random() < 0.5 else min(4096, len(content))
        place = generator.randrange(limit)
        content[place if generator.random() < 0.7 else -1 - place] = generator.randrange(256)
    path = tmp_path / "overwritten"
    path.write_bytes(content)
    with suppress(FormatError):
        found = inspect(path)
        assert all(kernel.module.startswith(str(path)) for kernel in found)
