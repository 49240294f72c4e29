"""Wheels, static libraries, files without GPU code, and what is none of these."""

from __future__ import annotations

import struct
import subprocess
import zipfile
from pathlib import Path

import pytest
from inspect_inputs import hip, nvcc, program, run

from gpuport.errors import Error
from gpuport.inspection import FormatError, inspect


@pytest.fixture(scope="module")
def host_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("host")
    (folder / "host.c").write_text("int answer(void) { return 42; }\n", encoding="utf-8")
    library = folder / "host.so"
    run(program("cc", "gcc", "clang-19"), "-shared", "-fPIC", folder / "host.c", "-o", library)
    return library


def test_host_code_only(host_library: Path) -> None:
    found = inspect(host_library)
    assert (list(found), found.images, found.architectures) == ([], [], [])
    assert [module.host is not None for module in found.modules] == [True]


def test_wheel_shows_every_module_inside(
    cuda_library: Path, hip_library: Path, host_library: Path, tmp_path: Path
) -> None:
    wheel = tmp_path / "two_vendors-1.0-cp312-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        out.write(cuda_library, "package/_cuda.abi3.so")
        out.write(hip_library, "package/_hip.abi3.so")
        out.write(host_library, "package/_cpu.abi3.so")
        out.writestr("package/__init__.py", "answer = 42\n")
    found = inspect(str(wheel))
    assert found.architectures == ["gfx90a", "gfx1030", "sm_80", "sm_90"]
    names = [f"{wheel}!package/_{name}.abi3.so" for name in ("cuda", "hip", "cpu")]
    assert [module.name for module in found.modules] == names
    assert {kernel.module for kernel in found} == set(names[:2])
    alone = [*inspect(cuda_library), *inspect(hip_library)]
    assert sorted((k.symbol, k.architecture, k.registers) for k in found) == sorted(
        (k.symbol, k.architecture, k.registers) for k in alone
    )


def test_wheel_without_binaries(tmp_path: Path) -> None:
    wheel = tmp_path / "pure-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("pure/__init__.py", "")
    found = inspect(wheel)
    assert (list(found), found.images, found.modules) == ([], [], [])


def test_static_library(tmp_path: Path) -> None:
    name = "an_object_whose_name_is_longer_than_its_field.o"
    obj = nvcc(tmp_path / name, "-c", "-arch=sm_90")
    library = tmp_path / "libkernels.a"
    run(program("ar"), "rcs", library, obj)
    found = inspect(library)
    assert [module.name for module in found.modules] == [f"{library}!{name}"]
    assert [(k.symbol, k.registers) for k in found] == [
        (k.symbol, k.registers) for k in inspect(obj)
    ]


def test_two_translation_units_in_one_library(tmp_path: Path) -> None:
    """The linker puts two bundles, and two fat binaries, one after the other."""
    second = tmp_path / "second.cu"
    second.write_text("__global__ void second(int* p) { *p = 2; }\n", encoding="utf-8")
    first = nvcc(tmp_path / "first.o", "-c", "-arch=sm_90", "-Xcompiler", "-fPIC")
    options = ["-shared", "-Xcompiler", "-fPIC", "-arch=sm_90", str(first)]
    found = inspect(nvcc(tmp_path / "both.so", *options, source=second))
    assert [k.name for k in found if "second" in k.name] == ["second(int*)"]
    assert len(found) == 6


def test_two_bundles_in_one_library(tmp_path: Path) -> None:
    options = ["--offload-arch=gfx90a", "-fPIC"]
    first = hip(tmp_path / "first.o", *options, "-c", "-Dplain=first")
    second = hip(tmp_path / "second.o", *options, "-c", "-Dplain=second")
    library = tmp_path / "both.so"
    cc = program("cc", "gcc", "clang-19")
    run(cc, "-shared", "-Wl,--allow-multiple-definition", first, second, "-o", library)
    names = [kernel.name for kernel in inspect(library)]
    assert len(names) == 10
    assert "first(int*)" in names
    assert "second(int*)" in names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\x7fEL", "no format that is read here"),
        (b"\x7fELF", "ELF header: cut short"),
        (b"\x7fELF\x01\x01" + bytes(60), "only 64-bit little-endian"),
        (b"a text\n", "no format that is read here"),
        (bytes(4096), "no format that is read here"),
        (b"PK\x03\x04" + bytes(40), "wheel: "),
        (b"!<arch>\n" + b"x" * 80, "archive: no member begins at byte 8"),
        (b".version 8.0\n", r"PTX without a \.target"),
        (b"CCOB\x09\x00\x00\x00", "compressed offload bundle: version 9 is not known"),
    ],
)
def test_what_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        inspect(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert isinstance(caught.value, Error)


def test_a_bundle_that_contains_itself(tmp_path: Path) -> None:
    name = b"hipv4-amdgcn-amd-amdhsa--gfx90a"
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, 0, 87, len(name)) + name
    assert len(head) == 87
    (tmp_path / "bundle").write_bytes(head)
    with pytest.raises(FormatError, match="wrapped too many times"):
        inspect(tmp_path / "bundle")


def test_a_damaged_module_is_named_with_its_wheel(cuda_library: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "broken-1.0-cp312-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("broken/_cuda.so", cuda_library.read_bytes()[:5000])
    with pytest.raises(FormatError, match=r"whl: broken/_cuda\.so: ELF section table: cut short"):
        inspect(wheel)


def test_stripped_of_its_symbols(cuda_library: Path, tmp_path: Path) -> None:
    """What a release build does: the GPU code is no symbol of the host and stays."""
    stripped = tmp_path / "stripped.so"
    subprocess.run([program("strip"), cuda_library, "-o", stripped], check=True)
    assert [(k.symbol, k.registers) for k in inspect(stripped)] == [
        (k.symbol, k.registers) for k in inspect(cuda_library)
    ]
