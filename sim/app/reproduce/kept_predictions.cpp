#include "sim/app/reproduce/kept_predictions.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/app/validation/kernel_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/config/csv.hpp"

namespace tessera {
namespace {

class Kept final : public LatencyModel {
 public:
  explicit Kept(const CsvTable& table) {
    const std::size_t time = table.need("predicted_ms");
    const std::map<std::string, std::string> defaults{{"dtype", "fp32"}, {"timing", "eager"}};
    Mistakes mistakes;
    Catalogue catalogue;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      RowReader reader(table, i, defaults, mistakes);
      const KernelRow row = read_kernel_row(reader, catalogue);
      if (row.gpu != nullptr) times_[row.gpu->name][row.kernel] = Seconds(table.number(i, time).value_or(0) * 1e-3);
    }
    mistakes.check();
  }

  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext& /*context*/) const override {
    std::vector<KernelCost> costs;
    const auto own = times_.find(gpu.name);
    for (const Kernel& kernel : kernels) {
      const bool known = own != times_.end() && own->second.contains(kernel);
      if (!known) throw RunError(gpu.name + ": only predictions of the test kernels are kept");
      costs.emplace_back().time = Estimate<Seconds>::exact(own->second.at(kernel));
      costs.back().provenance = Provenance::fitted;
    }
    return costs;
  }

 private:
  std::map<std::string, std::unordered_map<Kernel, Seconds, KernelHash>> times_;
};

}  // namespace

std::string kept_csv(const Comparison& kernels, std::string_view method) {
  const auto found = std::ranges::find(kernels.methods, method);
  std::string text = "gpu,op,b,m,n,k,rows,h,predicted_ms\n";
  if (found == kernels.methods.end()) return text;
  const auto index = static_cast<std::size_t>(found - kernels.methods.begin());
  for (const Entry& e : kernels.entries) {
    if (!e.predicted[index]) continue;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{:.5g}\n", e.key("gpu"), e.key("operator"),
                   e.key("b"), e.key("m"), e.key("n"), e.key("k"), e.key("rows"), e.key("h"),
                   e.predicted[index]->value() * 1e3);
  }
  return text;
}

std::unique_ptr<LatencyModel> read_kept(const std::filesystem::path& path) {
  return std::make_unique<Kept>(CsvTable::read(path));
}

}  // namespace tessera
