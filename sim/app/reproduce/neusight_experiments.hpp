// NeuSight's experiments: every method on the same measured rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/app/reproduce/comparison.hpp"
#include "sim/app/reproduce/kept_predictions.hpp"
#include "sim/app/reproduce/neusight_data.hpp"
#include "sim/app/reproduce/paper.hpp"
#include "sim/app/validation/outcome.hpp"
#include "sim/config/json.hpp"

namespace tessera {

/// A latency model of this program under the name that the page gives it.
struct Contender {
  std::string name;
  std::unique_ptr<LatencyModel> model;
};

/// Answers of a rebuilt model, and what its weights say of their fit: for results/, in place of the weights.
struct KeptModel {
  std::string file;  // "neusight_rebuilt": .csv.gz and .json
  KeptPredictions predictions;
  Json fits = Json::array();  // one record per network
  bool fresh = false;         // of weights that are at hand
};

struct Contenders {
  std::vector<Contender> list;                   // ours first
  std::vector<std::string> missing;              // models that have no weights, and how to get them
  std::vector<std::unique_ptr<KeptModel>> kept;  // models noting or answering from here
};
/// Our model; with `refit` also under NeuSight's protocol and left out (neusight_protocols.hpp); the rebuilt ones, from
/// their weights or from what results/ keeps of them; the roofline.
Contenders contenders(const ReproduceOptions& options);

/// Kernels of the artifact's test sets. Keys: op (bmm, linear, elementwise, softmax, layernorm), gpu, where (seen,
/// unseen, amd).
Comparison compare_kernels(NeuSightData& data, const Contenders& contenders, const ReproduceOptions& options);

/// Operators measured one by one inside models, with the published predictions. Keys: op, gpu, graph, repeat (how many
/// layers a node stands for), direction (fw, bw, acc), where (in: seen GPU and model family; out). Rows that the
/// artifact marks as suspect or did not measure are left out.
Comparison compare_operators(NeuSightData& data, const Contenders& contenders, const ReproduceOptions& options);

/// The artifact's way: an entry per run and class of operators, the sums of its nodes' times; a method counts where it
/// prices every node.
Comparison totals_per_run(const Comparison& operators);

/// Whole models, with the published predictions. Keys: all text columns of the labels, and where (seen, unseen, amd).
/// `part`: forward and backward only have NeuSight's published figures.
Comparison compare_models(NeuSightData& data, const Contenders& contenders, MeasuredPart part,
                          const ReproduceOptions& options);

}  // namespace tessera
