// Published measurements of models that share a GPU, and what the sharing engine says of them; nothing is fitted here.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// iGniter (TPDS 2023, its repository's profiles): V100, TensorRT in fp32, a share of the SMs under MPS. The time with
/// all SMs is given; what the engine adds is the ratio.
struct ShareRow {
  std::string model;
  std::int64_t batch = 1;
  double share = 1;
  Seconds measured, predicted;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};
std::vector<ShareRow> igniter_shares(const LatencyModel& latency);

/// Two copies on half of the SMs each: active time over that of one copy on one half.
struct CopyRow {
  std::string model;
  double measured = 1, predicted = 1;
};
std::vector<CopyRow> igniter_copies(const LatencyModel& latency);

/// MISO (SoCC 2022): training steps (fp32) on MIG slices of an A100-40GB; speeds relative to the whole. The step on the
/// whole is given: what of it is not GPU time by our model is taken for the host's, which no slice changes.
struct SliceRow {
  std::string model, slice;
  std::int64_t batch = 1;
  double measured = 1, predicted = 1;
};
std::vector<SliceRow> miso_slices(const std::filesystem::path& data, const LatencyModel& latency);

/// XSched (OSDI 2025, figure 9): from the request to the free GPU, medians behind kernels of one length.
struct PreemptionRow {
  int level = 1;  // 1: launches are held back, 2: the queue is flushed, 3: the kernel is interrupted
  Seconds kernel, measured, predicted;
};
std::vector<PreemptionRow> xsched_preemption(const std::filesystem::path& data);

/// IOS (MLSys 2021), the pair in its README: two 3x3 convolutions, batch 1; solo times given, maps of 14 x 14 assumed.
struct PairRow {
  Seconds first, second, measured, predicted;
};
PairRow ios_pair(const LatencyModel& latency);

/// Gavel (OSDI 2020): training pairs on a V100 under MPS; a job's speed beside another, relative to alone.
struct TrainingPairRow {
  std::string job, beside;
  double measured = 1, predicted = 1;
};
/// Uncapped pairs of ResNet-18 (CIFAR-10), ResNet-50 (ImageNet), Transformer (Multi30k) and LM (wikitext-2).
std::vector<TrainingPairRow> gavel_pairs(const std::filesystem::path& data, const LatencyModel& latency);

/// Mean of |predicted - measured| over `rows`, whose members are called so.
template <class Row>
double mean_abs_difference(const std::vector<Row>& rows) {
  double sum = 0;
  for (const Row& row : rows) sum += std::abs(row.predicted - row.measured);
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

}  // namespace tessera
