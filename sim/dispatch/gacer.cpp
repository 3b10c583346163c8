#include "sim/dispatch/gacer.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/rng.hpp"
#include "sim/dispatch/gacer_clusters.hpp"
#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

/// Pieces have whole samples.
int samples_needed(std::uint32_t pieces) {
  return pieces >= kQuarterFirst ? 4 : static_cast<int>(pieces);
}

/// Coordinate descent over pointers and pieces.
class Search {
 public:
  Search(const TenantSet& tenants, const GacerOptions& options)
      : options_(options), clusters_(tenants, options), rng_(options.seed) {}

  GacerPlan run() {
    const GacerPlan streams = plain();
    if (options_.fixed_pointers >= 0) return finished(with_fixed_pointers(streams));
    GacerPlan best = streams;
    if (options_.temporal) keep(best, temporal(streams));
    if (options_.spatial) keep(best, spatial(streams));
    if (options_.temporal && options_.spatial) best = joint(best);
    return finished(std::move(best));
  }

 private:
  [[nodiscard]] double objective(const GacerPlan& plan) {
    const GacerClusters::Cost cost = clusters_.cost(plan);
    return (options_.objective == GacerOptions::Objective::residue ? cost.residue() : cost.makespan).value();
  }
  [[nodiscard]] bool spent() const { return clusters_.evaluations() >= options_.budget; }
  bool keep(GacerPlan& best, GacerPlan other) {
    if (objective(other) >= objective(best)) return false;
    best = std::move(other);
    return true;
  }
  GacerPlan finished(GacerPlan plan) {
    const GacerClusters::Cost cost = clusters_.cost(plan);
    plan.makespan = cost.makespan;
    plan.residue = cost.residue();
    plan.evaluations = clusters_.evaluations();
    return plan;
  }
  [[nodiscard]] GacerPlan plain() const {
    GacerPlan plan;
    plan.pointers.resize(clusters_.tenants());
    for (std::size_t t = 0; t < clusters_.tenants(); ++t) plan.pieces.emplace_back(clusters_.kernels(t), 1u);
    return plan;
  }
  GacerPlan with_fixed_pointers(GacerPlan plan) {
    place_evenly(plan, static_cast<std::size_t>(options_.fixed_pointers));
    if (options_.temporal) descend(plan);
    return options_.spatial ? spatial(std::move(plan)) : plan;
  }

  void place_evenly(GacerPlan& plan, std::size_t count) const {
    for (std::size_t t = 0; t < plan.pointers.size(); ++t) {
      plan.pointers[t].resize(count);
      for (std::size_t p = 0; p < count; ++p) {
        plan.pointers[t][p] = static_cast<std::uint32_t>(clusters_.kernels(t) * (p + 1) / (count + 1));
      }
    }
  }
  void place_at_random(GacerPlan& plan, std::size_t count) {
    for (std::size_t t = 0; t < plan.pointers.size(); ++t) {
      plan.pointers[t].resize(count);
      for (auto& pointer : plan.pointers[t]) pointer = rng_.below(static_cast<std::uint32_t>(clusters_.kernels(t) + 1));
      std::ranges::sort(plan.pointers[t]);
    }
  }

  /// One more pointer as long as that pays.
  GacerPlan temporal(const GacerPlan& from) {
    GacerPlan best = from;
    for (int count = 1; count <= options_.most_pointers && !spent(); ++count) {
      bool better = false;
      for (int start = 0; start <= options_.restarts && !spent(); ++start) {
        GacerPlan plan = from;
        if (start == 0) {
          place_evenly(plan, static_cast<std::size_t>(count));
        } else {
          place_at_random(plan, static_cast<std::size_t>(count));
        }
        descend(plan);
        better = keep(best, std::move(plan)) || better;
      }
      if (!better) break;
    }
    return best;
  }

