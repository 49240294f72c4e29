__global__ void step(float* data) { data[threadIdx.x] = 0; }

void plain(float* data) {
  step<<<1, 256>>>(data);  // expect: GPL013
}

void copied(float* data, float* host) {
  step<<<1, 256>>>(data);  // expect: GPL013
  CHECK(cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost));
}

void waited(float* data) {
  step<<<dim3(1, 2), 256, 0, nullptr>>>(data);  // expect: GPL013
  cudaDeviceSynchronize();
}
