// The runtime's own copies: inside the device, and to and from page-locked host memory.
#include <algorithm>
#include <cstdint>

#include "calibration/microbench/cuda/gpu_trial.hpp"
#include "calibration/microbench/cuda/memory.hpp"
#include "calibration/microbench/cuda/trials.hpp"

namespace tessera::microbench {
namespace {

class CopyTrial final : public GpuTrial {
 public:
  CopyTrial(const DeviceInfo& device, const Case& c)
      : GpuTrial(c.timing, 1),
        bytes_(static_cast<std::size_t>(c.dim("bytes"))),
        kind_(c.op == "copy_d2d"   ? cudaMemcpyDeviceToDevice
              : c.op == "copy_h2d" ? cudaMemcpyHostToDevice
                                   : cudaMemcpyDeviceToHost),
        pattern_(bytes_),
        device_(bytes_),
        host_(kind_ == cudaMemcpyDeviceToDevice ? 4 : bytes_) {
    write_pattern(pattern_.get<std::uint32_t>(), bytes_ / 4, 4 * device.sms, stream());
    if (kind_ == cudaMemcpyHostToDevice)
      check(cudaMemcpyAsync(host_.get(), pattern_.get(), bytes_, cudaMemcpyDeviceToHost, stream()), "a copy");
    stream().wait();
  }

  [[nodiscard]] double tolerance() const override { return 0; }

 private:
  void launch(cudaStream_t stream, int) override {
    void* const to = kind_ == cudaMemcpyDeviceToHost ? host_.get() : device_.get();
    const void* const from = kind_ == cudaMemcpyHostToDevice ? host_.get() : pattern_.get();
    check(cudaMemcpyAsync(to, from, bytes_, kind_, stream), "a copy");
  }

  double compare() override {
    if (kind_ == cudaMemcpyDeviceToHost)
      check(cudaMemcpy(device_.get(), host_.get(), bytes_, cudaMemcpyHostToDevice), "a copy");
    return holds_pattern(device_) ? 0 : 1;
  }

  std::size_t bytes_;
  cudaMemcpyKind kind_;
  Buffer pattern_, device_;
  HostBuffer host_;
};

}  // namespace

std::unique_ptr<Trial> make_copy(const DeviceInfo& device, const Case& c) {
  return std::make_unique<CopyTrial>(device, c);
}

}  // namespace tessera::microbench
