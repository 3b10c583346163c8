// What memory-bound families share: bytes that come from device memory or L2, and terms that overlap.
#pragma once

#include <initializer_list>

#include "models/device.hpp"
#include "models/latency_model.hpp"

namespace tessera {

/// Host time before the kernel starts, of a PyTorch call between two events, where a family has no fitted value.
inline constexpr Seconds kEagerCall(15e-6);

/// Bytes of a kernel by where they come from and go to.
struct Stream {
  Bytes hbm, l2;
};

/// `bytes` of a call that may have run before: what fits in L2 then is still there.
Stream stream_of(Bytes bytes, const Device& device, const PredictContext& context);

/// Time that device memory and L2 need, with `blocks` to draw on them.
Seconds hbm_time(const Stream& stream, double blocks, const Device& device);
Seconds l2_time(const Stream& stream, double blocks, const Device& device);

/// Terms that overlap: the fourth root of the sum of fourth powers, nearly the longest, rounded where two are close.
Seconds overlapped(std::initializer_list<Seconds> terms);

}  // namespace tessera
