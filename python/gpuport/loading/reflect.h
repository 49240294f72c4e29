// What a kernel takes, told by the compiler itself: one record a parameter, which the loader reads from the binary.
// Includes nothing: the run-time compilers have no standard headers.
#pragma once

struct __half;
struct __nv_bfloat16;

namespace gpuport {
namespace reflect {

enum Kind : unsigned char {
  kOther,  // a struct, by its bytes
  kBool,
  kSigned,
  kUnsigned,
  kFloat,
  kHalf,
  kBfloat16,
  kPointer,
  kVoid,
  kChar  // plain char behind a pointer: bytes, of either sign
};

struct Record {
  unsigned char kind, element;  // `element` is what a pointer points to
  unsigned char readonly;       // whether it points to const
  unsigned char unused;
  unsigned size, alignment, element_size;
};

template <unsigned kCount>
struct Table {
  Record record[kCount == 0 ? 1 : kCount];
};

template <typename T, bool kIsEnum = __is_enum(T)>
struct KindOf {
  static constexpr Kind value = kOther;
};
template <typename T>
struct KindOf<T, true> {
  static constexpr Kind value = KindOf<__underlying_type(T)>::value;
};
#define GPUPORT_REFLECT(type, kind)     \
  template <>                           \
  struct KindOf<type, false> {          \
    static constexpr Kind value = kind; \
  };
GPUPORT_REFLECT(void, kVoid)
GPUPORT_REFLECT(bool, kBool)
GPUPORT_REFLECT(char, char(-1) < char(0) ? kSigned : kUnsigned)
GPUPORT_REFLECT(signed char, kSigned)
GPUPORT_REFLECT(unsigned char, kUnsigned)
GPUPORT_REFLECT(short, kSigned)
GPUPORT_REFLECT(unsigned short, kUnsigned)
GPUPORT_REFLECT(int, kSigned)
GPUPORT_REFLECT(unsigned, kUnsigned)
GPUPORT_REFLECT(long, kSigned)
GPUPORT_REFLECT(unsigned long, kUnsigned)
GPUPORT_REFLECT(long long, kSigned)
GPUPORT_REFLECT(unsigned long long, kUnsigned)
GPUPORT_REFLECT(float, kFloat)
GPUPORT_REFLECT(double, kFloat)
GPUPORT_REFLECT(__half, kHalf)
GPUPORT_REFLECT(__nv_bfloat16, kBfloat16)
#undef GPUPORT_REFLECT
template <typename T>
struct KindOf<T*, false> {
  static constexpr Kind value = kPointer;
};

template <typename T>
struct Plain {
  using type = T;
  static constexpr bool is_const = false;
};
template <typename T>
struct Plain<const T> {
  using type = typename Plain<T>::type;
  static constexpr bool is_const = true;
};
template <typename T>
struct Plain<volatile T> {
  using type = typename Plain<T>::type;
  static constexpr bool is_const = false;
};
template <typename T>
struct Plain<const volatile T> {
  using type = typename Plain<T>::type;
  static constexpr bool is_const = true;
};

template <typename T>
struct PointeeKind : KindOf<T> {};
template <>
struct PointeeKind<char> {
  static constexpr Kind value = kChar;
};

// Of void and of a type that is only declared: 0.
template <typename T>
__host__ __device__ constexpr unsigned size_of(char (*)[sizeof(T)]) {
  return unsigned(sizeof(T));
}
template <typename T>
__host__ __device__ constexpr unsigned size_of(...) {
  return 0;
}

template <typename T>
struct RecordOf {
  __host__ __device__ static constexpr Record make() {
    return {KindOf<typename Plain<T>::type>::value, 0, 0, 0, unsigned(sizeof(T)), unsigned(alignof(T)), 0};
  }
};
template <typename T>
struct RecordOf<T*> {
  using Element = typename Plain<T>::type;
  __host__ __device__ static constexpr Record make() {
    return {kPointer,
            PointeeKind<Element>::value,
            Plain<T>::is_const,
            0,
            unsigned(sizeof(T*)),
            unsigned(alignof(T*)),
            size_of<Element>(nullptr)};
  }
};
template <typename T>
struct RecordOf<T* const> : RecordOf<T*> {};

template <typename Kernel>
struct Parameters;
template <typename... Types>
struct Parameters<void (*)(Types...)> {
  __host__ __device__ static constexpr Table<sizeof...(Types)> make() { return {{RecordOf<Types>::make()...}}; }
};

// The element of a variable and, in records whose size tells them, the extents of an array of it.
template <typename T>
struct ElementOf {
  static constexpr unsigned kRank = 0;
  __host__ __device__ static constexpr void put(Record* element, Record*) { *element = RecordOf<T*>::make(); }
};
template <typename T, decltype(sizeof(0)) kCount>
struct ElementOf<T[kCount]> {
  static constexpr unsigned kRank = ElementOf<T>::kRank + 1;
  __host__ __device__ static constexpr void put(Record* element, Record* extents) {
    extents->size = unsigned(kCount);
    ElementOf<T>::put(element, extents + 1);
  }
};

template <typename T>
struct ElementOf<T&> : ElementOf<T> {};

template <typename T>
__host__ __device__ constexpr Table<1 + ElementOf<T>::kRank> make_element() {
  Table<1 + ElementOf<T>::kRank> table{};
  ElementOf<T>::put(table.record, table.record + 1);
  return table;
}

}  // namespace reflect
}  // namespace gpuport

