"""What each rule looks for, why it matters, what to write instead. Ids are never reused."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """`summary` is one line, `explanation` says what goes wrong, `change` what to write."""

    id: str
    name: str
    summary: str
    explanation: str
    change: str


_ALL = [
    Rule(
        "GPL001",
        "lane-literal",
        "a literal 32, 31 or 5 (64, 63, 6) in lane or warp arithmetic",
        "A comparison such as `lane == 31`, a difference such as `31 - lane`, a product such "
        "as `warp * 32`, a branch `threadIdx.x < 32` around warp operations, or `blockDim.x /"
        " 32` holds only where a warp has 32 lanes. On CDNA and GCN a warp has 64: the last "
        "lane is 63, and half of the first warp would take the branch.",
        "write the width as a template argument, or ask the device for it on the host, and "
        "compute from that",
    ),
    Rule(
        "GPL002",
        "shuffle-literal",
        "a shuffle whose width, source lane or first offset is a literal of one warp width",
        "A tree of shuffles that starts at 16 folds 32 lanes: with 64 lanes the upper half is"
        " lost. One that starts at 32 reads lanes that a 32-lane warp does not have, and "
        "counts values twice. A width argument of 32 cuts a 64-lane warp into two groups, a "
        "source lane of 31 is its middle.",
        "start at width / 2, end at width, and pass the width that the kernel is instantiated for",
    ),
    Rule(
        "GPL003",
        "mask-32-bit",
        "a 32-bit literal as the lane mask of a warp operation",
        "HIP's masked operations take 64-bit masks at either width and refuse 32-bit ones "
        "when compiled; a mask of 32 ones names only the lower half of a 64-lane warp. `-1` "
        "and `~0` are 32-bit too.",
        "use one mask type of 64 bits and one helper that makes the full mask of the width",
    ),
    Rule(
        "GPL004",
        "ballot-narrowed",
        "a ballot, active mask or match result kept in 32 bits",
        "A vote has a bit for each lane. With 64 lanes, a variable, a cast or a return type "
        "of 32 bits drops the votes of the upper half without a word.",
        "keep it in a 64-bit unsigned type (`auto` is 64 bits on HIP, 32 on CUDA)",
    ),
    Rule(
        "GPL005",
        "ballot-bit-count",
        "a 32-bit bit count (`__popc`, `__ffs`, `__clz`, `__brev`) of a lane mask",
        "The argument is cut to 32 bits: lanes 32 to 63 are neither counted nor found. "
        "`__clz` is off by 32 as well.",
        "use the 64-bit form: `__popcll`, `__ffsll`, `__clzll`, `__brevll`",
    ),
    Rule(
        "GPL006",
        "warpsize-constant",
        "`warpSize` where C++ wants a constant expression",
        "`warpSize` is a value of the device, not a constant: HIP since ROCm 7 refuses it in "
        "a template argument, an array bound, a `static_assert`, a `constexpr` initialiser or"
        " a case label, and before that it was 64 in host code whatever the device.",
        "make the width a template parameter and choose the instantiation on the host by the "
        "device's attribute",
    ),
    Rule(
        "GPL007",
        "thread-index-literal",
        "`% 32`, `/ 32`, `& 31` or `>> 5` of a thread index",
        "These are the lane and the warp of a thread only where a warp has 32 lanes. With 64,"
        " two halves of one warp take themselves for two warps. The same holds for 64, 63 and"
        " 6 on a device with 32 lanes.",
        "divide by the width that the kernel is instantiated for; a power of two costs the "
        "same shift",
    ),
    Rule(
        "GPL008",
        "shared-by-width",
        "a shared array with one element for each 32 threads",
        "An array of `threads / 32` partials has twice as many elements as a 64-lane device "
        "has warps, and code that reads all of them reads some that nobody wrote; an array of"
        " 32 that is indexed by lane is too small.",
        "size it by threads / width, the width a template argument, and read only as many as "
        "there are warps",
    ),
    Rule(
        "GPL009",
        "divergent-barrier",
        "a block barrier that only a part of the block reaches",
        "A barrier in a branch or loop that depends on the thread, or after some threads have"
        " returned, waits for threads that never come: undefined in CUDA, a hang or a wrong "
        "answer on real devices, an error on the CPU backend.",
        "move the barrier out of the branch; let threads past the end stay and carry an "
        "identity instead of returning",
    ),
    Rule(
        "GPL010",
        "implicit-warp-synchrony",
        "shared memory exchanged between threads with no barrier, or through `volatile`",
        "Lanes of a warp need not run in step: since Volta each has a program counter of its "
        "own, and a compiler may reorder or keep values in registers. A value that another "
        "lane wrote, or a place that another lane still has to read, needs a barrier in "
        "between; `volatile` is none. Code for one width misses even more at the other.",
        "put __syncwarp() (one warp) or __syncthreads() (the block) between, or use shuffles",
    ),
    Rule(
        "GPL011",
        "mask-by-shift",
        "a lane mask made by `(1 << width) - 1` or a 32-bit `1 << lane`",
        "A shift by the number of bits of the type is undefined, and in practice gives an "
        "empty mask for the whole warp: 32 in a 32-bit type, 64 in a 64-bit one. A 32-bit `1 "
        "<< lane` has no bit for lanes 32 to 63.",
        "shift a full 64-bit mask right: `~0ull >> (64 - width)`; for one lane `1ull << lane`",
    ),
    Rule(
        "GPL012",
        "legacy-intrinsic",
        "a warp operation without `_sync`",
        "`__shfl`, `__ballot`, `__any`, `__all` and their kin do not say which lanes take "
        "part. nvcc refuses them for sm_70 and newer.",
        "use the form with `_sync` and a mask of the lanes that take part",
    ),
    Rule(
        "GPL013",
        "unchecked-launch",
        "a launch with no error check after it",
        "A launch returns nothing: a refused one (too many threads, no code for the device) "
        "leaves the old contents of the output for the result. A later copy or "
        "synchronisation does not report it.",
        "check cudaGetLastError() after the launch, in one helper",
    ),
    Rule(
        "GPL014",
        "partial-warp-block",
        "a block of a constant size that is no whole number of 64-lane warps, for a kernel "
        "with warp operations",
        "A block of 32 threads is half a warp on a 64-lane device: its shuffles and votes "
        "read lanes that do not exist.",
        "make the block a multiple of the device's width",
    ),
    Rule(
        "GPL015",
        "divergent-warp-operation",
        "a warp operation over the full warp where only some lanes arrive",
        "Behind `if (i < n)` or an early return the lanes past the end do not take part: "
        "their values are undefined, on CUDA so is the whole operation. A row or block "
        "narrower than the warp always ends there.",
        "let every lane take part with an identity, or pass the mask of a ballot taken before"
        " the branch",
    ),
    Rule(
        "GPL016",
        "group-not-power-of-two",
        "a logical group whose size is no power of two, or that nothing refuses",
        "Shuffles take widths of a power of two; a tree of halved offsets over 7 lanes loses "
        "some. A template that takes any size compiles for 7 and gives wrong sums.",
        "static_assert((kGroup & (kGroup - 1)) == 0), or check the argument",
    ),
    Rule(
        "GPL017",
        "width-by-preprocessor",
        "a warp width that the preprocessor chooses",
        "The host pass of a compiler knows no width, and two files of one build may come to "
        "different ones for the same GPU; `__AMDGCN_WAVEFRONT_SIZE` exists in some compilers "
        "only.",
        "make the width a template parameter, record the widths in the binary, ask the device"
        " at run time",
    ),
    Rule(
        "GPL018",
        "fixed-width-constant",
        "a constant of 32 or 64 that serves as the warp width",
        "Naming the literal does not make it right on a device of the other width; all that "
        "is computed from it is wrong there.",
        "make the width a template parameter with both instantiations",
    ),
    Rule(
        "GPL019",
        "architecture-value",
        "a branch by the value of `__CUDA_ARCH__`",
        "Only NVIDIA's compilers define it, and only for the device: on AMD and on the CPU "
        "`#if __CUDA_ARCH__ >= 700` compares 0 and takes the branch for no architecture, which "
        "may be empty or slower without a word.",
        "ask for the target first: `#if defined(GP_TARGET_CUDA) && __CUDA_ARCH__ >= 700`, with a "
        "branch that is right for the others; or define the value for the source that is compiled",
    ),
    Rule(
        "GPL900",
        "allow-without-reason",
        "an `allow` that gives no reason or names no rule",
        "Whoever reads a suppression later must be able to tell whether it still holds.",
        "write `gpuport-lint: allow(GPL003) why this is right here`",
    ),
    Rule(
        "GPL901",
        "allow-without-effect",
        "an `allow` that suppresses nothing",
        "A suppression that outlives its fault would hide the next one.",
        "delete it, or put it on the line of the finding or on the line above",
    ),
]
RULES: dict[str, Rule] = {rule.id: rule for rule in _ALL}
