"""``python -m toolchain find``: what the build would use, as JSON or as CMake variables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .backend import Backend, NotFoundError, Request, ToolchainError
from .cuda import find_cuda
from .hip import find_hip

FINDERS = {"cuda": find_cuda, "hip": find_hip}


def find(name: str, request: Request) -> Backend:
    """Apply the mode: OFF looks at nothing, ON makes an error of what AUTO gives as a reason."""
    if request.mode == "OFF":
        return Backend(reason=f"GPUPORT_{name.upper()}=OFF")
    try:
        return FINDERS[name](request)
    except NotFoundError as error:
        if request.mode == "AUTO":
            return Backend(reason=str(error), searched=request.searched)
        places = "".join(f"\n  {place}" for place in request.searched)
        raise ToolchainError(f"{error}. Looked at:{places}") from error


def check_launcher(language: str, request: Request) -> None:
    """CMake would take a launcher that does not exist and fail in the middle of the build."""
    variable = f"CMAKE_{language}_COMPILER_LAUNCHER"
    value = request.setting(variable) or request.env(variable)
    program = value.split(";")[0]
    if program and request.which(program) is None:
        raise ToolchainError(f"{variable}={value} is no program that can be run")


def record(backend: Backend) -> dict[str, object]:
    """What _build_info.json keeps."""
    return {key: value for key, value in asdict(backend).items() if key != "cmake"}


def cmake_text(backends: Mapping[str, Backend]) -> str:
    lines = ["# Written by python -m toolchain find; read by the configure step."]
    for name, backend in backends.items():
        for key, value in record(backend).items():
            text = ";".join(value) if isinstance(value, list) else value
            lines.append(f"set(GPUPORT_{name.upper()}_{key.upper()} [==[{text}]==])")
        lines += [f"set({variable} [==[{value}]==])" for variable, value in backend.cmake.items()]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="toolchain", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("find", help="find compilers and resolve architectures")
    command.add_argument("--backend", action="append", metavar="NAME=MODE", default=[])
    command.add_argument("--set", action="append", metavar="NAME=VALUE", default=[])
    command.add_argument("--cmake", type=Path, metavar="FILE", help="write CMake variables")
    command.add_argument("--json", type=Path, metavar="FILE", help="write what is recorded")
    options = parser.parse_args(arguments)

    settings = dict(pair.split("=", 1) for pair in options.set)
    modes = dict(pair.split("=", 1) for pair in options.backend or ("cuda=AUTO", "hip=AUTO"))
    backends: dict[str, Backend] = {}
    for name, mode in modes.items():
        try:
            request = Request(mode, settings)
            backends[name] = find(name, request)
            if backends[name].built:
                check_launcher(name.upper(), request)
        except ToolchainError as error:
            print(f"GPUPORT_{name.upper()}={mode}: {error}", file=sys.stderr)
            return 1
    records = {name: record(backend) for name, backend in backends.items()}
    text = json.dumps({"backends": records}, indent=2) + "\n"
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    if options.cmake:
        options.cmake.write_text(cmake_text(backends), encoding="utf-8")
    if not options.json and not options.cmake:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
