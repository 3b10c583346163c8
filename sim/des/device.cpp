#include "sim/des/device.hpp"

namespace tessera {

namespace {

GpuCoreOptions options_of(Fidelity fidelity) {
  return {.coalesce = fidelity != Fidelity::wave, .terms = {.l2 = false, .clock = false, .launch = false}};
}

}  // namespace

GpuDevice::GpuDevice(Engine& engine, std::size_t gpu, const GpuSpec& spec, DispatchPolicy& policy, Fidelity fidelity,
                     Observer observer)
    : observer_(std::move(observer)), core_(spec, policy, options_of(fidelity)), clock_(engine, gpu, core_) {
  core_.bind(clock_, *this, policy);
}

std::uint32_t GpuDevice::add_stream(int priority) {
  on_done_.emplace_back();
  return core_.add_stream({.priority = priority});
}

void GpuDevice::submit(std::uint32_t stream, const DeviceKernel& kernel, Seconds release, std::uint32_t task,
                       std::function<void()> on_done) {
  const bool observed = static_cast<bool>(on_done);
  on_done_[stream].push_back(std::move(on_done));
  core_.submit(stream, kernel, release, task, observed);
  clock_.request_settle();
}

void GpuDevice::occupy(const Occupation& some, int sign) {
  collectives_ += sign;
  taken_.sms += sign * some.sms;
  taken_.hbm += sign * some.hbm;
  if (collectives_ == 0) taken_ = {};  // no rounding stays
  core_.occupy(taken_);
  clock_.request_settle();
}

void GpuDevice::kernel_ended(std::uint32_t stream, std::uint32_t task, Seconds start, Seconds end) {
  const std::function<void()> done = std::move(on_done_[stream].front());
  on_done_[stream].pop_front();
  if (observer_) observer_(stream, task, start, end);
  if (done) done();
}

}  // namespace tessera
