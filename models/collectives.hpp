// Closed forms of collectives without contention; the event loop must agree with them.
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

/// Ring over n ranks (Thakur et al. 2005; NCCL's ring). `bytes`: nccl-tests' size.
/// all_reduce: 2(n-1) steps of bytes/n; all_gather, reduce_scatter, all_to_all: n-1 steps of bytes/n; send_recv: one of
/// bytes.
int ring_steps(CollectiveKind kind, int n);
Bytes ring_bytes_per_rank(CollectiveKind kind, int n, Bytes bytes);  // sent by each rank in all steps
Seconds ring_time(CollectiveKind kind, int n, Bytes bytes, BytesPerSec bandwidth, Seconds step_latency);

}  // namespace tessera