// What stands behind the source is spelled with names that no macro of a source has.
template <typename Kernel>
__host__ __device__ constexpr auto gpuport_parameters_table() {
  return gpuport::reflect::Parameters<Kernel>::make();
}
template <typename T>
__host__ __device__ constexpr auto gpuport_element_table() {
  return gpuport::reflect::make_element<T>();
}

// The type of a pointer to a kernel. A function of the C library of the same name, as `write`, returns something.
template <typename... Types>
auto gpuport_kernel(void (*)(Types...)) -> void (*)(Types...);

// The kernel is an expression of function type, or a pointer to one.
#define GPUPORT_PARAMETERS(number, specifiers, ...)                                                        \
  extern "C" {                                                                                             \
  extern specifiers decltype(::gpuport_parameters_table<decltype(::gpuport_kernel(__VA_ARGS__))>())        \
      gpuport_parameters_##number;                                                                         \
  specifiers decltype(::gpuport_parameters_table<decltype(::gpuport_kernel(__VA_ARGS__))>())               \
      gpuport_parameters_##number = ::gpuport_parameters_table<decltype(::gpuport_kernel(__VA_ARGS__))>(); \
  }

// A symbol of device code with the kernel's own inside: so the compiler itself says which instantiation or overload an
// expression names. Before C++17 a cast is no template argument.
#if __cplusplus >= 201703L
template <unsigned kNumber, typename Kernel, Kernel kKernel>
__device__ char gpuport_kernel_symbol = 1;
#define GPUPORT_SYMBOL(number, ...)                                                                \
  extern "C" {                                                                                     \
  extern __device__ char* gpuport_symbol_##number;                                                 \
  __device__ char* gpuport_symbol_##number =                                                       \
      &::gpuport_kernel_symbol<number, decltype(::gpuport_kernel(__VA_ARGS__)),                    \
                               static_cast<decltype(::gpuport_kernel(__VA_ARGS__))>(__VA_ARGS__)>; \
  }
#else
#define GPUPORT_SYMBOL(number, ...)
#endif

// The variable's element, in the place of a pointer to it. In parentheses: a managed variable has no other type.
#define GPUPORT_ELEMENT(number, specifiers, variable)                                                   \
  extern "C" {                                                                                          \
  extern specifiers decltype(::gpuport_element_table<decltype((variable))>()) gpuport_element_##number; \
  specifiers decltype(::gpuport_element_table<decltype((variable))>()) gpuport_element_##number =       \
      ::gpuport_element_table<decltype((variable))>();                                                  \
  }

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define GPUPORT_USE(number, ...)
#else
#define GPUPORT_USE(number, ...)                           \
  __attribute__((used)) static auto gpuport_use_##number = \
      static_cast<decltype(::gpuport_kernel(__VA_ARGS__))>(__VA_ARGS__);
#endif
