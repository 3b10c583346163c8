#include "sim/graph/kernel.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <utility>

#include "sim/base/text.hpp"

namespace tessera {

namespace {

// The alternatives of Shape, in order.
enum class Family : std::uint8_t { gemm, vector, conv, attention, moe, memory, mla };

struct OpRow {
  Op op;
  std::string_view name;
  Family family;
};

constexpr std::array<OpRow, kOpCount> kOps{{
    {Op::gemm, "gemm", Family::gemm},
    {Op::linear, "linear", Family::gemm},
    {Op::bmm, "bmm", Family::gemm},
    {Op::add, "add", Family::vector},
    {Op::mul, "mul", Family::vector},
    {Op::div, "div", Family::vector},
    {Op::pow, "pow", Family::vector},
    {Op::addu, "addu", Family::vector},
    {Op::mulu, "mulu", Family::vector},
    {Op::divu, "divu", Family::vector},
    {Op::powu, "powu", Family::vector},
    {Op::relu, "relu", Family::vector},
    {Op::gelu, "gelu", Family::vector},
    {Op::silu, "silu", Family::vector},
    {Op::tanh, "tanh", Family::vector},
    {Op::softmax, "softmax", Family::vector},
    {Op::layernorm, "layernorm", Family::vector},
    {Op::rmsnorm, "rmsnorm", Family::vector},
    {Op::embedding, "embedding", Family::vector},
    {Op::conv2d, "conv2d", Family::conv},
    {Op::conv2d_dgrad, "conv2d_dgrad", Family::conv},
    {Op::conv2d_wgrad, "conv2d_wgrad", Family::conv},
    {Op::attention_prefill, "attention_prefill", Family::attention},
    {Op::attention_decode, "attention_decode", Family::attention},
    {Op::moe, "moe", Family::moe},
    {Op::attention_backward, "attention_backward", Family::attention},
    {Op::softmax_backward, "softmax_backward", Family::vector},
    {Op::layernorm_backward, "layernorm_backward", Family::vector},
    {Op::rmsnorm_backward, "rmsnorm_backward", Family::vector},
    {Op::embedding_backward, "embedding_backward", Family::vector},
    {Op::memory, "memory", Family::memory},
    {Op::optimizer, "optimizer", Family::vector},
    {Op::mla_prefill, "mla_prefill", Family::mla},
    {Op::mla_decode, "mla_decode", Family::mla},
}};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    if (static_cast<std::size_t>(kOps[i].op) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

const OpRow& row_of(Op op) {
  return kOps[static_cast<std::size_t>(op)];
}

using Dims = std::initializer_list<std::pair<std::string_view, std::int64_t>>;

/// Beyond any device; what is derived from smaller shapes (blocks, bytes) fits in 64 bits.
constexpr std::int64_t kLargestDim = std::int64_t{1} << 31;
constexpr std::int64_t kLargestVector = std::int64_t{1} << 40;  // an optimizer step runs over all parameters
constexpr double kMostBytes = 0x1p50, kMostFlops = 0x1p70;

std::optional<std::string> out_of_bounds(Op op, Dims dims, std::int64_t largest = kLargestDim) {
  for (const auto& [name, value] : dims) {
    if (value <= 0) return fmt::format("{}: {} is {}, expected a positive number", to_string(op), name, value);
    if (value > largest) {
      return fmt::format("{}: {} is {}, expected at most {}", to_string(op), name, value, largest);
    }
  }
  return std::nullopt;
}

std::optional<std::string> too_large(const Kernel& kernel) {
  if (traffic(kernel).total().value() <= kMostBytes && flops(kernel).value() <= kMostFlops) return std::nullopt;
  return fmt::format("{}: {} and {} of operands and results, expected at most {} and {}", describe_kernel(kernel),
                     format(flops(kernel)), format(traffic(kernel).total()), format(Flops(kMostFlops)),
                     format(Bytes(kMostBytes)));
}

std::optional<std::string> error_in(Op op, const GemmShape& s) {
  if (auto error = out_of_bounds(op, {{"b", s.batch}, {"m", s.m}, {"n", s.n}, {"k", s.k}})) return error;
  if (op != Op::bmm && s.batch != 1)
    return fmt::format("{}: b is {}, expected 1; bmm has batches", to_string(op), s.batch);
  return std::nullopt;
}

std::optional<std::string> error_in(Op op, const VectorShape& s) {
  return out_of_bounds(op, {{"rows", s.rows}, {"h", s.h}}, kLargestVector);
}

std::optional<std::string> error_in(Op op, const ConvShape& s) {
  if (auto error = out_of_bounds(op, {{"b", s.batch},
                                      {"c_in", s.c_in},
                                      {"c_out", s.c_out},
                                      {"ksize", s.kernel},
                                      {"hw", s.image},
                                      {"stride", s.stride},
                                      {"groups", s.groups}})) {
    return error;
  }
  if (s.c_in % s.groups != 0 || s.c_out % s.groups != 0) {
    return fmt::format("{}: groups {} does not divide the {} and {} channels", to_string(op), s.groups, s.c_in,
                       s.c_out);
  }
  if (s.pad < 0) return fmt::format("{}: pad is {}, expected 0 or more", to_string(op), s.pad);
  if (s.pad > kLargestDim) {
    return fmt::format("{}: pad is {}, expected at most {}", to_string(op), s.pad, kLargestDim);
  }
  if (s.image + 2 * s.pad < s.kernel) {
    return fmt::format("{}: ksize {} is larger than the padded image of {}", to_string(op), s.kernel,
                       s.image + 2 * s.pad);
  }
  if (s.image_w < 0 || s.kernel_w < 0 || s.stride_w < 0 || s.out_w() < 1 ||
      std::max({s.image_w, s.kernel_w, s.stride_w, s.pad_w}) > kLargestDim) {
    return fmt::format("{}: no width of result from an image of {}, a kernel of {}", to_string(op), s.width(),
                       s.window_w());
  }
  return std::nullopt;
}

std::optional<std::string> error_in(Op op, const AttentionShape& s) {
  if (auto error = out_of_bounds(op, {{"batch", s.batch},
                                      {"q_len", s.q_len},
                                      {"kv_len", s.kv_len},
                                      {"heads", s.heads},
                                      {"kv_heads", s.kv_heads},
                                      {"head_dim", s.head_dim}})) {
    return error;
  }
  if (s.heads % s.kv_heads != 0) {
    return fmt::format("{}: heads {} is not a multiple of kv_heads {}", to_string(op), s.heads, s.kv_heads);
  }
  if (op != Op::attention_decode && s.causal && s.kv_len < s.q_len) {
    return fmt::format("{}: kv_len {} is less than q_len {}, whose tokens it includes", to_string(op), s.kv_len,
                       s.q_len);
  }
  return std::nullopt;
}

std::optional<std::string> error_in(Op op, const MlaShape& s) {
  if (auto error = out_of_bounds(op, {{"batch", s.batch},
                                      {"q_len", s.q_len},
                                      {"kv_len", s.kv_len},
                                      {"heads", s.heads},
                                      {"latent", s.latent},
                                      {"rope", s.rope},
                                      {"head_dim", s.head_dim}})) {
    return error;
  }
  if (op == Op::mla_prefill && s.kv_len < s.q_len) {
    return fmt::format("{}: kv_len {} is less than q_len {}, whose tokens it includes", to_string(op), s.kv_len,
                       s.q_len);
  }
  return std::nullopt;
}

std::optional<std::string> error_in(Op op, const MoeShape& s) {
  if (auto error = out_of_bounds(
          op,
          {{"tokens", s.tokens}, {"hidden", s.hidden}, {"inter", s.inter}, {"topk", s.topk}, {"experts", s.experts}})) {
    return error;
  }
  if (s.topk > s.experts) return fmt::format("{}: topk {} exceeds experts {}", to_string(op), s.topk, s.experts);
  return std::nullopt;
}

std::optional<std::string> error_in(Op op, const MemoryShape& s) {
  const auto fine = [](Bytes size) { return size >= Bytes(0) && std::isfinite(size.value()); };
  if (fine(s.read) && fine(s.written) && s.read + s.written > Bytes(0)) return std::nullopt;
  return fmt::format("{}: reads {} B and writes {} B, expected finite sizes of which one is positive", to_string(op),
                     s.read.value(), s.written.value());
}

std::string dims_text(const GemmShape& s) {
  constexpr std::array<std::string_view, 3> kLayouts{" nn", "", " nt"};  // tn is the forward layout: not said
  return fmt::format("{}m={} n={} k={}{}", s.batch == 1 ? "" : fmt::format("b={} ", s.batch), s.m, s.n, s.k,
                     kLayouts[static_cast<std::size_t>(s.layout)]);
}
std::string dims_text(const VectorShape& s) {
  return fmt::format("rows={} h={}", s.rows, s.h);
}
std::string dims_text(const ConvShape& s) {
  const auto side = [](std::int64_t height, std::int64_t width) {
    return width == height ? fmt::format("{}", height) : fmt::format("{}x{}", height, width);
  };
  return fmt::format(
      "b={} c_in={} c_out={} ksize={} hw={} stride={} pad={}{}", s.batch, s.c_in, s.c_out, side(s.kernel, s.window_w()),
      side(s.image, s.width()), side(s.stride, s.stride_w > 0 ? s.stride_w : s.stride),
      side(s.pad, s.pad_w >= 0 ? s.pad_w : s.pad), s.groups == 1 ? "" : fmt::format(" groups={}", s.groups));
}
std::string dims_text(const AttentionShape& s) {
  return fmt::format("batch={} q_len={} kv_len={} heads={} kv_heads={} head_dim={}{}", s.batch, s.q_len, s.kv_len,
                     s.heads, s.kv_heads, s.head_dim, s.causal ? "" : " unmasked");
}
std::string dims_text(const MlaShape& s) {
  return fmt::format("batch={} q_len={} kv_len={} heads={} latent={} rope={} head_dim={}", s.batch, s.q_len, s.kv_len,
                     s.heads, s.latent, s.rope, s.head_dim);
}
std::string dims_text(const MoeShape& s) {
  return fmt::format("tokens={} hidden={} inter={} topk={} experts={}{}", s.tokens, s.hidden, s.inter, s.topk,
                     s.experts, s.gated ? "" : " ungated");
}
std::string dims_text(const MemoryShape& s) {
  return fmt::format("read={} written={}", s.read.value(), s.written.value());
}

/// 64-bit FNV-1a step over whole words, with the xor-shift that spreads the high bits.
class Hasher {
 public:
  void add(std::int64_t word) {
    state_ = (state_ ^ static_cast<std::uint64_t>(word)) * 0x100000001b3ULL;
    state_ ^= state_ >> 29;
  }
  template <class... Words>
  void add_all(Words... words) {
    (add(static_cast<std::int64_t>(words)), ...);
  }
  [[nodiscard]] std::size_t value() const { return static_cast<std::size_t>(state_); }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

void hash_shape(Hasher& h, const GemmShape& s) {
  h.add_all(s.batch, s.m, s.n, s.k, s.layout, s.bias);
}
void hash_shape(Hasher& h, const VectorShape& s) {
  h.add_all(s.rows, s.h);
}
void hash_shape(Hasher& h, const ConvShape& s) {
  h.add_all(s.batch, s.c_in, s.c_out, s.kernel, s.image, s.stride, s.pad, s.groups, s.image_w, s.kernel_w, s.stride_w,
            s.pad_w);
}
void hash_shape(Hasher& h, const AttentionShape& s) {
  h.add_all(s.batch, s.q_len, s.kv_len, s.heads, s.kv_heads, s.head_dim, s.causal);
}
void hash_shape(Hasher& h, const MlaShape& s) {
  h.add_all(s.batch, s.q_len, s.kv_len, s.heads, s.latent, s.rope, s.head_dim);
}
void hash_shape(Hasher& h, const MoeShape& s) {
  h.add_all(s.tokens, s.hidden, s.inter, s.topk, s.experts, s.gated);
}
void hash_shape(Hasher& h, const MemoryShape& s) {
  const std::hash<double> hash;
  h.add_all(hash(s.read.value()), hash(s.written.value()));
}

}  // namespace

std::string_view to_string(Op op) {
  return row_of(op).name;
}

std::optional<Op> parse_op(std::string_view name) {
  for (const OpRow& row : kOps) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

std::size_t KernelHash::operator()(const Kernel& kernel) const noexcept {
  Hasher hasher;
  hasher.add_all(kernel.op, kernel.dtype);
  std::visit([&](const auto& shape) { hash_shape(hasher, shape); }, kernel.shape);
  return hasher.value();
}

std::string describe_kernel(const Kernel& kernel) {
  return fmt::format("{} {} {}", to_string(kernel.op), to_string(kernel.dtype),
                     std::visit([](const auto& shape) { return dims_text(shape); }, kernel.shape));
}

std::optional<std::string> shape_error(const Kernel& kernel) {
  if (kernel.shape.index() != static_cast<std::size_t>(row_of(kernel.op).family)) {
    return fmt::format("{}: has the shape of another operator ({})", to_string(kernel.op),
                       std::visit([](const auto& shape) { return dims_text(shape); }, kernel.shape));
  }
  if (auto error = std::visit([&](const auto& shape) { return error_in(kernel.op, shape); }, kernel.shape)) {
    return error;
  }
  return too_large(kernel);
}

}  // namespace tessera
