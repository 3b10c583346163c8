// One GPU of a job in the event loop: streams of kernels, whose blocks share SM slots and memory bandwidth.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/cluster/gpu.hpp"
#include "sim/des/engine.hpp"
#include "sim/des/engine_clock.hpp"
#include "sim/des/simulate.hpp"
#include "sim/dispatch/device_kernel.hpp"
#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

/// The rules of sim/dispatch on SimGrid's clock. A single job sees bandwidth and SM slots shared, nothing else: its
/// streams are one program, whose latency model has the clock and the L2. Whole waves, kernels and runs of kernels of
/// one stream are a single timer while nothing else can touch the GPU, unless the fidelity is `wave`. Not modelled:
/// L2 taken by collectives; the wave quantum below a block.
class GpuDevice final : public GpuListener {
 public:
  /// A kernel of `stream` ran from the dispatch of its first block to the end of its last.
  using Observer = std::function<void(std::uint32_t stream, std::uint32_t task, Seconds start, Seconds end)>;

  GpuDevice(Engine& engine, std::size_t gpu, const GpuSpec& spec, DispatchPolicy& policy, Fidelity fidelity,
            Observer observer);

  /// CUDA's convention: a smaller priority is more urgent.
  std::uint32_t add_stream(int priority = 0);
  /// `kernel` must outlive its run. It starts after `release` and the stream's earlier kernels. `task` is for the
  /// observer. Without `on_done` nobody wakes up when it ends, and it is cheaper.
  void submit(std::uint32_t stream, const DeviceKernel& kernel, Seconds release = Seconds(0.0), std::uint32_t task = 0,
              std::function<void()> on_done = {});

  /// Collectives take (sign 1) and give back (-1) SMs and bandwidth.
  void occupy(const Occupation& some, int sign);

  [[nodiscard]] bool idle() const { return core_.idle(); }
  [[nodiscard]] Bytes hbm_carried() const { return core_.hbm_carried(); }

  void kernel_ended(std::uint32_t stream, std::uint32_t task, Seconds start, Seconds end) override;

 private:
  Observer observer_;
  std::vector<std::deque<std::function<void()>>> on_done_;  // per stream, parallel to its kernels
  int collectives_ = 0;
  Occupation taken_{};
  GpuCore core_;
  EngineClock clock_;
};

}  // namespace tessera