  /// Moves each pointer by a step either way while that helps; then halves the step.
  void descend(GacerPlan& plan) {
    std::size_t longest = 0;
    for (std::size_t t = 0; t < clusters_.tenants(); ++t) longest = std::max(longest, clusters_.kernels(t));
    double now = objective(plan);
    for (auto step = static_cast<std::int64_t>(std::max<std::size_t>(longest / 8, 1)); step >= 1; step /= 2) {
      for (bool moved = true; moved && !spent();) {
        moved = false;
        for (std::size_t t = 0; t < plan.pointers.size(); ++t) {
          for (std::size_t p = 0; p < plan.pointers[t].size(); ++p) {
            for (const std::int64_t by : {step, -step}) moved = try_move(plan, t, p, by, now) || moved;
          }
        }
      }
    }
  }
  bool try_move(GacerPlan& plan, std::size_t t, std::size_t p, std::int64_t by, double& now) {
    auto& pointers = plan.pointers[t];
    const std::uint32_t before = pointers[p];
    const std::int64_t low = p > 0 ? pointers[p - 1] : 0;
    const auto high = static_cast<std::int64_t>(p + 1 < pointers.size() ? pointers[p + 1] : clusters_.kernels(t));
    const std::int64_t to = std::clamp<std::int64_t>(before + by, low, high);
    if (to == before || spent()) return false;
    pointers[p] = static_cast<std::uint32_t>(to);
    const double then = objective(plan);
    if (then < now) {
      now = then;
      return true;
    }
    pointers[p] = before;
    return false;
  }

  /// The kernels that block most of the GPU, in pieces where that pays with the copies.
  GacerPlan spatial(GacerPlan plan) {
    std::vector<std::pair<std::size_t, std::size_t>> widest;
    for (std::size_t t = 0; t < clusters_.tenants(); ++t) {
      for (std::size_t k = 0; k < clusters_.kernels(t); ++k) widest.emplace_back(t, k);
    }
    const auto count = std::min<std::size_t>(widest.size(), static_cast<std::size_t>(options_.candidates));
    std::ranges::partial_sort(widest, widest.begin() + static_cast<std::ptrdiff_t>(count), [&](auto a, auto b) {
      const double x = clusters_.weight(a.first, a.second), y = clusters_.weight(b.first, b.second);
      return x != y ? x > y : a < b;
    });
    double now = objective(plan);
    for (std::size_t i = 0; i < count && !spent(); ++i) {
      std::uint32_t& pieces = plan.pieces[widest[i].first][widest[i].second];
      for (const std::uint32_t tried : options_.piece_counts) {
        if (samples_needed(tried) > clusters_.batch(widest[i].first)) continue;
        const std::uint32_t before = std::exchange(pieces, tried);
        const double then = objective(plan);
        if (then < now) {
          now = then;
        } else {
          pieces = before;
        }
      }
    }
    return plan;
  }

  /// In turns until a whole round changes nothing.
  GacerPlan joint(GacerPlan plan) {
    for (bool better = true; better && !spent();) {
      better = keep(plan, spatial(plan));
      GacerPlan moved = plan;
      descend(moved);
      better = keep(plan, std::move(moved)) || better;
      better = keep(plan, temporal(plan)) || better;
    }
    return plan;
  }

  GacerOptions options_;
  GacerClusters clusters_;
  Rng rng_;
};

/// The plan on the hardware's streams. Searched once per set of tenants; requests that come while a round is under way
/// run beside it.
class Gacer final : public DispatchPolicy {
 public:
  explicit Gacer(GacerOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Deployment deploy(const TenantSet& tenants) override {
    return deployment_of(search_gacer(tenants, options_), tenants, options_);
  }
  [[nodiscard]] Decision next(const DispatchView& view) override {
    return head_of(view.queue, before_in_queue, [](const QueuedKernel&) { return true; });
  }

 private:
  GacerOptions options_;
};

}  // namespace

GacerPlan search_gacer(const TenantSet& tenants, const GacerOptions& options) {
  return Search(tenants, options).run();
}

Deployment deployment_of(const GacerPlan& plan, const TenantSet& tenants, const GacerOptions& options) {
  Deployment deployment = shared_streams(tenants);
  deployment.pointer_cost = options.pointer_cost;
  deployment.concat_cost = options.concat_cost;
  for (std::size_t t = 0; t < deployment.tenants.size(); ++t) {
    deployment.tenants[t].priority = 0;
    deployment.tenants[t].pointers = plan.pointers[t];
    deployment.tenants[t].pieces = plan.pieces[t];
  }
  return deployment;
}

std::unique_ptr<DispatchPolicy> make_gacer_with(GacerOptions options) {
  return std::make_unique<Gacer>(std::move(options));
}

std::unique_ptr<DispatchPolicy> make_gacer() {
  return make_gacer_with({});
}

}  // namespace tessera
