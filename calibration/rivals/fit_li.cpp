// Lines of Li et al.: least squares per GPU and operator class over NeuSight's training rows.
#include <fmt/core.h>

#include <map>
#include <utility>

#include "calibration/rivals/fit_rivals.hpp"
#include "calibration/rivals/rows.hpp"
#include "models/neusight/least_squares.hpp"
#include "models/neusight/li.hpp"

namespace tessera {

void fit_li(const RivalFit& options) {
  std::vector<neusight::LiLine> lines;
  for (std::size_t net = 0; net < neusight::kNets; ++net) {
    const auto kind = static_cast<neusight::Kind>(net);
    std::map<std::string, std::vector<std::pair<double, double>>> points;
    for (const RivalRow& row : read_rival_rows(options.data, kind, options.leave_out)) {
      points[row.kernel.gpu].emplace_back(neusight::li_amount(row.kernel.operation), row.time.value());
    }
    for (const auto& [gpu, own] : points) {
      const neusight::Line line = neusight::least_squares(own);
      lines.push_back({gpu, kind, line.slope, Seconds(line.offset)});
      options.progress(fmt::format("{} on {}: {} rows", neusight::kNetNames[net], gpu, own.size()));
    }
  }
  neusight::write_lines(options.out / "li.json", lines, "tessera calibrate --model li");
}

}  // namespace tessera
