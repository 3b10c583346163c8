// Collectives in the event loop: they start when all members have come, wait for the ring's latency, then flow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/des/engine.hpp"
#include "sim/des/recorder.hpp"
#include "sim/des/routing.hpp"

namespace tessera {

/// Fluid: one flow per pair of neighbours carries what all steps of the ring would, so that a ring all-reduce alone
/// takes 2 (n - 1) / n of its bytes over the bandwidth, and 2 (n - 1) steps of latency (models/collectives.hpp).
/// Protocol overhead is a constant share of every link. Not modelled: protocols (LL, LL128) one by one, SMs and HBM
/// that a collective takes, tree algorithms.
class Collectives {
 public:
  /// `engine_gpu[g]`: the engine's number of the cluster's GPU g. `payload`: share of what links carry that is payload.
  Collectives(Engine& engine, const Plan& plan, const Routing& routing, std::vector<std::size_t> engine_gpu,
              Recorder& recorder, double payload = 1);

  /// Called when the collective has ended, with the date at which all its members were there.
  using Done = std::function<void(Seconds started)>;
  /// A member of `group` reaches `task`.
  void join(std::uint32_t group, std::uint32_t task, Done done);
  /// Those that never started, in words: "all_reduce 'x' over tp has 1 of 2 ranks".
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  struct Meeting {
    std::uint32_t group = 0, task = 0;
    std::size_t open = 0;  // flows
    Seconds started{};
    std::vector<Done> done;
  };
  void start(Meeting& meeting);
  void flow(Meeting& meeting);
  void end(Meeting& meeting);

  Engine& engine_;
  const Plan& plan_;
  const Routing& routing_;
  std::vector<std::size_t> engine_gpu_;
  Recorder& recorder_;
  double payload_;
  std::unordered_map<std::uint64_t, Meeting> meetings_;
};

}  // namespace tessera
