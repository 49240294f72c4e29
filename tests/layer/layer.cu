// Kernels that show what the portable layer does, one operation each, for tests/layer/test_layer.py.
// Host arrays in, host arrays out; the warp width is the device's.
#include <gpuport/gpuport.cuh>

#include <cstring>

#include "harness.hpp"

namespace {

// 2x2 matrices modulo 2^32: associative, and as far from commutative as it gets.
struct MatrixProduct {
  struct State {
    std::uint32_t a, b, c, d;
  };
  static GP_HOST_DEVICE State identity() { return {1, 0, 0, 1}; }
  static GP_HOST_DEVICE State combine(State x, State y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};

constexpr int kThreads = 256;

// One thread an element: what each lane of each group sees. kOps results per element.
constexpr int kGroupResults = 9;
template <int kWarp, int kGroup>
GP_KERNEL group_kernel(const std::int32_t* in, std::int64_t* out) {
  using W = Warp<kWarp, kGroup>;
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Add = Sum<std::int32_t, std::int64_t>;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const std::int64_t x = in[i];
  std::int64_t* result = out + index_t(i) * kGroupResults;
  result[0] = W::lane();
  result[1] = W::template all_reduce<Add>(x);
  const std::int64_t down = W::template reduce<Add>(x);
  result[2] = W::lane() == 0 ? down : 0;
  result[3] = W::template inclusive_scan<Add>(x);
  result[4] = W::template exclusive_scan<Add>(x);
  result[5] = W::shuffle(x, (W::lane() * 7 + 3) % kGroup);
  result[6] = W::count(x > 0);
  result[7] = (W::any(x == 9) ? 1 : 0) + (W::all(x > -9) ? 2 : 0);
  result[8] = __popcll(W::lanes_below());
}

// Of a value and a place a lane: what a warp makes of all of them word by word, the same on every lane.
constexpr int kWordResults = 8;
template <int kWarp>
GP_KERNEL words_kernel(const std::uint64_t* in, const std::uint64_t* places, std::int64_t* out) {
  using W = Warp<kWarp>;
  if constexpr (!W::kIsCompiled) return W::refuse();
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const auto word = std::uint32_t(in[i]), place = std::uint32_t(places[i]);
  const auto value = bit_cast<float>(word);
  std::int64_t* const result = out + index_t(i) * kWordResults;
  result[0] = W::greatest_word(word);
  result[1] = W::least_word(word);
  result[2] = W::sum_of_words(word);
  result[3] = KeyedSum<std::int32_t>::across<W>(std::int64_t(in[i]));
  result[4] = Partial<KeyedArgMax<float>>::across<W>({value, place}).place;
  using Far = Partial<KeyedArgMax<float>, std::uint64_t>;
  result[5] = std::int64_t(Far::across<W>({value, places[i]}).place);
  using FarByte = Partial<KeyedArgMax<std::int8_t>, std::uint64_t>;
  result[6] = std::int64_t(FarByte::across<W>({std::int8_t(word), places[i]}).place);
  result[7] = bit_cast<std::uint32_t>(Far::across<W>({value, places[i]}).best);
}

// Scans of a whole block with an operator that does not commute.
template <int kWarp>
GP_KERNEL block_kernel(const MatrixProduct::State* in, MatrixProduct::State* inclusive, MatrixProduct::State* exclusive,
                       MatrixProduct::State* reduced) {
  if constexpr (!Warp<kWarp>::kIsCompiled) return Warp<kWarp>::refuse();
  using Scan = BlockScan<kWarp, kThreads, MatrixProduct>;
  using Reduce = BlockReduce<kWarp, kThreads, MatrixProduct>;
  __shared__ typename Scan::Storage first, second;
  __shared__ typename Reduce::Storage third;
  const index_t i = index_t(blockIdx.x) * kThreads + threadIdx.x;
  MatrixProduct::State total;
  inclusive[i] = Scan::inclusive_scan(in[i], first, &total);
  exclusive[i] = Scan::exclusive_scan(in[i], second);
  const MatrixProduct::State all = Reduce::all_reduce(in[i], third);
  // Every thread's copy is looked at: a difference anywhere makes the result wrong.
  const bool same = all.a == total.a && all.b == total.b && all.c == total.c && all.d == total.d;
  if (!same) reduced[blockIdx.x] = {0, 0, 0, 0};
  if (threadIdx.x == 0 && same) reduced[blockIdx.x] = all;
}

// Blocks wait for each other: rounds of a grid barrier, then a chain in which each block waits for the one before.
GP_KERNEL waiting_kernel(std::uint32_t* barrier, std::uint32_t* rounds, std::uint32_t* chain, std::uint32_t* wrong,
                         int count) {
  for (int round = 1; round <= count; ++round) {
    if (threadIdx.x == 0) store_release(&rounds[blockIdx.x], std::uint32_t(round));
    grid_barrier(barrier);
    const std::uint32_t other = load_acquire(&rounds[(blockIdx.x + threadIdx.x) % gridDim.x]);
    if (other != std::uint32_t(round)) atomicAdd(wrong, 1u);
    grid_barrier(barrier);
  }
  if (threadIdx.x == 0) {
    std::uint32_t before = 1;
    if (blockIdx.x > 0) wait_until([&] { return (before = load_acquire(&chain[blockIdx.x - 1])) != 0; });
    store_release(&chain[blockIdx.x], before + 1);
  }
}

GP_KERNEL plus_one_kernel(const std::int32_t* in, std::int32_t* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = in[i] + 1;
}

template <typename T>
GP_KERNEL narrow_kernel(const float* in, T* out, float* wide, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  out[i] = T(in[i]);
  wide[i] = float(out[i]);
}

template <typename T>
void narrow(const Call& call, const float* in, std::uint16_t* bits, float* wide, int count) {
  const Copy<float> source(in, std::size_t(count), call.stream);
  const Copy<std::uint16_t> narrowed(nullptr, std::size_t(count), call.stream);
  const Copy<float> widened(nullptr, std::size_t(count), call.stream);
  launch(narrow_kernel<T>, call, groups_for(count, 1, kThreads), source.data(), reinterpret_cast<T*>(narrowed.data()),
         widened.data(), count);
  narrowed.read(bits);
  widened.read(wide);
}

// Of each element and its mirror image: both, narrowed and widened as a pair; whether the target takes the greater of
// pairs; and if so, that, twice.
constexpr int kPairResults = 5;
template <typename T>
GP_KERNEL pairs_kernel(const float* in, float* out, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const float x = in[i], y = in[count - 1 - i];
  float* const result = out + kPairResults * i;
  const std::uint32_t pair = Pair<T>::narrow(x, y);
  Pair<T>::widen(pair, result[0], result[1]);
  result[2] = Pair<T>::kHasGreatest ? 1.0f : 0.0f;
  result[3] = result[4] = -7.0f;
  if constexpr (Pair<T>::kHasGreatest) {
    Pair<T>::widen(Pair<T>::greatest(pair, Pair<T>::narrow(y, x)), result[3], result[4]);
  }
}

template <typename T>
void pairs(const Call& call, const float* in, float* out, int count) {
  const Copy<float> source(in, std::size_t(count), call.stream);
  const Copy<float> result(nullptr, kPairResults * std::size_t(count), call.stream);
  launch(pairs_kernel<T>, call, groups_for(count, 1, kThreads), source.data(), result.data(), count);
  result.read(out);
}

// One thread folds the states left to right; the layer's own merge is what is shown.
template <typename A>
GP_KERNEL max_sum_kernel(const A* values, A* states, int count, int split) {
  auto left = MaxSum<A>::empty(), right = left, all = left;
  for (int i = 0; i < split; ++i) left.push(values[i]);
  for (int i = split; i < count; ++i) right.push(values[i]);
  for (int i = 0; i < count; ++i) all.push(values[i]);
  const MaxSum<A> merged = MergeMaxSum<A>::combine(left, right);
  const MaxSum<A> results[] = {left, right, merged, all};
  for (int i = 0; i < 4; ++i) {
    states[2 * i] = results[i].max;
    states[2 * i + 1] = results[i].sum;
  }
}

template <typename T>
GP_KERNEL arg_kernel(const T* values, index_t* indices, int count) {
  typename ArgMax<T>::State greatest = ArgMax<T>::identity();
  typename ArgMin<T>::State least = ArgMin<T>::identity();
  // From the back, so that the lowest index is not won by the order of visits.
  for (int i = count - 1; i >= 0; --i) {
    greatest = ArgMax<T>::combine(greatest, ArgMax<T>::lift(values[i], i));
    least = ArgMin<T>::combine(ArgMin<T>::lift(values[i], i), least);
  }
  indices[0] = ArgMax<T>::finish(greatest);
  indices[1] = ArgMin<T>::finish(least);
}

template <int kWarp, int... kGroups, typename F>
void for_group(int group, std::integer_sequence<int, kGroups...>, F&& f) {
  const bool found = ((group == kGroups && (f.template operator()<kGroups>(), true)) || ...);
  if (!found) fail(ErrorKind::kValue, "no such group");
}

// The tag of a launch that the host has numbered, or of a replay: for one thread or two of each block, or all of them.
GP_KERNEL tag_kernel(LaunchTag launch, int readers, std::uint32_t* tags) {
  __shared__ BlockTag tag;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (readers != 0) {
    if (int(threadIdx.x) < readers) tags[i] = take_tag(launch, threadIdx.x, readers);
    return;
  }
  if (threadIdx.x == 0) {
    tag.begin(launch);
    tag.end(launch);
  }
  __syncthreads();  // the tag is there
  tags[i] = tag.of(launch);
}

}  // namespace

LAYER_API int layer_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return 0;
  return count;
}

