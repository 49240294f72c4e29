"""Resource baselines: what each kernel took when somebody last looked, kept as JSON.

A kernel fails the comparison when, against the baseline,
- it spills more registers (vector, scalar), or reaches local memory more often where spills are
  unknown,
- its stack frame is new or larger,
- its registers (or AGPRs) grew by more than `jump`.
A kernel that the baseline does not know is compared with one that has no stack and no spills.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import cast

from gpuport.errors import Error

from .model import KernelResources

# NVIDIA gives out registers in steps of 8 a thread and AMD in steps of 4 to 16, and compilers move
# by a few for no reason; more than one step is a change that somebody should see.
REGISTER_JUMP = 8

_VERSION = 1
_FIELDS = (
    "registers", "agprs", "sgprs", "shared", "stack", "spills", "sgpr_spills", "local_accesses",
)  # fmt: skip
Resources = dict[str, int]
Table = dict[str, dict[str, Resources]]  # architecture, kernel

# nvcc names anonymous namespaces after a hash of the path; that must not make a kernel new.
_ANONYMOUS = re.compile(r"_GLOBAL__N__[0-9a-f]{8}_")


class BaselineError(Error):
    """The baseline file is none."""


@dataclass(frozen=True)
class Baseline:
    kernels: Table
    compilers: dict[str, str] = field(default_factory=dict)  # by architecture

    def only(self, architectures: Iterable[str]) -> Baseline:
        chosen = set(architectures)
        kernels = {arch: own for arch, own in self.kernels.items() if arch in chosen}
        return Baseline(kernels, self.compilers)


@dataclass
class Comparison:
    compared: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def table(kernels: Iterable[KernelResources]) -> Table:
    """Where one kernel occurs several times (in two modules, say), the larger numbers count."""
    found: Table = {}
    for kernel in kernels:
        own = found.setdefault(kernel.architecture, {}).setdefault(_key(kernel), {})
        for name in _FIELDS:
            value = getattr(kernel, name)
            if value is not None:
                own[name] = max(value, own.get(name, 0))
    return found


def write(
    path: str | PathLike[str], kernels: Iterable[KernelResources], compilers: dict[str, str]
) -> None:
    """One line a kernel, sorted, so that a change is a readable diff."""
    architectures = []
    found = table(kernels)
    compilers = {arch: compilers.get(arch, "") for arch in sorted(found)}
    for arch, own in sorted(found.items()):
        lines = [f"   {json.dumps(key)}: {json.dumps(own[key])}" for key in sorted(own)]
        architectures.append(f"  {json.dumps(arch)}: {{\n" + ",\n".join(lines) + "\n  }")
    body = ",\n".join(architectures)
    head = f' "version": {_VERSION},\n "compilers": {json.dumps(compilers)},\n'
    content = f'{{\n{head} "kernels": {{\n{body}\n }}\n}}\n'
    Path(path).write_text(content, encoding="utf-8")


def read(path: str | PathLike[str]) -> Baseline:
    """OSError or BaselineError where there is no baseline to be had."""
    try:
        content = json.loads(Path(path).read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{path}: not JSON ({error})") from None
    if not isinstance(content, dict) or content.get("version") != _VERSION:
        raise BaselineError(f"{path}: no baseline of version {_VERSION}; write it anew")
    kernels, compilers = content.get("kernels"), content.get("compilers", {})
    if not _is_table(kernels):
        raise BaselineError(f"{path}: its kernels are no table of numbers")
    if not isinstance(compilers, dict):
        raise BaselineError(f"{path}: its compilers are no table")
    return Baseline(cast(Table, kernels), compilers)


def compare(
    kernels: Iterable[KernelResources],
    baseline: Baseline,
    compilers: dict[str, str] | None = None,
    jump: int = REGISTER_JUMP,
) -> Comparison:
    """`compilers` says what made the kernels now; a difference is noted, as it explains much."""
    kernels = list(kernels)
    names = {_key(kernel): kernel.name for kernel in kernels}
    result = Comparison()
    now = table(kernels)
    for arch, own in sorted(now.items()):
        if arch not in baseline.kernels:
            result.notes.append(f"{arch}: not in the baseline, {len(own)} kernels not compared")
            continue
        before_by, now_by = baseline.compilers.get(arch), (compilers or {}).get(arch)
        if before_by and now_by and before_by != now_by:
            result.notes.append(f"{arch}: the baseline is by {before_by}, this is by {now_by}")
        for key, resources in sorted(own.items()):
            before = baseline.kernels[arch].get(key)
            label = f"{arch} {names[key]}"
            if before is None:
                result.notes.append(f"{label}: a new kernel")
            lines = _regressions(before, resources, jump)
            result.failures += [f"{label}: {line}" for line in lines]
            result.compared += before is not None
    for arch, known in sorted(baseline.kernels.items()):
        gone = sorted(set(known) - set(now.get(arch, {})))
        if len(gone) == len(known):
            result.notes.append(f"{arch}: none of the {len(known)} kernels of the baseline is here")
        else:
            result.notes += [f"{arch} {key}: in the baseline, not here" for key in gone]
    if not result.compared:
        result.failures.append("no kernel of these files is in the baseline: nothing was compared")
    return result


def _regressions(before: Resources | None, now: Resources, jump: int) -> list[str]:
    new = before is None
    before = before or {}
    lines = []
    for name, text in (("spills", "spilled"), ("sgpr_spills", "spilled scalar")):
        if now.get(name, 0) > before.get(name, 0):
            lines.append(f"{text} registers {before.get(name, 0)} -> {now[name]}")
    if "spills" not in now and now.get("local_accesses", 0) > before.get("local_accesses", 0):
        change = f"{before.get('local_accesses', 0)} -> {now['local_accesses']}"
        lines.append(f"local memory accesses {change} (spills or arrays: the file does not say)")
    if now.get("stack", 0) > before.get("stack", 0):
        lines.append(f"stack frame {before.get('stack', 0)} -> {now['stack']} bytes")
    for name in ("registers", "agprs"):
        if not new and now.get(name, 0) > before.get(name, 0) + jump:
            lines.append(f"{name} {before.get(name, 0)} -> {now[name]} (by more than {jump})")
    return lines


def _key(kernel: KernelResources) -> str:
    return _ANONYMOUS.sub("_GLOBAL__N__", kernel.symbol)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(own, dict)
        and all(
            isinstance(resources, dict)
            and all(isinstance(number, int) for number in resources.values())
            for resources in own.values()
        )
        for own in value.values()
    )
