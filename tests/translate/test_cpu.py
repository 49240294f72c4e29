"""Target `cpu`: launches and shared memory."""

from __future__ import annotations

import pytest

from gpuport.translate import hipify


def cpu(statement: str) -> str:
    """The translation of a statement inside a function."""
    text = hipify(f"void f() {{\n{statement}\n}}\n", target="cpu").text
    return text.removeprefix("void f() {\n").removesuffix("\n}\n")


def rules(source: str) -> list[str]:
    return [finding.rule for finding in hipify(source + "\n", target="cpu", strict=False).findings]


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("k<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((k), 1, 2)();"),
        ("k<<<g, b, n, s>>>(x, y);", "GPUPORT_SIMT_LAUNCH((k), g, b, n, s)(x, y);"),
        ("k<T, 2><<<g, b>>>(x);", "GPUPORT_SIMT_LAUNCH((k<T, 2>), g, b)(x);"),
        ("k<A<B<int>>><<<g, b>>>(x);", "GPUPORT_SIMT_LAUNCH((k<A<B<int>>>), g, b)(x);"),
        (
            "u<std::pair<int, float>, (sizeof(int) > 2)><<<n / 8 + 1, 8>>>(p);",
            "GPUPORT_SIMT_LAUNCH((u<std::pair<int, float>, (sizeof(int) > 2)>), n / 8 + 1, 8)(p);",
        ),
        ("k<(64 >> 1)><<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((k<(64 >> 1)>), 1, 2)();"),
        ("k<1 << 3><<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((k<1 << 3>), 1, 2)();"),
        ("k<a < b><<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((k<a < b>), 1, 2)();"),
        ("k<T, a->b><<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((k<T, a->b>), 1, 2)();"),
        ("a::b::k<T><<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((a::b::k<T>), 1, 2)();"),
        ("::a::S<int>::k<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((::a::S<int>::k), 1, 2)();"),
        ("return ::k<<<1, 2>>>();", "return GPUPORT_SIMT_LAUNCH((::k), 1, 2)();"),
        (
            "if (n > 4) k<<<1, 2>>>(); else j<<<3, 4>>>();",
            "if (n > 4) GPUPORT_SIMT_LAUNCH((k), 1, 2)(); else GPUPORT_SIMT_LAUNCH((j), 3, 4)();",
        ),
        ("if (n) (k)<<<1, 2>>>();", "if (n) GPUPORT_SIMT_LAUNCH(((k)), 1, 2)();"),
        ("(*fn)<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH(((*fn)), 1, 2)();"),
        ("table[i]<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((table[i]), 1, 2)();"),
        ("pick(n)<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((pick(n)), 1, 2)();"),
        ("s.t->k<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((s.t->k), 1, 2)();"),
        ("s.template k<T><<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((s.template k<T>), 1, 2)();"),
        (
            "k<<<std::min(a, b), std::max<int>(c, d)>>>();",
            "GPUPORT_SIMT_LAUNCH((k), std::min(a, b), std::max<int>(c, d))();",
        ),
        ("k<<<f<a, b>(n), 2>>>();", "GPUPORT_SIMT_LAUNCH((k), (f<a, b>(n)), 2)();"),
        ("k<<<dim3{1, 2}, 2>>>();", "GPUPORT_SIMT_LAUNCH((k), (dim3{1, 2}), 2)();"),
        ("k<<<{1}, {32}>>>();", "GPUPORT_SIMT_LAUNCH((k), ::dim3(1), ::dim3(32))();"),
        (
            "k<<< {n / 2, f(a, b)} ,{},0,s>>>(p);",
            "GPUPORT_SIMT_LAUNCH((k),  ::dim3(n / 2, f(a, b)) ,::dim3(),0,s)(p);",
        ),
        ("k<<<n < m ? 1 : 2, 4>>>();", "GPUPORT_SIMT_LAUNCH((k), n < m ? 1 : 2, 4)();"),
        ("k<<<n<m, 4>>>();", "GPUPORT_SIMT_LAUNCH((k), n<m, 4)();"),
        ("k<<<1, n<m>>>();", "GPUPORT_SIMT_LAUNCH((k), 1, n<m)();"),
        ("k<<<n >> 1, 1 << m>>>();", "GPUPORT_SIMT_LAUNCH((k), n >> 1, 1 << m)();"),
        ("k<<<v<A<B<int>>>, 2>>>();", "GPUPORT_SIMT_LAUNCH((k), v<A<B<int>>>, 2)();"),
        ("k<<<2, v<A<B<int>>>>>>();", "GPUPORT_SIMT_LAUNCH((k), 2, v<A<B<int>>>)();"),
        (
            "k<<<g, [&, x] { return x < 2 ? 1 : 2; }()>>>();",
            "GPUPORT_SIMT_LAUNCH((k), g, ([&, x] { return x < 2 ? 1 : 2; }()))();",
        ),
        (
            "k<<<1 /* blocks, all */, // and\n   2>>>();",
            "GPUPORT_SIMT_LAUNCH((k), 1 /* blocks, all */, // and\n   2)();",
        ),
        ("k<\\\n<<1, 2>>\\\n>();", "GPUPORT_SIMT_LAUNCH((k), \\\n1, 2)\\\n();"),
        ("k << <1, 2 >> >(x);", "GPUPORT_SIMT_LAUNCH((k) ,1, 2 ) (x);"),
        ("k<A<B> ><< <1, v<A<int>> >> >();", "GPUPORT_SIMT_LAUNCH((k<A<B> >), 1, v<A<int>> ) ();"),
        ("k<A<B<int> > ><< <1, 2>>>();", "GPUPORT_SIMT_LAUNCH((k<A<B<int> > >), 1, 2)();"),
        ("k<<<n >> 1, v<int> >> \n> ();", "GPUPORT_SIMT_LAUNCH((k), n >> 1, v<int> ) \n ();"),
        ("my_operator<<<1, 2>>>();", "GPUPORT_SIMT_LAUNCH((my_operator), 1, 2)();"),
        (
            "k<<<1, 2>>>(j<<<3, 4>>>());",
            "GPUPORT_SIMT_LAUNCH((k), 1, 2)(GPUPORT_SIMT_LAUNCH((j), 3, 4)());",
        ),
    ],
)
def test_launches(cuda: str, expected: str) -> None:
    assert cpu(cuda) == expected


