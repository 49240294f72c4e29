"""`python -m inspection --require ARCHS FILE`: the build's check, with the standard library only.

Exit codes: 0 there is machine code for every architecture, 1 one is missing, 2 FILE cannot be read.
"""

from __future__ import annotations

import argparse
import sys

from .errors import FormatError
from .require import missing, parse
from .scan import inspect


def main() -> int:
    parser = argparse.ArgumentParser(prog="inspection", description=__doc__)
    parser.add_argument("--require", required=True, metavar="ARCHS", help="such as sm_90,gfx942")
    parser.add_argument("file", metavar="FILE")
    options = parser.parse_args()
    try:
        lines = missing([inspect(options.file)], parse(options.require))
    except (FormatError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in lines:
        print(f"failed: {line}", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
