"""What is asked of the search for one backend's toolchain, and what it found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import NotFoundError, ToolchainError

if TYPE_CHECKING:
    import subprocess

__all__ = [
    "Backend", "NotFoundError", "Request", "ToolchainError", "first_error", "named_folder",
    "named_programs", "run",
]  # fmt: skip

MODES = ("AUTO", "ON", "OFF")


@dataclass(frozen=True)
class Request:
    """One backend's wish: the mode, the build's own settings, and the environment.

    `searched` grows with each place that is looked at, so that a failure can list them.
    """

    mode: str = "AUTO"
    settings: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    searched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ToolchainError(f"{self.mode!r} is none of {', '.join(MODES)}")

    def setting(self, name: str) -> str:
        """A CMake variable, or '' where it is unset or the result of a failed CMake search."""
        value = self.settings.get(name, "")
        return "" if value.endswith("NOTFOUND") else value

    def look(self, place: str, found: object) -> None:
        self.searched.append(f"{place}: {found or 'not there'}")

    def env(self, name: str) -> str:
        return self.environ.get(name, "").strip()

    def which(self, program: str) -> Path | None:
        found = shutil.which(program, path=self.environ.get("PATH", os.defpath))
        return Path(found) if found else None


@dataclass
class Backend:
    """The outcome for one backend; `cmake` holds the variables that only the build needs."""

    built: bool = False
    reason: str = ""
    architectures: list[str] = field(default_factory=list)
    architectures_from: str = ""
    compiler: str = ""
    compiler_path: str = ""
    runtime: str = ""
    searched: list[str] = field(default_factory=list)
    flags: str = ""
    cmake: dict[str, str] = field(default_factory=dict)


def named_programs(request: Request, setting: str, variable: str) -> list[Path]:
    """The programs that a CMake setting and an environment variable name, paths or names on PATH.

    One that cannot be run is an error even where the other would do.
    """
    named = []
    for name, value in ((setting, request.setting(setting)), (variable, request.env(variable))):
        request.searched.append(f"{name}: {value or 'not set'}")
        if value:
            found = request.which(value)
            if found is None:
                raise ToolchainError(f"{name}={value} is no program that can be run")
            named.append(found)
    return named


def named_folder(request: Request, variable: str, value: str, must_hold: str) -> Path | None:
    """The folder that a variable names, which must hold a certain file; None where it is unset."""
    request.searched.append(f"{variable}: {value or 'not set'}")
    if value and not (Path(value) / must_hold).is_file():
        raise ToolchainError(f"{variable}={value} has no {must_hold}")
    return Path(value) if value else None


def run(
    command: Sequence[str | Path], *, environ: Mapping[str, str], stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool; one that cannot be started or does not end is reported like one that fails."""
    import subprocess  # the errors above are wanted without it

    words = [str(word) for word in command]
    try:
        return subprocess.run(
            words,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(environ),
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))


def first_error(result: subprocess.CompletedProcess[str]) -> str:
    """The line of a failed tool's output that says most."""
    lines = [line.strip() for line in (result.stderr + "\n" + result.stdout).splitlines()]
    lines = [line for line in lines if line]
    for line in lines:
        if any(word in line.lower() for word in ("error", "fatal", "cannot find")):
            return line
    return lines[0] if lines else f"exit status {result.returncode}"
