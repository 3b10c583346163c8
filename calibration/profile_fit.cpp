#include "calibration/profile_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "models/shared_error.hpp"

namespace tessera {

namespace {

constexpr double kOutlier = 2;      // own deviations from the median
constexpr double kLeastOwn = 0.01;  // no measurement is closer than its own scatter

/// A family's dtype, or all that were not measured.
struct Entity {
  FamilyId family;
  std::optional<Dtype> dtype;
  double prior = 0;  // deviation
  std::vector<const Observation*> rows{};
  double mean = 0, precision = 0;  // of the rows
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void weigh(Entity& entity) {
  std::vector<double> ratios;
  double squares = 0;
  for (const Observation* row : entity.rows) {
    ratios.push_back(row->log_ratio);
    squares += row->error.shared * row->error.shared;
  }
  entity.prior = std::sqrt(squares / static_cast<double>(ratios.size()));
  const double centre = median(ratios);
  double sum = 0;
  for (const Observation* row : entity.rows) {
    const double own = std::max(row->error.own, kLeastOwn), distance = std::abs(row->log_ratio - centre);
    const double weight = std::min(1.0, kOutlier * own / std::max(distance, 1e-12)) / (own * own);
    sum += weight * row->log_ratio;
    entity.precision += weight;
  }
  entity.mean = sum / entity.precision;
}

/// Every family's rest first, then what was measured.
std::vector<Entity> entities_of(std::span<const Observation> observations, const SharedDeviations& priors) {
  std::vector<Entity> entities;
  for (std::size_t f = 0; f < priors.size(); ++f)
    entities.push_back({.family = static_cast<FamilyId>(f), .dtype = std::nullopt, .prior = priors[f]});
  std::map<std::pair<FamilyId, Dtype>, std::vector<const Observation*>> measured;
  for (const Observation& row : observations) measured[{row.family, row.dtype}].push_back(&row);
  for (const auto& [key, rows] : measured) {
    entities.push_back({.family = key.first, .dtype = key.second, .rows = rows});
    weigh(entities.back());
  }
  return entities;
}

double covariance(const Entity& a, const Entity& b) {
  const double dtypes = a.dtype == b.dtype ? 1 : kDtypeCorrelation;
  return a.prior * b.prior * error_correlation(a.family, b.family) * dtypes;
}

Eigen::MatrixXd covariances(std::span<const Entity> rows, std::span<const Entity> columns) {
  Eigen::MatrixXd matrix(rows.size(), columns.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j)
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = covariance(rows[i], columns[j]);
  return matrix;
}

/// 16-bit where there is such a peak: what most users run.
std::vector<Kernel> typical_kernels(const GpuSpec& gpu) {
  const bool half = gpu.peak_of(Dtype::fp16).value() > 0;
  const Dtype dtype = half ? Dtype::fp16 : Dtype::fp32;
  const GemmShape gemm{.m = 4096, .n = 4096, .k = 4096};
  const AttentionShape prefill{.batch = 4, .q_len = 2048, .kv_len = 2048, .heads = 32, .kv_heads = 32, .head_dim = 128};
  const AttentionShape decode{.batch = 32, .q_len = 1, .kv_len = 2048, .heads = 32, .kv_heads = 8, .head_dim = 128};
  return {{Op::linear, Dtype::fp32, gemm},
          {Op::linear, dtype, gemm},
          {Op::relu, dtype, VectorShape{8192, 8192}},
          {Op::layernorm, dtype, VectorShape{8192, 4096}},
          {Op::memory, dtype, MemoryShape{Bytes(256e6), Bytes(256e6)}},
          {Op::attention_prefill, dtype, prefill},
          {Op::attention_decode, dtype, decode},
          {Op::mla_prefill, dtype, MlaShape{.batch = 4, .q_len = 2048, .kv_len = 2048, .heads = 128}},
          {Op::mla_decode, dtype, MlaShape{.batch = 32, .q_len = 1, .kv_len = 2048, .heads = 128}},
          {Op::conv2d, Dtype::fp32, ConvShape{64, 128, 128, 3, 56, 1, 1}},
          {Op::moe, dtype, MoeShape{.tokens = 8192, .hidden = 4096, .inter = 14336, .topk = 2, .experts = 8}}};
}

}  // namespace

Observation observe(const Kernel& kernel, const KernelCost& cost, Seconds measured, const Device& device) {
  return {.family = family_of(kernel, device),
          .dtype = kernel.dtype,
          .log_ratio = std::log(measured / cost.time.p50),
          .error = log_error(cost)};
}

SharedDeviations shared_deviations(const LatencyModel& model, const GpuSpec& gpu) {
  SharedDeviations deviations(families().size());
  const Device device = derive_device(gpu);
  const std::vector<Kernel> kernels = typical_kernels(gpu);
  const std::vector<KernelCost> costs = model.predict(kernels, gpu, {});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    double& deviation = deviations[static_cast<std::size_t>(family_of(kernels[i], device))];
    deviation = std::max(deviation, log_error(costs[i]).shared);
  }
  return deviations;
}

std::vector<FamilyOffset> fit_offsets(std::span<const Observation> observations, const SharedDeviations& priors) {
  const std::vector<Entity> entities = entities_of(observations, priors);
  const std::span<const Entity> all(entities), measured = all.subspan(priors.size());
  Eigen::MatrixXd evidence = covariances(measured, measured);
  Eigen::VectorXd means(measured.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    evidence(at, at) += 1 / measured[i].precision;
    means(at) = measured[i].mean;
  }
  const Eigen::LDLT<Eigen::MatrixXd> solver(evidence);
  const Eigen::MatrixXd across = covariances(all, measured);
  const Eigen::VectorXd offsets = across * solver.solve(means);
  const Eigen::MatrixXd explained = across * solver.solve(across.transpose());
  std::vector<FamilyOffset> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double left = all[i].prior * all[i].prior - explained(at, at);
    if (all[i].prior <= 0) continue;
    result.push_back({.family = all[i].family,
                      .dtype = all[i].dtype,
                      .rows = static_cast<std::int64_t>(all[i].rows.size()),
                      .log_offset = offsets(at),
                      .deviation = std::sqrt(std::max(left, 0.0))});
  }
  return result;
}

}  // namespace tessera
