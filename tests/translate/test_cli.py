"""The command line: where results go, what it refuses, and that nothing is ever half written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpuport.translate
from gpuport.translate.cli import main

GOOD = (
    "#include <cuda_runtime.h>\n__global__ void k() {}\nvoid f() { k<<<1, 2>>>(); cudaFree(0); }\n"
)
BAD = "int a;\nvoid f() { cudaInitDevice(0, 0, 0); }\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_one_file(tmp_path: Path) -> None:
    source = write(tmp_path, {"a.cu": GOOD}) / "a.cu"
    assert main([str(source), "--target", "cpu", "--output", str(tmp_path / "out/a.cpp")]) == 0
    expected = GOOD.replace("k<<<1, 2>>>()", "GPUPORT_SIMT_LAUNCH((k), 1, 2)()")
    assert (tmp_path / "out/a.cpp").read_text() == expected
    assert source.read_text() == GOOD


def test_an_error_leaves_the_output_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, {"a.cu": BAD, "out.hip": "before"}) / "a.cu"
    assert main([str(source), "-o", str(tmp_path / "out.hip")]) == 1
    assert (tmp_path / "out.hip").read_text() == "before"
    assert f"{source}:2:12: error: HIP has no counterpart" in capsys.readouterr().err
    assert main([str(source), "-o", str(tmp_path / "none/x.hip")]) == 1
    assert not (tmp_path / "none").exists()


def test_an_error_in_one_file_of_a_folder_writes_none(tmp_path: Path) -> None:
    write(tmp_path / "src", {"a.cu": GOOD, "b.cu": BAD})
    assert main([str(tmp_path / "src"), "-o", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


def test_lenient_keeps_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path, {"a.cpp": BAD}) / "a.cpp"
    assert main([str(source), "--lenient", "-o", str(tmp_path / "b.cpp")]) == 0
    assert (tmp_path / "b.cpp").read_text() == BAD
    assert "kept 1 place" in capsys.readouterr().err


def test_an_unchanged_result_keeps_its_time(tmp_path: Path) -> None:
    source = write(tmp_path, {"a.cu": GOOD}) / "a.cu"
    output = tmp_path / "a.hip"
    assert main([str(source), "-o", str(output)]) == 0
    os.utime(output, (1, 1))
    assert main([str(source), "-o", str(output)]) == 0
    assert output.stat().st_mtime == 1
    source.write_text(GOOD + "// more\n")
    assert main([str(source), "-o", str(output)]) == 0
    assert output.stat().st_mtime > 1


def test_a_folder_with_its_headers(tmp_path: Path) -> None:
    source = write(
        tmp_path / "a b",
        {
            "x/k.cu": '#include "../y/h.table"\n#include <own.h>\n' + GOOD,
            "y/h.table": "cudaFree\n",
            "y/other.txt": "cudaFree\n",
            ".git/c.cu": BAD,
        },
    )
    write(tmp_path / "inc", {"own.h": '#include "sub/deep.h"\n', "sub/deep.h": "cudaFree\n"})
    out = tmp_path / "out"
    assert main([str(source), "-o", str(out), "-I", str(tmp_path / "inc")]) == 0
    assert tree(out) == {
        "own.h": '#include "sub/deep.h"\n',
        "sub/deep.h": "hipFree\n",
        "x/k.cu": tree(source)["x/k.cu"]
        .replace("cuda_runtime.h", "hip/hip_runtime.h")
        .replace("cudaFree", "hipFree"),
        "y/h.table": "hipFree\n",
    }
    before = tree(out)
    assert main([str(out), "-o", str(tmp_path / "twice")]) == 0
    twice = tree(tmp_path / "twice")
    assert {name: twice[name] for name in twice} == before


def test_several_files(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": GOOD, "s/b.cu": GOOD})
    out = tmp_path / "out"
    assert main([str(tmp_path / "a.cu"), str(tmp_path / "s"), "-o", str(out)]) == 0
    assert sorted(tree(out)) == ["a.cu", "b.cu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.cu", "-o", "a.cu"], "is a source"),
        ([".", "-o", "."], "is a source"),
        (["a.cu", "-o", "."], "is a source"),
        (["a.cu", "s/a.cu", "-o", "out"], "both go to"),
        (["none.cu", "-o", "out"], "no such file"),
        (["empty", "-o", "out"], "no source files"),
        (["a.cu", "-o", "out", "-D", "X=y"], "must be an integer"),
        (["a.cu", "-o", "out", "--names", "a.cu"], "not a table of names"),
        (["a.cu", "-o", "out", "--names", "none.toml"], "none.toml"),
        (["a.cu", "-o", "out", "-I", "none"], "-I none: no such folder"),
        (["a.cu", "-o", "out", "-I", "a.cu"], "-I a.cu: no such folder"),
    ],
)
def test_calls_that_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.cu": GOOD, "s/a.cu": GOOD, "empty/x.txt": ""})
    before = tree(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert tree(tmp_path) == before


@pytest.mark.parametrize("arguments", [["", "-o", "out"], ["a.cu", "-o", ""]])
def test_an_empty_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(write(tmp_path, {"a.cu": GOOD}))
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert tree(tmp_path) == {"a.cu": GOOD}


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_no_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], linked: bool
) -> None:
    write(tmp_path, {"a.cu": GOOD, "s/a.cu": GOOD})
    pipe = tmp_path / "out/a.cu"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    output = pipe
    if linked:
        output = tmp_path / "link"
        output.symlink_to(pipe)
    for arguments in (
        [str(tmp_path / "a.cu"), "-o", str(output)],
        [str(tmp_path / "a.cu"), "-o", str(output), "--check"],
        [str(tmp_path / "s"), "-o", str(pipe.parent)],
    ):
        assert main(arguments) == 2
        assert "not a regular file" in capsys.readouterr().err
    assert pipe.is_fifo()
    assert [path.name for path in pipe.parent.iterdir()] == ["a.cu"]


def test_a_pipe_is_no_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "s", {"a.cu": GOOD})
    os.mkfifo(tmp_path / "s/b.cu")
    for source in (tmp_path / "s", tmp_path / "s/b.cu"):
        assert main([str(source), "-o", str(tmp_path / "out")]) == 2
        assert "b.cu is not a regular file" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ["before", None])
def test_an_output_that_is_a_link_stays_one(tmp_path: Path, content: str | None) -> None:
    write(tmp_path, {"a.cu": GOOD, "real/there": ""})
    target = tmp_path / "real/a.hip"
    if content is not None:
        target.write_text(content)
    link = tmp_path / "a.hip"
    link.symlink_to("real/a.hip")
    assert main([str(tmp_path / "a.cu"), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert "hipFree" in target.read_text()
    assert sorted(path.name for path in target.parent.iterdir()) == ["a.hip", "there"]


def test_a_circle_of_links_is_no_output(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": GOOD})
    (tmp_path / "x").symlink_to("y")
    (tmp_path / "y").symlink_to("x")
    assert main([str(tmp_path / "a.cu"), "-o", str(tmp_path / "x")]) == 2


def test_a_folder_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "s", {"a.cu": GOOD, "closed/b.cu": GOOD})
    scandir = os.scandir

    def refuse(path: str) -> object:  # root may read any folder, so that chmod would prove nothing
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert main([str(tmp_path / "s"), "-o", str(tmp_path / "out")]) == 2
    assert "closed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_place_that_takes_no_file_is_noticed_before_the_first_write(tmp_path: Path) -> None:
    write(tmp_path, {"s/a.cu": GOOD, "s/new/b.cu": GOOD, "s/z/c.cu": GOOD})
    write(tmp_path / "out", {"a.cu": "before", "z": "a file, no folder"})
    before = sorted((tmp_path / "out").rglob("*"))
    assert main([str(tmp_path / "s"), "-o", str(tmp_path / "out")]) == 2
    assert (tmp_path / "out/a.cu").read_text() == "before"
    assert sorted((tmp_path / "out").rglob("*")) == before


def test_a_link_to_a_source_is_a_source(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": GOOD})
    (tmp_path / "link.cu").symlink_to("a.cu")
    assert main([str(tmp_path / "a.cu"), "-o", str(tmp_path / "link.cu")]) == 2
    assert (tmp_path / "a.cu").read_text() == GOOD


def test_output_inside_the_source_folder_is_not_read_again(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": GOOD})
    for _ in range(2):
        assert main([str(tmp_path), "-o", str(tmp_path / "out")]) == 0
    assert sorted(tree(tmp_path)) == ["a.cu", "out/a.cu"]


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "src", {"a.cu": GOOD, "b.cu": GOOD})
    out = tmp_path / "out"
    arguments = [str(source), "-o", str(out)]
    assert main([*arguments, "--check"]) == 1
    assert not out.exists()
    assert main(arguments) == 0
    assert main([*arguments, "--check"]) == 0
    capsys.readouterr()
    (source / "b.cu").write_text(GOOD + "int more;\n")
    assert main([*arguments, "--check"]) == 1
    assert capsys.readouterr().err == f"{out / 'b.cu'}: stale\n"
    assert "more" not in (out / "b.cu").read_text()


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path, {"a.cu": GOOD, "b.cu": BAD})
    assert main([str(source), "-o", str(tmp_path / "out"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["target"], result["errors"], result["warnings"]) == ("hip", 1, 0)
    assert [file["status"] for file in result["files"]] == ["not written", "failed"]
    (finding,) = result["files"][1]["findings"]
    assert (finding["rule"], finding["line"], finding["column"]) == ("no-hip-name", 2, 12)
    assert main([str(source / "a.cu"), "-o", str(tmp_path / "out.hip"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["status"] == "written"


def test_macros_decide_branches(tmp_path: Path) -> None:
    text = "#ifdef MINE\ncudaFree(a);\n#else\ncudaFree(b);\n#endif\n"
    source = write(tmp_path, {"a.h": text}) / "a.h"
    out = tmp_path / "b.h"
    assert main([str(source), "-o", str(out), "-D", "MINE=2"]) == 0
    assert out.read_text() == text.replace("cudaFree(a)", "hipFree(a)")
    assert main([str(source), "-o", str(out), "-U", "MINE"]) == 0
    assert out.read_text() == text.replace("cudaFree(b)", "hipFree(b)")


def test_line_directives(tmp_path: Path) -> None:
    source = write(tmp_path, {'a "b".cu': "\ufeff#pragma once\r\nint x;\r\n"}) / 'a "b".cu'
    out = tmp_path / "out.cu"
    assert main([str(source), "-o", str(out), "--line-directives"]) == 0
    name = str(source).replace('"', '\\"')
    first = f'\ufeff#line 1 "{name}"\r\n'
    assert out.read_bytes().decode() == first + "#pragma once\r\nint x;\r\n"
    again = tmp_path / "again.cu"
    assert main([str(out), "-o", str(again), "--line-directives"]) == 0
    assert again.read_bytes() == out.read_bytes()


def test_a_cu_file_that_leans_on_nvcc_gets_its_header(tmp_path: Path) -> None:
    source = write(tmp_path, {"a.cu": "__global__ void k() {}\n", "a.h": "int x;\n"})
    out = tmp_path / "out"
    assert main([str(source), "-o", str(out), "--line-directives"]) == 0
    assert (out / "a.cu").read_text().split("\n")[:2] == [
        "#include <hip/hip_runtime.h>",
        f'#line 1 "{source / "a.cu"}"',
    ]
    assert main([str(out), "-o", str(tmp_path / "twice"), "--line-directives"]) == 0
    assert tree(tmp_path / "twice") == tree(out)


def test_sources_that_cannot_be_written_are_fine(tmp_path: Path) -> None:
    source = write(tmp_path / "src", {"a.cu": GOOD})
    (source / "a.cu").chmod(0o444)
    source.chmod(0o555)
    try:
        assert main([str(source), "-o", str(tmp_path / "out")]) == 0
    finally:
        source.chmod(0o755)
    assert os.access(tmp_path / "out/a.cu", os.W_OK)


def test_it_runs_from_the_source_tree_with_nothing_installed(tmp_path: Path) -> None:
    source = write(tmp_path, {"a.cu": GOOD, "b.cu": BAD})
    package = Path(gpuport.translate.__file__).parent
    command = [sys.executable, "-S", "-m", "translate", "--target", "hip"]
    environment = {"PYTHONPATH": str(package.parent), "PATH": os.environ["PATH"]}
    for name, code in (("a.cu", 0), ("b.cu", 1)):
        run = subprocess.run(
            [*command, str(source / name), "--output", str(tmp_path / f"{name}.hip")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == code, run.stderr
        assert "Traceback" not in run.stderr
    assert "hipFree" in (tmp_path / "a.cu.hip").read_text()
