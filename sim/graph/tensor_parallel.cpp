#include "sim/graph/tensor_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kVocabularyMultiple = 128;  // Megatron-LM's --make-vocab-size-divisible-by

}  // namespace

TensorParallel::TensorParallel(const Graph& graph, const ParallelSpec& spec)
    : graph_(graph), tp_(spec.tp), ep_(spec.ep), sequence_(spec.sequence_parallel), expert_load_(spec.expert_load) {
  if (tp_ < 1) throw RunError(fmt::format("tp is {}, expected 1 or more", tp_));
  if (graph.heads % tp_ != 0) {
    throw RunError(fmt::format("tp {} does not divide the {} attention heads of {}", tp_, graph.heads, graph.model));
  }
  if (graph.kv_heads > 0 && graph.kv_heads % tp_ != 0 && tp_ % graph.kv_heads != 0) {
    throw RunError(fmt::format("tp {} neither divides nor is a multiple of the {} key-value heads of {}", tp_,
                               graph.kv_heads, graph.model));
  }
}

std::int64_t TensorParallel::local_kv_heads() const {
  return std::max<std::int64_t>(1, graph_.kv_heads / tp_);
}

std::int64_t TensorParallel::local_vocab() const {
  const std::int64_t multiple = kVocabularyMultiple * tp_;
  return (graph_.vocab + multiple - 1) / multiple * kVocabularyMultiple;
}

double TensorParallel::ratio(Share share) const {
  const auto over = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  switch (share) {
    case Share::tp:
      return over(1, tp_);
    case Share::kv:
      return over(local_kv_heads(), graph_.kv_heads);
    case Share::qkv:
      return over(graph_.heads / tp_ + 2 * local_kv_heads(), graph_.heads + 2 * graph_.kv_heads);
    case Share::vocab:
      return over(local_vocab(), graph_.vocab);
  }
  return 1;
}

std::int64_t TensorParallel::divide(std::int64_t value, Share share, std::string_view what,
                                    std::string_view name) const {
  std::int64_t part = 1, whole = tp_;
  if (share == Share::kv) part = local_kv_heads(), whole = graph_.kv_heads;
  if (share == Share::qkv) {
    part = graph_.heads / tp_ + 2 * local_kv_heads(), whole = graph_.heads + 2 * graph_.kv_heads;
  }
  if (share == Share::vocab) part = local_vocab(), whole = graph_.vocab;
  if (value % whole != 0) {
    throw RunError(fmt::format("tp {} does not divide {} {} of '{}' in {}", tp_, what, value, name, graph_.model));
  }
  return value / whole * part;
}

void TensorParallel::apply(const Operator& op, GemmShape& s, std::string_view name) const {
  switch (op.split) {
    case Split::columns:
      s.n = divide(s.n, op.share, "n", name);
      return;
    case Split::rows:
      s.k = divide(s.k, op.share, "k", name);
      return;
    case Split::m:
      s.m = divide(s.m, op.share, "m", name);
      return;
    case Split::heads:
      s.batch = divide(s.batch, op.share, "batch", name);
      return;
    default:
      TESSERA_ASSERT(false, "a GEMM has no width");
  }
}

void TensorParallel::apply(const Operator& op, VectorShape& s, std::string_view name) const {
  if (op.split == Split::heads) {
    s.rows = divide(s.rows, op.share, "rows", name);
  } else {
    s.h = divide(s.h, op.share, "width", name);
  }
}

void TensorParallel::apply(const Operator&, AttentionShape& s, std::string_view name) const {
  s.heads = divide(s.heads, Share::tp, "heads", name);
  s.kv_heads = divide(s.kv_heads, Share::kv, "kv_heads", name);
}

void TensorParallel::apply(const Operator&, MlaShape& s, std::string_view name) const {
  s.heads = divide(s.heads, Share::tp, "heads", name);  // every rank holds the whole latent cache
}

void TensorParallel::apply(const Operator& op, MoeShape& s, std::string_view name) const {
  const MoeShape whole = s;
  if (tp_ > 1) s.inter = divide(s.inter, op.share, "inter", name);
  if (ep_ == 1) return;
  s.experts /= ep_;
  s.topk = std::min(s.topk, s.experts);
  s.tokens = static_cast<std::int64_t>(std::ceil(static_cast<double>(s.tokens) * static_cast<double>(whole.topk) /
                                                 static_cast<double>(s.topk) * expert_load_));
}

void TensorParallel::apply(const Operator& op, MemoryShape& s, std::string_view) const {
  s.read *= ratio(op.share);
  s.written *= ratio(op.share);
}

void TensorParallel::apply(const Operator&, ConvShape&, std::string_view) const {
  TESSERA_ASSERT(false, "no model here splits a convolution");
}

Kernel TensorParallel::local(const Operator& op) const {
  Kernel kernel = op.kernel;
  if (op.split == Split::none && tp_ > 1 && sequence_) return part_of_sequence(op);
  const bool shares_experts = ep_ > 1 && std::holds_alternative<MoeShape>(kernel.shape);
  if ((op.split == Split::none || tp_ == 1) && !shares_experts) return kernel;
  std::visit([&](auto& shape) { apply(op, shape, graph_.names[op.name]); }, kernel.shape);
  return kernel;
}

/// Norms, sums and dropout between the products: rows / tp. Look-ups produce the partial sums that are scattered.
Kernel TensorParallel::part_of_sequence(const Operator& op) const {
  Kernel kernel = op.kernel;
  const bool looks_up = kernel.op == Op::embedding || kernel.op == Op::embedding_backward;
  if (op.parameter_gradient || op.phase == Phase::optimizer || op.phase == Phase::accumulate || looks_up) return kernel;
  if (auto* vector = std::get_if<VectorShape>(&kernel.shape)) vector->rows = (vector->rows + tp_ - 1) / tp_;
  if (auto* memory = std::get_if<MemoryShape>(&kernel.shape)) {
    memory->read /= static_cast<double>(tp_);
    memory->written /= static_cast<double>(tp_);
  }
  return kernel;
}

Bytes TensorParallel::shared(Bytes whole, const Operator& op) const {
  return op.split == Split::none || tp_ == 1 ? whole : whole * ratio(op.share);
}

std::int64_t TensorParallel::local_elements(const Parameter& parameter) const {
  const std::int64_t elements = parameter.expert ? parameter.elements / ep_ : parameter.elements;
  if (parameter.split == Split::none || tp_ == 1) return elements;
  return divide(elements, parameter.share, "elements", graph_.names[parameter.name]);
}

}  // namespace tessera
