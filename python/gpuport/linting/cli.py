"""The command line of the lint."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ._reader import Finding, UsageError, read_source, source_files
from .engine import lint_bytes
from .rules import RULES, Rule

_SUFFIXES = frozenset({
    ".cu", ".cuh", ".h", ".hpp", ".hxx", ".cpp", ".cc", ".cxx", ".c", ".inl", ".hip", ".inc",
    ".ipp", "",
})  # fmt: skip
_EPILOG = """example: gpuport lint kernels/ --select GPL001,GPL003 --json

exit codes: 0 nothing found, 1 something found, 2 the request cannot be met.

A finding is suppressed by a comment on its line or on the line above:
  // gpuport-lint: allow(GPL003) why this is right here"""


def main(arguments: Sequence[str] | None = None, prog: str = "gpuport lint") -> int:
    """Runs the lint; the exit code."""
    parser = _parser(prog)
    options = parser.parse_args(arguments)
    if options.list:
        if options.json:
            rules = [{"id": r.id, "name": r.name, "summary": r.summary} for r in RULES.values()]
            print(json.dumps({"rules": rules}, indent=2))
            return 0
        for rule in RULES.values():
            print(f"{rule.id}  {rule.name:<26}{rule.summary}")
        return 0
    if options.explain:
        for name in options.explain:
            print(_explained(_chosen(parser, [name])[0]))
        return 0
    if not options.source:
        parser.error("no source given")
    wanted = {
        rule.id for rule in (_chosen(parser, options.select) if options.select else RULES.values())
    }
    wanted -= {rule.id for rule in _chosen(parser, options.ignore)}
    findings: list[Finding] = []
    files = 0
    for path in _files(parser, options.source):
        try:
            data = read_source(path)
        except UsageError as error:
            parser.error(str(error))
        except OSError as error:
            parser.error(f"cannot read {path}: {error.strerror}")
        files += 1
        findings += [finding for finding in lint_bytes(data, str(path)) if finding.rule in wanted]
    if options.json:
        report = {"files": files, "findings": [finding.as_dict() for finding in findings]}
        print(json.dumps(report, indent=2))
    else:
        for finding in findings:
            print(render(finding))
        print(f"{_counted(len(findings), 'finding')} in {_counted(files, 'file')}", file=sys.stderr)
    return 1 if findings and not options.exit_zero else 0


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def render(finding: Finding) -> str:
    """A finding as a compiler would print it, the rule in front of the message."""
    plain = finding.render().split("\n")
    plain[0] = (
        f"{finding.file}:{finding.line}:{finding.column}: "
        f"{finding.severity} {finding.rule}: {finding.message}"
    )
    return "\n".join(plain)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Faults of warp width and portability in CUDA C++.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source",
        nargs="*",
        help="a file, or a folder: every source file below it, hidden folders left out",
    )
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument(
        "--select",
        metavar="RULES",
        action="append",
        default=[],
        help="only these; commas or repeated",
    )
    parser.add_argument(
        "--ignore", metavar="RULES", action="append", default=[], help="all but these"
    )
    parser.add_argument(
        "--explain",
        metavar="RULE",
        action="append",
        help="why a rule is there and what to write instead",
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever is found")
    parser.add_argument("--list", action="store_true", help="every rule in a line")
    return parser


def _chosen(parser: argparse.ArgumentParser, asked: Sequence[str]) -> list[Rule]:
    by_name = {rule.name: rule for rule in RULES.values()}
    chosen = []
    for name in (part.strip() for item in asked for part in item.split(",")):
        rule = RULES.get(name.upper()) or by_name.get(name)
        if rule is None:
            parser.error(f"there is no rule {name or 'without a name'}; --list shows all")
        chosen.append(rule)
    return chosen


def _explained(rule: Rule) -> str:
    body = "\n\n".join(
        textwrap.fill(text, 96) for text in (rule.explanation, f"Instead: {rule.change}.")
    )
    return f"{rule.id} {rule.name}: {rule.summary}\n\n{body}"


def _files(parser: argparse.ArgumentParser, sources: Sequence[str]) -> list[Path]:
    """Files as they are named; of folders, every source file below; each once."""
    files: dict[Path, None] = {}
    for source in sources:
        path = Path(source)
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            pass  # told below
        except OSError as error:  # a name that is too long, a folder that may not be entered
            parser.error(f"cannot read {source}: {error.strerror}")
        if source and path.is_dir():
            try:
                found = sorted(source_files(path, _SUFFIXES))
            except OSError as error:
                parser.error(f"cannot read {error.filename}: {error.strerror}")
            # A link or a pipe without a suffix is no source file that one would miss.
            files.update((p, None) for p in found if p.suffix or p.is_file())
        elif source and path.exists():
            files[path] = None
        else:
            parser.error(f"there is no {source or 'file with an empty name'}")
    if not files:
        parser.error(f"no source files in {', '.join(sources)}")
    return list(files)
