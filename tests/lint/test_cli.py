"""The command line: formats, choices, exit codes; and what it does with odd input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpuport
from gpuport.linting import RULES, lint
from gpuport.linting.cli import main

ROOT = Path(__file__).parents[2]
SOURCE = "__device__ int f(int v) {\n\treturn __shfl_sync(0xffffffff, v, 31);\n}\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    return path


def test_text(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(source)]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == (
        f"{source}:2:21: warning GPL003: the mask of '__shfl_sync' is a 32-bit full mask"
    )
    assert lines[1:3] == [
        "  \treturn __shfl_sync(0xffffffff, v, 31);",
        "  \t                   ^~~~~~~~~~",
    ]
    assert RULES["GPL003"].change in lines[3]
    assert lines[4].startswith(f"{source}:2:36: warning GPL002: ")
    assert err == "2 findings in 1 file\n"


def test_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {}\n")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == ""


def test_json(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", str(source)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == 1
    assert [(f["rule"], f["line"], f["column"], f["length"]) for f in report["findings"]] == [
        ("GPL003", 2, 21, 10),
        ("GPL002", 2, 36, 2),
    ]
    assert {f["severity"] for f in report["findings"]} == {"warning"}
    assert all(f["file"] == str(source) and f["message"] and f["hint"] for f in report["findings"])


@pytest.mark.parametrize(
    ("options", "code", "rules"),
    [
        (["--select", "GPL002"], 1, ["GPL002"]),
        (["--select", "gpl002,GPL003"], 1, ["GPL003", "GPL002"]),
        (["--select", "mask-32-bit"], 1, ["GPL003"]),
        (["--ignore", "GPL002"], 1, ["GPL003"]),
        (["--ignore", "GPL002", "--ignore", "GPL003"], 0, []),
        (["--select", "GPL001"], 0, []),
    ],
)
def test_choice_of_rules(
    source: Path,
    options: list[str],
    code: int,
    rules: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*options, "--json", str(source)]) == code
    assert [f["rule"] for f in json.loads(capsys.readouterr().out)["findings"]] == rules


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_explains_itself(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--explain", rule]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (rule, RULES[rule].summary, RULES[rule].explanation, RULES[rule].change):
        assert " ".join(part.split()) in text


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RULES)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no/such/file.cu"],
        ["a" * 300],
        [""],
        ["--select", "GPL999", "."],
        ["--explain", "GPL999"],
        ["--no-such-option"],
    ],
)
def test_what_cannot_be_met(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("entry", "message"), [("notes.txt", "no source files in"), ("pipe.cu", "not a regular file")]
)
def test_folders_with_nothing_to_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str, message: str
) -> None:
    if entry == "pipe.cu":
        os.mkfifo(tmp_path / entry)
    else:
        (tmp_path / entry).write_text(SOURCE)
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path)])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_cannot_be_read(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source.parent / "closed").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> object:  # root may read any folder, so that chmod would prove nothing
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SystemExit) as caught:
        main([str(source.parent)])
    assert caught.value.code == 2
    assert "closed: Permission denied" in capsys.readouterr().err


def test_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("b/one.cu", "a/two.cuh", "a/deep/three.h", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SOURCE)
    assert main(["--json", str(tmp_path), str(tmp_path / "b/one.cu")]) == 1
    report = json.loads(capsys.readouterr().out)
    names = [str(Path(f["file"]).relative_to(tmp_path)) for f in report["findings"]]
    assert report["files"] == 3
    assert names == [n for n in ("a/deep/three.h", "a/two.cuh", "b/one.cu") for _ in range(2)]


def test_from_the_source_tree_with_the_standard_library_only(source: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import runpy, sys; sys.path.insert(0, sys.argv.pop(1));"
         " runpy.run_module('linting', run_name='__main__', alter_sys=True)",
         str(ROOT / "python" / "gpuport"), str(source)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "warning GPL003" in done.stdout


def test_the_function_takes_text_and_paths(source: Path) -> None:
    assert gpuport.lint is lint
    from_path, from_name, from_text = lint(source), lint(str(source)), lint(SOURCE)
    assert from_path == from_name
    assert [f._replace(file="") for f in from_text] == [f._replace(file="") for f in from_path]
    assert {f.file for f in from_text} == {"<source>"}
    with pytest.raises(FileNotFoundError):
        lint("no/such/file.cu")


@pytest.mark.parametrize(
    "text",
    [
        SOURCE.replace("\n", "\r\n"),
        "\ufeff" + SOURCE,
        SOURCE.replace("__shfl_sync(", "__shfl_sync(\\\n"),
        "#define S(x) \\\n  #x\n" + SOURCE,
    ],
    ids=["crlf", "byte-order-mark", "continued", "stringised"],
)
def test_line_ends_marks_and_continuations(text: str) -> None:
    findings = lint(text)
    assert [f.rule for f in findings] == ["GPL003", "GPL002"]
    for finding in findings:
        at = finding.source[finding.column - 1 :][: finding.length]
        assert at == {"GPL003": "0xffffffff", "GPL002": "31"}[finding.rule]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_bytes(b"// caf\xe9\n" + SOURCE.encode())
    assert [(f.line, f.rule) for f in lint(path)] == [(3, "GPL003"), (3, "GPL002")]


def test_a_projects_own_warp_size_in_another_header(tmp_path: Path) -> None:
    kernel = tmp_path / "k.cu"
    kernel.write_text('#include "inner/a.h"\n__global__ void k() { float v[warpSize]; }\n')
    assert [f.rule for f in lint(kernel)] == ["GPL006"]
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "inner" / "b.h").write_text("constexpr int warpSize = 16;\n")
    assert lint(kernel) == []
