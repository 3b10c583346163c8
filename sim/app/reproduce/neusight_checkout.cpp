#include "sim/app/reproduce/neusight_checkout.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <regex>
#include <vector>

#include <fmt/format.h>

#include "calibration/neusight_repository.hpp"
#include "sim/base/error.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// Folders of results/prediction.
constexpr std::array<std::string_view, 4> kMethods{"neusight", "roofline", "habitat", "micro"};
constexpr double kSuspicious = 1.25;
/// Operators of this GPU sum to up to 1.5 times its own end-to-end times.
constexpr std::string_view kUnsteadyGpu = "A100-PCIE-40GB";

/// One traced layer stands for all: its first and last node, by model.
struct Layer {
  std::string_view model, first, last;
};
constexpr std::array kLayers{
    Layer{"bert", "bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm"},
    Layer{"gpt", "transformer_h_0_ln_1", "add_15"},
    Layer{"opt", "model_decoder_layers_0_self_attn_layer_norm", "view_11"}};

/// "gpt2_large-train-1024-4-tp4".
struct Run {
  std::string name, model, mode, sequence, batch, option;
  [[nodiscard]] bool fused() const { return option == "fusion"; }
  [[nodiscard]] bool parallel() const { return !option.empty() && !fused(); }
};

std::optional<Run> run_of(const std::string& name) {
  static const std::regex kName("(.+)-(inf|train)-([0-9]+)-([0-9]+)(?:-(fusion|dp[0-9]+|tp[0-9]+|pp[0-9]+_[0-9]+))?");
  std::smatch m;
  if (!std::regex_match(name, m, kName)) return std::nullopt;
  return Run{name, m[1], m[2], m[3], m[4], m[5]};
}

struct LabelFile {
  fs::path path, device;  // device: name of its folder
  std::string gpu;
  Run run;
};

/// Files of label/DEVICE with this ending, by device and name.
std::vector<LabelFile> labels(const fs::path& root, std::string_view ending) {
  std::vector<LabelFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(root / "label")) {
    if (!entry.is_regular_file() || entry.path().extension() != ending) continue;
    const fs::path device = entry.path().parent_path().filename();
    if (auto run = run_of(entry.path().stem().string())) {
      files.push_back({entry.path(), device, neusight_gpu(device.string()), std::move(*run)});
    }
  }
  std::ranges::sort(files, {}, &LabelFile::path);
  return files;
}

fs::path prediction_of(const fs::path& root, const LabelFile& label, std::string_view method, std::string_view ending) {
  return root / "results" / "prediction" / label.device / method / (label.run.name + std::string(ending));
}

/// A number of a JSON file, empty where there is no file.
std::string cell(const fs::path& file, std::string_view key) {
  if (!fs::is_regular_file(file)) return "";
  return fmt::format("{:.9g}", read_json(file).at(key).number());
}

std::string parallelism(const Run& run) {
  return run.parallel() ? run.option : "none";
}

/// Gpus of "tp4", "dp4" and "pp4_1".
std::string gpus_of(const Run& run) {
  if (!run.parallel()) return "1";
  return run.option.substr(2, run.option.find('_') - 2);
}

std::string_view split_of(const LabelFile& label, bool predicted) {
  if (label.run.fused()) return "fused";
  if (label.run.parallel()) return "multi-gpu";
  if (label.gpu.starts_with("MI")) return "amd";
  return predicted ? "headline" : "no-prediction";
}

/// How many layers each node of a table stands for: those of the traced layer for all.
std::vector<double> repeats(const CsvTable& nodes, const std::string& model, double layers) {
  const std::size_t name = nodes.need("Name");
  const auto layer = std::ranges::find_if(kLayers, [&](const Layer& l) { return model.starts_with(l.model); });
  const bool one_layer = layer != kLayers.end() && layers > 0;
  std::vector<double> repeats;
  double repeat = 1;
  for (std::size_t row = 0; row < nodes.rows(); ++row) {
    if (one_layer && nodes.cell(row, name) == layer->first) repeat = layers;
    repeats.push_back(repeat);
    if (one_layer && nodes.cell(row, name) == layer->last) repeat = 1;
  }
  return repeats;
}

double sum_of_operators(const CsvTable& nodes, const std::string& model, double layers) {
  const std::size_t time = nodes.need("fw_latency");
  const std::vector<double> repeat = repeats(nodes, model, layers);
  double sum = 0;
  for (std::size_t row = 0; row < nodes.rows(); ++row) sum += repeat[row] * nodes.number(row, time).value_or(0);
  return sum;
}

bool suspect(const LabelFile& label, const Json& times) {
  fs::path nodes = label.path;
  nodes.replace_extension(".csv");
  if (label.run.fused() || label.run.parallel() || !fs::is_regular_file(nodes)) return false;
  const double sum = sum_of_operators(CsvTable::read(nodes), label.run.model, times.at("num_layer").number());
  return sum > 0 && times.at("fw_latency").number() > kSuspicious * sum;
}

