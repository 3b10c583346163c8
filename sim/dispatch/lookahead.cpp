// A portfolio tried inside the event loop: from the state of the GPU as it is, every member is run ahead by the
// engine's own rules, and the best goes on. One request of each tenant at once (a batch): every policy of the
// portfolio, GACER's plan and many settings of CPP, for the makespan. With arrivals: CPP's settings and REEF's kills,
// at every arrival and end, for the deadlines and slowdowns of the open requests.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "sim/base/rng.hpp"
#include "sim/dispatch/cpp.hpp"
#include "sim/dispatch/evaluate.hpp"
#include "sim/dispatch/gacer.hpp"
#include "sim/dispatch/policy_table.hpp"

namespace tessera {

namespace {

constexpr std::array<std::string_view, 9> kMembers{
    "abacus", "cpp", "mps", "orion", "reef", "sequential", "streams", "streams+priority", "tally"};
constexpr std::array kOrders{CppSettings::Order::longest, CppSettings::Order::shortest, CppSettings::Order::deadline,
                             CppSettings::Order::arrival};

/// Orders with and without hold, reservation and bandwidth caps.
std::vector<CppSettings> batch_settings() {
  std::vector<CppSettings> all;
  for (const bool hold : {false, true}) {
    for (const bool reserve : {false, true}) {
      for (const double cap : {0.0, 0.8, 1.0, 1.3}) {
        all.push_back({CppSettings::Order::longest, false, cap, reserve, hold, {}});
      }
    }
  }
  for (const auto order : kOrders) all.push_back({order, true, 0, false, false, {}});
  return all;
}

using Member = std::function<std::unique_ptr<DispatchPolicy>()>;

/// What is tried at an arrival.
std::vector<Member> online_members() {
  std::vector<Member> all;
  const auto add = [&all](const CppSettings& settings) {
    all.emplace_back([settings] { return make_cpp_with(settings); });
  };
  for (const auto order : kOrders) {
    add({order, false, 0, false, false, {}});
    add({order, true, 0, false, false, {}});
  }
  add({CppSettings::Order::shortest, false, 1.0, true, false, {}});
  all.emplace_back(make_reef);
  return all;
}

bool is_batch(const TenantSet& set) {
  return std::ranges::all_of(
      set.tenants, [](const Tenant& tenant) { return tenant.arrivals.dates.empty() && tenant.arrivals.requests == 1; });
}

class Lookahead final : public DispatchPolicy {
 public:
  [[nodiscard]] Deployment deploy(const TenantSet& set) override {
    online_ = !is_batch(set);
    if (online_) {
      choose(0);
      return shared_streams(set);
    }
    return best_of_batch(set);
  }

  [[nodiscard]] Decision next(const DispatchView& view) override {
    if (online_ && view.forecast != nullptr && changed(view)) look_ahead(view);
    return inner_->next(view);
  }
  [[nodiscard]] bool lone_stream_is_free() const override { return !inner_ || inner_->lone_stream_is_free(); }

 private:
  void choose(std::size_t member) {
    inner_ = members_[member]();
    member_ = member;
  }

  // A member that cannot deploy these tenants is none. The simulated policy may remember things: the one kept is new.
  Deployment best_of_batch(const TenantSet& set) {
    Deployment best;
    Seconds shortest(std::numeric_limits<double>::infinity());
    const auto tried = [&](const auto& make, const Deployment& deployment) {
      const auto trial = make();
      const Seconds makespan = evaluate_deployed(set, deployment, *trial).makespan;
      if (makespan >= shortest) return;
      shortest = makespan;
      best = deployment;
      inner_ = make();
    };
    for (const std::string_view name : kMembers) {
      Deployment deployment;
      const auto make = [&] {
        auto member = make_dispatch_policy(name);
        deployment = member->deploy(set);
        return member;
      };
      make();
      tried(make, deployment);
    }
    for (const CppSettings& settings : batch_settings()) {
      tried([&] { return make_cpp_with(settings); }, shared_streams(set));
    }
    const GacerOptions options;
    const Deployment plan = deployment_of(search_gacer(set, options), set, options);
    tried([] { return make_dispatch_policy("streams"); }, plan);
    tried([] { return make_cpp_with({.priorities = false}); }, plan);
    improve_biases(set, tried);
    return best;
  }

  /// Random factors on the tenants' remaining times.
  template <class Tried>
  static void improve_biases(const TenantSet& set, const Tried& tried) {
    constexpr int kTries = 48;
    Rng rng(1);
    for (int i = 0; i < kTries; ++i) {
      CppSettings settings{.priorities = false};
      for (std::size_t t = 0; t < set.tenants.size(); ++t) settings.bias.push_back(std::exp2(3 * rng.uniform() - 1.5));
      settings.hold = rng.below(2) == 0;
      tried([&] { return make_cpp_with(settings); }, shared_streams(set));
    }
  }

  [[nodiscard]] bool changed(const DispatchView& view) {
    seen_.resize(view.streams.size());
    alone_.resize(view.streams.size());
    bool any = false;
    for (std::size_t s = 0; s < seen_.size(); ++s) {
      const StreamView& stream = view.streams[s];
      const Seen now{stream.busy, stream.request, stream.waiting};
      if (stream.busy && (seen_[s].request != now.request || !seen_[s].busy)) alone_[s] = stream.remaining;
      any = any || !(now == seen_[s]);
      seen_[s] = now;
    }
    return any;
  }

  void look_ahead(const DispatchView& view) {
    if (std::ranges::count_if(view.streams, [](const StreamView& s) { return s.busy; }) < 2) return;
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = member_;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::size_t tried = (member_ + i) % members_.size();  // the present one first: it wins ties
      const auto member = members_[tried]();
      const double cost = cost_of(view, view.forecast->ends_under(*member));
      if (cost < least * (1 - 1e-9)) {
        least = cost;
        best = tried;
      }
    }
    if (best != member_) choose(best);
  }

  /// Squared slowdowns, those with requests behind them as often; a missed deadline costs as much as a slowdown of 10.
  [[nodiscard]] double cost_of(const DispatchView& view, const std::vector<Seconds>& ends) const {
    constexpr double kMissed = 100;
    double cost = 0;
    for (std::size_t s = 0; s < view.streams.size(); ++s) {
      const StreamView& stream = view.streams[s];
      if (!stream.busy) continue;
      const double slowdown = (ends[s] - stream.arrival) / alone_[s];
      const double late = ends[s] > stream.deadline ? kMissed : 0;
      cost += (slowdown * slowdown + late) * (1 + static_cast<double>(stream.waiting));
    }
    return cost + 1e-6 * (ends.back() - view.now).value();
  }

  struct Seen {
    bool busy = false;
    std::uint64_t request = 0;
    std::size_t waiting = 0;
    bool operator==(const Seen&) const = default;
  };
  std::unique_ptr<DispatchPolicy> inner_;
  std::vector<Member> members_ = online_members();
  std::size_t member_ = 0;
  bool online_ = false;
  std::vector<Seen> seen_;
  std::vector<Seconds> alone_;  // of the open requests
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_lookahead() {
  return std::make_unique<Lookahead>();
}

}  // namespace tessera
