// One and two tensors, with a scalar, activations: 16 bytes a thread and step, as frameworks write them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"
#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {
namespace {

enum class Function { add, mul, div, pow, addu, mulu, divu, powu, relu, gelu, silu, tanh };
constexpr const char* kNames[] = {"add",  "mul",  "div",  "pow",  "addu", "mulu",
                                  "divu", "powu", "relu", "gelu", "silu", "tanh"};

__host__ __device__ constexpr bool takes_two(Function f) {
  return f <= Function::pow;
}

template <Function F>
__device__ float apply(float a, float b) {
  constexpr float kConstant = static_cast<float>(kScalar);
  if constexpr (F == Function::add) return a + b;
  if constexpr (F == Function::mul) return a * b;
  if constexpr (F == Function::div) return a / b;
  if constexpr (F == Function::pow) return powf(a, b);
  if constexpr (F == Function::addu) return a + kConstant;
  if constexpr (F == Function::mulu) return a * kConstant;
  if constexpr (F == Function::divu) return a / kConstant;
  if constexpr (F == Function::powu) return powf(a, kConstant);
  if constexpr (F == Function::relu) return fmaxf(a, 0.0f);
  if constexpr (F == Function::gelu) return 0.5f * a * (1.0f + erff(a * 0.70710678f));
  if constexpr (F == Function::silu) return a / (1.0f + __expf(-a));
  if constexpr (F == Function::tanh) return tanhf(a);
}

template <class T>
struct alignas(16) Pack {
  T values[16 / sizeof(T)];
};

template <Function F, class T>
__global__ void kernel(const Pack<T>* a, const Pack<T>* b, Pack<T>* out, std::size_t packs) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < packs; i += step) {
    const Pack<T> left = a[i], right = takes_two(F) ? b[i] : left;
    Pack<T> result;
#pragma unroll
    for (std::size_t j = 0; j < 16 / sizeof(T); ++j)
      result.values[j] =
          static_cast<T>(apply<F>(static_cast<float>(left.values[j]), static_cast<float>(right.values[j])));
    out[i] = result;
  }
}

struct Operands {
  const Buffer *a, *b, *out;
  std::size_t count;
  int blocks;
};

template <Function F, class T>
void run_kernel(const Operands& o, cudaStream_t stream) {
  kernel<F, T><<<o.blocks, 256, 0, stream>>>(o.a->get<Pack<T>>(), o.b->get<Pack<T>>(), o.out->get<Pack<T>>(),
                                             o.count * sizeof(T) / 16);
}

using Run = void (*)(const Operands&, cudaStream_t);

template <class T, int... F>
Run choose(std::string_view op, std::integer_sequence<int, F...>) {
  Run found = nullptr;
  ((op == kNames[F] ? void(found = run_kernel<static_cast<Function>(F), T>) : void()), ...);
  return found;
}

Run choose(std::string_view op, Stored format) {
  constexpr std::make_integer_sequence<int, 12> kAll;
  if (format == Stored::fp16) return choose<__half>(op, kAll);
  if (format == Stored::bf16) return choose<__nv_bfloat16>(op, kAll);
  return choose<float>(op, kAll);
}

class ElementwiseTrial final : public GpuTrial {
 public:
  ElementwiseTrial(const DeviceInfo& device, const Case& c)
      : GpuTrial(c.timing, copies_for(c.timing, 3 * bytes_for(stored(c.dtype), count_of(c)))),
        op_(c.op),
        format_(stored(c.dtype)),
        count_(count_of(c)),
        run_(choose(c.op, format_)),
        blocks_(8 * device.sms) {
    if (run_ == nullptr) throw Unsupported("no such elementwise kernel");
    for (int i = 0; i < copies(); ++i) {
      // Positive and away from zero: quotients and powers stay in range.
      a_.push_back(random_buffer(format_, count_, 10u + static_cast<unsigned>(i), 0.25f, 1.75f));
      b_.push_back(random_buffer(format_, count_, 20u + static_cast<unsigned>(i), 0.25f, 1.75f));
      out_.emplace_back(bytes_for(format_, count_));
    }
  }

  [[nodiscard]] double tolerance() const override {
    return format_ == Stored::fp32 ? 1e-5 : format_ == Stored::fp16 ? 1e-3 : 8e-3;
  }

 private:
  static std::size_t count_of(const Case& c) { return static_cast<std::size_t>(c.dim("rows") * c.dim("h")); }

  void launch(cudaStream_t stream, int copy) override {
    const auto i = static_cast<std::size_t>(copy);
    run_({&a_[i], &b_[i], &out_[i], count_, blocks_}, stream);
  }

  double compare() override {
    if (unwritten(out_[0])) return std::numeric_limits<double>::infinity();
    const std::size_t some = std::min<std::size_t>(count_, 4096);
    std::vector<double> result, expected;
    for (const std::size_t start : {std::size_t{0}, count_ - some}) {
      const auto a = download(a_[0], format_, start, some), b = download(b_[0], format_, start, some);
      const auto out = download(out_[0], format_, start, some);
      result.insert(result.end(), out.begin(), out.end());
      for (std::size_t i = 0; i < some; ++i) expected.push_back(elementwise(op_, a[i], b[i]));
    }
    return relative_error(result, expected);
  }

  std::string op_;
  Stored format_;
  std::size_t count_;
  Run run_;
  int blocks_;
  std::vector<Buffer> a_, b_, out_;
};

}  // namespace

std::unique_ptr<Trial> make_elementwise(const DeviceInfo& device, const Case& c) {
  return std::make_unique<ElementwiseTrial>(device, c);
}

}  // namespace tessera::microbench
