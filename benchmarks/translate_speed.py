"""How many megabytes of CUDA source a second the translator takes, beside PyTorch's hipify.

    python benchmarks/translate_speed.py [SRC...] [--repeat 3]

Without SRC: the kernels of this repository and the CUB headers of an installed CUDA toolkit.
Both tools run in this process on copies of the same files and write their results. The figure is
processor time of one thread, the best of the repeats; the goal is 10 MB/s. PyTorch's hipify is read
from an installed torch, which is not imported.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
SUFFIXES = (".cu", ".cuh", ".hpp", ".h")
GOAL = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    files = sorted(
        path
        for folder in options.sources or default_sources()
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
    )
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    print(f"{len(files)} files, {megabytes:.1f} MB, best of {options.repeat}, one thread")
    speeds = {}
    for target in ("hip", "cpu"):
        speeds[f"gpuport, {target}"] = speed(files, options.repeat, gpuport_run(target))
    hipify = torch_hipify()
    if hipify is None:
        print("PyTorch's hipify: torch is not installed")
    else:
        speeds["PyTorch's hipify"] = speed(files, 1, torch_run(hipify))
    for name, value in speeds.items():
        print(f"{name:20} {value:8.2f} MB/s")
    return 0 if speeds["gpuport, hip"] >= GOAL else 1


def default_sources() -> list[Path]:
    toolkits = sorted(Path("/usr/local").glob("cuda*/include/cccl/cub"))
    return [ROOT / "kernels" / "cuda", *toolkits[-1:]]


def speed(files: Sequence[Path], repeat: int, run: Callable[[Path, Path], None]) -> float:
    """Megabytes a second of `run`, which translates one folder into another."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        source.mkdir()
        for number, path in enumerate(files):
            shutil.copyfile(path, source / f"{number}_{path.name}")
        size = sum(path.stat().st_size for path in source.iterdir())
        for count in range(repeat):
            output = Path(folder) / f"out{count}"
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                start = time.process_time()
                run(source, output)
                best = min(best, time.process_time() - start)
    return size / best / 1e6


def gpuport_run(target: str) -> Callable[[Path, Path], None]:
    sys.path.insert(0, str(ROOT / "python" / "gpuport"))
    from translate.cli import main as translate  # type: ignore[import-not-found]

    def run(source: Path, output: Path) -> None:
        translate([str(source), "-o", str(output), "--target", target, "--lenient"])

    return run


def torch_hipify() -> ModuleType | None:
    """PyTorch's translator alone, without the rest of torch."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return None
    package = Path(torch.origin).parent / "utils" / "hipify"
    for name in ("", ".version", ".constants", ".cuda_to_hip_mappings", ".hipify_python"):
        path = package / (f"{name[1:]}.py" if name else "__init__.py")
        if not path.is_file():
            continue
        spec = importlib.util.spec_from_file_location(f"torch_hipify{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return sys.modules.get("torch_hipify.hipify_python")


def torch_run(hipify: ModuleType) -> Callable[[Path, Path], None]:
    def run(source: Path, output: Path) -> None:
        hipify.hipify(
            project_directory=str(source),
            output_directory=str(output),
            extensions=SUFFIXES,
            includes=["*"],
            show_detailed=False,
            show_progress=False,
            is_pytorch_extension=True,
        )

    return run


if __name__ == "__main__":
    sys.exit(main())
