"""CUDA's compiler options for a compiler that is none of NVIDIA's.

They are replaced, or left out where they change nothing that a kernel computes, so that one call of
`gpuport.load` serves all backends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# What nvcc and NVRTC take: None where it changes nothing that the kernels compute.
_CUDA_ONLY: dict[str, str | None] = {
    "--use_fast_math": None,
    "-use_fast_math": None,
    "--fmad=false": "-ffp-contract=off",
    "-fmad=false": "-ffp-contract=off",
    "--fmad=true": None,
    "-fmad=true": None,
    "-G": None,
    "--device-debug": None,
    "-lineinfo": None,
    "--generate-line-info": None,
    "-default-device": None,
    "--device-as-default-execution-space": None,
    "--expt-relaxed-constexpr": None,
    "--expt-extended-lambda": None,
    "--extended-lambda": None,
    "--restrict": None,
    "--extra-device-vectorization": None,
    "--disable-warnings": "-w",
}
_CUDA_ONLY_FORM = re.compile(
    r"(?:-arch|--gpu-architecture|-code|--gpu-code|-gencode|--generate-code|-maxrregcount|"
    r"--maxrregcount|--ptxas-options|-Xptxas|--prec-div|--prec-sqrt|--ftz|-ftz|-prec-div|"
    r"-prec-sqrt|--diag-suppress|-diag-suppress)(?:=.*)?"
)
_TAKES_NEXT = frozenset({
    "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code",
    "-maxrregcount", "--maxrregcount", "--ptxas-options", "-Xptxas", "--diag-suppress",
    "-diag-suppress",
})  # fmt: skip
_STANDARD = re.compile(r"--?std[= ]c\+\+(\d\w)")


def host_options(options: Iterable[str]) -> list[str]:
    """What is left of them. At least C++20 is asked for anyway, so standards are left out."""
    kept = []
    words = iter(options)
    for word in words:
        if _STANDARD.fullmatch(word):
            continue
        if word in _CUDA_ONLY:
            if replacement := _CUDA_ONLY[word]:
                kept.append(replacement)
        elif _CUDA_ONLY_FORM.fullmatch(word):
            if word in _TAKES_NEXT:
                next(words, None)
        else:
            kept.append(word)
    return kept
