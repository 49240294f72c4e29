"""The command line of the translator."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .output import write_file
from .translation import TARGETS, translate_bytes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="translate")
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", choices=TARGETS, default="hip")
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--line-directives", action="store_true")
    parser.add_argument("--lenient", action="store_true")
    options = parser.parse_args(arguments)
    result = translate_bytes(
        options.file.read_bytes(), str(options.file), options.target, line_directive=options.line_directives
    )
    for finding in result.findings:
        print(finding.render(), file=sys.stderr)
    if result.failed and not options.lenient:
        return 1
    write_file(options.output, result.data)
    return 0
