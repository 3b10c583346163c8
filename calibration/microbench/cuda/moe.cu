// A mixture-of-experts layer as two grouped matrix products of cuBLAS (one product per expert, in one call each) with
// the gated activation between them. Tokens lie sorted by expert, as many for each: routing, gathering and the weighted
// sum of a token's experts are not in it.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"
#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {
namespace {

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = std::string(what) + ": " + cublasGetStatusString(status);
  if (status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR) throw DeviceLost(text);
  throw Unsupported(text);
}

class Library {
 public:
  Library() { check_blas(cublasCreate(&handle_), "cuBLAS"); }
  ~Library() { cublasDestroy(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  operator cublasHandle_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  cublasHandle_t handle_ = nullptr;
};

/// silu(gate) up: a row of `in` is the gates, then the ups.
template <class T>
__global__ void gate(const T* in, T* out, int inter) {
  in += blockIdx.x * std::size_t{2} * inter;
  out += blockIdx.x * std::size_t{1} * inter;
  for (int i = threadIdx.x; i < inter; i += static_cast<int>(blockDim.x)) {
    const float x = static_cast<float>(in[i]);
    out[i] = static_cast<T>(x / (1.0f + __expf(-x)) * static_cast<float>(in[inter + i]));
  }
}

/// One product per expert: result[rows, width] = input[rows, depth] weights[width, depth]'.
class Grouped {
 public:
  Grouped(const std::vector<std::size_t>& rows, std::size_t width, std::size_t depth, Stored format,
          const Buffer& weights, const Buffer& input, const Buffer& output)
      : type_(format == Stored::fp16 ? CUDA_R_16F : CUDA_R_16BF) {
    const std::size_t size = bytes_for(format, 1);
    std::vector<const void*> a, b;
    std::vector<void*> c;
    std::size_t row = 0;
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      a.push_back(weights.get<char>() + expert * width * depth * size);
      b.push_back(input.get<char>() + row * depth * size);
      c.push_back(output.get<char>() + row * width * size);
      columns_.push_back(static_cast<int>(rows[expert]));
      row += rows[expert];
    }
    const std::size_t groups = rows.size();
    transposed_.assign(groups, CUBLAS_OP_T);
    plain_.assign(groups, CUBLAS_OP_N);
    width_.assign(groups, static_cast<int>(width));
    depth_.assign(groups, static_cast<int>(depth));
    ones_.assign(groups, 1);
    scale_.assign(groups, 1.0f);
    zero_.assign(groups, 0.0f);
    a_ = uploaded(a.data(), groups);
    b_ = uploaded(b.data(), groups);
    c_ = uploaded(c.data(), groups);
  }

  void launch(cublasHandle_t library) const {
    check_blas(
        cublasGemmGroupedBatchedEx(library, transposed_.data(), plain_.data(), width_.data(), columns_.data(),
                                   depth_.data(), scale_.data(), a_.get<const void*>(), type_, depth_.data(),
                                   b_.get<const void*>(), type_, depth_.data(), zero_.data(), c_.get<void*>(), type_,
                                   width_.data(), static_cast<int>(ones_.size()), ones_.data(), CUBLAS_COMPUTE_32F),
        "grouped products");
  }

 private:
  static Buffer uploaded(const void* pointers, std::size_t count) {
    Buffer buffer(count * sizeof(void*));
    check(cudaMemcpy(buffer.get(), pointers, count * sizeof(void*), cudaMemcpyHostToDevice), "copying pointers");
    return buffer;
  }

  cudaDataType_t type_;
  std::vector<cublasOperation_t> transposed_, plain_;
  std::vector<int> width_, columns_, depth_, ones_;
  std::vector<float> scale_, zero_;
  Buffer a_, b_, c_;
};

class MoeTrial final : public GpuTrial {
 public:
  explicit MoeTrial(const Case& c)
      : GpuTrial(c.timing, 1),  // eager only: the grouped call copies its sizes to the device
        format_(stored(c.dtype)),
        hidden_(static_cast<std::size_t>(c.dim("hidden"))),
        inter_(static_cast<std::size_t>(c.dim("inter"))),
        rows_(rows_of(c)) {
    for (const std::size_t n : rows_) total_ += n;
    const std::size_t experts = rows_.size();
    input_ = random_buffer(format_, total_ * hidden_, 110);
    // Sums over `hidden` numbers stay of order one.
    const float unit = 1.0f / std::sqrt(static_cast<float>(hidden_));
    up_ = random_buffer(format_, experts * 2 * inter_ * hidden_, 111, -unit, unit);
    down_ = random_buffer(format_, experts * hidden_ * inter_, 112, -unit, unit);
    middle_ = Buffer(bytes_for(format_, total_ * 2 * inter_));
    gated_ = Buffer(bytes_for(format_, total_ * inter_));
    output_ = Buffer(bytes_for(format_, total_ * hidden_));
    first_.emplace_back(rows_, 2 * inter_, hidden_, format_, up_, input_, middle_);
    second_.emplace_back(rows_, hidden_, inter_, format_, down_, gated_, output_);
  }

