#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "sim/app/reproduce/gacer.hpp"
#include "sim/app/tenants/arrivals.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/dispatch/evaluate.hpp"
#include "sim/report/tenants.hpp"

namespace tessera {

namespace {

constexpr double kSloOverSolo = 3;  // a request may take three times its time alone
constexpr std::uint64_t kSeed = 20240601;

/// Processor time: others on the machine do not lengthen a search.
class Stopwatch {
 public:
  [[nodiscard]] Seconds elapsed() const {
    return Seconds(static_cast<double>(std::clock() - start_) / static_cast<double>(CLOCKS_PER_SEC));
  }

 private:
  std::clock_t start_ = std::clock();
};

/// Orion's profiles of training steps are named so.
bool trains(const Tenant& tenant) {
  return tenant.name.ends_with('t');
}

/// The other policies decide by rules, in no time worth charging.
bool searches(const PolicyContender& one) {
  return one.name == "gacer" || one.name == "lookahead" || one.name == "IOS-like";
}

std::vector<Seconds> solo_times(const TenantGroup& group) {
  std::vector<Seconds> times;
  for (Tenant alone : group.tenants) {
    alone.arrivals = {};
    times.push_back(evaluate(std::span(&alone, 1), group.gpu, "streams").makespan);
  }
  return times;
}

/// `waited`: from the arrival in the eyes of the tenant to the date in the timeline.
void measure(PolicyOutcome& outcome, const TenantGroup& group, const Timeline& timeline,
             const std::vector<Seconds>& solo, Seconds no_service_before) {
  std::vector<std::vector<Seconds>> latencies(group.tenants.size());
  double good = 0;
  std::vector<std::size_t> seen(group.tenants.size());
  for (const RequestSpan& request : timeline.requests) {
    const Tenant& tenant = group.tenants[request.tenant];
    // Requests of one tenant end in the order in which they came.
    Seconds arrival = request.arrival;
    if (no_service_before > Seconds(0.0) && !tenant.arrivals.dates.empty())
      arrival = tenant.arrivals.dates[seen[request.tenant]++];
    const Seconds latency = request.end - arrival;
    latencies[request.tenant].push_back(latency);
    if (tenant.slo && latency <= *tenant.slo) good += 1;
  }
  std::vector<double> tails;
  for (std::size_t i = 0; i < latencies.size(); ++i)
    if (group.tenants[i].slo && !latencies[i].empty()) tails.push_back(quantile(latencies[i], 0.99) / solo[i]);
  outcome.tail = geometric_mean(tails);
  outcome.goodput = timeline.makespan > Seconds(0.0) ? good / timeline.makespan : Hertz(0.0);
}

PolicyOutcome run_with(const TenantGroup& group, DispatchPolicy& policy, const std::vector<Seconds>& solo,
                       Seconds no_service_before = Seconds(0.0)) {
  PolicyOutcome outcome;
  std::vector<Tenant> tenants = group.tenants;
  for (Tenant& tenant : tenants)
    for (Seconds& date : tenant.arrivals.dates) date = max(date, no_service_before);
  const Stopwatch watch;
  try {
    const Timeline timeline = evaluate(tenants, group.gpu, policy);
    outcome.done = true;
    outcome.processor = watch.elapsed();
    outcome.makespan = timeline.makespan;
    measure(outcome, group, timeline, solo, no_service_before);
  } catch (const RunError&) {
    outcome.processor = watch.elapsed();
  }
  return outcome;
}

/// A deployment made for other durations, with a policy's own rules at run time.
class Planned final : public DispatchPolicy {
 public:
  Planned(Deployment plan, std::unique_ptr<DispatchPolicy> rules) : plan_(std::move(plan)), rules_(std::move(rules)) {}
  Deployment deploy(const TenantSet&) override { return plan_; }
  Decision next(const DispatchView& view) override { return rules_->next(view); }
  [[nodiscard]] bool lone_stream_is_free() const override { return rules_->lone_stream_is_free(); }

