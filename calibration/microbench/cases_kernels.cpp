// Cases that are kernels of the `validate` contract.
#include <array>
#include <string>
#include <utility>

#include "calibration/microbench/benchmarks.hpp"

namespace tessera::microbench {
namespace {

constexpr std::array kFloats{Dtype::fp32, Dtype::fp16, Dtype::bf16};

std::vector<Dim> dims_of(Op op, const Shape& shape) {
  std::vector<Dim> dims;
  if (const auto* s = std::get_if<GemmShape>(&shape)) {
    if (op == Op::bmm) dims.push_back({"b", s->batch});
    dims.insert(dims.end(), {{"m", s->m}, {"n", s->n}, {"k", s->k}});
  } else if (const auto* v = std::get_if<VectorShape>(&shape)) {
    dims = {{"rows", v->rows}, {"h", v->h}};
  } else if (const auto* c = std::get_if<ConvShape>(&shape)) {
    dims = {{"b", c->batch},  {"c_in", c->c_in},     {"c_out", c->c_out}, {"ksize", c->kernel},
            {"hw", c->image}, {"stride", c->stride}, {"pad", c->pad}};
  } else if (const auto* a = std::get_if<AttentionShape>(&shape)) {
    dims = {{"batch", a->batch}, {"q_len", a->q_len},       {"kv_len", a->kv_len},
            {"heads", a->heads}, {"kv_heads", a->kv_heads}, {"head_dim", a->head_dim}};
  } else if (const auto* e = std::get_if<MoeShape>(&shape)) {
    dims = {
        {"tokens", e->tokens}, {"hidden", e->hidden}, {"inter", e->inter}, {"topk", e->topk}, {"experts", e->experts}};
  }
  return dims;
}

Case kernel_case(std::string benchmark, std::string runtime, const Kernel& kernel, Timing timing = Timing::graph) {
  Case c{.benchmark = std::move(benchmark),
         .table = Table::kernels,
         .op = std::string(to_string(kernel.op)),
         .runtime = std::move(runtime),
         .dtype = kernel.dtype,
         .timing = timing,
         .dims = dims_of(kernel.op, kernel.shape),
         .work = flops(kernel),
         .moved = traffic(kernel).total()};
  if (const auto* s = std::get_if<GemmShape>(&kernel.shape))
    c.layout = std::array{"nn", "tn", "nt"}[static_cast<std::size_t>(s->layout)];
  return c;
}

bool supported(const GpuSpec& gpu, Dtype dtype) {
  return gpu.peak_of(dtype) > FlopsPerSec(0);
}

/// Formats under 16 bit are multiplied from K-contiguous operands only.
bool takes_layout(Dtype dtype, GemmLayout layout) {
  const bool narrow = dtype == Dtype::fp8 || dtype == Dtype::int8 || dtype == Dtype::nvfp4;
  return !narrow || layout == GemmLayout::tn;
}

void add_gemms(std::vector<Case>& cases, const GpuSpec& gpu, const GemmShape& shape) {
  for (const Dtype dtype : kDtypes) {
    if (!supported(gpu, dtype)) continue;
    for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt}) {
      if (!takes_layout(dtype, layout)) continue;
      GemmShape s = shape;
      s.layout = layout;
      cases.push_back(kernel_case("gemm", "cublaslt", {Op::gemm, dtype, s}));
      if (layout != GemmLayout::tn) continue;
      cases.push_back(kernel_case("gemm", "cublaslt", {Op::gemm, dtype, s}, Timing::eager));
      if (dtype == Dtype::int8 || dtype == Dtype::nvfp4) continue;
      s.bias = true;
      cases.push_back(kernel_case("gemm", "cublaslt", {Op::linear, dtype, s}));
    }
  }
}

}  // namespace

std::vector<Case> gemm_cases(const GpuSpec& gpu) {
  // {n, k} of square and of transformer layers (7 to 70 billion parameters), times tokens from one to a long prompt.
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 8> kWeights{{{1024, 1024},
                                                                           {4096, 4096},
                                                                           {6144, 4096},
                                                                           {4096, 11008},
                                                                           {14336, 4096},
                                                                           {8192, 8192},
                                                                           {8192, 28672},
                                                                           {1024, 16384}}};
  std::vector<Case> cases;
  for (const std::int64_t m : {16, 64, 128, 256, 512, 1024, 2048, 4096, 8192})
    for (const auto& [n, k] : kWeights) add_gemms(cases, gpu, {.m = m, .n = n, .k = k});
  return cases;
}

