"""Loops that wait for another thread without saying so, on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpuport
from gpuport.testing import Target
from gpuport.translate import hipify

LOOPS = {
    "semicolon": "while (arrived < total);",
    "braces": "while (arrived < total) { /* nothing */ }",
    "cast": "while (*(volatile int*)&plain_arrived < total) {}",
    "plain": "while (plain_arrived < total) ;",
    "for": "for (; arrived < total;);",
    "do": "do {} while (arrived < total);",
    "do_semicolon": "do ; while (arrived < total);",
    "fence": "while (arrived < total) __threadfence();",
    "block_fence": "do { __threadfence_block(); } while (arrived < total);",
    "sleep": "while (arrived < total) { __nanosleep(20); }",
    "clock": "while (arrived < total) clock64();",
    "negated": "if (total > 0) while (!(arrived >= total)); else arrived = -1;",
}


@pytest.fixture
def kernels() -> str:
    text = "volatile __device__ int arrived;\n__device__ int plain_arrived;\n"
    for name, loop in LOOPS.items():
        text += f"""__global__ void k_{name}(int total, int* out) {{
          if (threadIdx.x == 0) {{
            atomicAdd((int*)&arrived, 1);
            atomicAdd(&plain_arrived, 1);
            {loop}
          }}
          __syncthreads();
          out[blockIdx.x] = arrived;
        }}
        """
    return text


def test_such_loops_let_others_run(kernels: str, cpu: Target) -> None:
    module = gpuport.load(kernels, backend="cpu", warp_size=cpu.warp_size)
    for name in LOOPS:
        for variable in ("arrived", "plain_arrived"):
            module.get_global(variable).set([0])
        out = np.full(41, 77, "i4")
        module[f"k_{name}"](40, 33, (40, out), cooperative=True)
        assert out.tolist() == [40] * 40 + [77], name


def test_where_nothing_can_move_the_error_arrives(kernels: str, cpu: Target) -> None:
    module = gpuport.load(kernels, backend="cpu", warp_size=cpu.warp_size)
    lines = kernels.split("\n")
    for name in ("semicolon", "cast", "plain", "for", "do", "fence"):
        for variable in ("arrived", "plain_arrived"):
            module.get_global(variable).set([0])
        (loop_line,) = [line for line in lines if line.strip() == LOOPS[name]]
        with pytest.raises(gpuport.LaunchError, match="deadlock: ") as caught:
            module[f"k_{name}"](2, 33, (3, np.zeros(2, "i4")))
        assert f"lanes 0 poll in the loop at <source>:{lines.index(loop_line) + 1}" in str(
            caught.value
        ), name


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("while (a) ;", "while (a)  GPUPORT_SIMT_SPIN();"),
        ("for (;;) {}", "for (;;) { GPUPORT_SIMT_SPIN();}"),
        ("do {} while (a);", "do { GPUPORT_SIMT_SPIN();} while (a);"),
        ("while (a) { b(); }", None),
        ("do { b(); } while (a);", None),
        ("do b(); while (a);", None),
        ("do if (c) b(); else d(); while (a);", None),
        ("do for (;;) { b(); } while (a);", None),
        ("do do b(); while (c); while (a);", None),
        ("do { while (x) b(); } while (0);", None),
        ("object.do_while(a);", None),
    ],
)
def test_which_loops_are_empty(code: str, wanted: str | None) -> None:
    source = f"void f() {{ {code} }}\n"
    text = hipify(source, target="cpu").text
    assert text == (source if wanted is None else f"void f() {{ {wanted} }}\n")


def test_macros_and_constant_expressions() -> None:
    source = """
    #define CHECK(x) do { if (!(x)) __trap(); } while (0)
    #define WAIT(x) while (!(x));
    constexpr int digits(int n) { int d = 0; for (; n > 0; n /= 10, ++d); return d; }
    template <int N> struct Sized { int v[N]; };
    __global__ void k(int* p) { Sized<digits(1234)> s; CHECK(p); WAIT(*p); *p = sizeof s.v / 4; }
    """
    p = np.ones(1, "i4")
    gpuport.load(source, backend="cpu").k(1, 1, (p,))
    assert p[0] == 4
