__device__ float current(float value, bool vote) {
#if defined(GP_TARGET_AMD)
  value += __shfl_down(value, 1);  // HIP's own name
#else
  value += __shfl_down_sync(~0ull, value, 1);
#endif
  if (__any_sync(~0ull, vote)) value += 1;
  return value + __popcll(__ballot_sync(~0ull, vote));
}

struct Votes {
  bool all(bool vote) const { return vote; }
};
