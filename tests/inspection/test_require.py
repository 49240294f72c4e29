"""--require: what counts as having an architecture, and what is said where it is missing."""

from __future__ import annotations

import pytest
from records import inspection

from gpuport.inspection.require import missing, parse


@pytest.mark.parametrize(
    ("inside", "required"),
    [
        (["sm_90"], "sm_90"),
        (["sm_90a"], "sm_90"),
        (["sm_90a"], "sm_90a"),
        (["sm_100f"], "sm_100"),
        (["sm_80", "compute_90"], "compute_90"),
        (["gfx90a"], "gfx90a"),
        (["gfx90a:xnack+"], "gfx90a"),
        (["gfx90a:xnack+"], "gfx90a:xnack+"),
        (["gfx942", "sm_90"], "sm_90,gfx942"),
        (["gfx942", "sm_90"], "sm_90; gfx942"),
        (["gfx9-4-generic"], "gfx9-4-generic"),
    ],
)
def test_present(inside: list[str], required: str) -> None:
    assert missing([inspection("m.so", *inside)], parse(required)) == []


@pytest.mark.parametrize(
    ("inside", "required", "line"),
    [
        (["sm_80"], "sm_90", "m.so: sm_90 is missing; inside: sm_80"),
        (["sm_90"], "sm_90a", "m.so: sm_90a is missing; inside: sm_90"),
        (["sm_80"], "sm_86", "m.so: sm_86 is missing; inside: sm_80"),
        (
            ["sm_80", "compute_90"],
            "sm_90",
            "m.so: sm_90 is missing; inside: sm_80, PTX compute_90 (PTX is no sm_90 code: "
            "the driver has to compile it when it loads the module)",
        ),
        (
            ["compute_90"],
            "sm_90",
            "m.so: sm_90 is missing; inside: no machine code, PTX compute_90 (PTX is no sm_90 "
            "code: the driver has to compile it when it loads the module)",
        ),
        (["sm_90"], "compute_90", "m.so: compute_90 is missing; inside: sm_90"),
        (["gfx90a"], "gfx90a:xnack+", "m.so: gfx90a:xnack+ is missing; inside: gfx90a"),
        (["gfx1030"], "gfx942", "m.so: gfx942 is missing; inside: gfx1030"),
        (["sm_90"], "sm_90,gfx942", "m.so: gfx942 is missing; no AMD code inside"),
        (["gfx942"], "sm_90", "m.so: sm_90 is missing; no NVIDIA code inside"),
        ([], "sm_90", "m.so: sm_90 is missing; host code only"),
    ],
)
def test_missing(inside: list[str], required: str, line: str) -> None:
    assert missing([inspection("m.so", *inside)], parse(required)) == [line]


def test_modules_of_two_vendors_share_a_list() -> None:
    files = [
        inspection("_cuda.so", "sm_90"),
        inspection("_hip.so", "gfx90a"),
        inspection("_cpu.so"),
    ]
    assert missing(files, parse("sm_90,gfx90a")) == []
    assert missing(files, parse("sm_90,gfx942")) == ["_hip.so: gfx942 is missing; inside: gfx90a"]


def test_one_module_does_not_stand_in_for_another_of_its_vendor() -> None:
    files = [inspection("good.so", "sm_80", "sm_90"), inspection("poor.so", "sm_80")]
    assert missing(files, parse("sm_90")) == ["poor.so: sm_90 is missing; inside: sm_80"]


@pytest.mark.parametrize("value", ["", ",", "90", "sm90", "h100", "gfx", "sm_90,hopper", "sm_9"])
def test_what_is_no_architecture(value: str) -> None:
    with pytest.raises(ValueError, match="architecture"):
        parse(value)