std::string label_line(const fs::path& root, const LabelFile& label) {
  const Json times = read_json(label.path);
  const auto predicted = [&](std::string_view method, std::string_view key) {
    return cell(prediction_of(root, label, method, ".json"), key);
  };
  const auto part = [&](std::string_view key) {
    return label.run.parallel() ? std::string() : fmt::format("{:.9g}", times.at(key).number());
  };
  const std::string neusight = predicted("neusight", "e2e_latency");
  const Run& run = label.run;
  return fmt::format("{},{},{},{},{},{},{},{},fp32,{:.9g},{},{},{},{},{},{},{},{},{},{}\n", label.gpu, run.model,
                     run.mode, run.batch, run.sequence, parallelism(run), run.fused() ? 1 : 0, gpus_of(run),
                     times.at("e2e_latency").number(), part("fw_latency"), part("bwall_latency"), neusight,
                     run.parallel() ? "" : predicted("neusight", "fw_latency"),
                     run.parallel() ? "" : predicted("neusight", "bwall_latency"), predicted("roofline", "e2e_latency"),
                     predicted("habitat", "e2e_latency"), predicted("micro", "e2e_latency"),
                     split_of(label, !neusight.empty()), suspect(label, times) ? 1 : 0);
}

/// One direction of a node: the column of its operators, that of its time, and our name.
struct Direction {
  std::string_view ops, time, name;
};
constexpr std::array kDirections{Direction{"FwOps", "fw_latency", "fw"}, Direction{"BwOps", "bw_latency", "bw"},
                                 Direction{"AccOps", "acc_latency", "acc"}};

/// A table of nodes, by name.
class Nodes {
 public:
  explicit Nodes(const fs::path& file) : table_(CsvTable::read(file)) {
    const std::size_t name = table_.need("Name");
    for (std::size_t row = 0; row < table_.rows(); ++row) rows_[std::string(table_.cell(row, name))] = row;
  }
  [[nodiscard]] const CsvTable& table() const { return table_; }
  [[nodiscard]] std::optional<std::size_t> row(std::string_view name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string number(std::string_view name, std::string_view column) const {
    const auto at = row(name);
    if (!at) return "";
    return fmt::format("{:.9g}", table_.number(*at, table_.need(column)).value_or(0));
  }

 private:
  CsvTable table_;
  std::map<std::string, std::size_t, std::less<>> rows_;
};

std::string operators_at(const CsvTable& table, std::size_t row, std::string_view column) {
  const std::size_t at = table.need(column);
  auto text = operator_text(table.cell(row, at));
  if (!text) throw InputError(table.at(row, at, "expected a list of operators such as [['Linear', (64, 128, 256)]]"));
  return *text;
}

double elements_at(const CsvTable& table, std::size_t row, std::string_view column) {
  const std::size_t at = table.need(column);
  const auto count = element_count(table.cell(row, at));
  if (!count) throw InputError(table.at(row, at, "expected a shape such as (8, 512), or a list of them"));
  return *count;
}

void append_nodes(const fs::path& root, const LabelFile& label, std::string& text) {
  std::vector<std::optional<Nodes>> predictions(kMethods.size());
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    const fs::path file = prediction_of(root, label, kMethods[i], ".csv");
    if (fs::is_regular_file(file)) predictions[i].emplace(file);
  }
  if (!predictions[0]) return;  // the operators of a node stand in NeuSight's own predictions
  const Nodes measured(label.path);
  const CsvTable& nodes = predictions[0]->table();
  const std::size_t name_column = nodes.need("Name");
  const fs::path times = fs::path(label.path).replace_extension(".json");
  const std::vector<double> repeat =
      repeats(nodes, label.run.model, fs::is_regular_file(times) ? read_json(times).at("num_layer").number() : 0);
  for (std::size_t row = 0; row < nodes.rows(); ++row) {
    const std::string name(nodes.cell(row, name_column));
    if (!measured.row(name)) continue;
    for (const Direction& direction : kDirections) {
      const std::string ops = operators_at(nodes, row, direction.ops);
      if (ops.empty()) continue;
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{}", label.gpu, label.run.name, csv_cell(name),
                     repeat[row], elements_at(nodes, row, "InputShapes"), elements_at(nodes, row, "OutputShape"),
                     direction.name, csv_cell(ops), measured.number(name, direction.time));
      for (const auto& method : predictions)
        text += "," + (method ? method->number(name, direction.time) : std::string());
      text += label.gpu == kUnsteadyGpu ? ",1\n" : ",0\n";
    }
  }
}

}  // namespace

CsvTable checkout_labels(const fs::path& root) {
  std::string text =
      "gpu,model,mode,batch,seq,parallelism,fused,n_gpu,dtype,latency_ms,fw_ms,bw_ms,neusight_ms,neusight_fw_ms,"
      "neusight_bw_ms,roofline_ms,habitat_ms,micro_ms,split,suspect\n";
  for (const LabelFile& label : labels(root, ".json")) text += label_line(root, label);
  return CsvTable::parse(std::move(text), (root / "label").string());
}

CsvTable checkout_operators(const fs::path& root) {
  std::string text =
      "gpu,graph,name,repeat,in_elems,out_elems,dir,ops,measured_ms,neusight_ms,roofline_ms,habitat_ms,micro_ms,"
      "suspect\n";
  for (const LabelFile& label : labels(root, ".csv")) append_nodes(root, label, text);
  return CsvTable::parse(std::move(text), (root / "label").string());
}

}  // namespace tessera
