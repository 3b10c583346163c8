// Convolutions by cuDNN, channels last, the heuristics' first kernel that fits the workspace.
#include <cudnn.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"
#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {
namespace {

constexpr std::size_t kWorkspace = std::size_t{1} << 30;  // bytes

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string text = std::string(what) + ": " + cudnnGetErrorString(status);
  if (status == CUDNN_STATUS_EXECUTION_FAILED || status == CUDNN_STATUS_INTERNAL_ERROR) throw DeviceLost(text);
  throw Unsupported(text);
}

/// A cuDNN object, made and destroyed by its own functions.
template <class T, cudnnStatus_t (*Make)(T*), cudnnStatus_t (*Destroy)(T)>
class Owned {
 public:
  Owned() { check_dnn(Make(&object_), "cuDNN"); }
  ~Owned() { Destroy(object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  operator T() const { return object_; }  // NOLINT(google-explicit-constructor)

 private:
  T object_{};
};
using Library = Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using Tensor = Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter = Owned<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Convolution =
    Owned<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;

ConvSizes sizes_of(const Case& c) {
  const auto size = [&](const char* name) { return static_cast<int>(c.dim(name)); };
  return {size("b"), size("c_in"), size("c_out"), size("ksize"), size("hw"), size("stride"), size("pad")};
}

template <class Perf, class Find>
Perf first_fitting(Find find) {
  std::array<Perf, 8> found{};
  int count = 0;
  check_dnn(find(static_cast<int>(found.size()), &count, found.data()), "choosing a convolution");
  for (int i = 0; i < count; ++i) {
    const Perf& perf = found[static_cast<std::size_t>(i)];
    if (perf.status == CUDNN_STATUS_SUCCESS && perf.memory <= kWorkspace) return perf;
  }
  throw Unsupported("cuDNN has no kernel for it");
}

class ConvTrial final : public GpuTrial {
 public:
  explicit ConvTrial(const Case& c)
      : GpuTrial(c.timing, 1),
        s_(sizes_of(c)),
        pass_(c.op == "conv2d_dgrad"   ? ConvPass::data
              : c.op == "conv2d_wgrad" ? ConvPass::weight
                                       : ConvPass::forward),
        format_(stored(c.dtype)),
        tf32_(c.dtype == Dtype::tf32) {
    const cudnnDataType_t type = format_ == Stored::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
    check_dnn(cudnnSetTensor4dDescriptor(input_shape_, CUDNN_TENSOR_NHWC, type, s_.batch, s_.c_in, s_.hw, s_.hw),
              "input");
    check_dnn(
        cudnnSetTensor4dDescriptor(output_shape_, CUDNN_TENSOR_NHWC, type, s_.batch, s_.c_out, s_.out(), s_.out()),
        "output");
    check_dnn(cudnnSetFilter4dDescriptor(weight_shape_, type, CUDNN_TENSOR_NHWC, s_.c_out, s_.c_in, s_.ksize, s_.ksize),
              "weights");
    check_dnn(cudnnSetConvolution2dDescriptor(convolution_, s_.pad, s_.pad, s_.stride, s_.stride, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              "convolution");
    const cudnnMathType_t math = format_ == Stored::fp16 ? CUDNN_TENSOR_OP_MATH
                                 : tf32_                 ? CUDNN_DEFAULT_MATH
                                                         : CUDNN_FMA_MATH;
    check_dnn(cudnnSetConvolutionMathType(convolution_, math), "convolution");
    input_ = operand(pass_ == ConvPass::data, s_.inputs(), 80);
    weights_ = operand(pass_ == ConvPass::weight, s_.weights(), 81);
    output_ = operand(pass_ == ConvPass::forward, s_.outputs(), 82);
    workspace_ = Buffer(kWorkspace);
    choose();
  }

  [[nodiscard]] double tolerance() const override { return format_ == Stored::fp32 && !tf32_ ? 1e-3 : 1e-2; }

 private:
  [[nodiscard]] Buffer operand(bool result, std::size_t count, std::uint32_t seed) const {
    return result ? Buffer(bytes_for(format_, count)) : random_buffer(format_, count, seed);
  }

  void choose() {
    if (pass_ == ConvPass::forward)
      forward_ = first_fitting<cudnnConvolutionFwdAlgoPerf_t>([&](int most, int* count, auto* found) {
                   return cudnnGetConvolutionForwardAlgorithm_v7(library_, input_shape_, weight_shape_, convolution_,
                                                                 output_shape_, most, count, found);
                 }).algo;
    else if (pass_ == ConvPass::data)
      data_ = first_fitting<cudnnConvolutionBwdDataAlgoPerf_t>([&](int most, int* count, auto* found) {
                return cudnnGetConvolutionBackwardDataAlgorithm_v7(library_, weight_shape_, output_shape_, convolution_,
                                                                   input_shape_, most, count, found);
              }).algo;
    else
      weight_ = first_fitting<cudnnConvolutionBwdFilterAlgoPerf_t>([&](int most, int* count, auto* found) {
                  return cudnnGetConvolutionBackwardFilterAlgorithm_v7(library_, input_shape_, output_shape_,
                                                                       convolution_, weight_shape_, most, count, found);
                }).algo;
  }

  void launch(cudaStream_t stream, int) override {
    check_dnn(cudnnSetStream(library_, stream), "stream");
    const float one = 1, zero = 0;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (pass_ == ConvPass::forward)
      status = cudnnConvolutionForward(library_, &one, input_shape_, input_.get(), weight_shape_, weights_.get(),
                                       convolution_, forward_, workspace_.get(), kWorkspace, &zero, output_shape_,
                                       output_.get());
    else if (pass_ == ConvPass::data)
      status = cudnnConvolutionBackwardData(library_, &one, weight_shape_, weights_.get(), output_shape_, output_.get(),
                                            convolution_, data_, workspace_.get(), kWorkspace, &zero, input_shape_,
                                            input_.get());
    else
      status = cudnnConvolutionBackwardFilter(library_, &one, input_shape_, input_.get(), output_shape_, output_.get(),
                                              convolution_, weight_, workspace_.get(), kWorkspace, &zero, weight_shape_,
                                              weights_.get());
    check_dnn(status, "convolution");
  }

  double compare() override {
    constexpr std::size_t kSamples = 50;
    const Buffer& result = pass_ == ConvPass::forward ? output_ : pass_ == ConvPass::data ? input_ : weights_;
    if (unwritten(result)) return std::numeric_limits<double>::infinity();
    const std::vector<double> in = download(input_, format_, 0, s_.inputs()),
                              weights = download(weights_, format_, 0, s_.weights()),
                              out = download(output_, format_, 0, s_.outputs());
    const std::vector<double>& whole = pass_ == ConvPass::forward ? out : pass_ == ConvPass::data ? in : weights;
    std::vector<double> results, expected;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::size_t index = i * (whole.size() - 1) / (kSamples - 1);
      results.push_back(whole[index]);
      expected.push_back(convolution(s_, pass_, {in, weights, out}, index));
    }
    return relative_error(results, expected);
  }

  ConvSizes s_;
  ConvPass pass_;
  Stored format_;
  bool tf32_;
  Library library_;
  Tensor input_shape_, output_shape_;
  Filter weight_shape_;
  Convolution convolution_;
  cudnnConvolutionFwdAlgo_t forward_{};
  cudnnConvolutionBwdDataAlgo_t data_{};
  cudnnConvolutionBwdFilterAlgo_t weight_{};
  Buffer input_, weights_, output_, workspace_;
};

}  // namespace

std::unique_ptr<Trial> make_conv(const DeviceInfo&, const Case& c) {
  return std::make_unique<ConvTrial>(c);
}

}  // namespace tessera::microbench
