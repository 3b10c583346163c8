// Training measurements: a row to the runs that it may have been, and the fastest of them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/parameters.hpp"
#include "models/latency_model.hpp"
#include "models/profile.hpp"
#include "sim/app/run.hpp"
#include "sim/app/validation/catalogue.hpp"
#include "sim/app/validation/outcome.hpp"
#include "sim/app/validation/row_reader.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

/// What a framework decides that a row does not say (`framework`; any other name is the plain one).
struct FrameworkHabits {
  std::string_view name;
  AttentionKind eager;        // what it does where the row's attention is eager
  double dropout;             // of GPT models
  bool biases, positions;     // of GPT models
  bool overlap;               // reduces gradients beside backward
  bool sharded_accumulation;  // adds up its share of the reduced gradients alone
  bool scattered_messages;
  bool synchronous_messages;  // the host waits at every message between stages, unless stages are interleaved
  std::optional<Dtype> reduced_as;
  Recompute selective;  // what it calls so
  FlashGeneration flash;
  double bucket_elements = 0;          // at least so many gradients in a bucket, 1 M per replica; 0: PyTorch's bytes
  bool micro_batch_per_stage = false;  // its default in a pipeline: as many micro-batches as stages
  bool tp_waits = false;               // for sums of gradients over tp
};
const FrameworkHabits& habits_of(std::string_view framework);

/// What is open in a row is taken as its authors would: several runs, of which the fastest that fits counts.
struct TrainingRow {
  std::vector<RunSpec> runs;  // with check_memory where something was open
  std::string unsupported;    // why none can run; empty: they can
};
TrainingRow read_training_row(RowReader& row, Catalogue& catalogue);

Outcome predict_training_row(const TrainingRow& row, const LatencyModel& model);

/// As `predict_model_rows`. `host_launch`: instead of the platforms' own.
std::vector<Outcome> predict_training_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                           const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                           const LatencyModel& model, const CollectiveParameters& collectives,
                                           Mistakes& mistakes, const std::function<void()>& progress,
                                           std::span<const Profile> profiles, std::optional<Seconds> host_launch);

}  // namespace tessera
