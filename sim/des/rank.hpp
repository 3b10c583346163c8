// One rank of a job: its program line by line, kernels to the device, collectives to the network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/des/collective.hpp"
#include "sim/des/device.hpp"
#include "sim/des/engine.hpp"
#include "sim/des/host.hpp"
#include "sim/des/recorder.hpp"
#include "sim/des/routing.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// What all ranks share: the plan, sorted into lines, and which kernels' ends somebody waits for. A line is what runs
/// in order: the compute stream, and for each dimension the stream that its communicator has to itself, as in NCCL.
/// Messages between pipeline stages have four: sent and received, activations and gradients.
struct Program {
  Program(const Plan& the_plan, const CostTable& costs, const GpuSpec& gpu);

  const Plan& plan;
  std::vector<DeviceKernel> kernels;  // parallel to plan.kernels
  struct Line {
    std::string name;                                // "compute", "communication tp"
    std::vector<std::vector<std::uint32_t>> orders;  // of each program: tasks
  };
  std::vector<Line> lines;
  std::vector<std::uint8_t> line_of;  // per task
  std::vector<bool> observed;         // per task
};

/// What the ranks of one run use together.
struct Stage {
  const Program& program;
  const Routing& routing;
  const Host& host;  // every rank has a CPU thread of its own, all with the same dates
  Engine& engine;
  Collectives& collectives;
  Recorder& recorder;
  bool synchronous_messages = false;
  bool collectives_take_sms = false;
};

class RankRun {
 public:
  /// `gpu`: position of its GPU among the simulated ones.
  /// Its GPU computes `speed` times as fast as the program's kernels say.
  RankRun(const Stage& stage, Rank rank, std::size_t gpu, GpuDevice& device, double speed = 1);

  void start();
  /// What it is waiting for, in words; empty when everything ran.
  [[nodiscard]] std::vector<std::string> stuck() const;

 private:
  struct Position {
    std::size_t next = 0;  // in the line's order
    bool in_collective = false;
    Occupation taken{};  // by that collective
  };
  void advance();
  void advance(std::size_t line);
  [[nodiscard]] bool ready(std::uint32_t task) const;
  [[nodiscard]] Seconds launched(std::uint32_t task) const;
  void join(std::size_t line, std::uint32_t task);
  [[nodiscard]] Rank sender_of(const Collective& collective) const;
  [[nodiscard]] std::string name_of(std::uint32_t task) const;
  [[nodiscard]] std::string why_stuck(std::uint32_t task) const;

  [[nodiscard]] const std::vector<std::uint32_t>& order(std::size_t line) const;

  Stage stage_;
  Rank rank_;
  std::size_t gpu_;
  GpuDevice& device_;
  Seconds host_behind_{};                  // of its dates without waiting
  std::vector<DeviceKernel> own_kernels_;  // where its speed is another
  std::vector<bool> done_;                 // observed kernels and collectives
  std::vector<Position> positions_;        // per line
};

}  // namespace tessera
