// A GPU alone on an engine, driven stream by stream, for tests whose answers are computed by hand.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/des/device.hpp"
#include "sim/des/engine.hpp"

namespace tessera {

inline GpuSpec small_gpu(int sms, BytesPerSec bandwidth = BytesPerSec(3.35e12)) {
  GpuSpec gpu;
  gpu.name = "test";
  gpu.sms = sms;
  gpu.memory_bandwidth = bandwidth;
  gpu.threads_per_sm = 2048;
  gpu.blocks_per_sm = 32;
  gpu.registers_per_sm = Bytes(262144.0);
  gpu.shared_memory_per_sm = Bytes(102400.0);
  return gpu;
}

/// A kernel of `blocks` blocks of `threads` threads that fit by their threads alone.
inline KernelCost grid(const GpuSpec& gpu, std::int64_t blocks, int threads, Seconds tile, Bytes hbm = Bytes(0.0)) {
  KernelCost cost;
  cost.blocks = blocks;
  cost.footprint = {threads, 0, Bytes(0.0)};
  cost.blocks_per_sm = occupancy(sm_limits(gpu), cost.footprint);
  const std::int64_t wave = std::int64_t{gpu.sms} * cost.blocks_per_sm;
  cost.waves = (blocks + wave - 1) / wave;
  cost.time = Estimate<Seconds>::exact(tile * static_cast<double>(cost.waves));
  cost.hbm_bytes = hbm;
  return cost;
}

/// Owns the kernels it is given and remembers when each ran, by task number; -1: it did not.
class BenchGpu {
 public:
  explicit BenchGpu(GpuSpec spec, Fidelity fidelity = Fidelity::automatic)
      : spec_(std::move(spec)),
        policy_(make_dispatch_policy("streams")),
        engine_({{0, spec_.sms, spec_.memory_bandwidth}}, {}),
        device_(engine_, 0, spec_, *policy_, fidelity,
                [this](std::uint32_t, std::uint32_t task, Seconds start, Seconds end) {
                  start_.at(task) = start.value();
                  end_.at(task) = end.value();
                }) {}

  GpuDevice& device() { return device_; }
  Engine& engine() { return engine_; }
  std::uint32_t stream(int priority = 0) { return device_.add_stream(priority); }
  void launch(std::uint32_t stream, const KernelCost& cost, std::uint32_t task, Seconds release = Seconds(0.0),
              std::function<void()> on_done = {}) {
    start_.resize(std::max<std::size_t>(start_.size(), task + 1), -1.0);
    end_.resize(start_.size(), -1.0);
    device_.submit(stream, keep(cost), release, task, std::move(on_done));
  }
  void run() { engine_.run(); }

  double start(std::uint32_t task) const { return start_.at(task); }
  double end(std::uint32_t task) const { return end_.at(task); }
  const std::vector<double>& ends() const { return end_; }

 private:
  const DeviceKernel& keep(const KernelCost& cost) {
    kernels_.push_back(device_kernel(cost, spec_));
    return kernels_.back();
  }
  GpuSpec spec_;
  std::unique_ptr<DispatchPolicy> policy_;
  Engine engine_;
  GpuDevice device_;
  std::deque<DeviceKernel> kernels_;
  std::vector<double> start_, end_;
};

}  // namespace tessera