LAYER_API int layer_group(int device, int group, int blocks, const std::int32_t* in, std::int64_t* out) {
  return guarded([&] {
    const Call call = call_on(device);
    const std::size_t count = std::size_t(blocks) * kThreads;
    const Copy<std::int32_t> source(in, count, call.stream);
    const Copy<std::int64_t> result(nullptr, count * kGroupResults, call.stream);
    for_width(call, [&]<int kWarp>() {
      using Groups = std::integer_sequence<int, 1, 2, 4, 8, 16, 32, kWarp == 64 ? 64 : 0>;
      for_group<kWarp>(group, Groups{}, [&]<int kGroup>() {
        if constexpr (kGroup > 0) {
          launch(group_kernel<kWarp, kGroup>, call, blocks_for(blocks, kThreads), source.data(), result.data());
        }
      });
    });
    result.read(out);
  });
}

LAYER_API int layer_words(int device, int blocks, const std::uint64_t* in, const std::uint64_t* places,
                          std::int64_t* out) {
  return guarded([&] {
    const Call call = call_on(device);
    const std::size_t count = std::size_t(blocks) * kThreads;
    const Copy<std::uint64_t> source(in, count, call.stream), second(places, count, call.stream);
    const Copy<std::int64_t> result(out, count * kWordResults, call.stream);
    for_width(call, [&]<int kWarp>() {
      launch(words_kernel<kWarp>, call, blocks_for(blocks, kThreads), source.data(), second.data(), result.data());
    });
    result.read(out);
  });
}

