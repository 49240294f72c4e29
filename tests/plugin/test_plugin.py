"""The pytest plugin, in pytest runs of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import gpuport
from gpuport.testing import sweep

pytest_plugins = ["pytester"]

SUM = """
import numpy
import gpuport

@gpuport.testing.sweep(sizes=(0, 33))
def test_sum(target, size):
    x = numpy.ones(size, "float32")
    assert gpuport.sum(x, backend=target.backend, warp_size=target.warp_size) == size
"""


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    """In this process; `--strict-markers` shows that the plugin has named its mark."""
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess("--strict-markers", "-rfs", "-v", *arguments)


def absent(backend: str) -> bool:
    return not next(found for found in gpuport.backends() if found.name == backend).available


def test_it_is_an_entry_point() -> None:
    (found,) = (point for point in entry_points(group="pytest11") if point.name == "gpuport")
    assert found.value == "gpuport_pytest"


def test_every_width_and_size(pytester: pytest.Pytester) -> None:
    result = run(pytester, SUM, "-k", "cpu")
    result.assert_outcomes(passed=4, deselected=result.parseoutcomes()["deselected"])
    for name in ("cpu-w32-n0", "cpu-w32-n33", "cpu-w64-n0", "cpu-w64-n33"):
        result.stdout.fnmatch_lines(f"*::test_sum[[]{name}] PASSED*")


@pytest.mark.skipif(not (absent("cuda") and absent("hip")), reason="all backends have devices")
def test_an_absent_backend_is_one_skip_that_says_why(pytester: pytest.Pytester) -> None:
    result = run(pytester, SUM)
    result.assert_outcomes(passed=4, skipped=3)
    for backend, widths in (("cuda", 1), ("hip", 2)):
        result.stdout.fnmatch_lines_random(f"SKIPPED [[]*] *{backend} *: *")
        assert result.stdout.str().count(f"test_sum[{backend}-w") == widths


def test_a_failure_at_one_size_fails_there_alone(pytester: pytest.Pytester) -> None:
    source = """
    import gpuport

    @gpuport.testing.sweep(backends=["cpu"])
    def test_it(target, size):
        assert not (target.warp_size == 64 and size == 63)
    """
    result = run(pytester, source)
    result.assert_outcomes(passed=2 * len(gpuport.testing.sizes.SMALL_SIZES) - 1, failed=1)
    result.stdout.fnmatch_lines("FAILED *::test_it[[]cpu-w64-n63]*")


def test_without_sizes_and_beside_other_parameters(pytester: pytest.Pytester) -> None:
    source = """
    import pytest
    import gpuport

    @pytest.mark.parametrize("dtype", ["int32", "float64"])
    @gpuport.testing.sweep(backends=["cpu"], warp_sizes=[64])
    def test_it(target, dtype):
        assert target.warp_size == 64
    """
    result = run(pytester, source)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines("*::test_it[[]cpu-w64-int32] PASSED*")


def test_a_test_without_target_is_told(pytester: pytest.Pytester) -> None:
    source = """
    import gpuport

    @gpuport.testing.sweep()
    def test_it(size):
        pass
    """
    result = run(pytester, source)
    assert result.ret != 0
    result.stdout.fnmatch_lines("*test_it: a test under @gpuport.testing.sweep takes `target`*")
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"backends": ["metal"]}, ValueError, "no backend 'metal'; there are cpu, cuda, hip"),
        ({"backends": "cpu"}, TypeError, "not the one string"),
        ({"sizes": "abc"}, TypeError, "sizes: a sequence is wanted, not the one string 'abc'"),
        ({"sizes": 4}, TypeError, "sizes must be a sequence of int, not 4"),
        ({"sizes": [4, "5"]}, TypeError, "sizes must be a sequence of int; '5' is none"),
        ({"warp_sizes": "32"}, TypeError, "warp_sizes: a sequence is wanted"),
        ({"sizes": [4, -1]}, ValueError, "negative"),
        ({"sizes": []}, ValueError, "nothing to sweep"),
        ({"backends": ["cuda"], "warp_sizes": [64]}, ValueError, "nothing to sweep"),
    ],
)
def test_a_wrong_call_is_refused_at_once(
    wrong: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        sweep(**wrong)  # type: ignore[arg-type]


def test_without_its_parentheses() -> None:
    with pytest.raises(TypeError, match=r"write @gpuport.testing.sweep\(\), with parentheses"):

        @sweep
        def test_it(target: object) -> None: ...


def test_other_projects_do_not_load_gpuport(pytester: pytest.Pytester) -> None:
    """Neither the package nor NumPy, in a run that loads the plugin by its entry point."""
    pytester.makepyfile("""
    import sys

    def test_it():
        assert "gpuport_pytest" in sys.modules
        assert not {"gpuport", "numpy"} & set(sys.modules)
    """)
    # Of the other plugins here some import NumPy.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "gpuport_pytest"]
    done = subprocess.run(
        command,
        cwd=pytester.path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
