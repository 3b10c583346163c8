#include "sim/report/tenants.hpp"

#include <algorithm>
#include <cmath>

#include "models/device.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr std::size_t kBins = 100;

TenantMeasures measure(std::uint32_t index, const SharingInput& in) {
  const Tenant& tenant = in.tenants[index];
  TenantMeasures m;
  m.name = tenant.name, m.priority = tenant.priority, m.solo = in.solo[index], m.slo = tenant.slo;
  std::vector<Seconds> latencies;
  Seconds sum, last;
  std::int64_t good = 0;
  for (const RequestSpan& request : in.timeline.requests) {
    if (request.tenant != index) continue;
    const Seconds latency = request.end - request.arrival;
    latencies.push_back(latency);
    sum += latency;
    last = max(last, request.end);
    if (tenant.slo && latency <= *tenant.slo) ++good;
  }
  m.requests = static_cast<std::int64_t>(latencies.size());
  if (latencies.empty()) return m;
  const auto count = static_cast<double>(m.requests);
  m.mean = sum / count;
  m.p50 = quantile(latencies, 0.5);
  m.p99 = quantile(latencies, 0.99);
  m.slowdown = m.mean / m.solo;
  m.throughput = count / last;
  m.in_slo_ratio = static_cast<double>(good) / count;
  m.goodput = static_cast<double>(good) / last;
  return m;
}

/// (sum x)^2 / (n sum x^2) of the tenants' relative speeds (Jain et al., DEC TR-301, 1984).
double jain_index(const std::vector<TenantMeasures>& tenants) {
  double sum = 0, squares = 0, count = 0;
  for (const TenantMeasures& t : tenants) {
    if (t.requests == 0) continue;
    const double x = 1 / t.slowdown;
    sum += x, squares += x * x, count += 1;
  }
  return count > 0 ? sum * sum / (count * squares) : 1;
}

/// Mean of a step function in every bin.
class Averager {
 public:
  Averager(std::vector<UsageBin>& bins, Seconds width) : bins_(bins), width_(width) {}

  void add(Seconds from, Seconds to, double UsageBin::*value, double amount) {
    if (!(to > from)) return;
    auto bin = static_cast<std::size_t>(std::max(0.0, from / width_));
    for (; bin < bins_.size() && bins_[bin].at < to; ++bin) {
      const Seconds start = max(from, bins_[bin].at), end = min(to, bins_[bin].at + width_);
      if (end > start) bins_[bin].*value += amount * ((end - start) / width_);
    }
  }

 private:
  std::vector<UsageBin>& bins_;
  Seconds width_;
};

std::vector<UsageBin> usage_over_time(const SharingInput& in, BytesPerSec l2) {
  const Timeline& t = in.timeline;
  if (t.usage.empty() || !(t.makespan > Seconds(0.0))) return {};
  const Seconds width = t.makespan / static_cast<double>(kBins);
  std::vector<UsageBin> bins(kBins);
  for (std::size_t i = 0; i < kBins; ++i) bins[i].at = width * static_cast<double>(i);
  Averager average(bins, width);
  for (std::size_t i = 0; i < t.usage.size(); ++i) {
    const Seconds end = i + 1 < t.usage.size() ? t.usage[i + 1].at : t.makespan;
    average.add(t.usage[i].at, end, &UsageBin::sm_ratio, t.usage[i].sms / in.gpu.sms);
    average.add(t.usage[i].at, end, &UsageBin::hbm_ratio, std::min(1.0, t.usage[i].demand / in.gpu.memory_bandwidth));
  }
  for (const RequestSpan& r : t.requests)
    if (r.end > r.start)
      average.add(r.start, r.end, &UsageBin::l2_ratio, in.l2_traffic[r.tenant] / (r.end - r.start) / l2);
  return bins;
}

}  // namespace

Seconds quantile(std::vector<Seconds> values, double share) {
  TESSERA_ASSERT(!values.empty(), "a quantile is of something");
  const double rank = std::ceil(share * static_cast<double>(values.size()) - 1e-9);
  const auto at = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

SharingMeasures measure_sharing(const SharingInput& in) {
  const Device device = derive_device(in.gpu);
  SharingMeasures m;
  m.makespan = in.timeline.makespan;
  for (std::uint32_t i = 0; i < in.tenants.size(); ++i) m.tenants.push_back(measure(i, in));
  m.jain = jain_index(m.tenants);
  const Seconds sm_time = m.makespan * static_cast<double>(in.gpu.sms);
  m.residue = sm_time - in.timeline.sm_time;
  m.energy = in.timeline.energy + device.idle * m.makespan;
  if (m.makespan > Seconds(0.0)) {
    Bytes l2;
    for (const TenantMeasures& t : m.tenants)
      l2 += in.l2_traffic[static_cast<std::size_t>(&t - m.tenants.data())] * static_cast<double>(t.requests);
    m.sm_ratio = in.timeline.sm_time / sm_time;
    m.hbm_ratio = in.timeline.hbm_carried / (in.gpu.memory_bandwidth * m.makespan);
    m.l2_ratio = l2 / (device.l2 * m.makespan);
  }
  m.over_time = usage_over_time(in, device.l2);
  return m;
}

}  // namespace tessera
