"""Standard output that cannot be written: a full disk, a pipe whose reader has left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = [
    ("info",),
    ("info", "--json"),
    ("--help",),
    ("--version",),
    ("hipify", "--help"),
    ("check", "--kernel", "reduce.serial", "--backend", "cpu", "--quick"),
]


def run(arguments: tuple[str, ...], stdout: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuport", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def run_into_closed_pipe(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return run(arguments, writer)
    finally:
        os.close(writer)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_closed_pipe_is_no_failure(arguments: tuple[str, ...]) -> None:
    done = run_into_closed_pipe(arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failure_is_one_with_a_closed_pipe_too() -> None:
    assert run_into_closed_pipe(("check", "--kernel", "nonesuch")).returncode == 2


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_an_error(arguments: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        done = run(arguments, full.fileno())
    assert (done.returncode, done.stderr) == (
        2,
        "Error: standard output: No space left on device\n",
    )
