// Cases that measure the device rather than an operator.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "calibration/microbench/benchmarks.hpp"

namespace tessera::microbench {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Case device_case(std::string benchmark, std::string op, std::vector<Dim> dims, Bytes moved) {
  return {.benchmark = std::move(benchmark),
          .table = Table::device,
          .op = std::move(op),
          .runtime = "tessera",
          .dims = std::move(dims),
          .moved = moved};
}

Case sustained_gemm(Dtype dtype, std::int64_t side) {
  const Kernel kernel{Op::gemm, dtype, GemmShape{.m = side, .n = side, .k = side}};
  Case c = device_case("sustained", "sustained_gemm", {{"m", side}, {"n", side}, {"k", side}}, traffic(kernel).total());
  c.runtime = "cublaslt";
  c.dtype = dtype;
  c.layout = "tn";
  c.work = flops(kernel);
  c.hold = Seconds(6);
  return c;
}

}  // namespace

std::vector<Case> launch_cases(const GpuSpec&) {
  std::vector<Case> cases;
  for (const std::int64_t blocks : {1, 1024}) {
    for (const auto& [op, timing] :
         {std::pair{"launch", Timing::eager}, {"launch", Timing::graph}, {"launch_train", Timing::eager}}) {
      Case c = device_case("launch", op, {{"blocks", blocks}}, Bytes(0));
      c.timing = timing;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::vector<Case> copy_cases(const GpuSpec&) {
  std::vector<Case> cases;
  for (const std::int64_t mib : {1, 16, 256}) {
    for (const std::string op : {"copy_d2d", "copy_h2d", "copy_d2h"}) {
      const bool inside = op == "copy_d2d";
      const Bytes size(static_cast<double>(mib * kMiB));
      Case c = device_case("copy", op, {{"bytes", mib * kMiB}}, inside ? 2 * size : size);
      c.runtime = "cuda";
      c.timing = Timing::eager;
      c.over_pcie = !inside;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::vector<Case> bandwidth_cases(const GpuSpec&) {
  std::vector<Case> cases;
  for (std::int64_t size = kMiB; size <= 1024 * kMiB; size *= 2) {
    for (const auto& [op, passes] : {std::pair{"memory_read", 1}, {"memory_write", 1}, {"memory_copy", 2}})
      cases.push_back(device_case("bandwidth", op, {{"bytes", size}}, Bytes(static_cast<double>(passes * size))));
  }
  return cases;
}

std::vector<Case> sustained_cases(const GpuSpec& gpu) {
  std::vector<Case> cases;
  for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::bf16, Dtype::fp16, Dtype::fp8, Dtype::int8}) {
    if (gpu.peak_of(dtype) > FlopsPerSec(0)) cases.push_back(sustained_gemm(dtype, 8192));
  }
  Case memory = device_case("sustained", "sustained_copy", {{"bytes", 512 * kMiB}}, Bytes(1024.0 * kMiB));
  memory.hold = Seconds(6);
  cases.push_back(std::move(memory));
  return cases;
}

/// Kernels that stand outside the contract of `validate`.
std::vector<Case> row_gradient_cases(const GpuSpec& gpu) {
  std::vector<Case> cases;
  for (const std::int64_t rows : {1024, 16384}) {
    for (const std::int64_t h : {512, 2048, 4096}) {
      for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
        if (gpu.peak_of(dtype) == FlopsPerSec(0)) continue;
        // Two tensors read, one written.
        const Bytes moved = 3.0 * static_cast<double>(rows * h) * element_size(dtype);
        for (const std::string op : {"softmax_backward", "layernorm_backward", "rmsnorm_backward"}) {
          Case c = device_case("row_gradients", op, {{"rows", rows}, {"h", h}}, moved);
          c.dtype = dtype;
          cases.push_back(std::move(c));
        }
      }
    }
  }
  return cases;
}

/// Shares of the SMs in percent for the two kernels; more than 100 together is more blocks than the GPU holds at once.
/// Partitioned, each kernel has its share of the SMs to itself.
std::vector<Case> pair_cases(const GpuSpec& gpu) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 6> kShares{
      {{25, 25}, {25, 75}, {50, 50}, {75, 25}, {75, 75}, {100, 100}}};
  std::vector<Case> cases;
  for (const std::string op : {"compute_compute", "compute_memory", "memory_memory"}) {
    for (const auto& [first, second] : kShares) {
      const auto blocks = [&](std::int64_t percent) { return std::max<std::int64_t>(1, gpu.sms * percent / 100); };
      for (const std::int64_t partition : {0, 1}) {
        if (partition == 1 && first + second != 100) continue;
        Case c = device_case("pairs", op,
                             {{"blocks_a", blocks(first)}, {"blocks_b", blocks(second)}, {"partition", partition}},
                             Bytes(0));
        c.table = Table::pairs;
        c.timing = Timing::eager;
        cases.push_back(std::move(c));
      }
    }
  }
  return cases;
}

std::vector<Case> collective_cases(const GpuSpec&) {
  std::vector<Case> cases;
  for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "send_recv"}) {
    for (std::int64_t bytes = 1 << 10; bytes <= 256 * kMiB; bytes *= 4) {
      Case c = device_case("collective", op, {{"message_bytes", bytes}}, Bytes(2.0 * static_cast<double>(bytes)));
      c.over_pcie = true;
      c.table = Table::collectives;
      c.runtime = "nccl";
      c.dtype = Dtype::bf16;
      c.timing = Timing::eager;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace tessera::microbench
