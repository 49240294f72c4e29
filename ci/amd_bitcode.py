"""A copy of the AMD device libraries that also knows newer targets.

Debian's device libraries are those of HIP 5, and a newer clang only misses one file a target:
``oclc_isa_version_<n>.bc``, a module with one constant, the target's number. This makes it from a
neighbour's::

    python ci/amd_bitcode.py --from /usr/lib/x86_64-linux-gnu/amdgcn/bitcode --to FOLDER

For CI, where no newer ROCm can be installed. Nobody who has ROCm needs it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NEIGHBOUR = "oclc_isa_version_1030.bc"
CONSTANT = re.compile(r"(@__oclc_ISA_version = .* constant i32 )\d+")
# The number is major * 1000 + minor * 100 + stepping, the file is named by the target's digits.
NEWER = {"942": 9402, "1100": 11000, "1200": 12000}


def copy_with_newer_targets(source: Path, folder: Path, suffix: str = "-19") -> list[Path]:
    """Copy `source` to `folder` and add what is missing; the files that were added."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    disassemble = ["llvm-dis" + suffix, "-o", "-", str(source / NEIGHBOUR)]
    text = subprocess.run(disassemble, capture_output=True, text=True, check=True).stdout
    added = []
    for digits, number in NEWER.items():
        target = folder / f"oclc_isa_version_{digits}.bc"
        if target.exists():
            continue
        changed, count = CONSTANT.subn(rf"\g<1>{number}", text)
        if count != 1:
            raise SystemExit(f"{source / NEIGHBOUR} holds no __oclc_ISA_version")
        subprocess.run(
            ["llvm-as" + suffix, "-o", str(target), "-"], input=changed, text=True, check=True
        )
        added.append(target)
    return added


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--llvm-suffix", default="-19", help="of llvm-dis and llvm-as")
    options = parser.parse_args(arguments)
    for path in copy_with_newer_targets(options.source, options.to, options.llvm_suffix):
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
