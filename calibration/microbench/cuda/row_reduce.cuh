// What kernels over rows share: a block per row, sums and maxima over it.
#pragma once

#include <cstddef>

namespace tessera::microbench {
namespace {

constexpr int kThreads = 256;

/// The same value in every thread.
template <class Combine>
__device__ float reduce(float value, Combine combine) {
  __shared__ float warps[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  __syncthreads();  // the last reduction's values have been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float all = warps[0];
  for (int i = 1; i < kThreads / 32; ++i) all = combine(all, warps[i]);
  return all;
}
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Each thread will read back only what it wrote: no barrier.
template <class T>
__device__ void load_row(const T* in, int h, float* row) {
  in += blockIdx.x * std::size_t{1} * h;
  for (int i = threadIdx.x; i < h; i += kThreads) row[i] = static_cast<float>(in[i]);
}

}  // namespace
}  // namespace tessera::microbench
