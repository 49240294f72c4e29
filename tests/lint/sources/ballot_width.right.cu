typedef unsigned long long votes_t;

__device__ int count(bool keep) {
  unsigned long long votes = __ballot_sync(__activemask(), keep);
  const uint64_t active = __activemask();
  votes_t same;
  same = __match_any_sync(__activemask(), threadIdx.y);
  const bool any = __ballot_sync(__activemask(), keep) != 0;
  int found = __popcll(votes) + __popcll(active & same) + any;
  found += __ffsll(votes) - 1;
  return found + (63 - __clzll(votes));
}

__device__ votes_t vote(bool keep) { return __ballot_sync(__activemask(), keep); }

// Bits of the data.
__device__ int bits(unsigned word) { return __popc(word) + __ffs(word); }
