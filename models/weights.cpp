#include "models/weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

/// Fitted numbers are far smaller; beyond, a file is damaged and predictions would overflow.
constexpr double kLargestNet = 1e4, kLargestConstant = 1e7, kLargestInput = 1e6, kLargestBar = 50;
constexpr std::int64_t kWidestLayer = 1 << 16;

/// Part of each tail that does not count as fitted: single outliers would hide an extrapolation.
constexpr double kTail = 0.001;

float five_digits(float value) {
  return std::strtof(fmt::format("{:.5g}", value).c_str(), nullptr);
}

/// The decimal that `five_digits` meant, not the double next to the float.
Json json_of(std::span<const float> values) {
  Json::Array array;
  array.reserve(values.size());
  for (float v : values) array.emplace_back(std::strtod(fmt::format("{:.5g}", v).c_str(), nullptr));
  return array;
}

std::vector<float> floats_of(const Json& json) {
  std::vector<float> values;
  values.reserve(json.items().size());
  for (const Json& item : json.items()) {
    const double value = item.number();
    if (!(std::abs(value) <= kLargestNet))
      throw RunError(fmt::format("weights: a net holds {:g}, expected at most {:g}", value, kLargestNet));
    values.push_back(static_cast<float>(value));
  }
  return values;
}

Json json_of(const Mlp& net) {
  Json layers = Json::array();
  for (const DenseLayer& layer : net.layers()) {
    Json item = Json::object();
    item["inputs"] = layer.inputs;
    item["outputs"] = layer.outputs;
    item["weights"] = json_of(layer.weights);
    item["bias"] = json_of(layer.bias);
    layers.push(std::move(item));
  }
  return layers;
}

int width_of(const Json& json) {
  const std::int64_t width = json.integer();
  if (width < 1 || width > kWidestLayer)
    throw RunError(fmt::format("weights: a layer's width is {}, expected 1 to {}", width, kWidestLayer));
  return static_cast<int>(width);
}

Mlp net_of(const Json& json) {
  std::vector<DenseLayer> layers;
  for (const Json& item : json.items()) {
    DenseLayer layer{width_of(item.at("inputs")), width_of(item.at("outputs")), floats_of(item.at("weights")),
                     floats_of(item.at("bias"))};
    const auto in = static_cast<std::size_t>(layer.inputs), out = static_cast<std::size_t>(layer.outputs);
    if (layer.weights.size() != in * out || layer.bias.size() != out) {
      throw RunError(fmt::format("weights: a layer of {} x {} holds {} weights and {} biases", out, in,
                                 layer.weights.size(), layer.bias.size()));
    }
    if (!layers.empty() && layer.inputs != layers.back().outputs) {
      throw RunError(fmt::format("weights: a layer of {} x {} does not follow on the one before", out, in));
    }
    layers.push_back(std::move(layer));
  }
  if (layers.empty() || layers.back().outputs != 1) throw RunError("weights: a net does not end in one number");
  return Mlp(std::move(layers));
}

Json json_of(const std::vector<Mlp>& nets) {
  Json json = Json::array();
  for (const Mlp& net : nets) json.push(json_of(net));
  return json;
}

std::vector<Mlp> nets_of(const Json& json, const FamilyWeights& weights) {
  const std::size_t listed = weights.inputs.size() + weights.runtime_inputs();
  std::vector<Mlp> nets;
  for (const Json& net : json.items()) {
    nets.push_back(net_of(net));
    if (nets.back().inputs() != static_cast<int>(listed)) {
      throw RunError(fmt::format("weights of {}: a net takes {} inputs, {} are listed", weights.family,
                                 nets.back().inputs(), listed));
    }
  }
  return nets;
}

Json json_of(const Bar& bar) {
  Json json = Json::object();
  Json scale = Json::array();
  for (const double v : bar.log_scale) scale.push(v);
  json["log_scale"] = std::move(scale);
  json["p10"] = bar.p10;
  json["p90"] = bar.p90;
  json["shared"] = bar.shared;
  json["own"] = bar.own;
  return json;
}

