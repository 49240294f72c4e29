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
    "reads": "while (arrived < total) { int x = unrelated[1]; (void)x; }",
    "reads_plain": "while (*(&plain_arrived) < total) { int x = unrelated[1]; (void)x; }",
    "keeps": "int seen; do { seen = plain_arrived; } while (seen < total);",
    "keeps_unbraced": "int seen; do seen = *(volatile int*)(&plain_arrived); while (seen < total);",
    "breaks": "for (;;) { int seen = plain_arrived; if (seen >= total) break; }",
    "breaks_unbraced": "while (true) if (arrived >= total) break;",
    "counts": "long turns = 0; while (plain_arrived < total) { ++turns; unrelated_sum += turns; }",
    "stores_at_last": "for (;;) { int v = plain_arrived; if (v >= total) { out[3] = v; break; } }",
    "counts_round": "int n = 0; while (plain_arrived < total) { ++n; if (n > 9) { n = 0; } }",
    "negated": "if (total > 0) while (!(arrived >= total)); else arrived = -1;",
}


@pytest.fixture
def kernels() -> str:
    text = """volatile __device__ int arrived;
    __device__ int plain_arrived, unrelated[2], unrelated_sum;
    """
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
    for name in ("semicolon", "cast", "plain", "for", "do", "fence", "reads", "breaks"):
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
        ("while (*p) q = 1;", "while (*p) { GPUPORT_SIMT_SPIN(); q = 1; }"),
        ("do q = *p; while (q);", "do { GPUPORT_SIMT_SPIN(); q = *p; } while (q);"),
        ("while (1) { if (*p) return; }", "while (1) { GPUPORT_SIMT_SPIN(); if (*p) return; }"),
        ("while (p[0] == x) { q += 1; }", "while (p[0] == x) { GPUPORT_SIMT_SPIN(); q += 1; }"),
        (
            "while (1) { if (*p) { q[0] = f(*p); return; } }",
            "while (1) { GPUPORT_SIMT_SPIN(); if (*p) { q[0] = f(*p); return; } }",
        ),
        ("for (int i = 0; i < n; ++i) s += a[i];", None),
        ("while (1) { if (a[i] == x) { q[0] = i; break; } ++i; }", None),
        ("while (1) { ++i; if (!a[i]) continue; q[0] = i; break; }", None),
        ("while (1) { a[0] += 1; if (a[0] > n) break; }", None),
        ("while (1) { a[0] += 1; if (a[0] < n) q = 1; else break; }", None),
        ("for (int s = n / 2; s > 0; s >>= 1) { t = a[s]; }", None),
        ("for (auto v : a) s += v;", None),
        ("while (n--) s += a[n];", None),
        ("while (p) { next = p->next; p = next; }", None),
        ("while (i) i = next[i];", None),
        ("while (!done) { if (i == n) done = true; i++; }", None),
        ("while (!done) { i == n && (done = true); i++; }", None),
        ("while (lo < hi) { int m = (lo + hi) / 2; if (a[m] < x) lo = m + 1; else hi = m; }", None),
        ("while (1) { if (i >= n) break; s += a[i]; i += w; }", None),
        ("while (a[0] > 1) { a[0] /= 2; }", None),
        ("while (*p > 1) { *p = *p / 2; }", None),
        ("while (p->n > 1) { p->n -= 2; }", None),
        ("while (x < 1) { int& y = x; y = 2; }", None),
        ("while (more()) { v = *p; }", None),
        ("while (*p) { T next{p}; p = next; }", None),
        ("while (*p) { auto f = [&] { ++p; }; }", None),
        ("do { s += *p; } while (0);", None),
        ("do { while (*p) ++p; } while (1);", None),
    ],
)
def test_which_loops_give_way(code: str, wanted: str | None) -> None:
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
