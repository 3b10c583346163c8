// Every key of a tenant, its default and its checks.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/app/graph_names.hpp"
#include "sim/app/tenants/profile_kernels.hpp"
#include "sim/app/tenants/section.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kMostSamples = 1 << 20, kLongestSequence = 1 << 24;
constexpr std::size_t kLongestName = 100;

void check_range(Reader& r, std::string_view key, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (r.has(key) && (value < least || value > most))
    r.error(key, fmt::format("found {}, expected {} to {}", value, least, most));
}

/// What reading a file brings to light, at the key that names it.
template <class Read>
void look_up(Reader& r, std::string_view key, const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics())
      r.error(key, d.line == 0 ? d.message : fmt::format("{}:{}:{}: {}", d.file, d.line, d.column, d.message));
  }
}

void check_source(Reader& r, const TenantSection& s) {
  if (s.model.has_value() == s.profile.has_value())
    return r.error("", s.model ? "both 'model' and 'profile' are given; keep one" : "missing key 'model' or 'profile'");
  if (s.profile) return look_up(r, "profile", [&] { read_profile_kernels(*s.profile); });
  look_up(r, "model", [&] {
    const ModelConfig model = find_model(*s.model);
    if (model.fixed_sequence == 0 && !r.has("sequence"))
      r.error("", fmt::format("missing key 'sequence': samples of {} are tokens", *s.model));
    if (model.fixed_sequence > 0 && s.sequence != 1)
      r.error("sequence",
              fmt::format("found {}, but samples of {} are not tokens; leave it out", s.sequence, *s.model));
    if (model.positions > 0 && model.fixed_sequence == 0 && s.sequence > model.positions)
      r.error("sequence", fmt::format("{} is longer than the {} positions that {} has learned", s.sequence,
                                      model.positions, model.name));
  });
}

/// A name stands in tables, CSV files and pictures.
void check_name(Reader& r, const std::string& name) {
  if (!r.has("name")) return;
  if (name.empty()) r.error("name", "is empty");
  if (name.size() > kLongestName)
    r.error("name", fmt::format("{} characters; at most {} fit into a table", name.size(), kLongestName));
  if (std::ranges::any_of(name, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }))
    r.error("name", "has line breaks or other control characters");
}

void check_mode(Reader& r, const TenantSection& s) {
  if (s.mode == Mode::training && element_size(s.dtype) < Bytes(2))
    r.error("dtype", fmt::format("training in {} is not supported; use fp32, tf32, fp16, bf16", to_string(s.dtype)));
  if (s.mode == Mode::inference && r.has("optimizer") && s.optimizer != OptimizerKind::none)
    r.error("optimizer", "mode inference has no optimizer");
}

/// Keys that say how a model's kernels come about mean nothing beside measured ones.
void check_profile_keys(Reader& r, const TenantSection& s) {
  if (!s.profile) return;
  for (const char* key : {"mode", "dtype", "sequence", "attention", "optimizer", "fused"})
    if (r.has(key)) r.error(key, "a profile's kernels are as measured; leave it out");
}

}  // namespace

void describe(Reader& r, ArrivalsSection& s) {
  r.optional("rate", s.rate, "requests per second, Poisson");
  r.optional("burst", s.burst, "with rate: so many requests come together, the rate staying the same");
  r.optional("trace", s.trace, "a CSV file whose column arrival_s has dates in seconds, ascending");
  r.optional("requests", s.requests, "at most so many; 0: what the run's duration holds");
  if (r.has("rate") && s.rate && !(*s.rate > Hertz(0.0))) r.error("rate", "must be positive");
  if (s.rate && s.trace) r.error("trace", "both rate and trace are given; keep one");
  if (r.has("burst") && !s.rate) r.error("burst", "needs a rate");
  check_range(r, "burst", s.burst, 1, kMostRequests);
  check_range(r, "requests", s.requests, 0, kMostRequests);
}

