// What GACER's search asks again and again: the duration of a cluster, segments of all tenants that run together.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/dispatch/gacer.hpp"
#include "sim/dispatch/program.hpp"

namespace tessera {

/// Clusters are independent of each other, because each begins with an empty GPU: their durations are remembered.
class GacerClusters {
 public:
  GacerClusters(const TenantSet& tenants, const GacerOptions& options);

  struct Cost {
    Seconds makespan;
    Seconds work;  // SM time that blocks fill, of kernels as if whole, in seconds of the whole GPU
    [[nodiscard]] Seconds residue() const { return makespan - work; }
  };
  Cost cost(const GacerPlan& plan);
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] std::size_t kernels(std::size_t tenant) const { return set_.tenants[tenant].kernels.size(); }
  [[nodiscard]] std::size_t tenants() const { return set_.tenants.size(); }
  [[nodiscard]] int batch(std::size_t tenant) const { return set_.tenants[tenant].batch; }
  /// SMs times time of a kernel: how much of the GPU it blocks.
  [[nodiscard]] double weight(std::size_t tenant, std::size_t kernel) const { return weights_[tenant][kernel]; }

 private:
  struct Range {
    std::uint32_t from, to;
  };
  Seconds duration(const GacerPlan& plan, const std::vector<Range>& cluster);
  Seconds simulate(const GacerPlan& plan, const std::vector<Range>& cluster);
  const TenantProgram& variant(std::size_t tenant, std::uint32_t kernel, std::uint32_t pieces);

  TenantSet set_;
  GacerOptions options_;
  SharingOptions sharing_;
  std::unique_ptr<DispatchPolicy> streams_;
  std::vector<Tenant> once_;                                   // the tenants, one request each
  std::unordered_map<std::uint64_t, TenantProgram> variants_;  // of a kernel, by tenant, position and pieces
  std::unordered_map<std::uint64_t, Seconds> durations_;
  std::vector<std::vector<double>> weights_;
  Seconds work_;
  int evaluations_ = 0;
};

}  // namespace tessera
