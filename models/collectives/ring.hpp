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

/// For planners that need one number, and runs that ask for ideal rings: share of a link's bandwidth that NCCL moves as
/// payload: protocol flags and the waits between chunks take the rest. Median over DGX A100, H100 and B200 (0.71, 0.56,
/// 0.44) of bus bandwidth over nominal, one node, 8 MB and more (AIConfigurator's NCCL 2.23-2.29, vTrain, APEX+). Each
/// machine predicted from the other two: 20-38 % mean error. Not modelled: its growth with message and ring, which goes
/// from 0.4 to 0.75, and NVLink SHARP.
inline constexpr double kNcclPayload = 0.56;

}  // namespace tessera
