"""Inspections written by hand."""

from __future__ import annotations

from typing import Any

from gpuport.inspection import Image, Inspection, KernelResources, Module


def kernel(**changes: Any) -> KernelResources:
    values: dict[str, Any] = {
        "module": "m.so",
        "architecture": "sm_90",
        "symbol": "_Z1kv",
        "name": "k()",
        "registers": 32,
        "agprs": None,
        "sgprs": None,
        "shared": 0,
        "stack": 0,
        "spills": 0,
        "sgpr_spills": None,
        "local_accesses": 0,
        "wavefront": 32,
    }
    return KernelResources(**{**values, **changes})


def inspection(path: str, *architectures: str) -> Inspection:
    """A file with nothing but images: sm_90, compute_90 (PTX), gfx90a."""
    images = [
        Image(
            path,
            "amd" if name.startswith("gfx") else "nvidia",
            "ptx" if name.startswith("compute_") else "code",
            name,
        )
        for name in architectures
    ]
    return Inspection(path, [], images, [Module(path, "x86-64")])
