"""Plants one fault after the other in a copy of the sources and expects `gpuport check` to fail.

    python tests/faults/plant.py [--only NAME] [--jobs 2]

Builds the CPU backend anew for each, so it takes minutes and needs CMake 4, Ninja, nanobind and a
C++ compiler, but no installed gpuport. Exit code 0 if the sound build passes and every fault shows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("CMakeLists.txt", "pyproject.toml", "cmake", "kernels", "launcher", "python")


@dataclass(frozen=True)
class Fault:
    name: str
    file: str  # below kernels/cuda
    sound: str  # stands there exactly once
    broken: str
    kernels: tuple[str, ...]  # among which the fault must show
    widths: tuple[int, ...] = (32, 64)  # at which it must show, and at no other


FAULTS = (
    Fault(
        "a hard-coded 32 in the block reduction",
        "gpuport/block.cuh",
        """\
struct BlockReduce {
  using State = typename Op::State;
  static constexpr int kWarps = kThreads / kWarp;
""",
        """\
struct BlockReduce {
  using State = typename Op::State;
  static constexpr int kWarps = kThreads / 32;
""",
        ("reduce.hierarchical", "reduce.single_pass"),
        widths=(64,),
    ),
    Fault(
        "no barrier before the scratch is reused",
        "softmax/three_pass.cu",
        "  __syncthreads();  // every thread has read the result before the scratch is reused\n",
        "",
        ("softmax.three_pass",),
    ),
    Fault(
        "an identity of 0 for max",
        "gpuport/ops.cuh",
        """\
      return kGreatest ? -infinity<State>() : infinity<State>();
    } else {
      constexpr State kLeast = std::numeric_limits<State>::min(), \
kMost = std::numeric_limits<State>::max();
""",
        """\
      return kGreatest ? State(0) : infinity<State>();
    } else {
      constexpr State kLeast = 0, kMost = std::numeric_limits<State>::max();
""",
        ("reduce.shared_tree", "reduce.single_pass"),
    ),
    Fault(
        "an int32 accumulator",
        "gpuport/ops.cuh",
        "  return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));\n",
        "  return T(std::int32_t(std::uint32_t(a) + std::uint32_t(b)));\n",
        ("reduce.serial", "reduce.hierarchical", "reduce.single_pass"),
    ),
    Fault(
        "fmax, which drops a NaN",
        "gpuport/types.cuh",
        "  return b > a || b != b ? b : a;\n",
        "  return b > a || a != a ? b : a;\n",
        ("reduce.warp_shuffle", "reduce.single_pass"),
    ),
    Fault(
        "half of the lanes of a short row",
        "gpuport/fold_rows.cuh",
        "    for (int bit = 1; bit < lanes; bit *= 2) sum.merge(W::shuffle_xor(sum, bit));\n",
        "    for (int bit = 1; bit < lanes / 2; bit *= 2) sum.merge(W::shuffle_xor(sum, bit));\n",
        ("reduce.single_pass", "argmax.single_pass"),
    ),
    Fault(
        "signed bytes summed as if they were unsigned",
        "gpuport/ops.cuh",
        "        if (is_signed) word ^= 0x80808080u;\n",
        "",
        ("reduce.single_pass",),
    ),
)

# The package of the copy, whatever is installed; the check of that comes first.
CHECK = """
import sys
import gpuport
if not gpuport.__file__.startswith(sys.argv[1]):
    sys.exit(f"{gpuport.__file__} is in the way of {sys.argv[1]}")
from gpuport.cli import main
main(["check", "--backend", "cpu", "--json", *sys.argv[2:]])
"""


class Copy:
    """A copy of the sources with a build tree and a package of its own."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._tree, self._build, self._site = folder / "tree", folder / "build", folder / "site"
        self._jobs = jobs
        ignore = shutil.ignore_patterns("__pycache__", "*.so", ".git")
        self._tree.mkdir()
        for name in SOURCES:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self._tree / name, ignore=ignore)
            else:
                shutil.copy(source, self._tree / name)
        shutil.copytree(self._tree / "python" / "gpuport", self._site / "gpuport")

    def build(self) -> None:
        defines = [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
        defines += ["-DGPUPORT_CUDA=OFF", "-DGPUPORT_HIP=OFF"]
        self._run(["cmake", "-S", self._tree, "-B", self._build, "-G", "Ninja", *defines])
        self._run(["cmake", "--build", self._build, "--parallel", str(self._jobs)])
        for made in [*self._build.glob("_*.so"), self._build / "_build_info.json"]:
            shutil.copy(made, self._site / "gpuport")

    def _run(self, command: list[Any]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")

    def plant(self, fault: Fault) -> None:
        path = self._tree / "kernels" / "cuda" / fault.file
        text = path.read_text(encoding="utf-8")
        if text.count(fault.sound) != 1:
            sys.exit(f"{fault.file} does not hold, once, what {fault.name!r} replaces")
        path.write_text(text.replace(fault.sound, fault.broken), encoding="utf-8")
        self._before = (path, text)

    def restore(self) -> None:
        path, text = self._before
        path.write_text(text, encoding="utf-8")

    def check(self, kernels: tuple[str, ...]) -> list[dict[str, Any]]:
        arguments = [word for kernel in kernels for word in ("--kernel", kernel)]
        done = subprocess.run(
            [sys.executable, "-c", CHECK, str(self._site), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(self._site)},
        )
        if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
            sys.exit(f"gpuport check ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
        return results


def judge(fault: Fault, results: list[dict[str, Any]]) -> bool:
    """Prints which cases caught the fault; True if it shows in every kernel at its widths only."""
    right = True
    for result in results:
        expected = result["warp_size"] in fault.widths
        caught = result["failed"] > 0
        right &= caught == expected
        cases = [failure["case"] for failure in result["failures"]]
        example = f"such as {cases[0]}" if cases else ""
        verdict = "as expected" if caught == expected else "NOT AS EXPECTED"
        where = f"{result['kernel']} w{result['warp_size']}"
        count = f"{result['failed']} of {result['failed'] + result['passed']} failed"
        print(f"  {where:28} {count:22} {verdict}  {example}", flush=True)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=[fault.name for fault in FAULTS])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if options.only in (None, fault.name)]

    right = True
    with tempfile.TemporaryDirectory(prefix="gpuport-faults-") as folder:
        copy = Copy(Path(folder), options.jobs)
        copy.build()
        print("sound", flush=True)
        kernels = tuple(dict.fromkeys(kernel for fault in faults for kernel in fault.kernels))
        right &= judge(Fault("sound", "", "", "", (), widths=()), copy.check(kernels))
        for fault in faults:
            print(fault.name, flush=True)
            copy.plant(fault)
            copy.build()
            right &= judge(fault, copy.check(fault.kernels))
            copy.restore()
    print("every fault is caught" if right else "a fault is not caught, or the sound build fails")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
