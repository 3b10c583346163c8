// Habitat's scheme as a latency model.
#include <string>

#include "models/models.hpp"
#include "models/neusight/habitat.hpp"
#include "models/neusight/relu_net.hpp"
#include "models/neusight/rival_model.hpp"
#include "sim/base/error.hpp"

namespace tessera {

namespace {

using namespace neusight;

struct MatrixNet {
  ReluNet net;
  Scale scale;
};

MatrixNet read_matrix_net(const std::filesystem::path& weights, const std::string& name) {
  const std::filesystem::path folder = weights_folder(weights, "habitat", name + ".net");
  MatrixNet read{read_net(folder / (name + ".net")), read_scale(folder / (name + ".json"))};
  if (read.net.inputs() != kHabitatInputs || read.net.outputs() != 1) {
    throw RunError((folder / (name + ".net")).string() + ": is no network of Habitat's");
  }
  return read;
}

class Habitat final : public RivalModel {
 public:
  explicit Habitat(const std::filesystem::path& weights)
      : bmm_(read_matrix_net(weights, "bmm")),
        linear_(read_matrix_net(weights, "linear")),
        origins_(read_origins(weights_folder(weights, "habitat", "vectors.csv.gz") / "vectors.csv.gz")) {}

  [[nodiscard]] std::vector<Priced> price(std::span<const Operation> operations, const GpuSpec& gpu) const override {
    const GpuNumbers numbers = numbers_of(gpu);
    std::vector<Priced> prices;
    prices.reserve(operations.size());
    for (const Operation& operation : operations) {
      prices.push_back(
          {is_matrix(operation.kind) ? matrix(operation, numbers) : origins_.scaled(operation, gpu), 1, 1});
    }
    return prices;
  }

 private:
  [[nodiscard]] Seconds matrix(const Operation& operation, const GpuNumbers& gpu) const {
    const MatrixNet& used = operation.kind == Kind::bmm ? bmm_ : linear_;
    std::vector<float> x;
    standardise(habitat_features(operation, gpu), used.scale, x);
    float out = 0;
    used.net.evaluate(x, {&out, 1});
    return max(Seconds(out), Seconds(0));
  }

  MatrixNet bmm_, linear_;
  OriginTable origins_;
};

}  // namespace

std::unique_ptr<RivalModel> neusight::open_habitat(const std::filesystem::path& weights) {
  return std::make_unique<Habitat>(weights);
}

std::unique_ptr<LatencyModel> make_habitat(const std::filesystem::path& weights) {
  return open_habitat(weights);
}

}  // namespace tessera
