"""The command line: `python -m translate` from the source tree, `gpuport hipify` once installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .findings import ERROR, WARNING, Finding
from .output import is_current, write_files
from .translation import TARGETS, TranslatedBytes, translate_bytes
from .trees import Job, UsageError, check_outputs, included, plan, read_source

_DESCRIPTION = """\
Translate CUDA C++ for AMD (hip) or for a host compiler and the SIMT runtime (cpu). Sources are
never changed. An error in any file leaves the output as it was."""
_EPILOG = """\
example: gpuport hipify kernels/ -o translated --target hip --json

exit codes: 0 all is translated, 1 something has no translation or with --check is not current,
2 the request cannot be met"""


_PROGRAM = "python -m translate" if __package__ == "translate" else "gpuport hipify"


class _Result(NamedTuple):
    job: Job
    translated: TranslatedBytes
    status: str = ""


def main(arguments: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Run the command; the exit code is 0, 1 for findings or a stale output, 2 for a wrong call."""
    options = _parser(prog).parse_args(arguments)
    try:
        macros = _macros(options)
        for folder in options.folders:
            if not folder.is_dir():
                raise UsageError(f"-I {folder}: no such folder")
        jobs = plan(options.sources, options.output)
        results = _translate(jobs, options, macros)
        check_outputs(result.job for result in results)
        failed = any(result.translated.failed for result in results) and not options.lenient
        results = _finish(results, options, failed)
    except (UsageError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    _print(results, options)
    stale = options.check and any(result.status != "current" for result in results)
    return 1 if failed or stale else 0


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog or _PROGRAM,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sources", nargs="+", type=_path, metavar="SRC", help="files and folders")
    parser.add_argument(
        "-o",
        "--output",
        type=_path,
        required=True,
        metavar="OUT",
        help="a file or a folder; of a link, what it leads to",
    )
    parser.add_argument("--target", choices=TARGETS, default="hip", help="default: hip")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if OUT is not current"
    )
    parser.add_argument(
        "--lenient", action="store_true", help="keep what has no translation, and say so"
    )
    parser.add_argument(
        "--json", action="store_true", help="results and findings as JSON on standard output"
    )
    parser.add_argument(
        "--line-directives",
        action="store_true",
        help="let compilers name the original files, by #line",
    )
    parser.add_argument("-I", dest="folders", action="append", type=_path, default=[],
                        metavar="DIR",
                        help="a folder of headers to translate, too, where included")  # fmt: skip
    parser.add_argument("-D", dest="defined", action="append", default=[], metavar="NAME[=VALUE]",
                        help="a macro that is defined: branches without it are dead")  # fmt: skip
    parser.add_argument("-U", dest="undefined", action="append", default=[], metavar="NAME",
                        help="a macro that is not defined: branches with it are dead")  # fmt: skip
    parser.add_argument("--names", action="append", type=_path, default=[], metavar="FILE",
                        help="a table of names, as hipify.toml, on top of gpuport's")  # fmt: skip
    return parser


def _path(text: str) -> Path:
    """A path. The empty one, which is the current folder to pathlib, is most likely a slip."""
    if not text:
        raise argparse.ArgumentTypeError("an empty path")
    return Path(text)


def _macros(options: argparse.Namespace) -> dict[str, int | None]:
    macros: dict[str, int | None] = dict.fromkeys(options.undefined)
    for definition in options.defined:
        name, _, value = definition.partition("=")
        try:
            macros[name] = int(value or "1", 0)
        except ValueError:
            raise UsageError(f"-D {definition}: the value must be an integer") from None
    return macros


def _translate(
    jobs: list[Job], options: argparse.Namespace, macros: dict[str, int | None]
) -> list[_Result]:
    """Translate the jobs and the headers of the project that they include."""
    results = []
    waiting = list(jobs)
    known = {job.source.resolve() for job in jobs}
    single = len(jobs) == 1 and jobs[0].output == options.output
    while waiting:
        job = waiting.pop(0)
        translated = translate_bytes(
            read_source(job.source),
            str(job.source),
            options.target,
            line_directive=options.line_directives,
            macros=macros,
            tables=options.names,
        )
        results.append(_Result(job, translated))
        if single:
            continue
        for header in included(job, translated.includes, options.output, options.folders):
            if header.source.resolve() not in known:
                known.add(header.source.resolve())
                waiting.append(header)
    return results


def _finish(results: list[_Result], options: argparse.Namespace, failed: bool) -> list[_Result]:
    """Write the results, or see whether they are current."""
    if failed:
        return [
            result._replace(status="failed" if result.translated.failed else "not written")
            for result in results
        ]
    files = [(result.job.output, result.translated.data) for result in results]
    if options.check:
        statuses = [
            "current" if is_current(path, data) else "stale" if path.exists() else "missing"
            for path, data in files
        ]
    else:
        statuses = ["written" if stale else "current" for stale in write_files(files)]
    return [
        result._replace(status=status) for result, status in zip(results, statuses, strict=True)
    ]


def _print(results: list[_Result], options: argparse.Namespace) -> None:
    findings: list[Finding] = [
        finding for result in results for finding in result.translated.findings
    ]
    errors = sum(finding.severity == ERROR for finding in findings)
    warnings = sum(finding.severity == WARNING for finding in findings)
    if options.json:
        _print_json(results, options, errors, warnings)
        return
    for finding in findings:
        print(finding.render(), file=sys.stderr)
    if options.check:
        for result in results:
            if result.status in ("stale", "missing"):
                print(f"{result.job.output}: {result.status}", file=sys.stderr)
    if errors and options.lenient:
        print(
            f"lenient: kept {errors} place{'s' * (errors != 1)} that the target has no meaning for",
            file=sys.stderr,
        )


def _print_json(
    results: list[_Result], options: argparse.Namespace, errors: int, warnings: int
) -> None:
    import json  # only here: the build starts this tool once a file

    files: list[dict[str, Any]] = [
        {
            "source": str(result.job.source),
            "output": str(result.job.output),
            "status": result.status,
            "findings": [finding.as_dict() for finding in result.translated.findings],
        }
        for result in results
    ]
    print(
        json.dumps(
            {"target": options.target, "errors": errors, "warnings": warnings, "files": files},
            indent=2,
        )
    )