std::vector<Case> bmm_cases(const GpuSpec& gpu) {
  constexpr std::array<std::array<std::int64_t, 4>, 8> kShapes{{{8, 512, 512, 64},
                                                                {32, 256, 256, 128},
                                                                {16, 1024, 1024, 64},
                                                                {64, 128, 128, 1024},
                                                                {96, 512, 64, 512},
                                                                {32, 2048, 2048, 128},
                                                                {64, 1024, 128, 1024},
                                                                {128, 1024, 1024, 128}}};
  std::vector<Case> cases;
  for (const auto& [b, m, n, k] : kShapes) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16}) {
      if (!supported(gpu, dtype)) continue;
      for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::tn})
        cases.push_back(kernel_case("bmm", "cublaslt",
                                    {Op::bmm, dtype, GemmShape{.batch = b, .m = m, .n = n, .k = k, .layout = layout}}));
    }
  }
  return cases;
}

std::vector<Case> conv_cases(const GpuSpec& gpu) {
  // Layers of ResNet-50 and a wide 3x3: {c_in, c_out, ksize, hw, stride, pad}.
  constexpr std::array<std::array<std::int64_t, 6>, 8> kLayers{{{3, 64, 7, 224, 2, 3},
                                                                {64, 64, 3, 56, 1, 1},
                                                                {256, 64, 1, 56, 1, 0},
                                                                {128, 128, 3, 28, 1, 1},
                                                                {256, 512, 1, 56, 2, 0},
                                                                {256, 256, 3, 14, 1, 1},
                                                                {512, 512, 3, 7, 1, 1},
                                                                {512, 512, 3, 28, 1, 1}}};
  std::vector<Case> cases;
  for (const auto& [c_in, c_out, ksize, hw, stride, pad] : kLayers) {
    for (const std::int64_t batch : {8, 64}) {
      for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::fp16}) {
        if (!supported(gpu, dtype)) continue;
        const ConvShape shape{batch, c_in, c_out, ksize, hw, stride, pad};
        for (const Op op : {Op::conv2d, Op::conv2d_dgrad, Op::conv2d_wgrad})
          cases.push_back(kernel_case("conv", "cudnn", {op, dtype, shape}));
      }
    }
  }
  return cases;
}

std::vector<Case> elementwise_cases(const GpuSpec& gpu) {
  std::vector<Case> cases;
  for (const std::int64_t rows : {64, 1024, 4096, 16384}) {
    for (const std::int64_t h : {1024, 4096}) {
      for (const Dtype dtype : kFloats) {
        if (!supported(gpu, dtype)) continue;
        for (const Op op : {Op::add, Op::mul, Op::div, Op::pow, Op::addu, Op::mulu, Op::divu, Op::powu, Op::relu,
                            Op::gelu, Op::silu, Op::tanh})
          cases.push_back(kernel_case("elementwise", "tessera", {op, dtype, VectorShape{rows, h}}));
      }
    }
  }
  return cases;
}

std::vector<Case> row_cases(const GpuSpec& gpu) {
  std::vector<Case> cases;
  for (const std::int64_t rows : {64, 1024, 4096, 16384}) {
    for (const std::int64_t h : {512, 2048, 8192}) {
      for (const Dtype dtype : kFloats) {
        if (!supported(gpu, dtype)) continue;
        for (const Op op : {Op::softmax, Op::layernorm, Op::rmsnorm, Op::embedding})
          cases.push_back(kernel_case("rows", "tessera", {op, dtype, VectorShape{rows, h}}));
      }
    }
  }
  return cases;
}

std::vector<Case> moe_cases(const GpuSpec& gpu) {
  // {hidden, inter, topk, experts}: many small experts, few large ones; tokens from a decode batch to a long prompt.
  constexpr std::array<std::array<std::int64_t, 4>, 3> kLayers{
      {{2048, 768, 8, 128}, {7168, 2048, 8, 32}, {4096, 14336, 2, 8}}};
  std::vector<Case> cases;
  for (const std::int64_t tokens : {16, 256, 4096}) {
    for (const auto& [hidden, inter, topk, experts] : kLayers) {
      for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
        if (!supported(gpu, dtype)) continue;
        const MoeShape shape{.tokens = tokens, .hidden = hidden, .inter = inter, .topk = topk, .experts = experts};
        cases.push_back(kernel_case("moe", "cublas", {Op::moe, dtype, shape}, Timing::eager));
      }
    }
  }
  return cases;
}

std::vector<Case> attention_cases(const GpuSpec& gpu) {
  std::vector<Case> cases;
  const auto add = [&](Op op, const AttentionShape& shape) {
    for (const Dtype dtype : {Dtype::fp16, Dtype::bf16})
      if (supported(gpu, dtype)) cases.push_back(kernel_case("attention", "tessera", {op, dtype, shape}));
  };
  for (const std::int64_t batch : {1, 8}) {
    for (const std::int64_t kv_heads : {32, 8}) {
      for (const std::int64_t length : {512, 2048, 4096}) {
        add(Op::attention_prefill, {batch, length, length, 32, kv_heads, 128});
        add(Op::attention_decode, {batch * 8, 1, length, 32, kv_heads, 128});
      }
      add(Op::attention_prefill, {batch, 1024, 1024, 32, kv_heads, 64});
    }
  }
  return cases;
}

}  // namespace tessera::microbench
