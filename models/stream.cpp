#include "models/stream.hpp"

#include <algorithm>
#include <cmath>

#include "models/cache.hpp"

namespace tessera {

namespace {

constexpr double kSharpness = 4;
constexpr double kSetSpill = 3;  // A100-PCIE-40GB, NeuSight's elementwise rows of 20 to 50 MB

double busy_sms(double blocks, const Device& device) {
  return std::min(blocks, static_cast<double>(device.spec.sms));
}

}  // namespace

Stream stream_of(Bytes bytes, const Device& device, const PredictContext& context) {
  const bool warm = context.residency != Residency::cold;
  const double spilled = warm ? spilled_share(bytes, usable_l2(device.spec), kSetSpill) : 1;
  return {bytes * spilled, bytes * (1 - spilled)};
}

Seconds hbm_time(const Stream& stream, double blocks, const Device& device) {
  return stream.hbm / min(device.hbm, device.hbm_per_sm * busy_sms(blocks, device));
}

Seconds l2_time(const Stream& stream, double blocks, const Device& device) {
  return stream.l2 / (device.l2 * (busy_sms(blocks, device) / device.spec.sms));
}

Seconds overlapped(std::initializer_list<Seconds> terms) {
  const Seconds longest = std::max(terms);
  if (longest.value() <= 0) return longest;
  double sum = 0;
  for (const Seconds term : terms) sum += std::pow(term / longest, kSharpness);
  return longest * std::pow(sum, 1 / kSharpness);
}

}  // namespace tessera
