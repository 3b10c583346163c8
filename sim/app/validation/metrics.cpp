#include "sim/app/validation/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

double median(std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2.0;
}

/// The value of rank ceil(9 n / 10), in integers: 0.9 n in floating point would round 10 rows up to rank 10.
double ninetieth(const std::vector<double>& sorted) {
  return sorted[(9 * sorted.size() + 9) / 10 - 1];
}

double pinball(double quantile, Seconds measured, Seconds predicted) {
  const double distance = std::log(measured / predicted);
  return std::max(quantile * distance, (quantile - 1.0) * distance);
}

}  // namespace

Metrics score(std::span<const Scored> rows) {
  Metrics m;
  m.n = rows.size();
  if (rows.empty()) return m;
  const double n = static_cast<double>(rows.size());
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const Scored& row : rows) {
    const Estimate<Seconds>& p = row.predicted;
    const double error = p.p50 / row.measured - 1.0;
    errors.push_back(std::abs(error));
    m.mape += 100.0 * std::abs(error) / n;
    m.bias += 100.0 * error / n;
    m.coverage += p.p10 <= row.measured && row.measured <= p.p90 ? 100.0 / n : 0.0;
    m.band_width += p.p90 / p.p10 / n;
    m.pinball +=
        (pinball(0.1, row.measured, p.p10) + pinball(0.5, row.measured, p.p50) + pinball(0.9, row.measured, p.p90)) /
        (3.0 * n);
  }
  std::sort(errors.begin(), errors.end());
  m.median_ape = 100.0 * median(errors);
  m.p90_ape = 100.0 * ninetieth(errors);
  return m;
}

}  // namespace tessera
