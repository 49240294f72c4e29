#include "cases.h"

#include <cstdlib>

// main CASE DEVICE
int main(int argc, char** argv) {
  if (argc != 3 || cases().count(argv[1]) == 0) return 2;
  if (cudaSetDevice(std::atoi(argv[2])) != cudaSuccess) return 3;
  cases()[argv[1]]();
  return 0;
}
