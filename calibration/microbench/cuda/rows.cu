// Softmax, norms and embedding: one block per row, the row kept in shared memory between its passes.
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

constexpr int kVocabulary = 16384;  // rows of the embedding's table

template <class T>
__global__ void softmax_kernel(const T* in, const T*, const T*, T* out, int h) {
  extern __shared__ float row[];
  load_row(in, h, row);
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < h; i += kThreads) top = fmaxf(top, row[i]);
  top = reduce(top, Max{});
  for (int i = threadIdx.x; i < h; i += kThreads) sum += row[i] = __expf(row[i] - top);
  const float scale = 1.0f / reduce(sum, Sum{});
  out += blockIdx.x * std::size_t{1} * h;
  for (int i = threadIdx.x; i < h; i += kThreads) out[i] = static_cast<T>(row[i] * scale);
}

template <class T, bool kCentred>
__global__ void norm_kernel(const T* in, const T* gain, const T* bias, T* out, int h) {
  extern __shared__ float row[];
  load_row(in, h, row);
  float mean = 0, square = 0;
  if constexpr (kCentred) {
    for (int i = threadIdx.x; i < h; i += kThreads) mean += row[i];
    mean = reduce(mean, Sum{}) / h;
  }
  for (int i = threadIdx.x; i < h; i += kThreads) square += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(reduce(square, Sum{}) / h + static_cast<float>(kEpsilon));
  out += blockIdx.x * std::size_t{1} * h;
  for (int i = threadIdx.x; i < h; i += kThreads) {
    const float normed = (row[i] - mean) * scale * static_cast<float>(gain[i]);
    out[i] = static_cast<T>(kCentred ? normed + static_cast<float>(bias[i]) : normed);
  }
}

/// Which row of the table this row of the output is.
__host__ __device__ constexpr unsigned looked_up(unsigned row) {
  return row * 2654435761u % kVocabulary;
}

template <class T>
__global__ void embedding_kernel(const T* table, const T*, const T*, T* out, int h) {
  const T* const from = table + looked_up(blockIdx.x) * std::size_t{1} * h;
  out += blockIdx.x * std::size_t{1} * h;
  for (int i = threadIdx.x; i < h; i += kThreads) out[i] = from[i];
}

struct Operands {
  const Buffer *in, *gain, *bias, *out;
  int rows, h;
};

template <class T>
bool run_kernel(std::string_view op, const Operands& o, cudaStream_t stream) {
  const auto call = [&](auto* kernel, std::size_t shared) {
    kernel<<<o.rows, kThreads, shared, stream>>>(o.in->get<T>(), o.gain->get<T>(), o.bias->get<T>(), o.out->get<T>(),
                                                 o.h);
    return true;
  };
  const std::size_t row = sizeof(float) * static_cast<std::size_t>(o.h);
  if (op == "softmax") return call(softmax_kernel<T>, row);
  if (op == "layernorm") return call(norm_kernel<T, true>, row);
  if (op == "rmsnorm") return call(norm_kernel<T, false>, row);
  return op == "embedding" && call(embedding_kernel<T>, 0);
}

class RowTrial final : public GpuTrial {
 public:
  explicit RowTrial(const Case& c)
      : GpuTrial(c.timing, copies_for(c.timing, 2 * bytes_for(stored(c.dtype), count_of(c)))),
        op_(c.op),
        format_(stored(c.dtype)),
        rows_(static_cast<std::size_t>(c.dim("rows"))),
        h_(static_cast<std::size_t>(c.dim("h"))),
        gain_(random_buffer(format_, h_, 5, 0.5f, 1.5f)),
        bias_(random_buffer(format_, h_, 6)) {
    const std::size_t in_rows = op_ == "embedding" ? kVocabulary : rows_;
    for (int i = 0; i < copies(); ++i) {
      in_.push_back(random_buffer(format_, in_rows * h_, 30u + static_cast<unsigned>(i), -2, 2));
      out_.emplace_back(bytes_for(format_, rows_ * h_));
    }
  }

  [[nodiscard]] double tolerance() const override {
    if (op_ == "embedding") return 0;
    return format_ == Stored::fp32 ? 1e-5 : format_ == Stored::fp16 ? 2e-3 : 1e-2;
  }

 private:
  static std::size_t count_of(const Case& c) {
    return static_cast<std::size_t>((c.op == "embedding" ? kVocabulary : c.dim("rows")) * c.dim("h"));
  }

  void launch(cudaStream_t stream, int copy) override {
    const auto i = static_cast<std::size_t>(copy);
    const Operands o{&in_[i], &gain_, &bias_, &out_[i], static_cast<int>(rows_), static_cast<int>(h_)};
    const bool known = format_ == Stored::fp16   ? run_kernel<__half>(op_, o, stream)
                       : format_ == Stored::bf16 ? run_kernel<__nv_bfloat16>(op_, o, stream)
                                                 : run_kernel<float>(op_, o, stream);
    if (!known) throw Unsupported("no such kernel over rows");
  }

  [[nodiscard]] std::vector<double> reference(std::size_t row) const {
    const std::size_t from = op_ == "embedding" ? looked_up(static_cast<unsigned>(row)) : row;
    const std::vector<double> in = download(in_[0], format_, from * h_, h_);
    if (op_ == "softmax") return softmax(in);
    if (op_ == "rmsnorm") return rmsnorm(in, download(gain_, format_, 0, h_));
    if (op_ == "layernorm") return layernorm(in, download(gain_, format_, 0, h_), download(bias_, format_, 0, h_));
    return in;
  }

  double compare() override {
    return worst_row(out_[0], format_, rows_, h_, [this](std::size_t row) { return reference(row); });
  }

  std::string op_;
  Stored format_;
  std::size_t rows_, h_;
  Buffer gain_, bias_;
  std::vector<Buffer> in_, out_;
};

}  // namespace

std::unique_ptr<Trial> make_rows(const DeviceInfo&, const Case& c) {
  return std::make_unique<RowTrial>(c);
}

}  // namespace tessera::microbench
