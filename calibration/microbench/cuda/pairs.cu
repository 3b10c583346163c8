// Two kernels in two streams, each on as many blocks as the case says, on all SMs or each on its part of them: what
// sharing SMs and memory costs them.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "calibration/microbench/cuda/memory.hpp"
#include "calibration/microbench/cuda/partition.hpp"
#include "calibration/microbench/cuda/pattern.hpp"
#include "calibration/microbench/cuda/trials.hpp"

namespace tessera::microbench {
namespace {

constexpr int kThreads = 512;
constexpr int kSteps = 100'000;                       // of four multiply-adds: about a millisecond
constexpr std::size_t kChunk = std::size_t{8} << 20;  // bytes that a block of the memory kernel reads, twice
constexpr int kPasses = 2;
constexpr float kFactor = 0.99951f, kAddend = 0.25f;

__global__ void compute_kernel(float* out) {
  float a = static_cast<float>(threadIdx.x), b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < kSteps; ++i) {
    a = fmaf(a, kFactor, kAddend);
    b = fmaf(b, kFactor, kAddend);
    c = fmaf(c, kFactor, kAddend);
    d = fmaf(d, kFactor, kAddend);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = (a + b) + (c + d);
}

/// The same, on the host: a fused multiply-add rounds the same way everywhere.
float computed(int thread) {
  float sums[4];
  for (int chain = 0; chain < 4; ++chain) {
    float value = static_cast<float>(thread + chain);
    for (int i = 0; i < kSteps; ++i) value = std::fma(value, kFactor, kAddend);
    sums[chain] = value;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class Half {
 public:
  Half(bool computes, int blocks, cudaStream_t stream)
      : computes_(computes),
        blocks_(blocks),
        stream_(stream),
        out_(sizeof(float) * kThreads * static_cast<std::size_t>(blocks)) {
    if (computes) return;
    data_ = Buffer(kChunk * static_cast<std::size_t>(blocks));
    write_pattern(data_.get<std::uint32_t>(), data_.size() / 4, 256, stream_);
    wait();
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "a kernel"); }

  void launch() const {
    if (computes_)
      compute_kernel<<<blocks_, kThreads, 0, stream_>>>(out_.get<float>());
    else
      sum_words(data_.get<std::uint32_t>(), data_.size() / 4, kPasses, out_.get<std::uint32_t>(), blocks_, stream_);
    check(cudaGetLastError(), "launching a kernel");
  }

  [[nodiscard]] bool right() const { return computes_ ? computed_right() : summed_right(); }

  /// Median of some runs with nothing beside.
  [[nodiscard]] Seconds alone() const {
    const Event start, stop;
    std::vector<float> times(11);
    for (float& time : times) {
      start.record(stream_);
      launch();
      stop.record(stream_);
      wait();
      check(cudaEventElapsedTime(&time, start, stop), "reading events");
    }
    std::nth_element(times.begin(), times.begin() + 5, times.end());
    return Seconds(1e-3 * static_cast<double>(times[5]));
  }

 private:
  [[nodiscard]] bool computed_right() const {
    std::vector<float> out(kThreads * static_cast<std::size_t>(blocks_));
    check(cudaMemcpy(out.data(), out_.get(), out_.size(), cudaMemcpyDeviceToHost), "copying a result");
    const std::vector<std::size_t> threads{0, kThreads - 1, out.size() / 2, out.size() - 1};
    return std::all_of(threads.begin(), threads.end(),
                       [&](std::size_t i) { return out[i] == computed(static_cast<int>(i % kThreads)); });
  }
  [[nodiscard]] bool summed_right() const {
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(blocks_));
    check(cudaMemcpy(sums.data(), out_.get(), sums.size() * 4, cudaMemcpyDeviceToHost), "copying a result");
    return std::accumulate(sums.begin(), sums.end(), 0u) == kPasses * pattern_sum(data_.size() / 4);
  }

  bool computes_;
  int blocks_;
  cudaStream_t stream_;
  Buffer out_, data_;
};

/// Two streams over the whole GPU, or over its two parts.
class Streams {
 public:
  Streams(const DeviceInfo& device, const Case& c) {
    if (c.dim("partition") == 0) return;
    const int all = static_cast<int>(c.dim("blocks_a") + c.dim("blocks_b"));
    parts_.emplace(device.index, device.sms * static_cast<int>(c.dim("blocks_a")) / std::max(all, 1));
  }
  [[nodiscard]] cudaStream_t operator[](int which) const {
    return parts_ ? parts_->stream(which) : static_cast<cudaStream_t>(whole_[static_cast<std::size_t>(which)]);
  }
  /// 0: all.
  [[nodiscard]] int sms(int which) const { return parts_ ? parts_->sms(which) : 0; }

 private:
  std::array<Stream, 2> whole_;
  std::optional<Partition> parts_;
};

class PairTrial final : public Trial {
 public:
  PairTrial(const DeviceInfo& device, const Case& c)
      : streams_(device, c),
        a_(c.op.starts_with("compute"), static_cast<int>(c.dim("blocks_a")), streams_[0]),
        b_(c.op.ends_with("compute"), static_cast<int>(c.dim("blocks_b")), streams_[1]) {}

  double error() override {
    run();
    return a_.right() && b_.right() ? 0 : 1;
  }
  [[nodiscard]] double tolerance() const override { return 0; }

  Seconds time(int calls) override {
    Seconds sum;
    for (int i = 0; i < calls; ++i) sum += run();
    return (1.0 / calls) * sum;
  }

  std::vector<std::pair<std::string, double>> extras() override {
    return {{"alone_a_ms", a_.alone().value() * 1e3},
            {"alone_b_ms", b_.alone().value() * 1e3},
            {"end_a_ms", median(ends_a_)},
            {"end_b_ms", median(ends_b_)},
            {"sms_a", streams_.sms(0)},
            {"sms_b", streams_.sms(1)}};
  }

 private:
  static double median(std::vector<float> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return static_cast<double>(values[values.size() / 2]);
  }

  /// Both start at one event; until the later has ended.
  Seconds run() {
    start_.record(a_.stream());
    check(cudaStreamWaitEvent(b_.stream(), start_, 0), "joining streams");
    a_.launch();
    b_.launch();
    end_a_.record(a_.stream());
    end_b_.record(b_.stream());
    a_.wait();
    b_.wait();
    float first = 0, second = 0;
    check(cudaEventElapsedTime(&first, start_, end_a_), "reading events");
    check(cudaEventElapsedTime(&second, start_, end_b_), "reading events");
    ends_a_.push_back(first);
    ends_b_.push_back(second);
    return Seconds(1e-3 * static_cast<double>(std::max(first, second)));
  }

  Streams streams_;
  Half a_, b_;
  Event start_, end_a_, end_b_;
  std::vector<float> ends_a_, ends_b_;
};

}  // namespace

std::unique_ptr<Trial> make_pair(const DeviceInfo& device, const Case& c) {
  return std::make_unique<PairTrial>(device, c);
}

}  // namespace tessera::microbench