  [[nodiscard]] double tolerance() const override { return format_ == Stored::fp16 ? 3e-3 : 1e-2; }

 private:
  /// Of each expert that has any: the same number, the first ones one more.
  static std::vector<std::size_t> rows_of(const Case& c) {
    const auto all = static_cast<std::size_t>(c.dim("tokens") * c.dim("topk"));
    const auto experts = static_cast<std::size_t>(c.dim("experts"));
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < std::min(all, experts); ++i)
      rows.push_back(all / experts + (i < all % experts ? 1 : 0));
    return rows;
  }

  void launch(cudaStream_t stream, int) override {
    check_blas(cublasSetStream(library_, stream), "stream");
    first_.front().launch(library_);
    const int blocks = static_cast<int>(total_), inter = static_cast<int>(inter_);
    if (format_ == Stored::fp16)
      gate<<<blocks, 256, 0, stream>>>(middle_.get<__half>(), gated_.get<__half>(), inter);
    else
      gate<<<blocks, 256, 0, stream>>>(middle_.get<__nv_bfloat16>(), gated_.get<__nv_bfloat16>(), inter);
    second_.front().launch(library_);
  }

  [[nodiscard]] std::vector<double> row_of(const Buffer& buffer, std::size_t row, std::size_t width) const {
    return download(buffer, format_, row * width, width);
  }

  /// Each stage against what the one before it left, on some rows of the first, a middle and the last expert.
  double compare() override {
    if (unwritten(output_)) return std::numeric_limits<double>::infinity();
    constexpr std::size_t kColumns = 8;
    std::vector<double> results, expected;
    for (const std::size_t expert : {std::size_t{0}, rows_.size() / 2, rows_.size() - 1}) {
      std::size_t row = 0;
      for (std::size_t i = 0; i < expert; ++i) row += rows_[i];
      const std::vector<double> input = row_of(input_, row, hidden_), middle = row_of(middle_, row, 2 * inter_),
                                gated = row_of(gated_, row, inter_), output = row_of(output_, row, hidden_);
      for (std::size_t j = 0; j < kColumns; ++j) {
        const std::size_t m = j * (2 * inter_ - 1) / (kColumns - 1), g = j * (inter_ - 1) / (kColumns - 1),
                          o = j * (hidden_ - 1) / (kColumns - 1);
        results.insert(results.end(), {middle[m], gated[g], output[o]});
        expected.insert(expected.end(), {dot(input, row_of(up_, expert * 2 * inter_ + m, hidden_)),
                                         elementwise("silu", middle[g], 0) * middle[inter_ + g],
                                         dot(gated, row_of(down_, expert * hidden_ + o, inter_))});
      }
    }
    return relative_error(results, expected);
  }

  Stored format_;
  std::size_t hidden_, inter_, total_ = 0;
  std::vector<std::size_t> rows_;
  Library library_;
  Buffer input_, up_, down_, middle_, gated_, output_;
  std::vector<Grouped> first_, second_;  // one each, made once the buffers are there
};

}  // namespace

std::unique_ptr<Trial> make_moe(const DeviceInfo& device, const Case& c) {
  if (stored(c.dtype) == Stored::bf16 && device.capability < 80) throw Unsupported("no bf16 on this GPU");
  return std::make_unique<MoeTrial>(c);
}

}  // namespace tessera::microbench
