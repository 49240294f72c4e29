"""What names say: intrinsics by what they do, and the usual names of lanes, warps and widths."""

from __future__ import annotations

import re

BALLOTS = frozenset(
    "__ballot __ballot_sync __activemask __match_any_sync __match_all_sync __vote_ballot "
    "vote_ballot get_lanemask_lt get_lanemask_le get_lanemask_gt get_lanemask_ge "
    "get_lanemask_eq".split()
)
SHUFFLES = frozenset(
    f"__shfl{kind}{sync}" for kind in ("", "_up", "_down", "_xor") for sync in ("", "_sync")
)
VOTES = frozenset(["__any_sync", "__all_sync", "__any", "__all", "__uni_sync"])
MASKED = frozenset(
    [s for s in SHUFFLES if s.endswith("_sync")]
    + ["__ballot_sync", "__any_sync", "__all_sync", "__uni_sync", "__syncwarp"]
    + ["__match_any_sync", "__match_all_sync"]
    + [f"__reduce_{op}_sync" for op in ("add", "min", "max", "and", "or", "xor")]
)
LEGACY = frozenset(
    ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__ballot", "__any", "__all"]
)
WARP_OPERATIONS = SHUFFLES | BALLOTS | VOTES | MASKED
BLOCK_BARRIERS = frozenset(
    "__syncthreads __syncthreads_count __syncthreads_and __syncthreads_or __barrier_sync".split()
)
# Bit counts that look at 32 bits.
BIT_COUNTS = {
    "__popc": "__popcll",
    "__ffs": "__ffsll",
    "__clz": "__clzll",
    "__brev": "__brevll",
    "__fns": "a loop over __ffsll",
    "__builtin_popcount": "__builtin_popcountll",
    "__builtin_ffs": "__builtin_ffsll",
    "__builtin_clz": "__builtin_clzll",
    "__builtin_ctz": "__builtin_ctzll",
}
PASSED_ON = frozenset(["min", "max", "__ldg", "abs", "move", "forward"])

LANE = re.compile(
    r"(?:my_?|this_?|k|m_)?(?:lane(?:_?(?:id|idx|index|num|no|rank))?|lid_in_warp|__lane_?id)_?\Z",
    re.IGNORECASE,
)
WARP = re.compile(
    r"(?:my_?|this_?|m_)?(?:warp(?:_?(?:id|idx|index|num|no|rank|in_?block))?|wid)_?\Z",
    re.IGNORECASE,
)
THREAD = re.compile(
    r"(?:l_?)?(?:tid|thread_?(?:id|idx|index|rank)|linear_?(?:tid|thread_?id))(?:_?x)?_?\Z",
    re.IGNORECASE,
)
WIDTH = re.compile(
    r"(?!n(?:um)?_?warp|.*num_?warp|.*(?<!threads)(?<!threads_)(?<!lanes)(?<!lanes_)per_?warp)"
    r"(?:[a-z0-9]+_)*?(?:k_?)?(?:(?:warp|wave(?:front)?)s?_?(?:size|threads|width|lanes|sz)|lanes_?per_?warp|threads_?per_?warp|"
    r"warp|full_?warp)_?\Z",
    re.IGNORECASE,
)
LOG_WIDTH = re.compile(
    r"(?:[a-z0-9]+_)*?k?_?(?:log2?_?(?:warp|wave)\w*|warp_?(?:size)?_?(?:log2?|shift|bits))_?\Z",
    re.IGNORECASE,
)
MASK = re.compile(r".*mask|.*ballot|.*active|full", re.IGNORECASE)
GROUP = re.compile(
    r".*(?:width|group|lanes|warp|tile|logical|team|subgroup|threads)", re.IGNORECASE
)
GROUP_SIZE = re.compile(r".*(?:width|group|lanes|logical)", re.IGNORECASE)
TILE = re.compile(
    r".*(?:tile|block|dim|bank|pad|column|row|cols|rows|\bbm\b|\bbn\b|\bbk\b)", re.IGNORECASE
)
CALLS_LANE = re.compile(
    r"(?:lane(?:_?(?:id|idx|index))?|get_?(?:sreg_)?lane_?(?:id|idx)?|__lane_?id|__get_lane_?id)\Z",
    re.IGNORECASE,
)
CALLS_WARP = re.compile(r"(?:warp_?(?:id|idx|index)|get_?(?:sreg_)?warp_?id)\Z", re.IGNORECASE)
CALLS_MASK32 = re.compile(r"(?:get_)?sreg_lanemask_\w\w\Z|LaneMask\w\w\Z", re.IGNORECASE)
CALLS_THREAD = frozenset(["RowMajorTid", "thread_rank", "linear_tid"])
CHECKS = re.compile(
    r"check|assert|verify|safe|throw|raise|require|ensure|expect|err(?:or)?(?![a-z])|succe|(?:^|_)(?:ok|try)(?:_|$)",
    re.IGNORECASE,
)

NARROW = frozenset(
    [
        "int",
        "unsigned",
        "unsigned int",
        "signed",
        "uint32_t",
        "int32_t",
        "uint",
        "u32",
        "uint32",
        "int32",
        "short",
        "uint16_t",
    ]
)
WIDE_WORDS = frozenset(
    ["long", "uint64_t", "int64_t", "size_t", "uint64", "u64", "auto", "bool", "float", "double"]
)
FULL_NAMES = frozenset(["UINT_MAX", "UINT32_MAX"])


def is_narrow(words: tuple[str, ...], aliases: dict[str, tuple[str, ...]]) -> bool:
    """Whether a type has 32 bits or fewer of an integer."""
    if any(word in WIDE_WORDS for word in words):
        return False
    for word in words:
        if word in NARROW:
            return True
        if word in aliases and aliases[word] != words:
            return is_narrow(tuple(aliases[word]), {})
    return False
