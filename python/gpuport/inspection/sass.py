"""Local-memory accesses in NVIDIA machine code, found without a disassembler.

Since sm_70 every instruction takes 16 bytes, with the opcode in the lowest nine bits; the three
after them say which operand is a uniform register or an immediate. Bits 73 to 75 of a memory
instruction are the width. The tests compare the counts with ptxas's report for each architecture.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

FIRST_ARCHITECTURE = 70
INSTRUCTION_BYTES = 16
_INSTRUCTION = Struct("<QQ")
_LOAD_LOCAL = 0x183
_STORE_LOCAL = 0x187
_LOAD_SHARED = 0x184
_STORE_SHARED = 0x188
_WIDTHS = (1, 1, 2, 2, 4, 8, 16, 16)


def local_accesses(code: memoryview) -> int:
    """How many instructions load from or store to local memory."""
    whole = code[: len(code) // INSTRUCTION_BYTES * INSTRUCTION_BYTES]
    opcodes = (low & 0x1FF for low, _ in _INSTRUCTION.iter_unpack(whole))
    return sum(opcode in (_LOAD_LOCAL, _STORE_LOCAL) for opcode in opcodes)


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    store: bool
    nbytes: int


def spill_access(code: memoryview, offset: int) -> MemoryAccess | None:
    """The access at `offset`; None where no local or shared memory access stands.

    Shared memory as well: ptxas spills there where a kernel asks for it.
    """
    if offset % INSTRUCTION_BYTES or offset + INSTRUCTION_BYTES > len(code):
        return None
    low, high = _INSTRUCTION.unpack_from(code, offset)
    opcode = low & 0x1FF
    if opcode not in (_LOAD_LOCAL, _STORE_LOCAL, _LOAD_SHARED, _STORE_SHARED):
        return None
    return MemoryAccess(opcode in (_STORE_LOCAL, _STORE_SHARED), _WIDTHS[high >> 9 & 7])
