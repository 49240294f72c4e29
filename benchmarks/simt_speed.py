"""How fast the SIMT machine of the CPU backend is: translate, compile, run, compare with the goals.

    python benchmarks/simt_speed.py [--repeats N] [--cxx COMPILER] [--json]

Needs a C++ compiler and nothing installed. Figures are for all cores that the process may use;
the goals are stated for two. The second column divides by processor time instead of time, which
other work on the machine disturbs less. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SIMT = ROOT / "kernels" / "cpu" / "simt"
GOALS = {"thread-shuffles": 250.0, "thread-barriers": 330.0}


def build(folder: Path, cxx: str) -> Path:
    source = folder / "speed.cpp"
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python" / "gpuport"))
    command = [sys.executable, "-m", "translate", "--target", "cpu"]
    command += [str(ROOT / "benchmarks" / "simt" / "speed.cu"), "--output", str(source)]
    subprocess.run(command, check=True, env=environment)
    # As the package has them: the machine is a library of its own, and kernels call into it.
    flags = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-pthread", "-fno-plt"]
    flags += ["-DGP_TARGET_CPU=1", "-DGPUPORT_SIMT_LIBRARY=1", f"-I{SIMT / 'include'}"]
    hidden = ["-fvisibility=hidden", "-fvisibility-inlines-hidden"]
    hidden += ["-fno-semantic-interposition"]

    def compile_one(path: Path) -> str:
        out = folder / f"{path.stem}.o"
        more = [] if path == source else hidden
        subprocess.run([*cxx.split(), *flags, *more, "-c", str(path), "-o", str(out)], check=True)
        return str(out)

    with ThreadPoolExecutor(max_workers=2) as pool:
        kernels, *machine = pool.map(compile_one, [source, *sorted(SIMT.glob("*.cpp"))])
    library, program = folder / "libgpuport_simt.so", folder / "speed"
    link = ["-shared", "-Wl,-Bsymbolic", *machine, "-ldl", "-o", str(library)]
    subprocess.run([*cxx.split(), *flags, *link], check=True)
    link = [kernels, str(library), f"-Wl,-rpath,{folder}", "-o", str(program)]
    subprocess.run([*cxx.split(), *flags, *link], check=True)
    return program


class Row(NamedTuple):
    warp_size: int
    name: str
    rate: float  # millions a second
    core_rate: float  # millions a second of processor time
    goal: float | None

    @property
    def is_met(self) -> bool:
        return self.goal is None or self.rate >= self.goal


def measure(program: Path, repeats: int) -> list[Row]:
    command = [str(program), str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    words = [line.split("\t") for line in done.stdout.splitlines()]
    return [
        Row(int(width), name, float(rate), float(core_rate), GOALS.get(name))
        for width, name, rate, core_rate in words
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9, help="runs of which the best counts")
    parser.add_argument("--cxx", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = measure(build(Path(name), options.cxx), options.repeats)
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    if options.json:
        record = {"cores": cores, "load": load, "rows": [row._asdict() for row in rows]}
        print(json.dumps(record, indent=2))
    else:
        print(
            f"{cores} cores, load {load:.1f}; millions a second, in all and of one core's own time"
        )
        for row in rows:
            text = f"warp {row.warp_size}  {row.name:<38}{row.rate:>10.1f}{row.core_rate:>10.1f}"
            goal = "" if row.goal is None else f"  goal {row.goal:.0f}"
            print(text + goal + ("" if row.is_met else "  MISSED"))
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