Bar bar_of(const Json& json) {
  Bar bar{.log_scale = {},
          .p10 = json.at("p10").number(),
          .p90 = json.at("p90").number(),
          .shared = json.at("shared").number(),
          .own = json.at("own").number()};
  const auto& scale = json.at("log_scale").items();
  if (scale.size() != bar.log_scale.size()) throw RunError("weights: an error bar of another version");
  for (std::size_t i = 0; i < scale.size(); ++i) bar.log_scale[i] = scale[i].number();
  const bool bounded = std::ranges::all_of(bar.log_scale, [](double v) { return std::abs(v) <= kLargestBar; });
  const auto within = [](double low, double value, double high) { return low <= value && value <= high; };
  if (!bounded || !within(-kLargestBar, bar.p10, bar.p90) || !within(bar.p10, bar.p90, kLargestBar) ||
      !within(0, bar.shared, kLargestBar) || !within(0, bar.own, kLargestBar))
    throw RunError("weights: an error bar that is none: expected p10 <= p90, shared and own of at least 0");
  return bar;
}

constexpr std::array<std::string_view, 3> kProtocols{"L", "N", "S"};

Protocol protocol_of(const std::string& name) {
  const auto found = std::ranges::find(kProtocols, name);
  if (found == kProtocols.end()) throw RunError(fmt::format("weights: unknown protocol '{}'", name));
  return static_cast<Protocol>(found - kProtocols.begin());
}

Json json_of(const LeftOut& row) {
  Json json = Json::object();
  json["protocol"] = std::string(to_string(row.protocol));
  json["gpu"] = row.gpu;
  json["op"] = row.op;
  json["rows"] = row.rows;
  json["mean_error_ratio"] = row.mean_error;
  json["median_error_ratio"] = row.median_error;
  json["bias_ratio"] = row.bias;
  return json;
}

LeftOut left_out_of(const Json& json) {
  return {protocol_of(json.at("protocol").text()),
          json.at("gpu").text(),
          json.at("op").text(),
          static_cast<std::size_t>(json.at("rows").integer()),
          json.at("mean_error_ratio").number(),
          json.at("median_error_ratio").number(),
          json.at("bias_ratio").number()};
}

Json json_of(const InputRange& range) {
  Json json = Json::object();
  json["name"] = range.name;
  json["mean"] = range.mean;
  json["deviation"] = range.deviation;
  json["low"] = range.low;
  json["high"] = range.high;
  return json;
}

InputRange range_of(const Json& json) {
  InputRange range{json.at("name").text(), json.at("mean").number(), json.at("deviation").number(),
                   json.at("low").number(), json.at("high").number()};
  const double largest = std::max({std::abs(range.mean), range.deviation, std::abs(range.low), std::abs(range.high)});
  if (range.deviation > 0 && range.low <= range.high && largest <= kLargestInput) return range;
  throw RunError(fmt::format("weights: input '{}' has no range", range.name));
}

double constant_of(const std::string& name, const Json& json) {
  const double value = json.number();
  if (value > 0 && value <= kLargestConstant) return value;
  throw RunError(
      fmt::format("weights: constant '{}' is {:g}, expected above 0 and at most {:g}", name, value, kLargestConstant));
}

std::vector<Runtime> runtimes_of(const Json& json) {
  std::vector<Runtime> runtimes;
  for (const Json& name : json.items()) {
    const Runtime runtime = parse_runtime(name.text());
    if (to_string(runtime) != name.text() || runtime == Runtime::unspecified)
      throw RunError(fmt::format("weights: unknown runtime '{}'", name.text()));
    if (std::ranges::find(runtimes, runtime) != runtimes.end())
      throw RunError(fmt::format("weights: runtime '{}' twice", name.text()));
    runtimes.push_back(runtime);
  }
  return runtimes;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  return kProtocols[static_cast<std::size_t>(protocol)];
}

