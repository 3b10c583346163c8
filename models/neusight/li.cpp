#include "models/neusight/li.hpp"

#include <algorithm>
#include <utility>

#include "models/models.hpp"
#include "models/neusight/least_squares.hpp"
#include "models/neusight/rival_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/json.hpp"

namespace tessera {

namespace neusight {

double li_amount(const Operation& op) {
  const auto b = static_cast<double>(op.b), n = static_cast<double>(op.n);
  if (is_matrix(op.kind)) return 2 * b * static_cast<double>(op.m) * n * static_cast<double>(op.k);
  return b * n * op.bytes_per_output;
}

LiLine li_line(const std::vector<LiLine>& fitted, Kind net, const GpuSpec& gpu) {
  std::vector<std::pair<double, double>> rates;
  for (const LiLine& line : fitted) {
    if (line.net != net) continue;
    if (line.gpu == gpu.name) return line;
    rates.emplace_back(find_gpu(line.gpu).memory_bandwidth.value(), 1 / line.slope);
  }
  if (rates.empty()) throw RunError("li: no line for " + std::string(kNetNames[static_cast<std::size_t>(net)]));
  const Line rate = least_squares(rates);
  return {gpu.name, net, 1 / (rate.slope * gpu.memory_bandwidth.value() + rate.offset), Seconds(0)};
}

std::vector<LiLine> read_lines(const std::filesystem::path& path) {
  std::vector<LiLine> lines;
  const Json json = read_json(path);
  for (const Json& row : json.at("lines").items()) {
    const auto net = std::ranges::find(kNetNames, row.at("net").text());
    if (net == kNetNames.end()) throw RunError(path.string() + ": no class '" + row.at("net").text() + "'");
    lines.push_back({row.at("gpu").text(), static_cast<Kind>(net - kNetNames.begin()),
                     row.at("seconds_per_unit").number(), Seconds(row.at("offset_s").number())});
  }
  return lines;
}

void write_lines(const std::filesystem::path& path, const std::vector<LiLine>& lines, const std::string& command) {
  Json json = Json::object();
  json["command"] = command;
  json["data"] = "NeuSight's artifact, commit 6945927 (MIT): rows that NeuSight trains on";
  json["unit"] = "FLOPs of matrices, bytes of vectors";
  Json rows = Json::array();
  for (const LiLine& line : lines) {
    rows.push(Json(Json::Object{{"gpu", line.gpu},
                                {"net", kNetNames[static_cast<std::size_t>(line.net)]},
                                {"seconds_per_unit", line.slope},
                                {"offset_s", line.offset.value()}}));
  }
  json["lines"] = std::move(rows);
  write_file(path, json.dump() + "\n");
}

}  // namespace neusight

namespace {

using namespace neusight;

class Li final : public RivalModel {
 public:
  explicit Li(const std::filesystem::path& weights)
      : lines_(read_lines(weights_folder(weights, "li", "li.json") / "li.json")) {}

 private:
  [[nodiscard]] std::vector<Priced> price(std::span<const Operation> operations, const GpuSpec& gpu) const override {
    std::vector<Priced> prices;
    prices.reserve(operations.size());
    for (const Operation& operation : operations) {
      const LiLine line = li_line(lines_, operation.kind, gpu);
      prices.push_back({max(Seconds(line.slope * li_amount(operation)) + line.offset, Seconds(0)), 1, 1});
    }
    return prices;
  }

  std::vector<LiLine> lines_;
};

}  // namespace

std::unique_ptr<LatencyModel> make_li(const std::filesystem::path& weights) {
  return std::make_unique<Li>(weights);
}

}  // namespace tessera
