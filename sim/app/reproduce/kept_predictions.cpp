#include "sim/app/reproduce/kept_predictions.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/config/csv.hpp"

namespace tessera {
namespace {

using neusight::Operation;
using neusight::Priced;

class Recording final : public neusight::RivalModel {
 public:
  Recording(std::unique_ptr<neusight::RivalModel> model, KeptPredictions& kept)
      : model_(std::move(model)), kept_(kept) {}

  [[nodiscard]] std::vector<Priced> price(std::span<const Operation> operations, const GpuSpec& gpu) const override {
    std::vector<Priced> prices = model_->price(operations, gpu);
    for (std::size_t i = 0; i < prices.size(); ++i) kept_.add(gpu.name, operations[i], prices[i].time);
    return prices;
  }

 private:
  std::unique_ptr<neusight::RivalModel> model_;
  KeptPredictions& kept_;
};

class Answering final : public neusight::RivalModel {
 public:
  explicit Answering(KeptPredictions kept) : kept_(std::move(kept)) {}

  [[nodiscard]] std::vector<Priced> price(std::span<const Operation> operations, const GpuSpec& gpu) const override {
    std::vector<Priced> prices;
    prices.reserve(operations.size());
    for (const Operation& operation : operations) {
      const auto time = kept_.find(gpu.name, operation);
      if (!time) throw RunError(gpu.name + ": not among the kept predictions");
      prices.push_back({*time});
    }
    return prices;
  }

 private:
  KeptPredictions kept_;
};

}  // namespace

KeptPredictions::Key KeptPredictions::key_of(const std::string& gpu, const Operation& operation) {
  return {gpu, operation.op, operation.b, operation.m, operation.n, operation.k};
}

void KeptPredictions::add(const std::string& gpu, const Operation& operation, Seconds time) {
  times_[key_of(gpu, operation)] = time;
}

std::optional<Seconds> KeptPredictions::find(const std::string& gpu, const Operation& operation) const {
  const auto found = times_.find(key_of(gpu, operation));
  return found == times_.end() ? std::nullopt : std::optional(found->second);
}

std::string KeptPredictions::csv() const {
  std::string text = "gpu,op,b,m,n,k,predicted_ms\n";
  for (const auto& [key, time] : times_) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.5g}\n", key.gpu, to_string(key.op), key.b, key.m,
                   key.n, key.k, time.value() * 1e3);
  }
  return text;
}

KeptPredictions read_kept(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t gpu = table.need("gpu"), op = table.need("op"), b = table.need("b"), m = table.need("m"),
                    n = table.need("n"), k = table.need("k"), time = table.need("predicted_ms");
  KeptPredictions kept;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto known = parse_op(table.cell(row, op));
    if (!known) throw InputError(table.at(row, op, "no such operator"));
    const auto size = [&](std::size_t column) { return table.integer(row, column).value_or(0); };
    kept.add(std::string(table.cell(row, gpu)), {.op = *known, .b = size(b), .m = size(m), .n = size(n), .k = size(k)},
             Seconds(table.number(row, time).value_or(0) * 1e-3));
  }
  return kept;
}

std::unique_ptr<LatencyModel> recording(std::unique_ptr<neusight::RivalModel> model, KeptPredictions& kept) {
  return std::make_unique<Recording>(std::move(model), kept);
}

std::unique_ptr<LatencyModel> answering(KeptPredictions kept) {
  return std::make_unique<Answering>(std::move(kept));
}

}  // namespace tessera
