"""How HIP names are formed from CUDA names: the regular cases, family by family.

What is irregular stands in `kernels/hip/hipify.toml`, which also says which names there are at all.
"""

from __future__ import annotations

import re

# Words that keep their capitals inside HIP's camel-case constants.
_CAPITALS = frozenset({"ID", "IDS", "IPC", "PCI", "GPU", "CPU", "RDMA", "P2P"})
_VERSION = re.compile(r"(?:_v[1-9](?:_st|_enum|_union)?|_st|_enum|_union)\Z")
_LIBRARIES = re.compile(
    r"(cu|CU)(blas|BLAS|fft|FFT|rand|RAND|sparse|SPARSE|solver|SOLVER)(?![a-z])"
)

# A typed BLAS function: the types, the operation, cuBLAS's version of it, 64-bit sizes.
_BLAS_FUNCTION = re.compile(
    r"cublas(?P<types>I[sdcz](?=am)|Sc(?=asum|nrm2)|Dz(?=asum|nrm2)|Cs(?=rot|scal)|Zd(?=rot|scal)|[SDCZH](?=[a-z]))?"
    r"(?P<operation>[A-Za-z0-9]+?)(?P<version>_v2)?(?P<wide>_64)?\Z"
)

# Prefix of a CUDA name -> prefix of its HIP name; the first that fits counts.
_PREFIXES = (
    ("cudaDevAttr", "hipDeviceAttribute"),
    ("cudaHostAlloc", "hipHostMalloc"),
    ("make_cuda", "make_hip"),
    ("make_cu", "make_hip"),
    ("cuda", "hip"),
    ("nvrtc", "hiprtc"),
    ("NVRTC", "HIPRTC"),
    ("CUDART_", "HIP_"),
    ("CUDNN", "HIPDNN"),
    ("cudnn", "hipdnn"),
    ("Cub", "Hipcub"),
    ("__CUB_", "__HIPCUB_"),
    ("CUB_", "HIPCUB_"),
)


def regular_name(name: str) -> str:
    """The HIP name that the rules give for a CUDA name; `name` itself where no rule applies."""
    blas = _BLAS_FUNCTION.match(name)
    if blas and (blas["types"] or blas["version"]):
        # hipBLAS has its older complex types under the plain names and the ones that CUDA has under
        # _v2.
        is_complex = any(letter in "CcZz" for letter in blas["types"] or "")
        version = "_v2" if is_complex else ""
        return f"hipblas{blas['types'] or ''}{blas['operation']}{version}{blas['wide'] or ''}"
    library = _LIBRARIES.match(name)
    if library:
        return ("hip" if library[1] == "cu" else "HIP") + name[2:]
    for cuda, hip in _PREFIXES:
        if name.startswith(cuda):
            return hip + name[len(cuda) :]
    if name.startswith("CUDA_ERROR_"):
        return "hipError" + camel_case(name[len("CUDA_ERROR_") :])
    if name.startswith("CU_"):
        return "hip" + camel_case(name[len("CU_") :])
    if re.match(r"CU[a-z]", name):
        stem = _VERSION.sub("", name[2:])
        return "hip" + stem[0].upper() + stem[1:]
    if re.match(r"cu[A-Z]", name):
        return "hip" + _VERSION.sub("", name[2:])
    return name


def camel_case(name: str) -> str:
    """`MAX_THREADS_PER_BLOCK` as `MaxThreadsPerBlock`."""
    return "".join(part if part in _CAPITALS else part.capitalize() for part in name.split("_"))
