#include "sim/dispatch/gacer_clusters.hpp"

#include <algorithm>

#include "sim/dispatch/evaluate.hpp"
#include "sim/dispatch/gacer_packing.hpp"

namespace tessera {

namespace {

/// FNV-1a over whole numbers.
class Hash {
 public:
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3ULL ^ (hash_ >> 29); }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace

GacerClusters::GacerClusters(const TenantSet& tenants, const GacerOptions& options)
    : set_(tenants), options_(options), sharing_(tenants.options), streams_(make_dispatch_policy("streams")) {
  sharing_.record_kernels = sharing_.record_usage = false;
  for (const Tenant& tenant : tenants.tenants) {
    Tenant once;
    once.name = tenant.name;
    once.launch = Seconds(0.0);
    once_.push_back(std::move(once));
    std::vector<double>& weights = weights_.emplace_back();
    for (const TenantKernel& kernel : tenant.kernels) {
      const DeviceKernel cut = device_kernel(kernel.cost, tenants.gpu);
      const double sms = cut.sms_of(cut.blocks) * cut.tile_latency.value();
      weights.push_back(std::min(1.0, cut.sms_of(cut.blocks) / tenants.gpu.sms) * cut.time().value());
      work_ += Seconds(sms / tenants.gpu.sms);
    }
  }
}

/// The kernel cut in pieces with their concatenation; made once.
const TenantProgram& GacerClusters::variant(std::size_t tenant, std::uint32_t kernel, std::uint32_t pieces) {
  const std::uint64_t key = (tenant << 48) | (std::uint64_t{kernel} << 16) | pieces;
  const auto [found, missing] = variants_.try_emplace(key);
  if (missing) {
    found->second.spec = &set_.tenants[tenant];
    append_kernel(found->second, kernel, pieces, set_.gpu, {}, options_.concat_cost);
  }
  return found->second;
}

Seconds GacerClusters::simulate(const GacerPlan& plan, const std::vector<Range>& cluster) {
  ++evaluations_;
  SliceProgram program{set_.gpu, {}, Seconds(0.0)};
  for (std::size_t t = 0; t < cluster.size(); ++t) {
    if (cluster[t].from == cluster[t].to) continue;
    TenantProgram part;
    part.spec = &once_[t];
    for (std::uint32_t k = cluster[t].from; k < cluster[t].to; ++k) {
      const TenantProgram& cut = variant(t, k, plan.pieces[t][k]);
      part.kernels.insert(part.kernels.end(), cut.kernels.begin(), cut.kernels.end());
      part.whole.insert(part.whole.end(), cut.whole.begin(), cut.whole.end());
    }
    part.left.resize(part.kernels.size() + 1);
    program.tenants.push_back(std::move(part));
  }
  if (options_.evaluator == GacerOptions::Evaluator::packing) return packed_makespan(program);
  return evaluate_program(program, *streams_, sharing_).makespan;
}

Seconds GacerClusters::duration(const GacerPlan& plan, const std::vector<Range>& cluster) {
  Hash hash;
  bool empty = true;
  for (std::size_t t = 0; t < cluster.size(); ++t) {
    hash.add(cluster[t].from);
    hash.add(cluster[t].to);
    empty = empty && cluster[t].from == cluster[t].to;
    for (std::uint32_t k = cluster[t].from; k < cluster[t].to; ++k) {
      if (plan.pieces[t][k] > 1) hash.add((std::uint64_t{k} << 16) | plan.pieces[t][k]);
    }
  }
  if (empty) return Seconds(0.0);
  const auto [found, missing] = durations_.try_emplace(hash.value());
  if (missing) found->second = simulate(plan, cluster);
  return found->second;
}

GacerClusters::Cost GacerClusters::cost(const GacerPlan& plan) {
  std::size_t columns = 0;
  for (const auto& pointers : plan.pointers) columns = std::max(columns, pointers.size());
  Cost cost{static_cast<double>(columns) * options_.pointer_cost, work_};
  std::vector<Range> cluster(tenants());
  for (std::size_t c = 0; c <= columns; ++c) {
    for (std::size_t t = 0; t < cluster.size(); ++t) {
      const auto& pointers = plan.pointers[t];
      const auto end = static_cast<std::uint32_t>(kernels(t));
      cluster[t] = {c == 0 ? 0 : pointers[c - 1], c < pointers.size() ? pointers[c] : end};
    }
    cost.makespan += duration(plan, cluster);
  }
  return cost;
}

}  // namespace tessera
