"""Rules about who reaches a barrier or a warp operation."""

from __future__ import annotations

from . import names
from .checker import Checker, is_full_warp
from .syntax import Node
from .values import IN_BLOCK, IN_WARP

_GROUP_SYNC = frozenset(["this_thread_block", "thread_block"])


def block_barrier(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL009."""
    if node.kind != "call" or not checker.divergence & IN_BLOCK:
        return
    name = node.callee
    if name in names.BLOCK_BARRIERS or _is_block_sync(checker, node):
        what = f"'{name}'"
    elif name in checker.facts.barrier and node.kids[0].kind == "name":
        what = f"'{name}', which waits for the block,"
    else:
        return
    if any(branch & IN_BLOCK for branch in checker.branches):
        checker.report(
            "GPL009", node.token, f"{what} stands in a branch that depends on the thread"
        )
    else:
        checker.report(
            "GPL009", node.token, f"{what} is not reached by the threads that left above"
        )


def _is_block_sync(checker: Checker, node: Node) -> bool:
    """`block.sync()`, `cg::sync(block)`, `cg::this_thread_block().sync()`."""
    callee = node.kids[0]
    if callee.text != "sync":
        return False
    group = (
        callee.kids[0]
        if callee.kind == "member" and callee.kids
        else node.arguments[0]
        if node.arguments
        else None
    )
    if group is None:
        return False
    if group.kind == "call":
        return group.callee in _GROUP_SYNC
    known = checker.values.known.get(group.text) if group.kind == "name" else None
    if known is None or known.variable is None:
        return False
    initial = known.variable.initial
    return bool(_GROUP_SYNC & set(known.variable.type)) or (
        initial is not None and initial.kind == "call" and initial.callee in _GROUP_SYNC
    )


def warp_operation(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL015."""
    if node.kind != "call" or not checker.divergence & IN_WARP:
        return
    name = node.callee
    if is_full_warp(checker.unit, node) or (name in names.LEGACY and name in names.SHUFFLES):
        what = f"'{name}' names all lanes"
    elif name in checker.facts.full_warp - checker.facts.barrier and node.kids[0].kind == "name":
        what = f"'{name}' works with all lanes"
    else:
        return
    if any(branch & IN_WARP for branch in checker.branches):
        checker.report("GPL015", node.token, f"{what}, in a branch that only some of them take")
    else:
        checker.report("GPL015", node.token, f"{what}, but some left above")
