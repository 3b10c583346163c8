// Our graphs against the operator graphs that NeuSight traced from Hugging Face models (sitar-lab/NeuSight, ASPLOS
// 2025).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "sim/base/text.hpp"
#include "sim/config/csv.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {
namespace {

using Dims = std::vector<std::int64_t>;  // batch, m, n, k

struct Traced {
  std::map<Dims, int> linear, bmm;
  double other_bytes = 0;  // of kernels that are no GEMM
};

Dims numbers(std::string_view text, char separator) {
  Dims result;
  for (const std::string& part : split(text, separator)) result.push_back(part.empty() ? 0 : std::stoll(part));
  return result;
}

double elements(std::string_view shape) {
  double product = 1;
  for (const std::int64_t n : numbers(shape, 'x')) product *= static_cast<double>(n);
  return product;
}

/// Nodes of a trace that launch nothing: views, no-ops in fp32, dropout in inference or with probability 0.
bool launches_nothing(const std::string& name, bool inference, bool opt) {
  static const std::regex kViews(
      "(getitem|size|view|permute|transpose|getattr|expand|to|output|dim|unsqueeze|split|reshape_1|type|type_as|float)"
      "(_[0-9]+)?|contiguous_3");
  if (std::regex_match(name, kViews)) return true;
  if (name.find("dropout") != std::string::npos || name.find("drop") != std::string::npos) {
    return inference || (opt && name == "dropout");
  }
  return name.find("setitem") != std::string::npos;  // whole buffers are counted where rows are written
}

void add_gemm(Traced& traced, const std::string& op, const std::string& name, const std::string& shapes, int repeat) {
  const Dims d = numbers(op.substr(op.find(':') + 1), ',');  // b, m, k, n
  Dims dims{d[0], d[1], d[3], d[2]};
  const bool product = name.starts_with("matmul");  // a batched product that the trace took for a Linear
  if (op.starts_with("linear") && product) {
    const Dims shape = numbers(shapes.substr(0, shapes.find(';')), 'x');
    dims[0] = shape[0] * shape[1];
    dims[1] /= dims[0];
  }
  (op.starts_with("bmm") || product ? traced.bmm : traced.linear)[dims] += repeat;
}

/// Elements that a kernel reads of an operand: a mask that the heads share is swept by each of them.
double read_of(const std::string& node, const std::string& shape, const std::string& result) {
  const Dims in = numbers(shape, 'x'), out = numbers(result, 'x');
  const bool swept_per_head = node.starts_with("add") && in.size() == 4 && out.size() == 4 && in[1] == 1 &&
                              out[1] > 1 && in[2] > 1 && in[2] == out[2] && in[3] == out[3];
  return elements(swept_per_head ? result : shape);
}

std::map<std::string, Traced> read_traces(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t graph = table.need("graph"), name = table.need("name"), repeat = table.need("repeat"),
                    ops = table.need("fw_ops"), in = table.need("in_shapes"), out = table.need("out_shape");
  std::map<std::string, Traced> traces;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string key(table.cell(row, graph)), node(table.cell(row, name)), shapes(table.cell(row, in)),
        result(table.cell(row, out)), work(table.cell(row, ops));
    const int times = static_cast<int>(*table.integer(row, repeat));
    Traced& traced = traces[key];
    if (work.starts_with("linear") || work.starts_with("bmm")) {
      add_gemm(traced, work, node, shapes, times);
      continue;
    }
    const bool inference = key.find("-inf-") != std::string::npos;
    if (launches_nothing(node, inference, key.starts_with("opt")) || result.empty() || result == "1" ||
        shapes.empty()) {
      continue;
    }
    double moved = elements(result);
    for (const std::string& shape : split(shapes, ';')) moved += shape.empty() ? 0 : read_of(node, shape, result);
    traced.other_bytes += 4 * moved * times;
  }
  return traces;
}

/// at::matmul copies permuted operands into what a batched GEMM takes; a trace on shapes does not see it.
bool hidden_copy(const Graph& graph, const Operator& op) {
  const std::string& name = graph.names[op.name];
  return graph.model != "opt_13" && op.kernel.op == Op::memory &&
         (name == "attention queries" || name == "attention keys" || name == "attention values");
}

Traced ours(const Graph& graph) {
  Traced result;
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward || hidden_copy(graph, op)) continue;
    if (const auto* g = std::get_if<GemmShape>(&op.kernel.shape)) {
      (op.kernel.op == Op::bmm ? result.bmm : result.linear)[{g->batch, g->m, g->n, g->k}] += 1;
    } else {
      // The trace knows no mask: 8 of our 9 bytes.
      const bool dropout = graph.names[op.name].find("dropout") != std::string::npos;
      result.other_bytes += traffic(op.kernel).total().value() * (dropout ? 8.0 / 9.0 : 1.0);
    }
  }
  return result;
}

std::filesystem::path data_folder() {
  const char* folder = std::getenv("TESSERA_DATA");
  return folder == nullptr ? "" : folder;
}

TEST(NeuSightGraphs, SameGemmsAndNearlySameBytes) {
  if (data_folder().empty()) GTEST_SKIP() << "set TESSERA_DATA to the folder that holds neusight/graphs.csv.gz";
  int compared = 0;
  for (const auto& [key, traced] : read_traces(data_folder() / "neusight" / "graphs.csv.gz")) {
    const std::vector<std::string> part = split(key, '-');  // model, mode, sequence, batch[, variant]
    if (part.size() != 4) continue;                         // fused or of several GPUs: other graphs
    const Graph graph = build_graph(find_model(part[0]), {.mode = part[1] == "inf" ? Mode::inference : Mode::training,
                                                          .batch = std::stoll(part[3]),
                                                          .sequence = std::stoll(part[2])});
    const Traced built = ours(graph);
    EXPECT_EQ(built.linear, traced.linear) << key;
    EXPECT_EQ(built.bmm, traced.bmm) << key;
    EXPECT_NEAR(built.other_bytes / traced.other_bytes, 1, 0.02) << key;
    std::printf("%-24s bytes of other kernels: %.3f of the trace\n", key.c_str(),
                built.other_bytes / traced.other_bytes);
    ++compared;
  }
  EXPECT_EQ(compared, 24);
}

TEST(SampleConfigs, SupportedOnesReadAndOthersAreRefusedByName) {
  const std::filesystem::path folder = data_folder() / "samples" / "hf_configs";
  if (data_folder().empty()) GTEST_SKIP() << "set TESSERA_DATA to the folder that holds samples/hf_configs";
  const std::set<std::string> refused{
      "Qwen--Qwen3-235B-A22B.json",    "blis--deepseek-v2-lite.json",       "deepseek-ai--DeepSeek-R1.json",
      "deepseek-ai--DeepSeek-V3.json", "moonshotai--Kimi-K2-Instruct.json", "neusight--opt.json",
      "nvidia--bert-large.json"};
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    try {
      const ModelConfig config = read_model_config(entry.path());
      EXPECT_FALSE(refused.contains(name)) << name;
      EXPECT_GT(parameter_count(build_graph(config, {.batch = 1, .sequence = 16})), 100'000'000) << name;
      ++read;
    } catch (const InputError& error) {
      EXPECT_TRUE(refused.contains(name)) << name << ": " << error.what();
      const std::string text = error.what();
      const bool names_field =
          text.find("model_type") != std::string::npos || text.find("word_embed_proj_dim") != std::string::npos;
      EXPECT_TRUE(names_field) << text;
    }
  }
  EXPECT_GE(read, 34);
}

}  // namespace
}  // namespace tessera
