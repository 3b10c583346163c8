// How tenants share one GPU: a policy says how they are put on it and who sends blocks next; the engine executes.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/dispatch/deployment.hpp"
#include "sim/dispatch/device_kernel.hpp"
#include "sim/dispatch/tenant.hpp"

namespace tessera {

/// The kernel at the head of a stream, waiting for its blocks to be dispatched.
struct QueuedKernel {
  std::uint32_t stream = 0;
  int priority = 0;                      // CUDA's convention: smaller is more urgent
  std::uint64_t arrival = 0;             // order in which kernels became head of their stream
  std::int64_t blocks_left = 0;          // not yet dispatched
  bool blocked = false;                  // found no room since a block last ended
  bool frozen = false;                   // was interrupted: choosing it brings back the blocks that it had
  const DeviceKernel* kernel = nullptr;  // null in tests of rules that do not look at it
};

/// A stream as a policy sees it. Under tenants, stream i is tenant i of the GPU or MIG slice.
struct StreamView {
  int priority = 0;
  std::int64_t resident = 0;                  // blocks on SMs
  const DeviceKernel* resident_of = nullptr;  // whose, while resident > 0
  bool leaving = false;                       // was interrupted, and has not been sent again
  // Of the oldest request that has not ended; without tenants these stay as they are.
  bool busy = false;
  std::uint64_t request = 0;  // its number within the tenant
  std::uint32_t next = 0;     // kernels of it that have ended
  Seconds arrival, deadline{std::numeric_limits<double>::infinity()};
  Seconds remaining;        // what its open kernels take alone, one after the other
  std::size_t waiting = 0;  // requests behind it
};

class DispatchPolicy;

/// How it would go on from now under another policy, nobody new arriving: the engine's own rules, run ahead.
class Forecast {
 public:
  virtual ~Forecast() = default;
  /// When the oldest request of every stream ends (0: it has none), and the last entry: when everything has.
  [[nodiscard]] virtual std::vector<Seconds> ends_under(DispatchPolicy& policy) const = 0;
};

/// All that a policy may know.
struct DispatchView {
  Seconds now{};
  int sms = 0;
  BytesPerSec bandwidth{};
  std::span<const QueuedKernel> queue{};  // by priority, then in order of arrival
  std::span<const StreamView> streams{};
  const Forecast* forecast = nullptr;  // null where there are no tenants
};

/// Whose blocks go now, and how many at most; or who is to be interrupted.
struct Decision {
  int kernel = -1;  // index into the queue; -1: none until something happens
  std::int64_t blocks = std::numeric_limits<std::int64_t>::max();
  int interrupt = -1;  // a stream whose blocks are to leave their SMs, with XSched's measured latency; -1: none
  bool reset = false;  // interrupted blocks start anew (REEF) instead of going on
};

/// One object per GPU and run; it may remember things.
class DispatchPolicy {
 public:
  virtual ~DispatchPolicy() = default;
  /// Before the run: processes, priorities, caps, slices, pieces and pointers. Unless the policy says otherwise, one
  /// process with one stream per tenant, of the tenant's priority.
  [[nodiscard]] virtual Deployment deploy(const TenantSet& tenants);
  /// Called whenever something changed, again after each dispatch, until it answers that nothing can go.
  [[nodiscard]] virtual Decision next(const DispatchView& view) = 0;
  /// True if a stream that has the GPU to itself may send whatever fits, which is quicker to simulate.
  [[nodiscard]] virtual bool lone_stream_is_free() const { return true; }
};

struct DispatchPolicyEntry {
  std::string_view name, what;
  std::unique_ptr<DispatchPolicy> (*make)();
  bool needs_tenants = false;  // a single job has nothing for it to decide
};
/// One row per policy, alphabetical.
std::span<const DispatchPolicyEntry> dispatch_policies();
std::unique_ptr<DispatchPolicy> make_dispatch_policy(std::string_view name);

}  // namespace tessera
