#include "models/neusight/operation.hpp"

#include <fmt/core.h>

#include "sim/base/error.hpp"

namespace tessera::neusight {

namespace {

constexpr double kFp32 = 4;

/// Operands read and results written per output element (paper: 8 bytes with one input, 12 with two).
double bytes_of(Op op) {
  const bool two = op == Op::add || op == Op::mul || op == Op::div || op == Op::pow;
  return (two ? 3 : 2) * kFp32;
}

double operations_per_output(Op op) {
  if (op == Op::softmax) return 5;
  return op == Op::layernorm ? 6 : 1;
}

Kind vector_kind(Op op) {
  if (op == Op::softmax) return Kind::softmax;
  return op == Op::layernorm ? Kind::layernorm : Kind::elementwise;
}

Operation matrix_operation(const Kernel& kernel) {
  const auto& shape = std::get<GemmShape>(kernel.shape);
  const Kind kind = kernel.op == Op::bmm ? Kind::bmm : Kind::linear;
  return {.kind = kind,
          .op = kind == Kind::bmm ? Op::bmm : Op::linear,
          .b = shape.batch,
          .m = shape.m,
          .n = shape.n,
          .k = shape.k};
}

Operation transfer(const Kernel& kernel) {
  return {.kind = Kind::memory, .bytes = traffic(kernel).total()};
}

}  // namespace

Operation vector_operation(Op op, std::int64_t rows, std::int64_t h) {
  return {.kind = vector_kind(op),
          .op = op,
          .b = rows,
          .n = h,
          .bytes_per_output = bytes_of(op),
          .ops_per_output = operations_per_output(op)};
}

std::vector<Operation> operations_of(const Kernel& kernel) {
  if (kernel.dtype != Dtype::fp32) {
    throw RunError(fmt::format("{}: neusight and its baselines price fp32 only", describe_kernel(kernel)));
  }
  const auto vector = [&](Op op) {
    const auto& shape = std::get<VectorShape>(kernel.shape);
    return vector_operation(op, shape.rows, shape.h);
  };
  switch (kernel.op) {
    case Op::gemm:
    case Op::linear:
    case Op::bmm:
      return {matrix_operation(kernel)};
    case Op::add:
    case Op::mul:
    case Op::div:
    case Op::pow:
    case Op::addu:
    case Op::mulu:
    case Op::divu:
    case Op::powu:
    case Op::relu:
    case Op::gelu:
    case Op::tanh:
    case Op::softmax:
    case Op::layernorm:
      return {vector(kernel.op)};
    case Op::softmax_backward:
      return {vector(Op::mul), vector(Op::softmax)};
    case Op::layernorm_backward:
      return {vector(Op::mul)};
    case Op::embedding:
    case Op::embedding_backward:
    case Op::memory:
      return {transfer(kernel)};
    default:
      throw RunError(fmt::format("{}: neusight has no model for {}", describe_kernel(kernel), to_string(kernel.op)));
  }
}

GpuNumbers numbers_of(const GpuSpec& gpu) {
  constexpr double kGiga = 1e9, kGib = 1024.0 * 1024 * 1024, kMib = 1024.0 * 1024;
  return {.sms = static_cast<double>(gpu.sms),
          .gflops = gpu.peak_of(Dtype::fp32).value() / kGiga,
          .memory_gb = gpu.memory.value() / kGib,
          .bandwidth_gbs = gpu.memory_bandwidth.value() / kGiga,
          .l2_mb = gpu.l2.value() / kMib};
}

}  // namespace tessera::neusight
