// Matrix products by cuBLASLt's own choice of kernel.
#include <cublasLt.h>

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

constexpr std::size_t kWorkspace = 32u << 20;  // bytes; what NVIDIA recommends for Hopper

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = std::string(what) + ": " + cublasLtGetStatusString(status);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
      status == CUBLAS_STATUS_ARCH_MISMATCH || status == CUBLAS_STATUS_ALLOC_FAILED)
    throw Unsupported(text);
  throw DeviceLost(text);
}

struct Format {
  Dtype dtype;
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  Stored result;
  double tolerance;  // of the rounding of operands, sums and results; int8 is exact
};
constexpr Format kFormats[] = {
    {Dtype::fp32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, Stored::fp32, 1e-4},
    {Dtype::tf32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, Stored::fp32, 3e-3},
    {Dtype::fp16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, Stored::fp16, 3e-3},
    {Dtype::bf16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Stored::bf16, 1e-2},
    {Dtype::fp8, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Stored::bf16, 2e-2},
    {Dtype::int8, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, Stored::int32, 1e-12},
    {Dtype::nvfp4, CUDA_R_4F_E2M1, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Stored::bf16, 2e-2},
};
const Format& format_of(Dtype dtype) {
  return *std::ranges::find(kFormats, dtype, &Format::dtype);
}

/// Bytes of one scale (e4m3) per 16 elements along k, in tiles of 128 x 4.
std::size_t scale_bytes(std::size_t rows, std::size_t k) {
  return (rows + 127) / 128 * 128 * ((k / 16 + 3) / 4 * 4);
}

