#!/usr/bin/env bash
# What a machine with an NVIDIA GPU is asked to show, without a network.
#   ci/gpu.sh test|sanitize|bench --out DIR
# test      builds for the GPU that is here, runs `gpuport check` and the tests on the cuda backend
# sanitize  runs every kernel under compute-sanitizer's four tools, and a planted race that it must find
# bench     builds CUB beside it, times every row of benchmarks/targets.toml, and says which targets are reached
# Every stage ends within ten minutes, prints a short table last, and leaves DIR/gpuport-<stage>.tar.gz.
# Wheels in .whl/ are installed if there are any; everything else must be on the machine.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

usage() { echo "usage: ci/gpu.sh test|sanitize|bench --out DIR" >&2; exit 2; }
[[ $# == 3 && $2 == --out ]] || usage
stage=$1
out=$3
[[ $stage =~ ^(test|sanitize|bench)$ ]] || usage

deadline=570
receipts=$(mktemp -d)
rows=()
failed=0

# run NAME COMMAND...: runs it within what is left of the ten minutes, keeps its output, notes the result.
run() {
  local name=$1 began=$SECONDS left=$((deadline - SECONDS)) code
  shift
  if ((left < 5)); then
    rows+=("$name|not run|no time left")
    failed=1
    return 1
  fi
  echo "== $name: $*"
  timeout --kill-after=10 "$left" "$@" >"$receipts/$name.log" 2>&1
  code=$?
  tail -n 20 "$receipts/$name.log"
  rows+=("$name|exit $code|$((SECONDS - began)) s")
  ((code == 0)) || failed=1
  return "$code"
}

finish() {
  mkdir -p "$out"
  tar -czf "$out/gpuport-$stage.tar.gz" -C "$receipts" .
  rm -rf "$receipts"
  printf '\n%-24s %-10s %s\n' step result time
  local row name result time
  for row in "${rows[@]}"; do
    IFS='|' read -r name result time <<<"$row"
    printf '%-24s %-10s %s\n' "$name" "$result" "$time"
  done
  exit "$failed"
}

versions() {
  nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total --format=csv
  nvcc --version | tail -n 2
  python3 --version
  python3 -m pip list 2>/dev/null | grep -iE '^(torch|cupy|jax|numpy|scipy|triton|nanobind|scikit-build-core|cmake|ninja|ml.dtypes|array.api.compat) *'
  git log -1 --format='commit %H' 2>/dev/null
  return 0
}

build() {
  local wheels=(.whl/*.whl)
  if [[ -e ${wheels[0]} ]]; then
    python3 -m pip install --quiet --no-index --no-deps "${wheels[@]}" || return 1
  fi
  CUDAARCHS=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | tr -d . | sort -u | sed 's/$/-real/' | paste -sd ';')
  export CUDAARCHS
  CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) python3 -m pip install --no-build-isolation --no-deps \
    -Ccmake.define.GPUPORT_CUDA=ON -Ccmake.define.GPUPORT_HIP=OFF -Ccmake.define.GPUPORT_BASELINES="$baselines" .
}

check() {
  local code=0
  gpuport check --backend cuda --json >"$receipts/check.json" || code=$?
  python3 - "$receipts/check.json" <<'PYTHON'
import json, sys
for r in json.load(open(sys.argv[1]))["results"]:
    print(f"{r['kernel']:28} w{r['warp_size']} {r['passed']:6} passed {r['failed']:4} failed {r['seconds']:8.1f} s {r['problem']}")
PYTHON
  return "$code"
}

# A module without code for this GPU says so, and names both; it never returns what was in the buffer.
foreign() {
  local other=75 here
  here=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
  [[ $here == 75 ]] && other=80
  CUDAARCHS=$other-real CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) python3 -m pip install --quiet --no-build-isolation --no-deps \
    --target "$1" -Ccmake.define.GPUPORT_CUDA=ON -Ccmake.define.GPUPORT_HIP=OFF . || return 1
  PYTHONPATH=$1 python3 - "$other" "$here" <<'PYTHON'
import sys
import numpy as np
import gpuport
other, here = (f"sm_{number}" for number in sys.argv[1:])
for call in (lambda x: gpuport.sum(x, backend="cuda"), lambda x: gpuport.softmax(x, backend="cuda")):
    try:
        print("wrong:", call(np.ones(100_000, np.float32)))
        sys.exit(1)
    except gpuport.UnsupportedArchError as error:
        print(error)
        assert other in str(error) and here in str(error)
PYTHON
}

export -f versions build check foreign
baselines=OFF
[[ $stage == bench ]] && baselines=ON
export receipts baselines
run versions bash -c versions
run build bash -c build || finish

case $stage in
  test)
    run info gpuport info
    run check bash -c check
    run own-kernels python3 examples/own_kernels/run.py --backend cuda
    run load-overhead python3 benchmarks/load_overhead.py --backend cuda
    run foreign-arch bash -c 'folder=$(mktemp -d); foreign "$folder"; code=$?; rm -rf "$folder"; exit $code'
    run pytest-gpu python3 -m pytest -q -p no:cacheprovider -m "gpu" --junitxml="$receipts/pytest-gpu.xml" tests
    run pytest-api python3 -m pytest -q -p no:cacheprovider -m "not slow and not gpu" --junitxml="$receipts/pytest-api.xml" tests/api
    ;;
  sanitize)
    for tool in memcheck racecheck synccheck initcheck; do
      run "$tool" compute-sanitizer --tool "$tool" --error-exitcode 99 python3 ci/sanitize.py cuda
    done
    run planted-race-build nvcc -o "$receipts/planted_race" ci/planted_race.cu
    run planted-race bash -c 'compute-sanitizer --tool racecheck --error-exitcode 99 "$receipts/planted_race"; code=$?
      rm -f "$receipts/planted_race"
      echo "exit status $code, 99 is right"; test $code = 99'
    ;;
  bench)
    # The rows that targets.toml asks for, first; what else there is time for, after.
    # TIMED=events or TIMED=graph leaves the other half of the rows for another run.
    run targets python3 benchmarks/targets.py run --out "$receipts" ${TIMED:+--timed "$TIMED"} --seconds $((deadline - SECONDS - 150))
    run traffic gpuport traffic softmax.three_pass softmax.online_row_cache softmax.default --shape 4096x1024
    run host-cost python3 benchmarks/host_cost.py --json "$receipts/host_cost.json"
    run variants gpuport bench reduce scan compact softmax --sizes 2^24,4096x1024 --dtypes int32,float32 \
      --samples 20 --json "$receipts/variants.json"
    for name in events graph; do
      [[ -e $receipts/$name.json ]] && run "plot-$name" python3 -m gpuport.bench.plot "$receipts/$name.json" "$receipts/$name.png"
    done
    ;;
esac
finish
