#include "calibration/microbench/sensor_watch.hpp"

#include <algorithm>
#include <chrono>

namespace tessera::microbench {
namespace {

template <class Value, class Of>
Value middle(const std::vector<Sensors>& samples, Of of) {
  std::vector<Value> values;
  for (const Sensors& s : samples) values.push_back(of(s));
  if (values.empty()) return Value{};
  std::ranges::sort(values, [](Value a, Value b) { return a < b; });
  return values[values.size() / 2];
}

}  // namespace

Sensors median(const std::vector<Sensors>& samples) {
  return {.sm_clock = middle<Hertz>(samples, [](const Sensors& s) { return s.sm_clock; }),
          .power = middle<Watts>(samples, [](const Sensors& s) { return s.power; }),
          .temperature_c = middle<double>(samples, [](const Sensors& s) { return s.temperature_c; })};
}

SensorWatch::SensorWatch(const Device& device)
    : device_(device), thread_([this](const std::stop_token& token) { watch(token); }) {}

void SensorWatch::watch(const std::stop_token& token) {
  std::unique_lock lock(mutex_);
  while (true) {
    seen_.push_back(device_.sensors());
    // Waits the interval, or less when asked to stop.
    if (wake_.wait_for(lock, token, std::chrono::milliseconds(20), [&] { return token.stop_requested(); })) return;
    if (token.stop_requested()) return;
  }
}

Sensors SensorWatch::stop() {
  thread_.request_stop();
  thread_.join();
  return median({seen_.begin() + static_cast<std::ptrdiff_t>(seen_.size() / 2), seen_.end()});
}

}  // namespace tessera::microbench
