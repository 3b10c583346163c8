// NeuSight's experiments: every method on the same measured rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/app/reproduce/comparison.hpp"
#include "sim/app/reproduce/neusight_data.hpp"
#include "sim/app/reproduce/paper.hpp"
#include "sim/app/validation/outcome.hpp"

namespace tessera {

/// A latency model of this program under the name that the page gives it.
struct Contender {
  std::string name;
  std::unique_ptr<LatencyModel> model;
};

struct Contenders {
  std::vector<Contender> list;       // ours first
  std::vector<std::string> missing;  // models that have no weights, and how to get them
  std::vector<std::string> fits;     // what NeuSight's weights say of their fit, one line per network
};
/// The answers of NeuSight's networks that are kept in results/, for those who have not fitted them.
inline constexpr std::string_view kKeptPredictions = "neusight_rebuilt.csv.gz";
Contenders contenders(const std::filesystem::path& weights);

/// Kernels of the artifact's test sets. Keys: op (bmm, linear, elementwise, softmax, layernorm), gpu, where (seen,
/// unseen, amd).
Comparison compare_kernels(NeuSightData& data, const Contenders& contenders, const ReproduceOptions& options);

/// Operators measured one by one inside models, with the published predictions. Keys: op, gpu, direction (fw, bw, acc),
/// where (in: seen GPU and model family; out). Rows that the artifact marks as suspect or did not measure are left out.
Comparison compare_operators(NeuSightData& data, const Contenders& contenders, const ReproduceOptions& options);

/// Whole models, with the published predictions. Keys: all text columns of the labels, and where (seen, unseen, amd).
/// `part`: forward and backward only have NeuSight's published figures.
Comparison compare_models(NeuSightData& data, const Contenders& contenders, MeasuredPart part,
                          const ReproduceOptions& options);

}  // namespace tessera
