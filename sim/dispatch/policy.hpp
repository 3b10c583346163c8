// Who may send blocks next on one GPU: the policy decides, the engine executes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "sim/base/units.hpp"

namespace tessera {

/// The kernel at the head of a stream, waiting for its blocks to be dispatched.
struct QueuedKernel {
  std::uint32_t stream = 0;
  int priority = 0;              // CUDA's convention: smaller is more urgent
  std::uint64_t arrival = 0;     // order in which kernels became head of their stream
  std::int64_t blocks_left = 0;  // not yet dispatched
  bool blocked = false;          // found no room since a block last ended
};

/// A read-only view and one decision: which queued kernel may place blocks now.
class DispatchPolicy {
 public:
  virtual ~DispatchPolicy() = default;
  /// Index into `queue` of the kernel to dispatch from; -1: none. Called again after each dispatch.
  [[nodiscard]] virtual int next(std::span<const QueuedKernel> queue) const = 0;
};

struct DispatchPolicyEntry {
  std::string_view name, what;
  std::unique_ptr<DispatchPolicy> (*make)();
};
/// One row per policy, alphabetical.
std::span<const DispatchPolicyEntry> dispatch_policies();
std::unique_ptr<DispatchPolicy> make_dispatch_policy(std::string_view name);

}  // namespace tessera
