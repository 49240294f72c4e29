__global__ void step(float* data) { data[threadIdx.x] = 0; }

#define STEP(data) step<<<1, 256>>>(data)

void direct(float* data) {
  step<<<1, 256>>>(data);
  if (cudaGetLastError() != cudaSuccess) throw 1;
}

void by_macro(float* data) {
  step<<<1, 256>>>(data);
  CHECK_LAUNCH();
}

void in_a_lambda(float* data) {
  dispatch([&] { step<<<1, 256>>>(data); });
  CUDA_CHECK(cudaPeekAtLastError());
}

void through_macro(float* data) {
  STEP(data);
  check(cudaGetLastError(), "step");
}

static void helper(float* data) { step<<<1, 256>>>(data); }

void through_helper(float* data) {
  helper(data);
  CUDA_CHECK(cudaGetLastError());
}
