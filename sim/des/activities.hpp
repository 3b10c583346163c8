// Starts SimGrid activities from the kernel's own context and calls back when they end; no actors.
#pragma once

#include <simgrid/forward.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/des/guard.hpp"

namespace tessera {

class Activities {
 public:
  using Call = std::function<void()>;
  using Execution = std::size_t;  // valid until its call

  explicit Activities(Guard& guard);
  ~Activities();
  Activities(const Activities&) = delete;
  Activities& operator=(const Activities&) = delete;

  /// `amount` at a rate of at most `bound`; where a host cannot serve all, rates grow in proportion to `weight`.
  Execution execute(simgrid::s4u::Host& host, double amount, double bound, double weight, Call ended);
  void suspend(Execution execution);
  void resume(Execution execution);
  /// Of the amount.
  [[nodiscard]] double remaining(Execution execution) const;
  void transfer(simgrid::s4u::Host& from, simgrid::s4u::Host& to, Bytes size, Call ended);
  [[nodiscard]] std::uint64_t completed() const { return completed_; }

 private:
  struct Running;
  std::size_t fresh(Call ended);
  void execute(Running& running, double amount);
  void finish(Running& running);

  Guard& guard_;
  std::vector<std::unique_ptr<Running>> all_;
  std::vector<std::size_t> free_;                     // into all_
  std::vector<simgrid::s4u::ActivityPtr> discarded_;  // SimGrid does not free what was cancelled
  std::vector<simgrid::s4u::ActivityPtr> ended_;      // SimGrid still touches an activity after its call-back
  std::uint64_t completed_ = 0;
};

}  // namespace tessera
