#include <cmath>

#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

Json estimate(double p10, double p50, double p90) {
  return Json(Json::Object{{"p10", p10}, {"p50", p50}, {"p90", p90}});
}
Json estimate(const Estimate<double>& e) {
  return estimate(e.p10, e.p50, e.p90);
}
template <int S, int B, int F, int J>
Json estimate(const Estimate<Quantity<S, B, F, J>>& e) {
  return estimate(e.p10.value(), e.p50.value(), e.p90.value());
}

Json memory(const Summary& s) {
  Json components = Json::array();
  for (const MemoryComponent& c : s.memory.components)
    components.push(Json(Json::Object{{"name", c.name}, {"size_bytes", c.size.value()}, {"formula", c.formula}}));
  return Json(Json::Object{{"total_bytes", s.memory.total().value()},
                           {"capacity_bytes", s.memory_capacity.value()},
                           {"components", std::move(components)}});
}

Json operators(const Summary& s) {
  Json list = Json::array();
  for (const OperatorShare& op : s.operators)
    list.push(Json(Json::Object{{"name", op.name},
                                {"calls", op.calls},
                                {"time_s", estimate(op.time)},
                                {"share_ratio", op.share_ratio},
                                {"provenance", to_string(op.provenance)}}));
  return list;
}

Json path_parts(const Summary& s, const std::vector<PathPart>& parts) {
  Json list = Json::array();
  for (const PathPart& part : parts) {
    const double bound = speed_up_bound(s.step_time.p50, part.time);
    list.push(Json(Json::Object{{"name", part.name},
                                {"time_s", part.time.value()},
                                {"share_ratio", part.time / s.step_time.p50},
                                {"speed_up_bound_ratio", std::isfinite(bound) ? Json(bound) : Json()}}));
  }
  return list;
}

Json critical_path_json(const Summary& s) {
  return Json(Json::Object{{"home_stage", s.path.stage},
                           {"parts", path_parts(s, s.path.parts)},
                           {"operators", path_parts(s, s.path.operators)}});
}

Json energy(const EnergyParts& e) {
  return Json(Json::Object{{"total_j", estimate(e.total)},
                           {"kernels_j", e.kernels.value()},
                           {"idle_gpus_j", e.idle_gpus.value()},
                           {"hosts_j", e.hosts.value()}});
}

}  // namespace

Json summary_json(const Summary& s) {
  return Json(Json::Object{
      {"schema_version", kSchemaVersion},
      {"scenario", s.scenario},
      {"run", s.run},
      {"model", s.model},
      {"mode", s.training ? "training" : "inference"},
      {"dtype", to_string(s.dtype)},
      {"platform", s.platform},
      {"gpu", s.gpu},
      {"gpus", s.gpus},
      {"tp", s.parallel.tp},
      {"dp", s.parallel.dp},
      {"pp", s.parallel.pp},
      {"micro_batches", s.parallel.micro_batches},
      {"samples_per_step", s.samples_per_step},
      {"sequence_tokens", s.sequence},
      {"tokens_per_step", s.tokens_per_step},
      {"step_time_s", estimate(s.step_time)},
      {"tokens_per_s", estimate(s.tokens_per_second)},
      {"tokens_per_s_per_gpu", estimate(s.tokens_per_second_per_gpu)},
      {"mfu_ratio", estimate(s.mfu_ratio)},
      {"model_flops", s.model_flops.value()},
      {"flop_convention", flop_convention(s.training)},
      {"peak_flop_per_s_per_gpu", s.peak.value()},
      {"memory_per_gpu", memory(s)},
      {"time", Json(Json::Object{{"compute_s", s.compute.value()},
                                 {"exposed_communication_s", s.exposed_communication.value()},
                                 {"idle_s", s.idle.value()}})},
      {"operators", operators(s)},
      {"critical_path", critical_path_json(s)},
      {"busiest_link", s.busiest_link.empty() ? Json() : Json(s.busiest_link)},
      {"busiest_link_ratio", s.busiest_link_ratio},
      {"hbm_ratio", s.hbm_ratio},
      {"energy", energy(s.energy)},
      {"provenance", to_string(s.provenance)},
      {"extrapolated_ratio", s.extrapolated_ratio},
      {"events", static_cast<std::int64_t>(s.events)},
      {"folded", static_cast<std::int64_t>(s.folded)},
      {"folding", s.folding},
  });
}

}  // namespace tessera
