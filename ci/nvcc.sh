#!/usr/bin/env bash
# Prints a CUDA_HOME made of NVIDIA's wheels, installed into the Python environment that is given.
#   CUDA_HOME=$(ci/nvcc.sh .venv/bin/python)
# The compiler, its headers, the static runtime and NVRTC: what building and loading need, and nothing of a driver.
set -euo pipefail

python=$1
version=13.0
"$python" -m pip install --quiet \
  "nvidia-cuda-nvcc==$version.*" "nvidia-cuda-crt==$version.*" "nvidia-nvvm==$version.*" \
  "nvidia-cuda-runtime==$version.*" "nvidia-cuda-cccl==$version.*" "nvidia-cuda-nvrtc==$version.*" >&2

home=$("$python" - <<'PYTHON'
import sysconfig
print(sysconfig.get_path("platlib") + "/nvidia/cu13")
PYTHON
)
# nvcc links from lib64 and CMake looks for an unversioned libcudart; the wheels have neither.
ln -sfn lib "$home/lib64"
ln -sfn libcudart.so.13 "$home/lib/libcudart.so"
echo "$home"
