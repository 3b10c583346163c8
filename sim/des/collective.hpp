// Collectives in the event loop: they start when all members have come, wait for the steps' latency, then flow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/des/engine.hpp"
#include "sim/des/recorder.hpp"
#include "sim/des/routing.hpp"
#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

/// Fluid: after the waits that `CollectiveModel` gives, one flow per pair of neighbours carries what all steps would,
/// over the share of a link that is payload. Alone a collective takes the model's closed form. Not modelled: SMs and
/// HBM that it takes, the order of chunks.
class Collectives {
 public:
  /// `payload`: share of what links carry that is payload.
  Collectives(Engine& engine, const Plan& plan, const Routing& routing, const CollectiveModel& model,
              Recorder& recorder, double payload = 1, std::span<const OwnCollective> own = {});

  /// Called when the collective has ended, with the date at which all its members were there.
  using Done = std::function<void(Seconds started)>;
  /// Called when its kernel begins to work, with what it takes of the GPU until it has ended.
  using Began = std::function<void(const Occupation& taken)>;
  /// A member of `group` reaches `task`.
  void join(std::uint32_t group, std::uint32_t task, Done done, Began began = {});
  /// Those that never started, in words: "all_reduce 'x' over tp has 1 of 2 ranks".
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  struct Meeting {
    std::uint32_t group = 0, task = 0;
    std::size_t open = 0;  // flows
    Seconds started{};
    CollectiveCost cost{};
    Bytes volume{};
    std::vector<Done> done;
    std::vector<Began> began;
    std::size_t own = 0;  // which schedule
    StepPrice price{};
    std::vector<std::size_t> blockers{}, flowing{};  // of each step: steps that it waits for, flows
  };
  /// A user's schedule: who waits for whom, and the flows of each step of the group at hand.
  struct Steps {
    std::vector<std::vector<std::uint32_t>> before, after;
  };
  void start_own(Meeting& meeting);
  void start_step(Meeting& meeting, std::uint32_t step);
  void end_step(Meeting& meeting, std::uint32_t step);
  void start(Meeting& meeting);
  void take(const Meeting& meeting, CollectiveKind kind, int channels, Seconds alone);
  void flow(Meeting& meeting);
  void flow_undisturbed(Meeting& meeting);
  void end(Meeting& meeting);

  Engine& engine_;
  const Plan& plan_;
  const Routing& routing_;
  const CollectiveModel& model_;
  Recorder& recorder_;
  double payload_;
  std::span<const OwnCollective> own_;
  std::vector<Steps> steps_;  // of each of own_
  std::unordered_map<std::uint64_t, Meeting> meetings_;
};

}  // namespace tessera