LAYER_API int layer_block(int device, int blocks, const std::uint32_t* in, std::uint32_t* inclusive,
                          std::uint32_t* exclusive, std::uint32_t* reduced) {
  return guarded([&] {
    const Call call = call_on(device);
    const std::size_t words = std::size_t(blocks) * kThreads * 4;
    const Copy<std::uint32_t> source(in, words, call.stream), first(nullptr, words, call.stream),
        second(nullptr, words, call.stream), third(nullptr, std::size_t(blocks) * 4, call.stream);
    const auto states = [](const Copy<std::uint32_t>& copy) {
      return reinterpret_cast<MatrixProduct::State*>(copy.data());
    };
    for_width(call, [&]<int kWarp>() {
      launch(block_kernel<kWarp>, call, blocks_for(blocks, kThreads), states(source), states(first), states(second),
             states(third));
    });
    first.read(inclusive);
    second.read(exclusive);
    third.read(reduced);
  });
}

// `blocks` below 1 asks for as many as the device holds; the number used comes back through it.
LAYER_API int layer_waiting(int device, int* blocks, int threads, int rounds, std::uint32_t* chain,
                            std::uint32_t* wrong) {
  return guarded([&] {
    const Call call = call_on(device);
    if (*blocks < 1) *blocks = int(resident_blocks(waiting_kernel, call, threads));
    const std::size_t count = std::size_t(*blocks);
    std::string zeros((2 * count + 2) * sizeof(std::uint32_t), '\0');
    const Copy<std::uint32_t> words(reinterpret_cast<const std::uint32_t*>(zeros.data()), 2 * count + 2, call.stream);
    std::uint32_t* const base = words.data();
    launch_resident(waiting_kernel, call, Grid{index_t(count), threads}, base, base + 2, base + 2 + count, base + 1,
                    rounds);
    words.read(reinterpret_cast<std::uint32_t*>(zeros.data()));
    std::memcpy(wrong, zeros.data() + sizeof(std::uint32_t), sizeof(std::uint32_t));
    std::memcpy(chain, zeros.data() + (2 + count) * sizeof(std::uint32_t), count * sizeof(std::uint32_t));
  });
}