 private:
  Deployment plan_;
  std::unique_ptr<DispatchPolicy> rules_;
};

}  // namespace

double geometric_mean(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!(value > 0)) continue;
    sum += std::log(value);
    count += 1;
  }
  return count > 0 ? std::exp(sum / count) : 0;
}

PolicyContender contender(std::string_view policy) {
  return {std::string(policy), [name = std::string(policy)] { return make_dispatch_policy(name); }};
}

std::vector<PolicyContender> contenders() {
  std::vector<PolicyContender> all;
  for (const DispatchPolicyEntry& entry : dispatch_policies()) all.push_back(contender(entry.name));
  return all;
}

PolicyOutcome run_group(const TenantGroup& group, const PolicyContender& contender) {
  return run_with(group, *contender.make(), solo_times(group));
}

MakespanRow makespans(const TenantGroup& group, std::int64_t batch, const std::vector<PolicyContender>& contenders) {
  const std::vector<Seconds> solo = solo_times(group);
  MakespanRow row{.group = group.name,
                  .gpu = group.gpu.name,
                  .batch = batch,
                  .tenants = group.tenants.size(),
                  .bound = *std::ranges::max_element(solo),
                  .outcomes = {}};
  for (const PolicyContender& one : contenders) row.outcomes.push_back(run_with(group, *one.make(), solo));
  return row;
}

ArrivalRow with_arrivals(const TenantGroup& group, double load, std::int64_t burst,
                         const std::vector<PolicyContender>& contenders) {
  constexpr double kRounds = 20;  // of all services one after the other
  const std::vector<Seconds> solo = solo_times(group);
  TenantGroup busy = group;
  Seconds all;
  double services = 0;
  for (std::size_t i = 0; i < solo.size(); ++i) {
    if (trains(group.tenants[i])) continue;
    all += solo[i];
    services += 1;
  }
  const Seconds end = all * kRounds / load;
  for (std::size_t i = 0; i < solo.size(); ++i) {
    Tenant& tenant = busy.tenants[i];
    if (trains(tenant)) {
      tenant.arrivals = {.dates = {}, .requests = std::numeric_limits<std::int64_t>::max(), .until = end};
      continue;
    }
    Rng rng(kSeed, i + 1);
    tenant.priority = -1;
    tenant.slo = solo[i] * kSloOverSolo;
    tenant.arrivals.dates = poisson_dates(load / (services * solo[i]), burst, end, 0, rng);
  }
  ArrivalRow row{.group = group.name, .load = load, .burst = burst, .outcomes = {}, .charged = {}};
  const Seconds plain = run_with(busy, *make_dispatch_policy("streams"), solo).processor;
  for (const PolicyContender& one : contenders) {
    row.outcomes.push_back(run_with(busy, *one.make(), solo));
    const Seconds search = max(Seconds(0.0), row.outcomes.back().processor - plain);
    row.charged.push_back(searches(one) ? run_with(busy, *one.make(), solo, search) : row.outcomes.back());
  }
  return row;
}

NoiseRow with_noise(const TenantGroup& group, double deviation, int draws) {
  NoiseRow row{.group = group.name, .deviation = deviation};
  const SharingOptions options;
  const Deployment plan = make_dispatch_policy("gacer")->deploy({group.tenants, group.gpu, options});
  for (int draw = 0; draw < draws; ++draw) {
    TenantGroup other = group;
    Rng rng(kSeed, static_cast<std::uint64_t>(draw) + 1);
    for (Tenant& tenant : other.tenants)
      for (TenantKernel& kernel : tenant.kernels) kernel.cost.time *= std::exp(deviation * rng.normal());
    Planned planned(plan, make_dispatch_policy("gacer"));
    const auto makespan = [&](DispatchPolicy& policy) { return evaluate(other.tenants, other.gpu, policy).makespan; };
    const Seconds gacer = makespan(planned);
    row.gacer_over_lookahead += gacer / makespan(*make_dispatch_policy("lookahead")) / draws;
    row.gacer_over_streams += gacer / makespan(*make_dispatch_policy("streams")) / draws;
  }
  return row;
}

}  // namespace tessera
