"""The cache: what makes another entry, many processes at once, killed and damaged compilations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gpuport
from gpuport.loading import cache

SOURCE = '#include "value.h"\n__global__ void write(int* p) { *p = VALUE; }\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "value.h").write_text('#include "deep.h"\n#define VALUE DEEP + 1\n')
    (tmp_path / "deep.h").write_text("#define DEEP 1\n")
    return tmp_path


def value_of(project: Path, **how: object) -> int:
    out = np.zeros(1, "i4")
    gpuport.load(project / "k.cu", backend="cpu", **how).write(1, 1, (out,))
    return int(out[0])


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with each call of the compiler."""
    from gpuport.loading import cpu

    calls: list[int] = []
    real = cpu.run_compiler
    monkeypatch.setattr(cpu, "run_compiler", lambda *a: (calls.append(1), real(*a)))
    return calls


def test_what_is_compiled_again(
    project: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = compilations(monkeypatch)
    assert value_of(project) == 2
    assert value_of(project, warp_size=64) == 2
    assert len(calls) == 1
    (project / "deep.h").write_text("#define DEEP 5\n")
    assert value_of(project) == 6
    assert len(calls) == 2
    assert value_of(project, defines={"DEEP": 5}) == 6
    assert value_of(project, options=["-O1"]) == 6
    assert len(calls) == 4
    # A header that comes to stand in front of another.
    (project / "first").mkdir()
    assert value_of(project, include_dirs=[project / "first"]) == 6
    (project / "k.cu").write_text(SOURCE.replace('"value.h"', "<value.h>"))
    folders = [project / "first", project]
    assert value_of(project, include_dirs=folders) == 6
    (project / "first" / "value.h").write_text("#define VALUE 9\n")
    assert value_of(project, include_dirs=folders) == 9
    (project / "deep.h").write_text("#define DEEP 1\n")
    (project / "k.cu").write_text(SOURCE)
    before = len(calls)
    assert value_of(project) == 2  # the first entry is still there
    assert len(calls) == before
    monkeypatch.setenv("CXX", "c++ -DUNUSED")
    assert value_of(project) == 2
    assert len(calls) == before + 1


def test_a_computed_include_is_never_kept(
    project: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = compilations(monkeypatch)
    (project / "k.cu").write_text(
        '#define HEADER "value.h"\n' + SOURCE.replace('"value.h"', "HEADER")
    )
    assert value_of(project) == 2
    (project / "deep.h").write_text("#define DEEP 5\n")
    assert value_of(project) == 6
    assert len(calls) == 2
    assert cache.info().entries == 0


LOAD = """
import sys, numpy as np, gpuport
out = np.zeros(1, "i4")
gpuport.load(sys.argv[1], backend="cpu").write(1, 1, (out,))
print(out[0])
"""


def start(project: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LOAD, str(project / "k.cu")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_many_processes_at_once(project: Path, empty_cache: Path) -> None:
    running = [start(project) for _ in range(4)]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, "2\n"), err
    found = cache.info()
    assert (found.entries, found.unfinished) == (1, 0)


def test_a_killed_compilation_is_in_nobody_s_way(
    project: Path, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow-compiler"
    slow.write_text("#!/bin/sh\ntouch $(dirname $0)/started\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CXX", str(slow))
    process = start(project)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    monkeypatch.delenv("CXX")
    assert cache.info().unfinished == 1
    monkeypatch.setattr(cache, "_sweep", lambda: None)  # which one compilation in a hundred does
    assert value_of(project) == 2
    assert cache.clear().unfinished == 1
    assert cache.info() == cache.CacheInfo(empty_cache, 0, 0, 0)


def test_clearing_leaves_what_is_under_way(empty_cache: Path) -> None:
    with cache.workplace() as folder:
        (folder / "half").write_text("")
        cache.clear()
        assert (folder / "half").exists()
    assert not folder.exists()


def test_a_module_that_is_there_waits_for_no_import_that_it_does_not_need(project: Path) -> None:
    script = (
        "import sys, gpuport; before = set(sys.modules)\n"
        "gpuport.load(sys.argv[1], backend='cpu')\n"
        "print(*set(sys.modules) - before)"
    )
    command = [sys.executable, "-c", script, str(project / "k.cu")]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "gpuport.loading.cpu_code" in imported
    assert not imported & {"pathlib", "subprocess", "shutil", "tempfile", "gpuport.loading.cpu"}


def overwritten(data: bytes) -> bytes:
    """Of the same size, with a quarter of it in the middle as a bad disk would leave it."""
    quarter = len(data) // 4
    return data[: 2 * quarter] + bytes(quarter) + data[3 * quarter :]


@pytest.mark.parametrize(
    "damage", ["cut", "overwritten", "no record", "no file", "nonsense", "another symbol"]
)
def test_a_damaged_entry_is_made_again(project: Path, empty_cache: Path, damage: str) -> None:
    assert value_of(project) == 2
    (entry,) = empty_cache.glob("*/*/module.so")
    module, record = entry, entry.parent / cache.RECORD
    whole = record.read_bytes()
    if damage in ("cut", "overwritten"):
        # Beside it, then in its place: this process has the file mapped until its end.
        torn = module.with_suffix(".torn")
        data = module.read_bytes()
        torn.write_bytes(data[:100] if damage == "cut" else overwritten(data))
        torn.replace(module)
    elif damage == "no record":
        record.unlink()
    elif damage == "no file":
        module.unlink()
    elif damage == "another symbol":
        record.write_bytes(whole.replace(b"gpuport_entry_0", b"gpuport_entry_9"))
        assert record.read_bytes() != whole
    else:
        record.write_text("[]")
    out = subprocess.run(
        [sys.executable, "-c", LOAD, str(project / "k.cu")], capture_output=True, text=True
    )
    assert out.stdout == "2\n", out.stderr
    assert set(json.loads(record.read_bytes())["digests"]) == {"module.so"}
    assert cache.info().entries == 1
    found = cache.find(record.parent.name)
    assert found is not None, "what was made again is not whole"
    assert found.folder == str(record.parent)


def test_a_damaged_image_of_a_gpu_is_noticed(empty_cache: Path) -> None:
    made = []

    def make(folder: Path) -> tuple[dict[str, object], list[str]]:
        made.append(folder)
        for name in ("sm_90.cubin", "gfx90a.hsaco"):
            (folder / name).write_bytes(name.encode() * 1000)
        return {"module": len(made)}, ["sm_90.cubin", "gfx90a.hsaco"]

    def use(entry: cache.Entry) -> int:
        return int(entry.record["module"])

    assert [cache.get_or_make("key", make, use) for _ in range(2)] == [1, 1]
    (image,) = empty_cache.glob("*/key/gfx90a.hsaco")
    image.write_bytes(overwritten(image.read_bytes()))
    assert [cache.get_or_make("key", make, use) for _ in range(2)] == [2, 2]


def test_a_cache_that_cannot_be_written(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file" / "cache"))
    assert value_of(project) == 2
    assert cache.info().entries == 0
    assert cache.clear().entries == 0


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "gpuport"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/somewhere")
    assert cache.cache_folder() == Path("/somewhere/.cache/gpuport")
