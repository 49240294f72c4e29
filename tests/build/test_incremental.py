"""What an edit builds anew, and that a parallel build from nothing does not race."""

from __future__ import annotations

import shutil

import pytest

from mini_project import QUICK, Project, copy_project, files_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A tree that is built once; every test leaves it built."""
    folder = tmp_path_factory.mktemp("incremental")
    project = Project(copy_project(folder / "a source tree"), folder / "a build tree")
    before = files_of(project.source)
    result = project.configure(QUICK)
    assert result.returncode == 0, result.stderr
    project.ninja()
    assert files_of(project.source) == before, "the build wrote into the source tree"
    return project


def edit(project: Project, name: str, old: str, new: str) -> None:
    path = project.source / "kernels/cuda" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def kinds(steps: list[str]) -> set[str]:
    """Steps without the folders of this build."""
    return {step.replace("CXX object CMakeFiles/", "").split(".cpython")[0] for step in steps}


def test_an_edit_builds_what_depends_on_it_and_nothing_else(built: Project) -> None:
    assert built.ninja() == []

    edit(built, "demo/fill.cu", "return kValue;", "return kValue + 1;")
    assert kinds(built.ninja()) == {
        "Linting gpuport",
        "Translating demo/fill.cu for cpu",
        "Building gpuport_cpu_kernels.dir/cpu/demo/fill.cu.o",
        "Linking CXX shared module _cpu",
    }

    edit(built, "demo/value.cuh", "1.5f", "2.5f")
    assert kinds(built.ninja()) == {
        "Linting gpuport",
        "Translating demo/value.cuh for cpu",
        "Building gpuport_cpu_kernels.dir/cpu/demo/fill.cu.o",
        "Linking CXX shared module _cpu",
    }

    (built.source / "kernels/cuda/demo/twice.cu").touch()
    assert kinds(built.ninja()) == {"Linting gpuport", "Translating demo/twice.cu for cpu"}
    assert built.ninja() == []


def test_a_line_in_the_registry_adds_a_kernel(built: Project) -> None:
    (built.source / "kernels/cuda/demo/more.cu").write_text("int more = 1;\n", encoding="utf-8")
    edit(
        built,
        "registry.def",
        "GP_ENTRY(demo, fill,",
        'GP_ENTRY(demo, more, "")\nGP_ENTRY(demo, fill,',
    )
    assert "Building gpuport_cpu_kernels.dir/cpu/demo/more.cu.o" in kinds(built.ninja())


def test_other_facts_about_the_build_compile_no_kernel(built: Project) -> None:
    facts = built.source / "cmake/gpuport_build.hpp.in"
    facts.write_text(facts.read_text(encoding="utf-8") + "// changed\n", encoding="utf-8")
    assert kinds(built.ninja()) == {
        "Re-running CMake...",
        "Building gpuport_cpu.dir/cpu/module.cpp.o",
        "Linking CXX shared module _cpu",
    }


def test_many_jobs_from_nothing_with_headers_that_come_late(built: Project) -> None:
    """A translator that is slow with headers would be overtaken by a compiler that did not wait."""
    tool = built.source / "python/gpuport/translate/__main__.py"
    text = tool.read_text(encoding="utf-8")
    late = "import time\ntime.sleep(0.5 * any(word.endswith('h') for word in sys.argv))\n"
    tool.write_text(text.replace("import sys\n", f"import sys\n{late}", 1), encoding="utf-8")
    for _ in range(3):
        shutil.rmtree(built.build / "cpu")
        steps = built.ninja("-j16", "gpuport_cpu_kernels")
        assert "Translating demo/value.cuh for cpu" in steps
    tool.write_text(text, encoding="utf-8")
    built.ninja()
