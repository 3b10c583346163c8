// NeuSight (Lee, Phanishayee, Mahajan, ASPLOS 2025) as a latency model.
#include <array>
#include <optional>
#include <string>

#include "models/models.hpp"
#include "models/neusight/law.hpp"
#include "models/neusight/relu_net.hpp"
#include "models/neusight/rival_model.hpp"
#include "models/neusight/tile_table.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

using namespace neusight;

class NeuSight final : public RivalModel {
 public:
  explicit NeuSight(const std::filesystem::path& weights) {
    for (std::size_t i = 0; i < kNets; ++i) {
      const std::string name(kNetNames[i]);
      const std::filesystem::path folder = weights_folder(weights, "neusight", name + ".net");
      nets_[i] = read_net(folder / (name + ".net"));
      if (nets_[i].inputs() != kLawInputs || nets_[i].outputs() != kLawOutputs) {
        throw RunError((folder / (name + ".net")).string() + ": is no network of NeuSight's law");
      }
      tables_[i].emplace(read_tiles(folder / (name + "-tiles.csv.gz")));
    }
  }

  [[nodiscard]] std::vector<Priced> price(std::span<const Operation> operations, const GpuSpec& gpu) const override {
    const GpuNumbers numbers = numbers_of(gpu);
    std::vector<Priced> prices(operations.size());
    std::array<std::vector<std::size_t>, kNets> members;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      members[static_cast<std::size_t>(operations[i].kind)].push_back(i);
    }
    for (std::size_t net = 0; net < kNets; ++net) {
      std::vector<Tiling> tilings;
      std::vector<float> x;
      for (std::size_t i : members[net]) {
        tilings.push_back(tile_up(operations[i], tables_[net]->nearest(operations[i], numbers), numbers));
        x.insert(x.end(), tilings.back().inputs.begin(), tilings.back().inputs.end());
      }
      std::vector<float> out(tilings.size() * kLawOutputs);
      nets_[net].evaluate(x, out);
      for (std::size_t j = 0; j < tilings.size(); ++j) {
        const double u = utilisation(std::span(out).subspan(j * kLawOutputs, kLawOutputs), tilings[j].waves);
        prices[members[net][j]] = {law_time(tilings[j], numbers, u), tilings[j].blocks, tilings[j].waves};
      }
    }
    return prices;
  }

 private:
  std::array<ReluNet, kNets> nets_;
  std::array<std::optional<TileTable>, kNets> tables_;
};

}  // namespace

std::unique_ptr<RivalModel> neusight::open_neusight(const std::filesystem::path& weights) {
  return std::make_unique<NeuSight>(weights);
}

std::unique_ptr<LatencyModel> make_neusight(const std::filesystem::path& weights) {
  return open_neusight(weights);
}

}  // namespace tessera
