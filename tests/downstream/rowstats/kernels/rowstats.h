#pragma once

constexpr int kBins = 256;

// Both return null, or what went wrong.
const char* histogram(const unsigned char* x, long long size, unsigned* bins, int device);
// Also writes how many lanes the warps had, to lanes[row].
const char* row_sums(const float* x, long long rows, long long cols, float* sums, int* lanes, int device);
