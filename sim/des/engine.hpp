// SimGrid as this program uses it: a clock, SM pools, HBM and network links. No SimGrid type leaves this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"

namespace tessera {

/// A GPU as the engine sees it: a pool of SMs and a memory bandwidth.
struct EngineGpu {
  int index = 0;  // in the cluster
  int sms = 0;
  BytesPerSec hbm;
};

struct EngineNetwork {
  std::vector<Link> links;                                         // those of bandwidth 0 do not exist
  std::size_t routes = 0;                                          // ways that flows may take
  std::function<std::vector<LinkId>(std::size_t route)> links_of;  // a link named twice counts twice
};

/// The one engine of this process; a second one is refused, because SimGrid would silently keep the first one's clock.
/// Runs on completion call-backs, without actors. GPUs are addressed by their position in the constructor's vector.
class Engine {
 public:
  using Call = std::function<void()>;
  using Execution = std::size_t;  // what compute and memory started; valid until its call

  Engine(const std::vector<EngineGpu>& gpus, EngineNetwork network);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] Seconds now() const;
  /// Calls of one instant run in the order in which they were asked for. A date in the past means now.
  void at(Seconds date, Call call);
  /// After the completions that SimGrid reports for this instant; at most one unit in the last place later.
  void after_this_instant(Call call);

  /// Blocks that hold `sm_share` SMs for `duration`; longer where the shares on the GPU exceed its SMs.
  Execution compute(std::size_t gpu, double sm_share, Seconds duration, Call ended);
  /// Traffic of `sm_share` SMs with device memory, at `rate` or, where the GPU's bandwidth does not serve all, less:
  /// every SM gets the same then, unless it wants less.
  Execution memory(std::size_t gpu, double sm_share, Bytes size, BytesPerSec rate, Call ended);
  void suspend(Execution execution);
  void resume(Execution execution);
  /// SM-seconds or bytes.
  [[nodiscard]] double remaining(Execution execution) const;
  /// A flow over a route's links, without latency.
  void transfer(std::size_t route, Bytes size, Call ended);

  /// Until nothing is left to do. The first exception of a call-back ends the calls and becomes a RunError with its
  /// date.
  void run();
  [[nodiscard]] std::uint64_t events() const;  // calls and activities completed

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
