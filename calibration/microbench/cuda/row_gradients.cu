// Backward kernels of softmax and the norms, by their input: one block per row, both rows kept in shared memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>
#include <vector>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/row_errors.hpp"
#include "calibration/microbench/cuda/row_reduce.cuh"
#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"
#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {
namespace {

/// `in` is softmax's result.
template <class T>
__global__ void softmax_gradient(const T* in, const T* gradient, const T*, T* out, int h) {
  extern __shared__ float rows[];
  float *const result = rows, *const slope = rows + h;
  load_row(in, h, result);
  load_row(gradient, h, slope);
  float together = 0;
  for (int i = threadIdx.x; i < h; i += kThreads) together += result[i] * slope[i];
  together = reduce(together, Sum{});
  out += blockIdx.x * std::size_t{1} * h;
  for (int i = threadIdx.x; i < h; i += kThreads) out[i] = static_cast<T>(result[i] * (slope[i] - together));
}

template <class T, bool kCentred>
__global__ void norm_gradient(const T* in, const T* gradient, const T* gain, T* out, int h) {
  extern __shared__ float rows[];
  float *const row = rows, *const slope = rows + h;
  load_row(in, h, row);
  load_row(gradient, h, slope);
  float mean = 0, square = 0, level = 0, along = 0;
  if constexpr (kCentred) {
    for (int i = threadIdx.x; i < h; i += kThreads) mean += row[i];
    mean = reduce(mean, Sum{}) / h;
  }
  for (int i = threadIdx.x; i < h; i += kThreads) square += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(reduce(square, Sum{}) / h + static_cast<float>(kEpsilon));
  for (int i = threadIdx.x; i < h; i += kThreads) {
    row[i] = (row[i] - mean) * scale;
    slope[i] *= static_cast<float>(gain[i]);
    level += slope[i];
    along += slope[i] * row[i];
  }
  if constexpr (kCentred) level = reduce(level, Sum{}) / h;
  along = reduce(along, Sum{}) / h;
  out += blockIdx.x * std::size_t{1} * h;
  for (int i = threadIdx.x; i < h; i += kThreads)
    out[i] = static_cast<T>(scale * (slope[i] - (kCentred ? level : 0.0f) - row[i] * along));
}

struct Operands {
  const Buffer *in, *gradient, *gain, *out;
  int rows, h;
};

template <class T>
bool run_kernel(std::string_view op, const Operands& o, cudaStream_t stream) {
  const auto call = [&](auto* kernel) {
    kernel<<<o.rows, kThreads, 2 * sizeof(float) * static_cast<std::size_t>(o.h), stream>>>(
        o.in->get<T>(), o.gradient->get<T>(), o.gain->get<T>(), o.out->get<T>(), o.h);
    return true;
  };
  if (op == "softmax_backward") return call(softmax_gradient<T>);
  if (op == "layernorm_backward") return call(norm_gradient<T, true>);
  return op == "rmsnorm_backward" && call(norm_gradient<T, false>);
}

class RowGradientTrial final : public GpuTrial {
 public:
  explicit RowGradientTrial(const Case& c)
      : GpuTrial(c.timing, copies_for(c.timing, 3 * bytes_for(stored(c.dtype), count_of(c)))),
        op_(c.op),
        format_(stored(c.dtype)),
        rows_(static_cast<std::size_t>(c.dim("rows"))),
        h_(static_cast<std::size_t>(c.dim("h"))),
        gain_(random_buffer(format_, h_, 7, 0.5f, 1.5f)) {
    // A softmax's result is positive and of order 1 / h; its scale does not matter to the kernel.
    const float low = op_ == "softmax_backward" ? 0.0f : -2.0f;
    for (int i = 0; i < copies(); ++i) {
      in_.push_back(random_buffer(format_, rows_ * h_, 90u + static_cast<unsigned>(i), low, 2));
      gradient_.push_back(random_buffer(format_, rows_ * h_, 100u + static_cast<unsigned>(i)));
      out_.emplace_back(bytes_for(format_, rows_ * h_));
    }
  }

  [[nodiscard]] double tolerance() const override {
    return format_ == Stored::fp32 ? 1e-5 : format_ == Stored::fp16 ? 2e-3 : 1e-2;
  }

 private:
  static std::size_t count_of(const Case& c) { return static_cast<std::size_t>(c.dim("rows") * c.dim("h")); }

  void launch(cudaStream_t stream, int copy) override {
    const auto i = static_cast<std::size_t>(copy);
    const Operands o{&in_[i], &gradient_[i], &gain_, &out_[i], static_cast<int>(rows_), static_cast<int>(h_)};
    const bool known = format_ == Stored::fp16   ? run_kernel<__half>(op_, o, stream)
                       : format_ == Stored::bf16 ? run_kernel<__nv_bfloat16>(op_, o, stream)
                                                 : run_kernel<float>(op_, o, stream);
    if (!known) throw Unsupported("no such backward kernel over rows");
  }

  [[nodiscard]] std::vector<double> reference(std::size_t row) const {
    const std::vector<double> in = download(in_[0], format_, row * h_, h_);
    const std::vector<double> gradient = download(gradient_[0], format_, row * h_, h_);
    if (op_ == "softmax_backward") return softmax_backward(in, gradient);
    const std::vector<double> gain = download(gain_, format_, 0, h_);
    return op_ == "layernorm_backward" ? layernorm_backward(in, gain, gradient) : rmsnorm_backward(in, gain, gradient);
  }

  double compare() override {
    return worst_row(out_[0], format_, rows_, h_, [this](std::size_t row) { return reference(row); });
  }

  std::string op_;
  Stored format_;
  std::size_t rows_, h_;
  Buffer gain_;
  std::vector<Buffer> in_, gradient_, out_;
};

}  // namespace

std::unique_ptr<Trial> make_row_gradients(const DeviceInfo&, const Case& c) {
  return std::make_unique<RowGradientTrial>(c);
}

}  // namespace tessera::microbench
