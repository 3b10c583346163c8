// The table of microbenchmarks: what each measures, what it needs, its cases.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "calibration/microbench/case.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera::microbench {

struct Benchmark {
  std::string_view name, what, needs;
  double share;    // of the plan's time, where not all cases fit into it
  Seconds set_up;  // of a case: operands, choice of a kernel, reference
  /// Everything worth measuring on this GPU, in order of size.
  std::vector<Case> (*cases)(const GpuSpec& gpu);
};
/// One row per benchmark, in the order they run.
std::span<const Benchmark> benchmarks();

std::vector<Case> gemm_cases(const GpuSpec& gpu);
std::vector<Case> bmm_cases(const GpuSpec& gpu);
std::vector<Case> conv_cases(const GpuSpec& gpu);
std::vector<Case> elementwise_cases(const GpuSpec& gpu);
std::vector<Case> row_cases(const GpuSpec& gpu);
std::vector<Case> row_gradient_cases(const GpuSpec& gpu);
std::vector<Case> moe_cases(const GpuSpec& gpu);
std::vector<Case> attention_cases(const GpuSpec& gpu);
std::vector<Case> copy_cases(const GpuSpec& gpu);
std::vector<Case> bandwidth_cases(const GpuSpec& gpu);
std::vector<Case> launch_cases(const GpuSpec& gpu);
std::vector<Case> sustained_cases(const GpuSpec& gpu);
std::vector<Case> pair_cases(const GpuSpec& gpu);
std::vector<Case> collective_cases(const GpuSpec& gpu);

}  // namespace tessera::microbench
