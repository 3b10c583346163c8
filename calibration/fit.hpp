// Fits the families' weights on measured kernels, and says how wrong they are on GPUs left out.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/bars.hpp"
#include "calibration/dataset.hpp"
#include "models/family.hpp"
#include "models/mlp_trainer.hpp"

namespace tessera {

/// How one family is fitted.
struct Recipe {
  FamilyId family;
  std::string_view source;  // data set and version, for the weights file
  Dataset (*load)(const std::filesystem::path& data);
  TrainOptions train;
  int members = 1;              // nets in the ensemble
  std::size_t rows_per_group;   // per GPU, operator and dtype
  bool session_offsets = true;  // learn an offset per session beside the nets; see TrainingSet
  bool fit_constants = false;   // those of the closed form, before the nets
  TrainOptions train_seen{};    // nets for GPUs that the fit has seen: less decay, which only unseen ones need
  int seen_members = 0;         // 0: the same nets
};
/// One row per fitted family.
std::span<const Recipe> recipes();

/// Net and ranges from the samples with `fit`, the GPUs named in `leave_out` kept aside.
FamilyWeights fit_family(const Recipe& recipe, const Dataset& data, std::span<const std::string> leave_out);

/// Adds the nets for seen GPUs, from the same samples.
void fit_seen_nets(const Recipe& recipe, const Dataset& data, FamilyWeights& weights);

/// How wrong the weights are on each sample, and what its error bar depends on; `seen`: with the nets for seen GPUs.
std::vector<Residue> residues_of(const FamilyWeights& weights, const Recipe& recipe, const Dataset& data,
                                 bool seen = false);

/// Errors per operator of `gpu` (all its samples) under weights fitted without it.
std::vector<LeftOut> errors_on(const FamilyWeights& weights, const Recipe& recipe, const Dataset& data,
                               std::string_view gpu, bool seen = false);

struct FitOptions {
  std::filesystem::path data;                      // root of the measurements
  std::filesystem::path out;                       // folder for <family>.json
  std::vector<std::string> leave_out;              // GPUs kept out of every fit
  std::vector<std::string> families;               // empty: all
  bool error_table = true;                         // also refit without each GPU in turn, for the error bars
  std::function<void(std::string_view)> progress;  // one line of text per step
};
/// Writes one file per family. Throws InputError when the data is not there or a name is unknown.
void fit(const FitOptions& options);

}  // namespace tessera
