"""Compiles the cases once for each kind of context switch; without changes nothing is compiled."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SIMT = HERE.parents[1] / "kernels" / "cpu" / "simt"
FLAGS = [
    "-std=c++20",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fPIC",
    "-pthread",
    f"-I{SIMT / 'include'}",
]

RunCase = Callable[..., list[str]]


def compiler() -> str:
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name
    pytest.skip("no C++ compiler")


def build(folder: Path, defines: list[str]) -> Path:
    sources = sorted([*SIMT.glob("*.cpp"), *HERE.glob("*.cpp")])
    inputs = sorted([*sources, *SIMT.rglob("*.h"), *HERE.glob("*.h")])
    command = [*compiler().split(), *FLAGS, *defines]
    digest = hashlib.sha256(repr(command).encode())
    for path in inputs:
        digest.update(path.read_bytes())
    program = folder / f"cases-{digest.hexdigest()[:16]}"
    if program.exists():
        return program
    work = folder / f"{program.name}.build"
    work.mkdir(parents=True, exist_ok=True)

    def compile_one(source: Path) -> Path:
        out = work / f"{source.stem}.o"
        done = subprocess.run(
            [*command, "-c", str(source), "-o", str(out)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return out

    with ThreadPoolExecutor(max_workers=2) as pool:
        objects = [str(path) for path in pool.map(compile_one, sources)]
    linked = work / "cases"
    subprocess.run([*command, *objects, "-o", str(linked)], check=True)
    linked.replace(program)
    shutil.rmtree(work)
    return program


def runner(program: Path) -> RunCase:
    def run(
        case: str,
        device: int = 0,
        threads: int | str | None = None,
        seed: int | str | None = None,
    ) -> list[str]:
        environment = dict(os.environ)
        for name, value in (("GPUPORT_SIMT_THREADS", threads), ("GPUPORT_SIMT_SEED", seed)):
            environment.pop(name, None)
            if value is not None:
                environment[name] = str(value)
        done = subprocess.run(
            [str(program), case, str(device)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )
        assert done.returncode == 0, f"{case} on device {device}: {done.returncode}\n{done.stderr}"
        return done.stdout.splitlines()

    return run


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A worker of pytest-xdist has a folder of its own: two would build the same programs at once.
    folder = "simt" + os.environ.get("PYTEST_XDIST_WORKER", "")
    cache = getattr(request.config, "cache", None)  # absent under -p no:cacheprovider
    return tmp_path_factory.mktemp("simt") if cache is None else cache.mkdir(folder)


@pytest.fixture(scope="session")
def run(programs: Path) -> RunCase:
    return runner(build(programs, []))


@pytest.fixture(scope="session")
def run_ucontext(programs: Path) -> RunCase:
    return runner(build(programs, ["-DGPUPORT_SIMT_UCONTEXT"]))
