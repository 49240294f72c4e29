"""Running a compiler."""

from __future__ import annotations

import os
import re
import subprocess

from gpuport.errors import CompileError
from gpuport.loading.include_chains import self_inclusion

# gcc goes on after each error, for ever where a header includes itself twice.
MOST_ERRORS = "-fmax-errors=100"

# The first line of a diagnostic of clang and gcc, `file:4:7: error:`, or of nvcc, `file(4): error`.
_DIAGNOSTIC = re.compile(
    r"(?:.*?(?::\d+(?::\d+)?|\(\d+\)): )?(?P<kind>fatal error|error|warning|note|remark)\b[ :#]"
)
# What these print in front of a diagnostic, about where it is.
_LEAD = re.compile(
    r"In file included from |\s+from .*[:,]$|.*: (?:In|At) [^:]*:?$|.*: At top level:$"
)
_OURS = ("<gpuport>:", "<gpuport>(")
_SUMMARY = re.compile(r"\d+ (?:warnings?|errors?)\b.*(?:generated|detected)\b")


def errors_of(said: str) -> str:
    """What a compiler that failed said, without its warnings, unless they are all there is.

    Nor with errors in the lines that stand behind a source, where it has errors itself. Where a
    header includes itself without an end, the first error is all.
    """
    blocks: list[tuple[str, list[str]]] = [("", [])]
    lead: list[str] = []
    for line in said.splitlines():
        if _LEAD.match(line):
            lead.append(line)
            continue
        found = _DIAGNOSTIC.match(line)
        kind = found["kind"] if found is not None else ""
        if kind and kind != "note":  # a note goes with what is before it
            is_error = kind not in ("warning", "remark")
            blocks.append(("ours" if line.startswith(_OURS) and is_error else kind, []))
        elif _SUMMARY.match(line):
            blocks.append(("", []))
        blocks[-1][1].extend([*lead, line])
        lead.clear()
    blocks[-1][1].extend(lead)
    kinds = {kind for kind, _ in blocks}
    wanted = {"", "error", "fatal error"}
    if not kinds & {"error", "fatal error"}:
        if "ours" not in kinds:
            return said
        wanted.add("ours")
    told = [lines for kind, lines in blocks if kind in wanted]
    repeated = self_inclusion([lines for kind, lines in blocks if "error" in kind])
    return repeated or "\n".join(line for lines in told for line in lines).strip()


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
