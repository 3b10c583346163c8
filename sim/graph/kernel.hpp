// One device kernel call by its shape: what the latency model prices and the event loop runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// Operators by the names of the `validate` contract, then those that only models contain.
enum class Op : std::uint8_t {
  gemm,
  linear,
  bmm,
  add,
  mul,
  div,
  pow,
  addu,
  mulu,
  divu,
  powu,
  relu,
  gelu,
  silu,
  tanh,
  softmax,
  layernorm,
  rmsnorm,
  embedding,
  conv2d,
  conv2d_dgrad,
  conv2d_wgrad,
  attention_prefill,
  attention_decode,
  moe,
  // only inside models:
  attention_backward,
  softmax_backward,
  layernorm_backward,
  rmsnorm_backward,
  embedding_backward,
  memory,     // moves bytes: dropout, where, copies, cross entropy, fused elementwise
  optimizer,  // one Adam step over h elements
  mla_prefill,
  mla_decode,
};
inline constexpr int kOpCount = static_cast<int>(Op::mla_decode) + 1;

std::string_view to_string(Op op);
std::optional<Op> parse_op(std::string_view name);

/// How the operands lie, in BLAS letters: forward linear is tn, its input gradient nn, its weight gradient nt.
enum class GemmLayout : std::uint8_t { nn, tn, nt };

/// C[batch][m,n] = A[m,k] B[k,n].
struct GemmShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  GemmLayout layout = GemmLayout::tn;
  bool bias = false;
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};
/// Elementwise, softmax, norms, embedding (rows look-ups of h), optimizer (1 x h elements).
struct VectorShape {
  std::int64_t rows = 0, h = 0;
  friend bool operator==(const VectorShape&, const VectorShape&) = default;
};
/// Square, but where a width is given (Inception's 1 x 7, spectrograms). Each of `groups` joins c_in / groups channels
/// to c_out / groups; as many groups as channels: depthwise.
struct ConvShape {
  std::int64_t batch = 0, c_in = 0, c_out = 0, kernel = 0, image = 0, stride = 1, pad = 0;
  std::int64_t groups = 1;
  std::int64_t image_w = 0, kernel_w = 0, stride_w = 0;  // 0: as the height
  std::int64_t pad_w = -1;                               // -1: as the height

  [[nodiscard]] std::int64_t width() const { return image_w > 0 ? image_w : image; }
  [[nodiscard]] std::int64_t window() const { return kernel * window_w(); }
  [[nodiscard]] std::int64_t out_h() const { return (image + 2 * pad - kernel) / stride + 1; }
  [[nodiscard]] std::int64_t out_w() const {
    const std::int64_t edge = pad_w >= 0 ? pad_w : pad;
    return (width() + 2 * edge - window_w()) / (stride_w > 0 ? stride_w : stride) + 1;
  }
  [[nodiscard]] std::int64_t window_w() const { return kernel_w > 0 ? kernel_w : kernel; }
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};
/// kv_len includes the new tokens in prefill and counts the cached ones in decode.
struct AttentionShape {
  std::int64_t batch = 0, q_len = 0, kv_len = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool causal = true;
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};
/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): the cache holds one vector of latent + rope per token.
/// Prefill attends with keys of head_dim + rope and values of head_dim that were made from it; decode attends in the
/// latent space itself. kv_len as in AttentionShape.
struct MlaShape {
  std::int64_t batch = 0, q_len = 0, kv_len = 0, heads = 0;
  std::int64_t latent = 512, rope = 64, head_dim = 128;  // of DeepSeek-V2 and V3
  friend bool operator==(const MlaShape&, const MlaShape&) = default;
};
struct MoeShape {
  std::int64_t tokens = 0, hidden = 0, inter = 0, topk = 0, experts = 0;
  bool gated = true;
  friend bool operator==(const MoeShape&, const MoeShape&) = default;
};
struct MemoryShape {
  Bytes read, written;
  friend bool operator==(const MemoryShape&, const MemoryShape&) = default;
};

using Shape = std::variant<GemmShape, VectorShape, ConvShape, AttentionShape, MoeShape, MemoryShape, MlaShape>;

struct Kernel {
  Op op = Op::memory;
  Dtype dtype = Dtype::fp32;
  Shape shape;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

struct KernelHash {
  std::size_t operator()(const Kernel& kernel) const noexcept;
};

/// Useful arithmetic, a multiply-add counting 2; causal attention counts only the unmasked half.
Flops flops(const Kernel& kernel);

/// Compulsory traffic: every operand read once, every result written once.
struct Traffic {
  Bytes read, written;
  [[nodiscard]] Bytes total() const { return read + written; }
};
Traffic traffic(const Kernel& kernel);

/// "linear bf16 m=4096 n=11008 k=4096".
std::string describe_kernel(const Kernel& kernel);

/// The mistake in a shape (a dimension not positive or beyond any device, heads not a multiple of kv_heads, shape
/// of another op), if any. Without one, flops, bytes and blocks are finite and fit in 64 bits.
std::optional<std::string> shape_error(const Kernel& kernel);

}  // namespace tessera
