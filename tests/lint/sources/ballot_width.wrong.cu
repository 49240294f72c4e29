typedef unsigned int votes_t;

__device__ int count(bool keep) {
  unsigned votes = __ballot_sync(__activemask(), keep);  // expect: GPL004
  const uint32_t active = __activemask();  // expect: GPL004
  votes_t same;
  same = __match_any_sync(__activemask(), threadIdx.y);  // expect: GPL004
  const auto cut = (unsigned)__ballot_sync(__activemask(), !keep);  // expect: GPL004
  int found = __popc(votes) + __popc(active & same);  // expect: GPL005 GPL005
  found += __ffs(cut) - 1;  // expect: GPL005
  return found + __clz(__ballot_sync(__activemask(), keep));  // expect: GPL005
}

__device__ unsigned vote(bool keep) { return __ballot_sync(__activemask(), keep); }  // expect: GPL004
