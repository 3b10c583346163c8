#include "models/neusight/relu_net.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "models/mlp_math.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/rng.hpp"

namespace tessera {

namespace {

constexpr int kHiddenLayers = 7, kWidth = 512;
constexpr std::size_t kBlock = 256;  // samples evaluated at once
constexpr std::string_view kMagic = "tessera-net-1\n";
static_assert(std::endian::native == std::endian::little, "nets are stored as they lie in memory");

DenseLayer fresh_layer(int inputs, int outputs, Rng& rng) {
  DenseLayer layer{inputs, outputs, {}, {}};
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const auto draw = [&] { return static_cast<float>(bound * (2 * rng.uniform() - 1)); };
  layer.weights.resize(static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs));
  layer.bias.resize(static_cast<std::size_t>(outputs));
  std::ranges::generate(layer.weights, draw);
  std::ranges::generate(layer.bias, draw);
  return layer;
}

void append(std::string& text, const void* data, std::size_t size) {
  text.append(static_cast<const char*>(data), size);
}

/// Takes values off the front of a file.
class Cursor {
 public:
  Cursor(std::string_view rest, std::string name) : rest_(rest), name_(std::move(name)) {}

  void take(void* to, std::size_t size) {
    if (size > rest_.size()) throw RunError(name_ + ": ends too early for a network");
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }
  int count() {
    std::int32_t value = 0;
    take(&value, sizeof value);
    constexpr int kMost = 1 << 16;
    if (value < 1 || value > kMost) throw RunError(fmt::format("{}: a layer of {}", name_, value));
    return value;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  std::string name_;
};

}  // namespace

ReluNet::ReluNet(const std::vector<int>& widths, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = 1; i < widths.size(); ++i) layers_.push_back(fresh_layer(widths[i - 1], widths[i], rng));
}

ReluNet::ReluNet(std::vector<DenseLayer> layers) : layers_(std::move(layers)) {}

void ReluNet::evaluate(std::span<const float> inputs, std::span<float> outputs) const {
  const auto in = static_cast<std::size_t>(this->inputs()), out = static_cast<std::size_t>(this->outputs());
  const std::size_t samples = outputs.size() / out;
  TESSERA_ASSERT(inputs.size() == samples * in, "one row of inputs per row of outputs");
  for (std::size_t first = 0; first < samples; first += kBlock) {
    const auto columns = static_cast<Eigen::Index>(std::min(kBlock, samples - first));
    Eigen::MatrixXf a = Eigen::Map<const Eigen::MatrixXf>(inputs.data() + first * in, this->inputs(), columns);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Eigen::MatrixXf sum = weights_of(layers_[i]) * a;
      sum.colwise() += bias_of(layers_[i]);
      a = i + 1 < layers_.size() ? Eigen::MatrixXf(sum.cwiseMax(0.0F)) : sum;
    }
    Eigen::Map<Eigen::MatrixXf>(outputs.data() + first * out, this->outputs(), columns) = a;
  }
}

std::vector<int> paper_widths(int inputs, int outputs) {
  std::vector<int> widths(kHiddenLayers, kWidth);
  widths.insert(widths.begin(), inputs);
  widths.push_back(outputs);
  return widths;
}

void write_net(const std::filesystem::path& path, const ReluNet& net) {
  std::string text(kMagic);
  for (const DenseLayer& layer : net.layers()) {
    const std::int32_t sizes[] = {layer.inputs, layer.outputs};
    append(text, sizes, sizeof sizes);
    append(text, layer.weights.data(), layer.weights.size() * sizeof(float));
    append(text, layer.bias.data(), layer.bias.size() * sizeof(float));
  }
  write_file(path, text);
}

ReluNet read_net(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  if (!text.starts_with(kMagic)) throw RunError(path.string() + ": is no network; run tessera calibrate again");
  Cursor cursor(std::string_view(text).substr(kMagic.size()), path.string());
  std::vector<DenseLayer> layers;
  while (!cursor.empty()) {
    DenseLayer layer;
    layer.inputs = cursor.count();
    layer.outputs = cursor.count();
    if (!layers.empty() && layers.back().outputs != layer.inputs) {
      throw RunError(path.string() + ": its layers do not fit together");
    }
    layer.weights.resize(static_cast<std::size_t>(layer.inputs) * static_cast<std::size_t>(layer.outputs));
    layer.bias.resize(static_cast<std::size_t>(layer.outputs));
    cursor.take(layer.weights.data(), layer.weights.size() * sizeof(float));
    cursor.take(layer.bias.data(), layer.bias.size() * sizeof(float));
    layers.push_back(std::move(layer));
  }
  if (layers.empty()) throw RunError(path.string() + ": a network without layers");
  return ReluNet(std::move(layers));
}

}  // namespace tessera