@pytest.mark.parametrize(
    "text",
    [
        "int z = a << b >> c;",
        "operator<<<T>(os, x); operator<< <T>(os, x);",
        "A<B<C<int>>> x; A<B<C<int>> > y;",
        "x <<= 2; y >>= 3;",
    ],
)
def test_no_launches(text: str) -> None:
    assert cpu(text) == text


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        (
            "#define L(k, g, b, ...) k<<<(g), (b)>>>(__VA_ARGS__)",
            "#define L(k, g, b, ...) GPUPORT_SIMT_LAUNCH((k), (g), (b))(__VA_ARGS__)",
        ),
        (
            "#define L(k) \\\n  do { k##_x<<<1, \\\n 2>>>(); } while (0)",
            "#define L(k) \\\n  do { GPUPORT_SIMT_LAUNCH((k##_x), 1, \\\n 2)(); } while (0)",
        ),
        (
            "#define L(k, ...) k<<<__VA_ARGS__>>>",
            "#define L(k, ...) GPUPORT_SIMT_LAUNCH((k), __VA_ARGS__)",
        ),
        ("#define S(T, n) __shared__ T n", "#define S(T, n) GPUPORT_SIMT_SHARED(n, T)"),
        (
            "#define S(T, n, \\\n  m) extern __shared__ \\\n  T n[]; \\\n  f()",
            "#define S(T, n, \\\n  m) GPUPORT_SIMT_DYNAMIC_SHARED(n, T)\\\n; \\\n  f()",
        ),
    ],
)
def test_macros(cuda: str, expected: str) -> None:
    assert hipify(cuda + "\n", target="cpu").text == expected + "\n"


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("__shared__ T a[N];", "GPUPORT_SIMT_SHARED(a, T[N]);"),
        ("__shared__ float t[32][32 + 1];", "GPUPORT_SIMT_SHARED(t, float[32][32 + 1]);"),
        (
            "__shared__ T a[N], *b, c;",
            "GPUPORT_SIMT_SHARED(a, T[N]); GPUPORT_SIMT_SHARED(b, T*); GPUPORT_SIMT_SHARED(c, T);",
        ),
        ("__shared__ unsigned long long a;", "GPUPORT_SIMT_SHARED(a, unsigned long long);"),
        ("float __shared__ a;", "GPUPORT_SIMT_SHARED(a, float);"),
        ("static __shared__ volatile int a[2];", "GPUPORT_SIMT_SHARED(a, volatile int[2]);"),
        ("volatile __shared__ int a[2];", "GPUPORT_SIMT_SHARED(a, volatile int[2]);"),
        (
            "__shared__ typename X<T, 2>::Storage s;",
            "GPUPORT_SIMT_SHARED(s, typename X<T, 2>::Storage);",
        ),
        ("__shared__ alignas(16) X s;", "GPUPORT_SIMT_SHARED_ALIGNED(16, s, X);"),
        (
            "__shared__ alignas(2 * v<a, b>) X s;",
            "GPUPORT_SIMT_SHARED_ALIGNED((2 * v<a, b>), s, X);",
        ),
        (
            "alignas(T) __shared__ char s[sizeof(T)];",
            "struct alignas(T) gpuport_alignment_s {}; "
            "GPUPORT_SIMT_SHARED_ALIGNED(alignof(gpuport_alignment_s), s, char[sizeof(T)]);",
        ),
        (
            "__shared__ __attribute__((aligned(8))) int s;",
            "GPUPORT_SIMT_SHARED_ALIGNED(8, s, int);",
        ),
        (
            "__shared__ int s __attribute__((aligned(8)));",
            "GPUPORT_SIMT_SHARED_ALIGNED(8, s, int);",
        ),
        ("[[maybe_unused]] __shared__ int s;", "GPUPORT_SIMT_SHARED(s, int);"),
        ("extern __shared__ float4 s[];", "GPUPORT_SIMT_DYNAMIC_SHARED(s, float4);"),
        (
            "extern __shared__ __align__(16) unsigned char raw[];",
            "GPUPORT_SIMT_DYNAMIC_SHARED_ALIGNED(16, raw, unsigned char);",
        ),
        (
            "__shared__ struct { int a, b; } s, t[2];",
            "struct gpuport_shared_s { int a, b; }; GPUPORT_SIMT_SHARED(s, gpuport_shared_s); "
            "GPUPORT_SIMT_SHARED(t, gpuport_shared_s[2]);",
        ),
        (
            "__shared__ union U { int a; float b; } s;",
            "union U { int a; float b; }; GPUPORT_SIMT_SHARED(s, U);",
        ),
        ("__shared__ int // why\n  a[3 /* c */\n  ];", "GPUPORT_SIMT_SHARED(a, int[3 ])\n\n;"),
        ("label: __shared__ int a;", "label: GPUPORT_SIMT_SHARED(a, int);"),
        ("__shared__ Tile<int, 4> t;", "GPUPORT_SIMT_SHARED(t, Tile<int, 4>);"),
        (
            "__shared__ std::array<int,4> a, *p, q[2][3];",
            "GPUPORT_SIMT_SHARED(a, std::array<int,4>); GPUPORT_SIMT_SHARED(p, std::array<int,4>*);"
            " GPUPORT_SIMT_SHARED(q, std::array<int,4>[2][3]);",
        ),
        ("__shared__ x::Pair<int,float> q[8];", "GPUPORT_SIMT_SHARED(q, x::Pair<int,float>[8]);"),
        (
            "__shared__ A<B<C<int,1>,2>,3>::D<1 << 2, (a > b), p->n> x, y[v<1, 2>];",
            "GPUPORT_SIMT_SHARED(x, A<B<C<int,1>,2>,3>::D<1 << 2, (a > b), p->n>); "
            "GPUPORT_SIMT_SHARED(y, A<B<C<int,1>,2>,3>::D<1 << 2, (a > b), p->n>[v<1, 2>]);",
        ),
        (
            "__shared__ A < int(int, int), {1, 2} > q, *const r;",
            "GPUPORT_SIMT_SHARED(q, A < int(int, int), {1, 2} >); "
            "GPUPORT_SIMT_SHARED(r, A < int(int, int), {1, 2} >*const);",
        ),
        (
            "__shared__ T a[n < 2 ? 3 : 4], b[m == 3];",
            "GPUPORT_SIMT_SHARED(a, T[n < 2 ? 3 : 4]); GPUPORT_SIMT_SHARED(b, T[m == 3]);",
        ),
        ("extern __shared__ A<int, 2> d[];", "GPUPORT_SIMT_DYNAMIC_SHARED(d, A<int, 2>);"),
        ("__shared__ float (c)[3];", "GPUPORT_SIMT_SHARED(c, float[3]);"),
        (
            "__shared__ A<int, (2)> a, ((b)), (c) [(2)][3], *(d), e;",
            "GPUPORT_SIMT_SHARED(a, A<int, (2)>); GPUPORT_SIMT_SHARED(b, A<int, (2)>); "
            "GPUPORT_SIMT_SHARED(c, A<int, (2)>[(2)][3]); GPUPORT_SIMT_SHARED(d, A<int, (2)>*); "
            "GPUPORT_SIMT_SHARED(e, A<int, (2)>);",
        ),
        (
            "__shared__ alignas(16) float (a)[4], *(b);",
            "GPUPORT_SIMT_SHARED_ALIGNED(16, a, float[4]); "
            "GPUPORT_SIMT_SHARED_ALIGNED(16, b, float*);",
        ),
        ("extern __shared__ int ( s )[];", "GPUPORT_SIMT_DYNAMIC_SHARED(s, int);"),
        (
            "__shared__ struct { int v; } (s)[2];",
            "struct gpuport_shared_s { int v; }; GPUPORT_SIMT_SHARED(s, gpuport_shared_s[2]);",
        ),
    ],
)
def test_shared_memory(cuda: str, expected: str) -> None:
    assert cpu(cuda) == expected


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("void f() { k<<<>>>(); }", "launch-arguments"),
        ("void f() { k<<<1>>>(); }", "launch-arguments"),
        ("void f() { k<<<1,>>>(); }", "launch-arguments"),
        ("void f() { k<<<1, 2, 3, 4, 5>>>(); }", "launch-arguments"),
        ("void f() { k<<<1, 2; }", "launch-incomplete"),
        ("void f() { k<<<(1, 2>>>(); }", "launch-incomplete"),
        ("#define HALF <<<1, 32>>>", "launch-without-kernel"),
        ("void f() { return <<<1, 2>>>(); }", "launch-without-kernel"),
        ("void f() { k<a<b><<<1, 2>>>(); }", "launch-unclear"),
        ("void f() { __shared__ int a = 3; }", "shared-memory"),
        ("void f() { __shared__ int a{}; }", "shared-memory"),
        ("void f() { __shared__ A<int, 2> a = {1, 2}; }", "shared-memory"),
        ("void f() { __shared__ A<n < 4, 2> a; }", "shared-memory"),
        ("void f() { __shared__ A<1, 2 > 1> a; }", "shared-memory"),
        ("void f() { __shared__ int (*a)[3]; }", "shared-memory"),
        ("void f() { __shared__ void (*a)(int); }", "shared-memory"),
        ("void f() { __shared__ int (*a[2])[3], (b); }", "shared-memory"),
        ("void f() { __shared__ int (&a)[3]; }", "shared-memory"),
        ("void f() { __shared__ decltype(x) (a); }", "shared-memory"),
        ("void f() { __shared__ ARRAY(a); }", "shared-memory"),
        ("void f() { __shared__ int& a; }", "shared-memory"),
        ("void f() { __shared__ a; }", "shared-memory"),
        ("void f() { __shared__ int a[]; }", "shared-memory"),
        ("void f() { extern __shared__ int a; }", "shared-memory"),
        ("void f() { extern __shared__ int a[][3]; }", "shared-memory"),
        ("void f() { __shared__ constexpr int a; }", "shared-memory"),
        ("void f() { __shared__ alignas(8) alignas(16) int a; }", "shared-memory"),
        ("void f() { __shared__ __attribute__((packed)) int a; }", "shared-memory"),
        ("void f(__shared__ int* p) {}", "shared-memory"),
        ("void f() { __shared__ int a", "shared-memory"),
        ("#define S __shared__", "shared-memory"),
    ],
)
def test_what_is_not_understood_is_an_error(source: str, rule: str) -> None:
    assert rules(source) == [rule]


def test_cuda_names_stay() -> None:
    source = (
        "#include <cuda_runtime.h>\nvoid f() { cudaMalloc(&p, n); cub::Sum s; __syncthreads(); }\n"
    )
    assert hipify(source, target="cpu").text == source


def test_every_line_keeps_its_number() -> None:
    source = (
        "void f() {\n  extern\n  __shared__\n  int a[\n  ];\n"
        "  k<<<1,\n    2\n  >>>\n  ();\n}\nint last;\n"
    )
    lines = hipify(source, target="cpu").text.split("\n")
    assert lines.index("int last;") == source.split("\n").index("int last;")


def test_static_shared_memory_outside_of_functions() -> None:
    source = "namespace n { static __shared__ __align__(8) A<1, 2> a, b[4]; }\n"
    text = hipify(source, target="cpu").text
    assert "GPUPORT_SIMT_OUTER_SHARED_ALIGNED(8, a, A<1, 2>)" in text
    assert "GPUPORT_SIMT_OUTER_SHARED_ALIGNED(8, b, A<1, 2>[4])" in text
