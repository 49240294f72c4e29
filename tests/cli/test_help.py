"""What `--help` of every command holds: an example that the command takes, `--json`, exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from gpuport.cli import COMMANDS, main


def _commands() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        if isinstance(command, click.Group):
            yield from ((name, part) for part in command.commands)
        else:
            yield (name,)


def help_of(*words: str) -> str:
    result = CliRunner().invoke(main, [*words, "--help"])
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("words", list(_commands()), ids=" ".join)
def test_help(words: tuple[str, ...]) -> None:
    text = help_of(*words)
    assert re.search(r"exit codes?\b.*\b0\b", text, re.IGNORECASE)
    assert "--json" in text
    name = " ".join(words)
    found = re.search(rf"examples?: (gpuport {name} .+)", text, re.IGNORECASE)
    assert found is not None
    options = re.findall(r" (--?[a-zA-Z][a-z-]*)", found[1])
    declared = set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", text.replace(found[0], "")))
    assert set(options) <= declared


def test_the_command_itself() -> None:
    text = help_of()
    assert "Example: gpuport " in text
    assert "Exit codes: 0" in text


@pytest.mark.parametrize("words", list(_commands()), ids=" ".join)
def test_an_unknown_option_is_told_without_a_traceback(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*words, "--no-such-option"])
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output


def test_the_rules_as_json() -> None:
    result = CliRunner().invoke(main, ["lint", "--list", "--json"])
    assert result.exit_code == 0
    rules = json.loads(result.stdout)["rules"]
    assert rules
    assert all(rule["id"] and rule["name"] and rule["summary"] for rule in rules)
