// One measurement that the microbenchmarks can make, as plain data.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"

namespace tessera::microbench {

/// The file that a result goes to. kernels and collectives follow the `validate` contract.
enum class Table : std::uint8_t { kernels, device, pairs, collectives };

struct Dim {
  std::string name;  // of its column
  std::int64_t value = 0;
  friend bool operator==(const Dim&, const Dim&) = default;
};

struct Case {
  std::string benchmark;  // its row in benchmarks()
  Table table = Table::kernels;
  std::string op;       // of the `validate` contract, or a name of our own in the other tables
  std::string runtime;  // whose code runs: cublaslt, cudnn, nccl, cuda or tessera
  Dtype dtype = Dtype::fp32;
  Timing timing = Timing::graph;
  std::string layout{};  // gemm, bmm: nn, tn or nt
  std::vector<Dim> dims{};
  Flops work{};            // of one call
  Bytes moved{};           // compulsory traffic of one call
  bool over_pcie = false;  // that traffic crosses the bus to the host or to other GPUs
  Seconds hold{};          // run at least this long, so that clock and power settle

  /// A dimension that the case must have.
  [[nodiscard]] std::int64_t dim(std::string_view name) const {
    for (const Dim& d : dims)
      if (d.name == name) return d.value;
    throw std::logic_error("case without the dimension " + std::string(name));
  }
};

/// Names a case in files, the same in every run: "gemm bf16 tn graph m=4096 n=4096 k=4096".
std::string case_id(const Case& c);

/// One call's time at 60 % of what the data sheet says, 3 us at least: good enough to plan with.
Seconds rough_time(const Case& c, const GpuSpec& gpu);

}  // namespace tessera::microbench
