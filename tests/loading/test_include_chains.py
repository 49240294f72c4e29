"""Headers that include themselves, and what of the compilers' many words is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuport
from gpuport.loading.ahead import require_compiler
from gpuport.loading.compiling import errors_of


@pytest.mark.parametrize(("backend", "arch"), [("cpu", ""), ("cuda", "sm_90"), ("hip", "gfx90a")])
def test_a_header_that_includes_itself_is_told_once(
    backend: str, arch: str, tmp_path: Path
) -> None:
    try:
        require_compiler(backend)
    except gpuport.BackendUnavailableError as error:
        pytest.skip(str(error))
    try:
        gpuport.load(
            "__global__ void k(int* p) {}\n", backend=backend, archs=[arch] if arch else ()
        )
    except gpuport.CompileError as error:  # a compiler without HIP's headers
        if "hip_runtime.h' file not found" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[0])
    (tmp_path / "own.h").write_text(
        '#include "own.h"\n#include "own.h"\ninline int own() { return 1; }\n'
    )
    (tmp_path / "late.h").write_text('inline int late() { return 1; }\n#include "back.h"\n')
    (tmp_path / "back.h").write_text('\n#include "late.h"\n')
    for header, cycle in (("own.h", ("own.h:1",)), ("late.h", ("late.h:2", "back.h:2"))):
        source = tmp_path / "k.cu"
        source.write_text(f'\n#include "{header}"\n__global__ void k(int* p) {{}}\n')
        with pytest.raises(gpuport.CompileError) as caught:
            gpuport.load(source, backend=backend, archs=[arch] if arch else ())
        lines = str(caught.value).splitlines()
        through = f", through {tmp_path}/{cycle[1]}" if cycle[1:] else ""
        assert lines[0] == (
            f"{tmp_path}/{cycle[0]}: {tmp_path}/{header} includes itself{through}, "
            "and no end is seen: it lacks #pragma once or an include guard"
        )
        assert lines[1] == f"In file included from {source}:2:"
        assert sum(": error: " in line or "fatal error" in line for line in lines) == 1
        assert len(lines) < 12


def test_an_error_with_many_notes_is_told_whole() -> None:
    lead = "In file included from a.cu:1:\n"
    said = f"{lead}b.h:2:1: error: no such function" + f"\n{lead}b.h:1:1: note: one" * 20
    assert errors_of(said) == said
