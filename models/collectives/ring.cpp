#include "models/collectives/ring.hpp"

namespace tessera {

int ring_steps(CollectiveKind kind, int n) {
  if (n < 2) return 0;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1);  // a reduce-scatter, then an all-gather
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      return n - 1;
    case CollectiveKind::send_recv:
      return 1;
  }
  return 0;
}

Bytes ring_bytes_per_rank(CollectiveKind kind, int n, Bytes bytes) {
  if (n < 2) return Bytes(0.0);
  if (kind == CollectiveKind::send_recv) return bytes;
  return bytes * (static_cast<double>(ring_steps(kind, n)) / n);
}

Seconds ring_time(CollectiveKind kind, int n, Bytes bytes, BytesPerSec bandwidth, Seconds step_latency) {
  if (n < 2) return Seconds(0.0);
  return ring_bytes_per_rank(kind, n, bytes) / bandwidth + ring_steps(kind, n) * step_latency;
}

}  // namespace tessera
