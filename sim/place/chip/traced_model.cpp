#include "sim/place/chip/traced_model.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/config/json.hpp"
#include "sim/place/chip/kept_elements.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {
namespace {

struct Kind {
  std::string_view name;
  VectorOp op;
};
// A norm's power is a square.
constexpr std::array kKinds{
    Kind{"Add", VectorOp::add},         Kind{"Mul", VectorOp::multiply},    Kind{"Neg", VectorOp::negate},
    Kind{"Div", VectorOp::divide},      Kind{"Pow", VectorOp::multiply},    Kind{"Mean", VectorOp::mean},
    Kind{"Sqrt", VectorOp::root},       Kind{"Sin", VectorOp::sine},        Kind{"Cos", VectorOp::cosine},
    Kind{"Silu", VectorOp::silu},       Kind{"Softmax", VectorOp::softmax}, Kind{"NativeDropout", VectorOp::dropout},
    Kind{"MaskedFill", VectorOp::mask}, Kind{"Transpose", VectorOp::view},
};

VectorOp vector_op(std::string_view name) {
  constexpr std::string_view kFused = "fused:";
  if (name.starts_with(kFused)) name.remove_prefix(kFused.size());
  const auto found = std::ranges::find(kKinds, name, &Kind::name);
  if (found == kKinds.end()) throw RunError(fmt::format("traced graph: unknown kind '{}'", name));
  return found->op;
}

CoreClass core_class(std::string_view name) {
  if (name == "Nop") return CoreClass::none;
  if (name == "TC") return CoreClass::tensor;
  if (name == "VC") return CoreClass::vector;
  if (name == "TCandVC") return CoreClass::fused;
  throw RunError(fmt::format("traced graph: unknown core '{}'", name));
}

std::int64_t product(const Json& shape) {
  std::int64_t elements = 1;
  for (const Json& extent : shape.items()) elements *= extent.integer();
  return elements;
}

LayerOperator read_operator(const Json& node) {
  LayerOperator op{.name = node.at("id").text(), .core = core_class(node.at("core").text())};
  op.elements = product(node.at("out"));
  if (const Json* fused = node.find("fused"))
    for (const Json& follower : fused->items()) op.fused.push_back(vector_op(follower.text()));
  if (op.core == CoreClass::vector) op.vector = vector_op(node.at("kind").text());
  if (const Json* g = node.find("gemm_fwd"))
    op.gemm = {g->at("B").integer(), g->at("N").integer(), g->at("C").integer(), g->at("K").integer(),
               node.at("kind").text().find("Linear") != std::string::npos};
  return op;
}

/// A weight: a vector that comes from outside the graph.
bool is_weight(const Json& node, bool from_source) {
  return from_source && node.at("out").items().size() == 1;
}

/// How many tensors a vector function reads, and the elements of its weight, if one of them is one.
void read_operands(const Json& nodes, const std::vector<std::vector<int>>& before, int source, LayerGraph& graph) {
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    LayerOperator& op = graph.operators[i];
    op.operands = 0;
    for (const int p : before[i]) {
      const auto& before_p = before[static_cast<std::size_t>(p)];
      if (is_weight(nodes.items()[static_cast<std::size_t>(p)], std::ranges::find(before_p, source) != before_p.end()))
        op.parameter_elements = graph.operators[static_cast<std::size_t>(p)].elements;
      else
        ++op.operands;
    }
    op.operands = std::max<std::int64_t>(op.operands, 1);
  }
}

LayerGraph layer_of(const Json& json, std::string_view name) {
  LayerGraph graph{.name = std::string(name)};
  std::map<std::string, int, std::less<>> index;
  for (const Json& node : json.at("nodes").items()) {
    index.emplace(node.at("id").text(), static_cast<int>(graph.operators.size()));
    graph.operators.push_back(read_operator(node));
  }
  const auto at = [&](const Json& id) {
    const auto found = index.find(id.text());
    if (found == index.end()) throw RunError(fmt::format("traced graph: edge to '{}', which is no node", id.text()));
    return found->second;
  };
  std::vector<std::vector<int>> before(graph.operators.size());
  for (const Json& edge : json.at("edges_fwd").items()) {
    const int from = at(edge.items().at(0)), to = at(edge.items().at(1));
    if (from == to) continue;
    graph.edges.push_back({from, to});
    before[static_cast<std::size_t>(to)].push_back(from);
  }
  read_operands(json.at("nodes"), before, at(Json("source")), graph);
  graph.parameter_elements = json.at("parameter_elements").integer();
  graph.traced_elements = json.at("activation_elements").integer();
  graph.kept_elements = kept_elements(graph);
  return graph;
}

