#!/usr/bin/env bash
# Installs, on Debian 12 or 13, the compilers that a bare machine lacks: C++, Python, HIP for AMD, clang 19; and ccache.
# Does nothing where they are all there. nvcc is not in Debian; ci/nvcc.sh gets it.
set -euo pipefail

missing() { ! command -v "$1" >/dev/null; }

packages=()
missing g++ && packages+=(g++)
missing git && packages+=(git)
missing ccache && packages+=(ccache)
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then packages+=(python3); fi
# Debian splits venv and the headers from its Python.
if missing python3 || [[ $(command -v python3) == /usr/bin/python3 ]]; then
  python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
  [[ -n $(find /usr/include -maxdepth 2 -path '*/python3*/Python.h' -print -quit 2>/dev/null) ]] || packages+=(python3-dev)
fi
# hipcc brings the clang that it drives, its lld and the device libraries.
{ missing hipcc || [[ ! -e /usr/include/hip/hip_runtime.h ]]; } && packages+=(hipcc libamdhip64-dev)
{ missing clang++-19 || missing lld-19 || missing llvm-as-19 || missing clang-offload-bundler-19; } &&
  packages+=(clang-19 lld-19 llvm-19 clang-tools-19)

if ((${#packages[@]})); then
  echo "installing: ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends ca-certificates "${packages[@]}" >/dev/null
fi
