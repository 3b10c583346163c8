// Collectives in the event loop: they start when all members have come, wait for the steps' latency, then flow.
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

/// Fluid: after the waits that `CollectiveModel` gives, one flow per pair of neighbours carries what all steps would,
/// over the share of a link that is payload. Alone a collective takes the model's closed form. Not modelled: SMs and
/// HBM that it takes, the order of chunks.
class Collectives {
 public:
  /// `payload`: share of what links carry that is payload.
  Collectives(Engine& engine, const Plan& plan, const Routing& routing, const CollectiveModel& model,
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
    CollectiveCost cost{};
    Bytes volume{};
    std::vector<Done> done;
  };
  void start(Meeting& meeting);
  void flow(Meeting& meeting);
  void end(Meeting& meeting);

  Engine& engine_;
  const Plan& plan_;
  const Routing& routing_;
  const CollectiveModel& model_;
  Recorder& recorder_;
  double payload_;
  std::unordered_map<std::uint64_t, Meeting> meetings_;
};

}  // namespace tessera
