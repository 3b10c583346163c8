// FLOPs and compulsory bytes of a kernel.
#include <cmath>

#include "sim/graph/kernel.hpp"

namespace tessera {

namespace {

/// Arithmetic and operands of the row-wise kernels, per element of the output. A transcendental counts 1.
struct ElementWork {
  double flops, read, written;
  double weights_read = 0, weights_written = 0;  // vectors of h elements
};

ElementWork element_work(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::div:
    case Op::pow:
      return {1, 2, 1};
    case Op::gelu:  // 0.5 x (1 + erf(x / sqrt 2))
      return {5, 1, 1};
    case Op::silu:  // x / (1 + exp(-x))
      return {4, 1, 1};
    case Op::softmax:  // max, subtract, exp, sum, divide
      return {5, 1, 1};
    case Op::layernorm:  // sum, subtract, square, sum, scale, gamma, beta
      return {7, 1, 1, 2};
    case Op::rmsnorm:  // square, sum, scale, gamma
      return {4, 1, 1, 1};
    case Op::embedding:
      return {0, 1, 1};
    case Op::softmax_backward:  // y (dy - sum(y dy))
      return {4, 2, 1};
    case Op::layernorm_backward:  // two kernels in PyTorch, for dx and for dgamma with dbeta: each reads x and dy
      return {14, 4, 1, 1, 2};
    case Op::rmsnorm_backward:  // one pass over x and dy
      return {9, 2, 1, 1, 1};
    case Op::embedding_backward:  // read dy, read-add-write the rows of the table
      return {1, 2, 1};
    default:  // relu, tanh and the operators with a scalar
      return {1, 1, 1};
  }
}

/// Adam: 3 for the first moment, 4 for the second, 2 corrections, sqrt, epsilon, divide, rate, subtract.
constexpr double kAdamFlops = 14;
constexpr double kIndexBytes = 8;  // PyTorch's token ids are int64

/// Results of the 8- and 4-bit formats are written in 16 bits.
Bytes result_size(Dtype dtype) {
  const Bytes size = element_size(dtype);
  return size < Bytes(2) ? Bytes(2) : size;
}

double product(std::initializer_list<std::int64_t> factors) {
  double result = 1;
  for (const std::int64_t factor : factors) result *= static_cast<double>(factor);
  return result;
}

std::int64_t keys(Op op, const AttentionShape& s) {
  return op == Op::attention_decode ? s.kv_len + s.q_len : s.kv_len;
}

/// Query-key pairs that the mask lets through: query i of q sees all but the q - 1 - i last keys.
double pairs(Op op, const AttentionShape& s) {
  const double all = product({s.q_len, keys(op, s)});
  return s.causal ? all - product({s.q_len, s.q_len - 1}) / 2 : all;
}

double work(Op, const GemmShape& s) {
  return 2 * product({s.batch, s.m, s.n, s.k});
}
double work(Op op, const VectorShape& s) {
  return product({s.rows, s.h}) * (op == Op::optimizer ? kAdamFlops : element_work(op).flops);
}
double work(Op, const ConvShape& s) {
  return 2 * product({s.batch, s.c_out, s.out_h(), s.out_w(), s.c_in / s.groups, s.window()});
}
double work(Op op, const AttentionShape& s) {
  // Two GEMMs forward (scores, values); five backward: the scores again, dV, dP, dQ, dK.
  const double gemms = op == Op::attention_backward ? 5 : 2;
  return gemms * 2 * product({s.batch, s.heads, s.head_dim}) * pairs(op, s);
}
/// What a head multiplies: keys and values of its own in prefill, the cached vector twice in decode.
double work(Op op, const MlaShape& s) {
  const bool latent = op == Op::mla_decode;
  const auto keys = static_cast<double>((latent ? s.latent : s.head_dim) + s.rope);
  const auto values = static_cast<double>(latent ? s.latent : s.head_dim);
  const double seen = latent ? product({s.q_len, s.kv_len + s.q_len}) : product({s.q_len, s.kv_len});
  return 2 * (keys + values) * product({s.batch, s.heads}) * (seen - product({s.q_len, s.q_len - 1}) / 2);
}
double work(Op, const MoeShape& s) {
  return 2 * (s.gated ? 3 : 2) * product({s.tokens, s.topk, s.hidden, s.inter});
}
double work(Op, const MemoryShape&) {
  return 0;
}

Traffic bytes(Op, Dtype dtype, const GemmShape& s) {
  const double in = product({s.batch, s.m, s.k}) + product({s.batch, s.k, s.n}) + (s.bias ? product({s.n}) : 0);
  return {in * element_size(dtype), product({s.batch, s.m, s.n}) * result_size(dtype)};
}

/// Adam reads gradient, master weight and two moments, writes the latter three and the 16-bit weight if there is one.
Traffic adam_bytes(Dtype dtype, double elements) {
  const Bytes state(12);
  const bool mixed = element_size(dtype) < Bytes(4);
  return {elements * (state + element_size(dtype)), elements * (state + (mixed ? element_size(dtype) : Bytes(0)))};
}

Traffic bytes(Op op, Dtype dtype, const VectorShape& s) {
  const double elements = product({s.rows, s.h});
  if (op == Op::optimizer) return adam_bytes(dtype, elements);
  const ElementWork w = element_work(op);
  const bool looks_up = op == Op::embedding || op == Op::embedding_backward;
  const Bytes indices(looks_up ? kIndexBytes * static_cast<double>(s.rows) : 0);
  const auto width = static_cast<double>(s.h);
  return {(w.read * elements + w.weights_read * width) * element_size(dtype) + indices,
          (w.written * elements + w.weights_written * width) * element_size(dtype)};
}

Traffic bytes(Op op, Dtype dtype, const ConvShape& s) {
  const double image = product({s.batch, s.c_in, s.image, s.width()});
  const double weights = product({s.c_out, s.c_in / s.groups, s.window()});
  const double result = product({s.batch, s.c_out, s.out_h(), s.out_w()});
  const Bytes in = element_size(dtype), written = result_size(dtype);
  if (op == Op::conv2d_dgrad) return {(result + weights) * in, image * written};
  if (op == Op::conv2d_wgrad) return {(result + image) * in, weights * written};
  return {(image + weights) * in, result * written};
}

Traffic bytes(Op op, Dtype dtype, const AttentionShape& s) {
  const double query = product({s.batch, s.q_len, s.heads, s.head_dim});
  const double cache = 2 * product({s.batch, keys(op, s), s.kv_heads, s.head_dim});
  if (op != Op::attention_backward) return {(query + cache) * element_size(dtype), query * result_size(dtype)};
  // Reads q, output, its gradient, k, v and the fp32 log-sum-exp; writes the gradients of q, k, v.
  const Bytes statistics(4 * product({s.batch, s.q_len, s.heads}));
  return {(3 * query + cache) * element_size(dtype) + statistics, (query + cache) * result_size(dtype)};
}

/// Prefill reads queries, keys and values per head; decode the queries in latent space and the cache once.
Traffic bytes(Op op, Dtype dtype, const MlaShape& s) {
  const double queries = product({s.batch, s.heads, s.q_len});
  if (op == Op::mla_decode) {
    const double cache = product({s.batch, s.kv_len + s.q_len, s.latent + s.rope});
    return {(queries * static_cast<double>(s.latent + s.rope) + cache) * element_size(dtype),
            queries * static_cast<double>(s.latent) * result_size(dtype)};
  }
  const auto keys = static_cast<double>(s.head_dim + s.rope), values = static_cast<double>(s.head_dim);
  return {(queries * keys + product({s.batch, s.heads, s.kv_len}) * (keys + values)) * element_size(dtype),
          queries * values * result_size(dtype)};
}

Traffic bytes(Op, Dtype dtype, const MoeShape& s) {
  // Experts that at least one token picks, picks being uniform: E (1 - (1 - k/E)^tokens).
  const auto experts = static_cast<double>(s.experts);
  const double idle = std::pow(1 - static_cast<double>(s.topk) / experts, static_cast<double>(s.tokens));
  const double weights = experts * (1 - idle) * (s.gated ? 3 : 2) * product({s.hidden, s.inter});
  const double tokens = product({s.tokens, s.hidden});
  return {(weights + tokens) * element_size(dtype), tokens * result_size(dtype)};
}

Traffic bytes(Op, Dtype, const MemoryShape& s) {
  return {s.read, s.written};
}

}  // namespace

Flops flops(const Kernel& kernel) {
  return Flops(std::visit([&](const auto& shape) { return work(kernel.op, shape); }, kernel.shape));
}

Traffic traffic(const Kernel& kernel) {
  return std::visit([&](const auto& shape) { return bytes(kernel.op, kernel.dtype, shape); }, kernel.shape);
}

}  // namespace tessera