double FamilyWeights::constant(std::string_view name) const {
  for (const auto& [key, value] : constants) {
    if (key == name) return value;
  }
  throw RunError(fmt::format("weights of {}: no constant '{}'", family, name));
}

std::array<bool, kDtypeCount> FamilyWeights::measured_dtypes() const {
  std::array<bool, kDtypeCount> measured{};
  if (left_out.empty()) measured.fill(true);
  const auto at = [&](Dtype dtype) -> bool& { return measured[static_cast<std::size_t>(dtype)]; };
  for (const LeftOut& row : left_out) {
    for (const std::string& word : split(row.op, ' ')) {  // "gemm bf16 (test)"
      if (const auto dtype = parse_dtype(word)) at(*dtype) = true;
    }
  }
  at(Dtype::fp16) = at(Dtype::bf16) = at(Dtype::fp16) || at(Dtype::bf16);
  return measured;
}

bool FamilyWeights::knows(Runtime runtime) const {
  return std::ranges::find(runtimes, runtime) != runtimes.end();
}

std::vector<float> FamilyWeights::net_inputs(std::span<const float> raw, std::span<const Runtime> ran) const {
  std::vector<float> x = standardise(raw, inputs);
  const std::size_t width = inputs.size(), more = runtime_inputs();
  if (more == 0) return x;
  std::vector<float> wide(ran.size() * (width + more), 0.0F);
  for (std::size_t i = 0; i < ran.size(); ++i) {
    float* row = wide.data() + i * (width + more);
    std::copy_n(x.data() + i * width, width, row);
    for (std::size_t j = 0; j < more; ++j) row[width + j] = runtimes[j] == ran[i] ? 1.0F : 0.0F;
  }
  return wide;
}

bool FamilyWeights::has_seen(std::string_view gpu, Op op, Dtype dtype) const {
  const auto alike = [](std::string_view word) { return word == "bf16" ? "fp16" : word == "gemm" ? "linear" : word; };
  return std::ranges::any_of(left_out, [&](const LeftOut& row) {
    const std::vector<std::string> words = split(row.op, ' ');
    const auto names = [&](std::string_view name) {
      return std::ranges::find(words, alike(name), alike) != words.end();
    };
    return row.protocol == Protocol::S && row.gpu == gpu && names(to_string(op)) && names(to_string(dtype));
  });
}

std::vector<NetAnswer> FamilyWeights::evaluate(std::span<const float> raw, std::span<const Runtime> ran,
                                               bool seen_gpu) const {
  std::vector<NetAnswer> answers(ran.size());
  const std::size_t width = inputs.size();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double x = raw[i * width + j], range = std::max(inputs[j].high - inputs[j].low, inputs[j].deviation);
      const double excess = std::max({inputs[j].low - x, x - inputs[j].high, 0.0}) / range;
      answers[i].out_of_range = std::max(answers[i].out_of_range, static_cast<float>(excess));
    }
  }
  if (nets.empty()) return answers;
  const std::vector<float> x = net_inputs(raw, ran);
  std::vector<float> one(ran.size()), squares(ran.size(), 0.0F);
  const std::vector<Mlp>& ensemble = seen_gpu && !seen_nets.empty() ? seen_nets : nets;
  for (const Mlp& member : ensemble) {
    member.evaluate(x, one);
    for (std::size_t i = 0; i < one.size(); ++i) {
      answers[i].value += one[i];
      squares[i] += one[i] * one[i];
    }
  }
  const auto members = static_cast<float>(ensemble.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].value /= members;
    answers[i].spread = std::sqrt(std::max(squares[i] / members - answers[i].value * answers[i].value, 0.0F));
  }
  return answers;
}

void round_weights(std::vector<Mlp>& nets) {
  for (Mlp& net : nets) {
    std::vector<DenseLayer> layers = net.layers();
    for (DenseLayer& layer : layers) {
      for (auto* values : {&layer.weights, &layer.bias}) {
        for (float& v : *values) v = five_digits(v);
      }
    }
    net = Mlp(std::move(layers));
  }
}

