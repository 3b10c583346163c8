#include "calibration/microbench/cuda/memory.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/pattern.hpp"
#include "calibration/microbench/cuda/trials.hpp"

namespace tessera::microbench {
namespace {

constexpr int kThreads = 512;
constexpr int kInFlight = 4;  // loads of a thread before the first use

__device__ std::uint32_t word(std::uint64_t index) {
  return static_cast<std::uint32_t>(index) * kStep + kFirst;
}

__global__ void write_kernel(uint4* to, std::size_t vectors) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < vectors; i += step)
    to[i] = make_uint4(word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3));
}

__global__ void copy_kernel(const uint4* from, uint4* to, std::size_t vectors) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (; i + (kInFlight - 1) * step < vectors; i += kInFlight * step) {
    uint4 held[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) held[j] = from[i + j * step];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) to[i + j * step] = held[j];
  }
  for (; i < vectors; i += step) to[i] = from[i];
}

__device__ std::uint32_t sum_of(uint4 v) {
  return v.x + v.y + v.z + v.w;
}

__global__ void sum_kernel(const uint4* from, std::size_t vectors, int passes, std::uint32_t* sums) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    for (; i + (kInFlight - 1) * step < vectors; i += kInFlight * step) {
      uint4 held[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) held[j] = __ldcg(from + i + j * step);  // past L1: L2 is what is measured
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) sum += sum_of(held[j]);
    }
    for (; i < vectors; i += step) sum += sum_of(__ldcg(from + i));
  }
  __shared__ std::uint32_t block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  atomicAdd(&block_sum, sum);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = block_sum;
}

enum class Access { read, write, copy };

class MemoryTrial final : public GpuTrial {
 public:
  MemoryTrial(const DeviceInfo& device, const Case& c, Access access)
      : GpuTrial(c.timing, 1),
        access_(access),
        blocks_(4 * device.sms),
        words_(static_cast<std::size_t>(c.dim("bytes")) / 4),
        to_(words_ * 4),
        sums_(sizeof(std::uint32_t) * static_cast<std::size_t>(blocks_)) {
    if (access == Access::write) return;
    from_ = Buffer(words_ * 4);
    write_pattern(from_.get<std::uint32_t>(), words_, blocks_, stream());
    stream().wait();
  }

  [[nodiscard]] double tolerance() const override { return 0; }

 private:
  void launch(cudaStream_t stream, int) override {
    if (access_ == Access::read)
      sum_words(from_.get<std::uint32_t>(), words_, 1, sums_.get<std::uint32_t>(), blocks_, stream);
    else if (access_ == Access::write)
      write_pattern(to_.get<std::uint32_t>(), words_, blocks_, stream);
    else
      copy_words(from_.get<std::uint32_t>(), to_.get<std::uint32_t>(), words_, blocks_, stream);
  }

  double compare() override {
    if (access_ != Access::read) return holds_pattern(to_) ? 0 : 1;
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(blocks_));
    check(cudaMemcpy(sums.data(), sums_.get(), sums_.size(), cudaMemcpyDeviceToHost), "copying a result");
    return std::accumulate(sums.begin(), sums.end(), 0u) == pattern_sum(words_) ? 0 : 1;
  }

  Access access_;
  int blocks_;
  std::size_t words_;
  Buffer from_, to_, sums_;
};

}  // namespace

void write_pattern(std::uint32_t* to, std::size_t words, int blocks, cudaStream_t stream) {
  write_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<uint4*>(to), words / 4);
}

void copy_words(const std::uint32_t* from, std::uint32_t* to, std::size_t words, int blocks, cudaStream_t stream) {
  copy_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to),
                                               words / 4);
}

void sum_words(const std::uint32_t* from, std::size_t words, int passes, std::uint32_t* sums, int blocks,
               cudaStream_t stream) {
  sum_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(from), words / 4, passes, sums);
}

bool holds_pattern(const Buffer& buffer) {
  const std::size_t words = buffer.size() / 4;
  const Buffer sums(64 * sizeof(std::uint32_t));
  sum_words(buffer.get<std::uint32_t>(), words, 1, sums.get<std::uint32_t>(), 64, nullptr);
  std::vector<std::uint32_t> host(64);
  check(cudaMemcpy(host.data(), sums.get(), sums.size(), cudaMemcpyDeviceToHost), "copying a result");
  if (std::accumulate(host.begin(), host.end(), 0u) != pattern_sum(words)) return false;
  host.resize(std::min<std::size_t>(words, 1024));
  for (const std::size_t start : {std::size_t{0}, words - host.size()}) {
    check(cudaMemcpy(host.data(), buffer.get<std::uint32_t>() + start, host.size() * 4, cudaMemcpyDeviceToHost),
          "copying a result");
    for (std::size_t i = 0; i < host.size(); ++i)
      if (host[i] != static_cast<std::uint32_t>(start + i) * kStep + kFirst) return false;
  }
  return true;
}

std::unique_ptr<Trial> make_memory(const DeviceInfo& device, const Case& c) {
  const Access access = c.op == "memory_read" ? Access::read : c.op == "memory_write" ? Access::write : Access::copy;
  return std::make_unique<MemoryTrial>(device, c, access);
}

}  // namespace tessera::microbench
