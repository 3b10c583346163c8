// Tables, JSON and CSV of tenants that share a GPU.
#include <iterator>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/config/csv.hpp"
#include "sim/report/outputs.hpp"
#include "sim/report/tenants.hpp"

namespace tessera {

namespace {

constexpr Seconds kWorthTelling(1e-4);  // a policy without a search deploys in microseconds

}  // namespace

std::string sharing_text(const SharingSummary& s) {
  const SharingMeasures& m = s.measures;
  std::string out =
      fmt::format("{} / {}: {} tenants on {}, dispatch {}\n", s.scenario, s.run, m.tenants.size(), s.gpu, s.dispatch);
  const auto line = [&](std::string_view what, const std::string& text) {
    fmt::format_to(std::back_inserter(out), "  {:<13}{}\n", what, text);
  };
  line("makespan", format(m.makespan));
  line("in use", fmt::format("SMs {:.1f} %, HBM {:.1f} %, L2 {:.1f} %; {:.3f} SM-seconds left over", 100 * m.sm_ratio,
                             100 * m.hbm_ratio, 100 * m.l2_ratio, m.residue.value()));
  line("energy", format(m.energy));
  line("fairness", fmt::format("{:.3f} (Jain's index of relative speeds)", m.jain));
  if (s.search && *s.search > kWorthTelling) line("search", fmt::format("{} on this machine", format(*s.search)));
  fmt::format_to(std::back_inserter(out), "  {:<16} {:>8} {:>9} {:>9} {:>9} {:>9} {:>8} {:>10} {:>9}\n", "tenant",
                 "requests", "alone", "mean", "p50", "p99", "slowdown", "per second", "in SLO");
  for (const TenantMeasures& t : m.tenants)
    fmt::format_to(std::back_inserter(out), "  {:<16} {:>8} {:>9} {:>9} {:>9} {:>9} {:>8.2f} {:>10.2f} {:>9}\n", t.name,
                   t.requests, format(t.solo), format(t.mean), format(t.p50), format(t.p99), t.slowdown,
                   t.throughput.value(), t.slo ? fmt::format("{:.1f} %", 100 * t.in_slo_ratio) : "-");
  return out;
}

Json sharing_json(const SharingSummary& s) {
  const SharingMeasures& m = s.measures;
  Json tenants = Json::array();
  for (const TenantMeasures& t : m.tenants) {
    Json::Object fields{{"name", t.name},
                        {"priority", t.priority},
                        {"requests", t.requests},
                        {"alone_s", t.solo.value()},
                        {"mean_s", t.mean.value()},
                        {"p50_s", t.p50.value()},
                        {"p99_s", t.p99.value()},
                        {"slowdown_ratio", t.slowdown},
                        {"throughput_hz", t.throughput.value()}};
    if (t.slo) {
      fields.emplace_back("slo_s", t.slo->value());
      fields.emplace_back("in_slo_ratio", t.in_slo_ratio);
      fields.emplace_back("goodput_hz", t.goodput.value());
    }
    tenants.push(Json(std::move(fields)));
  }
  Json bins = Json::array();
  for (const UsageBin& bin : m.over_time)
    bins.push(Json(Json::Object{{"at_s", bin.at.value()},
                                {"sm_ratio", bin.sm_ratio},
                                {"hbm_ratio", bin.hbm_ratio},
                                {"l2_ratio", bin.l2_ratio}}));
  return Json(Json::Object{{"schema_version", kSchemaVersion},
                           {"scenario", s.scenario},
                           {"run", s.run},
                           {"gpu", s.gpu},
                           {"device", s.device},
                           {"dispatch", s.dispatch},
                           {"makespan_s", m.makespan.value()},
                           {"sm_ratio", m.sm_ratio},
                           {"hbm_ratio", m.hbm_ratio},
                           {"l2_ratio", m.l2_ratio},
                           {"residue_sm_s", m.residue.value()},
                           {"energy_j", m.energy.value()},
                           {"jain_index", m.jain},
                           {"tenants", std::move(tenants)},
                           {"usage", std::move(bins)}});
}

std::string requests_csv(std::span<const Tenant> tenants, const Timeline& timeline) {
  std::string out = "tenant,arrival_s,start_s,end_s,latency_s\n";
  for (const RequestSpan& r : timeline.requests)
    fmt::format_to(std::back_inserter(out), "{},{:.9g},{:.9g},{:.9g},{:.9g}\n", csv_cell(tenants[r.tenant].name),
                   r.arrival.value(), r.start.value(), r.end.value(), (r.end - r.arrival).value());
  return out;
}

}  // namespace tessera
