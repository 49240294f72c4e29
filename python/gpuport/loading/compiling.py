"""Running a compiler."""

from __future__ import annotations

import os
import subprocess

from gpuport.errors import CompileError


def run_compiler(command: list[str], name: str, copy: str = "") -> None:
    """Run a compiler; CompileError with all it has to say where it fails.

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
        said = (done.stderr + done.stdout).strip()
        if copy:
            said = said.replace(copy, name)
        raise CompileError(said or f"{name}: {command[0]} ended with {done.returncode}")