// 256 elements, each plus one, by a launch that may be of a shape that no device takes.
LAYER_API int layer_launch(int device, int blocks, int threads, int shared_bytes, const std::int32_t* in,
                           std::int32_t* out) {
  return guarded([&] {
    const Call call = call_on(device);
    const Copy<std::int32_t> source(in, kThreads, call.stream), result(out, kThreads, call.stream);
    launch(plus_one_kernel, call, Grid{blocks, threads, std::size_t(shared_bytes)}, source.data(), result.data(),
           kThreads);
    result.read(out);
  });
}

LAYER_API int layer_narrow(int device, int is_bf16, const float* in, std::uint16_t* bits, float* wide, int count) {
  return guarded([&] {
    const Call call = call_on(device);
    if (is_bf16 != 0) {
      narrow<bfloat16>(call, in, bits, wide, count);
    } else {
      narrow<float16>(call, in, bits, wide, count);
    }
  });
}

LAYER_API int layer_pairs(int device, int is_bf16, const float* in, float* out, int count) {
  return guarded([&] {
    const Call call = call_on(device);
    if (is_bf16 != 0) {
      pairs<bfloat16>(call, in, out, count);
    } else {
      pairs<float16>(call, in, out, count);
    }
  });
}

LAYER_API int layer_max_sum(int device, const double* values, double* states, int count, int split) {
  return guarded([&] {
    const Call call = call_on(device);
    const Copy<double> source(values, std::size_t(count), call.stream), result(nullptr, 8, call.stream);
    launch(max_sum_kernel<double>, call, Grid{1, 1}, source.data(), result.data(), count, split);
    result.read(states);
  });
}

LAYER_API int layer_arg(int device, const float* values, index_t* indices, int count) {
  return guarded([&] {
    const Call call = call_on(device);
    const Copy<float> source(values, std::size_t(count), call.stream);
    const Copy<index_t> result(nullptr, 2, call.stream);
    launch(arg_kernel<float>, call, Grid{1, 1}, source.data(), result.data(), count);
    result.read(indices);
  });
}

// Some launches with the same number of replays, 64 threads a block; `word` is that number, or null.
LAYER_API int layer_tags(int device, int blocks, int launches, int readers, std::uint64_t* word, std::uint32_t* tags) {
  return guarded([&] {
    const Call call = call_on(device);
    const index_t count = index_t(blocks) * 64;
    const Copy<std::uint64_t> replays(word, 1, call.stream);
    const Copy<std::uint32_t> result(tags, std::size_t(count * launches), call.stream);
    for (int n = 0; n < launches; ++n) {
      launch(tag_kernel, call, Grid{blocks, 64}, LaunchTag{42, word == nullptr ? nullptr : replays.data()}, readers,
             result.data() + n * count);
    }
    result.read(tags);
    if (word != nullptr) replays.read(word);
  });
}