std::vector<InputRange> fit_ranges(std::span<const float> raw, std::span<const std::string_view> names) {
  const std::size_t width = names.size(), samples = raw.size() / width;
  TESSERA_ASSERT(samples > 0 && raw.size() == samples * width, "one value per input");
  std::vector<InputRange> ranges;
  std::vector<float> column(samples);
  for (std::size_t j = 0; j < width; ++j) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      column[i] = raw[i * width + j];
      sum += column[i];
    }
    const double mean = sum / static_cast<double>(samples);
    for (float x : column) squares += (x - mean) * (x - mean);
    std::sort(column.begin(), column.end());
    const auto tail = static_cast<std::size_t>(kTail * static_cast<double>(samples));
    const double deviation = std::sqrt(squares / static_cast<double>(samples));
    ranges.push_back(
        {std::string(names[j]), mean, deviation > 1e-6 ? deviation : 1.0, column[tail], column[samples - 1 - tail]});
  }
  return ranges;
}

std::vector<float> standardise(std::span<const float> raw, std::span<const InputRange> ranges) {
  std::vector<float> x(raw.size());
  const std::size_t width = ranges.size();
  for (std::size_t i = 0; i < raw.size(); i += width) {
    for (std::size_t j = 0; j < width; ++j) {
      const double held = std::clamp(double{raw[i + j]}, ranges[j].low, ranges[j].high);
      x[i + j] = static_cast<float>((held - ranges[j].mean) / ranges[j].deviation);
    }
  }
  return x;
}

Json to_json(const FamilyWeights& weights) {
  Json json = Json::object();
  json["family"] = weights.family;
  json["command"] = weights.command;
  json["data"] = weights.data;
  Json left_out = Json::array();
  for (const LeftOut& row : weights.left_out) left_out.push(json_of(row));
  json["left_out"] = std::move(left_out);
  json["bar_unseen"] = json_of(weights.unseen);
  json["bar_seen"] = json_of(weights.seen);
  Json constants = Json::object();
  for (const auto& [name, value] : weights.constants) constants[name] = value;
  json["constants"] = std::move(constants);
  Json inputs = Json::array();
  for (const InputRange& range : weights.inputs) inputs.push(json_of(range));
  json["inputs"] = std::move(inputs);
  Json runtimes = Json::array();
  for (const Runtime runtime : weights.runtimes) runtimes.push(std::string(to_string(runtime)));
  json["runtimes"] = std::move(runtimes);
  json["nets"] = json_of(weights.nets);
  json["seen_nets"] = json_of(weights.seen_nets);
  return json;
}

FamilyWeights weights_from_json(const Json& json) {
  FamilyWeights weights;
  weights.family = json.at("family").text();
  weights.command = json.at("command").text();
  weights.data = json.at("data").text();
  for (const Json& row : json.at("left_out").items()) weights.left_out.push_back(left_out_of(row));
  weights.unseen = bar_of(json.at("bar_unseen"));
  weights.seen = bar_of(json.at("bar_seen"));
  for (const auto& [name, value] : json.at("constants").fields())
    weights.constants.emplace_back(name, constant_of(name, value));
  for (const Json& range : json.at("inputs").items()) weights.inputs.push_back(range_of(range));
  weights.runtimes = runtimes_of(json.at("runtimes"));
  weights.nets = nets_of(json.at("nets"), weights);
  weights.seen_nets = nets_of(json.at("seen_nets"), weights);
  return weights;
}

FamilyWeights read_weights(const std::filesystem::path& path) {
  const Json json = read_json(path);
  try {
    return weights_from_json(json);
  } catch (const RunError& damaged) {
    throw InputError(Diagnostic{.file = path.string(), .message = damaged.what()});
  }
}

void write_weights(const std::filesystem::path& path, const FamilyWeights& weights) {
  write_file(path, to_json(weights).dump() + "\n");
}

}  // namespace tessera
