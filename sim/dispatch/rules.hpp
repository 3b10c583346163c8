// What several policies share: who is urgent, and the hardware's rule of the head that holds everyone up.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "sim/dispatch/policy.hpp"

namespace tessera {

/// CUDA's queues: by priority, then in order of arrival.
inline bool before_in_queue(const QueuedKernel& a, const QueuedKernel& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.arrival < b.arrival;
}

/// First of the queued kernels that `may` send, in the order `before`; -1: none.
template <class Before, class May>
int first_of(std::span<const QueuedKernel> queue, Before before, May may) {
  int first = -1;
  for (int i = 0; i < static_cast<int>(queue.size()); ++i) {
    const QueuedKernel& kernel = queue[static_cast<std::size_t>(i)];
    if (may(kernel) && (first < 0 || before(kernel, queue[static_cast<std::size_t>(first)]))) first = i;
  }
  return first;
}

/// Only the first may send; if it found no room, nobody does.
template <class Before, class May>
Decision head_of(std::span<const QueuedKernel> queue, Before before, May may) {
  const int first = first_of(queue, before, may);
  return {first >= 0 && !queue[static_cast<std::size_t>(first)].blocked ? first : -1};
}

/// Priority of those whom the others make room for.
inline int most_urgent(std::span<const StreamView> streams) {
  int priority = std::numeric_limits<int>::max();
  for (const StreamView& stream : streams) priority = std::min(priority, stream.priority);
  return priority;
}

/// Whether a stream of that priority has an open request.
inline bool any_busy(std::span<const StreamView> streams, int priority) {
  return std::ranges::any_of(streams, [&](const StreamView& s) { return s.busy && s.priority == priority; });
}

}  // namespace tessera
