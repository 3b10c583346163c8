// What a launch costs: the kernel does next to nothing.
#include <chrono>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"

namespace tessera::microbench {
namespace {

constexpr int kTrain = 1000;  // launches in a row, enough to fill the queue

__global__ void count(int* counter) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *counter += 1;
}

class LaunchTrial final : public GpuTrial {
 public:
  explicit LaunchTrial(const Case& c)
      : GpuTrial(c.timing, 1),
        blocks_(static_cast<int>(c.dim("blocks"))),
        train_(c.op == "launch_train" ? kTrain : 1),
        counter_(constant_buffer(sizeof(int), 0)) {}

  [[nodiscard]] double tolerance() const override { return 0; }
  Seconds time(int calls) override { return (1.0 / train_) * GpuTrial::time(calls); }

  /// The host's side of a launch into a stream that has room.
  std::vector<std::pair<std::string, double>> extras() override {
    constexpr int kLaunches = 200;
    stream().wait();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) count<<<blocks_, 32, 0, stream()>>>(counter_.get<int>());
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    stream().wait();
    return {{"host_us", spent.count() / kLaunches}};
  }

 private:
  void launch(cudaStream_t stream, int) override {
    for (int i = 0; i < train_; ++i) count<<<blocks_, 32, 0, stream>>>(counter_.get<int>());
  }
  double compare() override { return download(counter_, Stored::int32, 0, 1)[0] - train_; }

  int blocks_, train_;
  Buffer counter_;
};

}  // namespace

std::unique_ptr<Trial> make_launch(const DeviceInfo&, const Case& c) {
  return std::make_unique<LaunchTrial>(c);
}

}  // namespace tessera::microbench