class Layout {
 public:
  Layout(cudaDataType_t type, std::size_t rows, std::size_t columns, std::size_t batch) {
    check_blas(cublasLtMatrixLayoutCreate(&layout_, type, rows, columns, static_cast<std::int64_t>(rows)), "layout");
    const auto count = static_cast<std::int32_t>(batch);
    const auto stride = static_cast<std::int64_t>(rows * columns);
    check_blas(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "batch");
    check_blas(
        cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "batch");
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  operator cublasLtMatrixLayout_t() const { return layout_; }  // NOLINT(google-explicit-constructor)

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Library {
 public:
  Library() { check_blas(cublasLtCreate(&handle_), "cuBLASLt"); }
  ~Library() { cublasLtDestroy(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  operator cublasLtHandle_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  cublasLtHandle_t handle_ = nullptr;
};

class Product {
 public:
  explicit Product(const Format& format) {
    const cudaDataType_t scale = format.dtype == Dtype::int8 ? CUDA_R_32I : CUDA_R_32F;
    check_blas(cublasLtMatmulDescCreate(&product_, format.compute, scale), "product");
  }
  ~Product() { cublasLtMatmulDescDestroy(product_); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  operator cublasLtMatmulDesc_t() const { return product_; }  // NOLINT(google-explicit-constructor)
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t what, const Value& value) {
    check_blas(cublasLtMatmulDescSetAttribute(product_, what, &value, sizeof value), "product");
  }

 private:
  cublasLtMatmulDesc_t product_ = nullptr;
};

struct Sizes {
  std::size_t batch, m, n, k;
  bool weights_transposed, input_transposed;  // as BLAS, column-major, sees them
};

Sizes sizes_of(const Case& c) {
  const auto size = [&](const char* name) { return static_cast<std::size_t>(c.dim(name)); };
  return {.batch = c.op == "bmm" ? size("b") : 1,
          .m = size("m"),
          .n = size("n"),
          .k = size("k"),
          .weights_transposed = c.layout.starts_with('t'),
          .input_transposed = c.layout.ends_with('t')};
}

/// Row-major C[m,n] = A[m,k] B[k,n] is column-major C' = B' A': B, the weights, come first.
class GemmTrial final : public GpuTrial {
 public:
  explicit GemmTrial(const Case& c)
      : GpuTrial(c.timing, copies_for(c.timing, bytes_for(stored(c.dtype), weight_count(sizes_of(c))))),
        sizes_(sizes_of(c)),
        format_(format_of(c.dtype)),
        with_bias_(c.op == "linear"),
        product_(format_),
        weight_layout_(format_.in, sizes_.weights_transposed ? sizes_.k : sizes_.n,
                       sizes_.weights_transposed ? sizes_.n : sizes_.k, sizes_.batch),
        input_layout_(format_.in, sizes_.input_transposed ? sizes_.m : sizes_.k,
                      sizes_.input_transposed ? sizes_.k : sizes_.m, sizes_.batch),
        output_layout_(format_.out, sizes_.n, sizes_.m, sizes_.batch),
        workspace_(kWorkspace),
        input_(random_buffer(stored(c.dtype), sizes_.batch * sizes_.m * sizes_.k, 1)),
        output_(bytes_for(format_.result, sizes_.batch * sizes_.m * sizes_.n)) {
    for (int i = 0; i < copies(); ++i)
      weights_.push_back(random_buffer(stored(c.dtype), weight_count(sizes_), 2u + static_cast<unsigned>(i)));
    describe();
    choose();
  }

  [[nodiscard]] double tolerance() const override { return format_.tolerance; }

 private:
  static std::size_t weight_count(const Sizes& s) { return s.batch * s.n * s.k; }

  void describe() {
    product_.set(CUBLASLT_MATMUL_DESC_TRANSA, sizes_.weights_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    product_.set(CUBLASLT_MATMUL_DESC_TRANSB, sizes_.input_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (with_bias_) {
      bias_ = random_buffer(format_.result, sizes_.n, 99);
      product_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      product_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.get());
      product_.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(format_.out));
    }
    if (format_.dtype != Dtype::nvfp4) return;
    constexpr int kOne = 0x38;  // 1.0 in e4m3: as every scale is 1, their order does not matter
    weight_scales_ = constant_buffer(scale_bytes(sizes_.n, sizes_.k), kOne);
    input_scales_ = constant_buffer(scale_bytes(sizes_.m, sizes_.k), kOne);
    product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
    product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
    product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, weight_scales_.get());
    product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, input_scales_.get());
  }

  /// The heuristics' first choice, as frameworks take it.
  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(cublasLtMatmulPreferenceCreate(&preference), "choosing a kernel");
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                         sizeof kWorkspace);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(library_, product_, weight_layout_, input_layout_, output_layout_,
                                       output_layout_, preference, 1, &choice_, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_blas(status, "choosing a kernel");
    if (found == 0) throw Unsupported("cuBLASLt has no kernel for it");
  }

  void launch(cudaStream_t stream, int copy) override {
    const float one = 1, zero = 0;
    const std::int32_t whole_one = 1, whole_zero = 0;
    const bool whole = format_.dtype == Dtype::int8;
    check_blas(
        cublasLtMatmul(library_, product_, whole ? static_cast<const void*>(&whole_one) : &one,
                       weights_[static_cast<std::size_t>(copy)].get(), weight_layout_, input_.get(), input_layout_,
                       whole ? static_cast<const void*>(&whole_zero) : &zero, output_.get(), output_layout_,
                       output_.get(), output_layout_, &choice_.algo, workspace_.get(), kWorkspace, stream),
        "matrix product");
  }

  /// The k numbers that make row i of A, or column j of B, in batch b.
  std::vector<double> vector_of(const Buffer& buffer, bool k_contiguous, std::size_t rows, std::size_t b,
                                std::size_t i) const {
    const std::size_t start = b * rows * sizes_.k + (k_contiguous ? i * sizes_.k : i);
    return download(buffer, stored(format_.dtype), start, sizes_.k, k_contiguous ? 1 : rows);
  }

  /// Eight rows by eight columns, spread over the first and last batch.
  double compare() override {
    if (format_.dtype != Dtype::int8 && unwritten(output_)) return std::numeric_limits<double>::infinity();
    constexpr std::size_t kSamples = 8;
    std::vector<double> results, expected;
    for (const std::size_t b : {std::size_t{0}, sizes_.batch - 1}) {
      std::vector<std::vector<double>> columns;
      for (std::size_t j = 0; j < kSamples; ++j)
        columns.push_back(vector_of(weights_[0], sizes_.weights_transposed, sizes_.n, b, spread(j, sizes_.n)));
      for (std::size_t i = 0; i < kSamples; ++i) {
        const std::size_t row = spread(i, sizes_.m);
        const std::vector<double> a = vector_of(input_, !sizes_.input_transposed, sizes_.m, b, row);
        for (std::size_t j = 0; j < kSamples; ++j) {
          const std::size_t column = spread(j, sizes_.n);
          results.push_back(download(output_, format_.result, (b * sizes_.m + row) * sizes_.n + column, 1)[0]);
          expected.push_back(dot(a, columns[j]) + (with_bias_ ? download(bias_, format_.result, column, 1)[0] : 0.0));
        }
      }
    }
    return relative_error(results, expected);
  }

  /// From the first to the last.
  static std::size_t spread(std::size_t sample, std::size_t size) { return sample * (size - 1) / 7; }

  Sizes sizes_;
  const Format& format_;
  bool with_bias_;
  Library library_;
  Product product_;
  Layout weight_layout_, input_layout_, output_layout_;
  cublasLtMatmulHeuristicResult_t choice_{};
  Buffer workspace_, input_, output_, bias_, weight_scales_, input_scales_;
  std::vector<Buffer> weights_;
};

}  // namespace

std::unique_ptr<Trial> make_gemm(const DeviceInfo&, const Case& c) {
  return std::make_unique<GemmTrial>(c);
}

}  // namespace tessera::microbench