void describe(Reader& r, TenantSection& s) {
  r.required("name", s.name, "of the tenant, in every table");
  r.optional("model", s.model, "a built-in model (`tessera list models`) or a Hugging Face config.json; or:");
  r.optional("profile", s.profile,
             "kernels measured one by one: CSV with columns Name, Profile, SM_usage, and Duration in ns");
  r.optional("mode", s.mode, "a request is a forward pass, or a training step");
  r.optional("dtype", s.dtype, "of weights, activations and gradients");
  r.optional("batch", s.batch, "samples of a request; of a profile: that it was measured with");
  r.optional("sequence", s.sequence, "tokens per sample; models of images have none");
  r.optional("attention", s.attention, "eager writes the score matrix to memory, flash does not");
  r.optional("optimizer", s.optimizer, "of training");
  r.optional("fused", s.fused, "chains of elementwise operators run as one kernel");
  r.optional("cuda_graph", s.cuda_graph, "kernels are launched as one graph: the host costs nothing");
  r.optional("memory", s.memory, "that it holds; default: by the memory model (profiles: none)");
  r.optional("priority", s.priority, "of its stream, CUDA's convention: smaller is more urgent, -5 to 0");
  r.optional("slo", s.slo, "from the arrival of a request to its end; needs arrivals");
  r.optional("arrivals", s.arrivals, "when requests come; default: one, at 0");
  r.optional("sm_share", s.sm_share, "of the SMs that its process may use (MPS), 0 to 1");
  r.optional("mig", s.mig, "slice of dispatch mig, as 2g; default: the policy chooses");
  r.optional("devices", s.devices, "numbers of the devices that it runs on, a copy on each; default: all");
  check_name(r, s.name);
  check_range(r, "batch", s.batch, 1, kMostSamples);
  check_range(r, "sequence", s.sequence, 1, kLongestSequence);
  check_range(r, "priority", s.priority, kMostUrgent, kLeastUrgent);
  if (r.has("slo") && s.slo && !(*s.slo > Seconds(0.0))) r.error("slo", "must be positive");
  if (s.slo && !s.arrivals) r.error("slo", "an SLO is about requests that arrive; give arrivals");
  if (r.has("memory") && s.memory && *s.memory < Bytes(0.0)) r.error("memory", "must not be negative");
  if (!(s.sm_share > 0 && s.sm_share <= 1))
    r.error("sm_share", fmt::format("found {}, expected more than 0 and at most 1", s.sm_share));
  if (r.has("mig") && s.mig && s.mig->empty()) r.error("mig", "is empty; leave it out, and the policy chooses");
  if (r.has("devices") && s.devices.empty()) r.error("devices", "names none; leave it out for all");
  if (!s.profile) check_mode(r, s);
  if (!r.printing() && r.ok()) check_source(r, s);
  if (!r.printing()) check_profile_keys(r, s);
}

void describe(Reader& r, SharingSection& s) {
  r.optional("devices", s.devices, "GPUs that the tenants share, instead of 'gpu'");
  r.optional("duration", s.duration, "requests come until then; needed where arrivals have no number of requests");
  r.optional("time_slice", s.time_slice, "dispatch timeslice: how long a process has the GPU");
  r.optional("hbm", s.hbm, "bandwidth is shared; false: everyone gets what it asks for");
  r.optional("issue", s.issue, "blocks that fill more than the SMs share their issue slots");
  r.optional("l2", s.l2, "tenants evict each other's cache lines");
  r.optional("clock", s.clock, "the power cap lowers the clock of all");
  r.optional("launch", s.launch, "kernels start later the more tenants are active");
  if (r.has("duration") && s.duration && !(*s.duration > Seconds(0.0))) r.error("duration", "must be positive");
  if (r.has("time_slice") && !(s.time_slice > Seconds(0.0))) r.error("time_slice", "must be positive");
}

}  // namespace tessera
