// What a scenario says about models that share GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"
#include "sim/config/reader.hpp"
#include "sim/dispatch/deployment.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

/// When a tenant's requests come: one of `rate` and `trace`, or neither: each when the one before has ended.
struct ArrivalsSection {
  ArrivalsSection() = default;  // no aggregate: g++ 12 warns of uninitialized members in T{} otherwise
  std::optional<Hertz> rate;
  std::int64_t burst = 1;
  std::optional<std::string> trace;
  std::int64_t requests = 0;  // 0: as many as the duration holds
};

struct TenantSection {
  TenantSection() = default;  // as above
  std::string name;
  std::optional<std::string> model, profile;
  Mode mode = Mode::inference;
  Dtype dtype = Dtype::fp32;
  std::int64_t batch = 1, sequence = 1;
  AttentionKind attention = AttentionKind::flash;
  OptimizerKind optimizer = OptimizerKind::adam;
  bool fused = false, cuda_graph = false;
  std::optional<Bytes> memory;
  int priority = 0;
  std::optional<Seconds> slo;
  std::optional<ArrivalsSection> arrivals;
  double sm_share = 1;
  std::optional<std::string> mig;
  std::vector<int> devices;
};

/// The part of a run that says how tenants share.
struct SharingSection {
  SharingSection() = default;  // as above
  std::vector<std::string> devices;
  std::optional<Seconds> duration;
  Seconds time_slice = SharingOptions{}.time_slice;
  bool hbm = true, issue = true, l2 = true, clock = true, launch = true;
};

void describe(Reader& r, ArrivalsSection& s);
void describe(Reader& r, TenantSection& s);
void describe(Reader& r, SharingSection& s);

/// Requests of all tenants of a run together, and kernels that they launch on one GPU: what an hour of the event loop
/// and some gigabytes of timeline hold.
inline constexpr std::int64_t kMostRequests = 1'000'000, kMostLaunches = 20'000'000;

/// Most urgent and least urgent priority of a stream (cudaDeviceGetStreamPriorityRange since CUDA 11).
inline constexpr int kMostUrgent = -5, kLeastUrgent = 0;

}  // namespace tessera
