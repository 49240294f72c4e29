"""Compilation ahead of time: sources times architectures, side by side, and a manifest of it all.

Each pair is a job of its own, so that one that fails keeps no other from its output.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpuport.errors import BackendUnavailableError, CompileError, TranslationError
from gpuport.inspection import FormatError, Inspection, inspect
from gpuport.loading import cuda, cuda_toolchain, hip, hip_toolchain
from gpuport.loading.cpu_toolchain import host_compiler
from gpuport.loading.records import ModuleRecord
from gpuport.loading.request import Project, Request, read_project
from gpuport.toolchain.backend import run

MANIFEST = "manifest.json"
FORMAT = 1
CPU = "cpu"
SUFFIXES = (".so", ".cubin", ".ptx", ".hsaco")


@dataclass(frozen=True)
class Job:
    """One source for one architecture; the CPU's is "cpu", this machine's own."""

    request: Request
    project: Project
    arch: str

    @property
    def label(self) -> str:
        return f"{self.request.name} for {self.arch}"

    @property
    def stem(self) -> str:
        return f"{Path(self.request.name).stem}.{self.arch.replace(':', '_')}"


@dataclass(frozen=True)
class Built:
    """What came of a job: a file, or the words of the compiler that refused the source."""

    job: Job
    file: Path | None = None
    record: ModuleRecord | None = None
    inspection: Inspection | None = None
    refusal: str = ""


def require_compiler(backend: str) -> None:
    """BackendUnavailableError, with the reason, where nothing compiles for the backend."""
    if backend == CPU:
        host_compiler()
    elif backend == "cuda":
        cuda_toolchain.find_tools()
    else:
        tools = hip_toolchain.find_tools()
        if tools.clang is None and tools.hiprtc is None:
            raise BackendUnavailableError(f"backend hip cannot compile: {tools.reason}")


def plan(requests: Iterable[Request]) -> list[Job]:
    """A job for each source and architecture; ValueError where two would write the same file."""
    jobs = []
    for request in requests:
        project = read_project(request)
        jobs += [Job(request, project, arch) for arch in request.archs or (CPU,)]
    by_stem: dict[str, Job] = {}
    for job in jobs:
        other = by_stem.setdefault(job.stem, job)
        if other is not job:
            raise ValueError(f"{other.label} and {job.label} would both be written to {job.stem}.*")
    return jobs


def build(jobs: Sequence[Job], folder: Path) -> Iterator[Built]:
    """Compile into `folder`, as many at once as there are processors; gives each as it ends.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Inside of the folder, so that an output gets its name by a rename, whole or not at all.
    with (
        tempfile.TemporaryDirectory(prefix=".gpuport-build-", dir=folder) as work,
        ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
    ):
        waiting = [
            pool.submit(_build_one, job, Path(work) / str(number), folder)
            for number, job in enumerate(jobs)
        ]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            for future in waiting:
                future.cancel()


def _build_one(job: Job, work: Path, folder: Path) -> Built:
    for suffix in SUFFIXES:  # an older output must not pass for that of a job that failed
        (folder / f"{job.stem}{suffix}").unlink(missing_ok=True)
    work.mkdir()
    try:
        record = _compiler(job.request.backend)(job, work)
    except (CompileError, TranslationError) as error:
        return Built(job, refusal=str(error))
    (made,) = record.files.values()
    output = folder / f"{job.stem}{Path(made).suffix}"
    os.replace(work / made, output)
    try:
        inspection = inspect(output)
    except FormatError:  # an output that the inspection does not know is an output all the same
        inspection = None
    return Built(job, output, record, inspection)


def _compiler(backend: str) -> Callable[[Job, Path], ModuleRecord]:
    return {"cpu": _compile_cpu, "cuda": _compile_cuda, "hip": _compile_hip}[backend]


def _compile_cpu(job: Job, work: Path) -> ModuleRecord:
    from gpuport.loading.cpu import compile_module

    return compile_module(job.request, job.project, work)


def _compile_cuda(job: Job, work: Path) -> ModuleRecord:
    request = job.request._replace(archs=(job.arch,))
    return cuda.compile_module(request, job.project, (job.arch,), cuda_toolchain.find_tools(), work)


def _compile_hip(job: Job, work: Path) -> ModuleRecord:
    request = job.request._replace(archs=(job.arch,))
    return hip.compile_module(request, job.project, (job.arch,), hip_toolchain.find_tools(), work)


def manifest(results: Iterable[Built], version: str) -> dict[str, Any]:
    """What was built from what, as JSON: hashes are SHA-256 of the bytes."""
    results = sorted(results, key=lambda built: (built.job.request.name, built.job.stem))
    sources = {built.job.request.name: built.job for built in results}
    return {
        "format": FORMAT,
        "gpuport": version,
        "ok": not any(built.refusal for built in results),
        "sources": [
            {
                "path": name,
                "sha256": hashlib.sha256(job.request.text).hexdigest(),
                "headers": [
                    {"path": path, "sha256": hashlib.sha256(text).hexdigest()}
                    for path, text in sorted(job.project.files.items())
                ],
            }
            for name, job in sources.items()
        ],
        "outputs": [_output(built) for built in results if built.file is not None],
        "failures": [
            {**_origin(built.job), "message": built.refusal} for built in results if built.refusal
        ],
    }


def _origin(job: Job) -> dict[str, Any]:
    options = job.request.options
    return {
        "source": job.request.name,
        "backend": job.request.backend,
        "architecture": job.arch,
        "flags": [
            *options.macro_flags(), *(f"-I{folder}" for folder in options.folders), *options.rest
        ],
    }  # fmt: skip


def _output(built: Built) -> dict[str, Any]:
    assert built.file is not None
    assert built.record is not None
    data = built.file.read_bytes()
    images = built.inspection.images if built.inspection else []
    version = next((image.compiler for image in images if image.compiler), "")
    return {
        "file": built.file.name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        **_origin(built.job),
        "compiler": built.record.compiler,
        "compiler_version": _host_version() if built.job.arch == CPU else version,
        "kernels": [
            {"name": kernel.name, "symbol": kernel.symbol, "signature": kernel.signature}
            for kernel in built.record.kernels
        ],
        "warnings": list(built.record.warnings),
    }


@cache
def _host_version() -> str:
    """How the host's compiler calls itself; machine code for GPUs tells what made it."""
    asked = run([*host_compiler().command, "--version"], environ=os.environ)
    return asked.stdout.partition("\n")[0]


def write_manifest(described: dict[str, Any], folder: Path) -> Path:
    """Write it beside the outputs, whole or not at all."""
    path = folder / MANIFEST
    handle, name = tempfile.mkstemp(prefix=".manifest-", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(described, file, indent=2)
        file.write("\n")
    os.chmod(name, 0o644)
    os.replace(name, path)
    return path
