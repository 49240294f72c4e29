"""Running a compiler."""

from __future__ import annotations

import os
import re
import subprocess

from gpuport.errors import CompileError

# The first line of a diagnostic of clang and gcc, `file:4:7: error:`, or of nvcc, `file(4): error`.
_DIAGNOSTIC = re.compile(
    r"(?:.*?(?::\d+(?::\d+)?|\(\d+\)): )?(?P<kind>fatal error|error|warning|note|remark)\b[ :#]"
)
# What these print in front of a diagnostic, about where it is.
_LEAD = re.compile(
    r"In file included from |\s+from .*[:,]$|.*: (?:In|At) [^:]*:?$|.*: At top level:$"
)
_SUMMARY = re.compile(r"\d+ (?:warnings?|errors?)\b.*(?:generated|detected)\b")


def errors_of(said: str) -> str:
    """What a compiler that failed said, without its warnings, unless they are all there is."""
    kept: list[str] = []
    lead: list[str] = []
    is_kept = True
    has_errors = False
    for line in said.splitlines():
        if _LEAD.match(line):
            lead.append(line)
            continue
        found = _DIAGNOSTIC.match(line)
        if found is not None and found["kind"] != "note":  # a note goes with what is before it
            is_kept = found["kind"] not in ("warning", "remark")
            has_errors |= is_kept
        elif _SUMMARY.match(line):
            is_kept = True
        if is_kept:
            kept += [*lead, line]
        lead.clear()
    return "\n".join([*kept, *lead]).strip() if has_errors else said


def run_compiler(command: list[str], name: str, copy: str = "") -> None:
    """Run a compiler; CompileError with the errors that it has to tell where it fails.

    `name` is what the source is called, and what stands for its `copy` in the compiler's words.
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            check=False,
        )
    except OSError as error:
        raise CompileError(f"{name}: the compiler cannot be started: {error}") from None
    if done.returncode != 0:
        said = errors_of((done.stderr + done.stdout).strip())
        if copy:
            said = said.replace(copy, name)
        raise CompileError(said or f"{name}: {command[0]} ended with {done.returncode}")