std::set<int> followers(const LayerGraph& graph, int op) {
  std::set<int> reached;
  std::vector<int> open{op};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const Precedence& edge : graph.edges)
      if (edge.before == at && reached.insert(edge.after).second) open.push_back(edge.after);
  }
  return reached;
}

std::int64_t weights_of(const LayerGraph& graph) {
  std::int64_t elements = 0;
  for (const LayerOperator& op : graph.operators)
    elements += op.parameter_elements + (op.gemm.weight ? op.gemm.c * op.gemm.k : 0);
  return elements;
}

LayerGraph part_of(const LayerGraph& graph, std::string name, const std::set<int>& members) {
  LayerGraph part{.name = std::move(name)};
  std::map<int, int> index;
  for (const int m : members) {
    index.emplace(m, static_cast<int>(part.operators.size()));
    part.operators.push_back(graph.operators[static_cast<std::size_t>(m)]);
    part.traced_elements += part.operators.back().elements;
  }
  for (const Precedence& edge : graph.edges)
    if (index.contains(edge.before) && index.contains(edge.after))
      part.edges.push_back({index.at(edge.before), index.at(edge.after)});
  part.parameter_elements = weights_of(part);
  part.kept_elements = kept_elements(part);
  return part;
}

/// The block, and the head: what follows the last residual sum, the last vector sum of the graph.
std::pair<LayerGraph, LayerGraph> cut_head(const LayerGraph& graph) {
  std::set<int> head;
  for (int i = 0; i < static_cast<int>(graph.operators.size()); ++i) {
    const LayerOperator& op = graph.operators[static_cast<std::size_t>(i)];
    if (op.core != CoreClass::vector || op.vector != VectorOp::add) continue;
    const std::set<int> after = followers(graph, i);
    if (head.empty() || after.size() < head.size()) head = after;
  }
  std::set<int> block;
  for (int i = 0; i < static_cast<int>(graph.operators.size()); ++i)
    if (!head.contains(i)) block.insert(i);
  return {part_of(graph, "block", block), part_of(graph, "head", head)};
}

void see_whole_micro_batch(LayerGraph& graph, std::int64_t micro_batch) {
  for (LayerOperator& op : graph.operators)
    if (op.gemm.weight) op.gemm.n *= micro_batch;
}

}  // namespace

LayerGraph read_traced_layer(const std::filesystem::path& path, std::string_view layer) {
  return layer_of(read_json(path).at(layer), layer);
}

ChipModel read_traced_model(const std::filesystem::path& path, std::int64_t micro_batch, int blocks,
                            const ChipRules& rules) {
  const Json json = read_json(path);
  WidthLayers layers{.width = 1, .distinct = {layer_of(json.at("-1"), "embedding"), layer_of(json.at("0"), "block")}};
  if (!rules.head_in_layers) {
    auto [block, head] = cut_head(layers.distinct[1]);
    layers.distinct[1] = std::move(block);
    layers.distinct.push_back(std::move(head));
  }
  layers.order.assign(static_cast<std::size_t>(blocks) + 1, 1);
  layers.order.front() = 0;
  if (!rules.head_in_layers) layers.order.push_back(2);
  if (!rules.one_sample_linear)
    for (LayerGraph& graph : layers.distinct) see_whole_micro_batch(graph, micro_batch);
  for (const LayerOperator& op : layers.distinct[1].operators)
    if (op.gemm.weight) {  // the residual stream, as the first linear layer reads it
      const std::int64_t samples = rules.one_sample_linear ? micro_batch : 1;
      layers.boundary = static_cast<double>(samples * op.gemm.n * op.gemm.c) * kSystolicWord;
      break;
    }
  return {"llama-2-7b (traced)", micro_batch, {std::move(layers)}};
}

}  // namespace tessera
