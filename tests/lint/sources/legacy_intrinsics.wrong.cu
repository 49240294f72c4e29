__device__ float old(float value, bool vote) {
  value += __shfl_down(value, 1);  // expect: GPL012
  value += __shfl(value, 0);  // expect: GPL012
  if (__any(vote)) value += 1;  // expect: GPL012
  if (__all(vote)) value += 1;  // expect: GPL012
  return value + __popcll(__ballot(vote));  // expect: GPL012
}
