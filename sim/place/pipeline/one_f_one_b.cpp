#include "sim/place/pipeline/one_f_one_b.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

constexpr Seconds kOpen{-1.0};

class Clock {
 public:
  Clock(std::span<const PassTimes> stages, int chunks, std::int64_t micro_batches)
      : stages_(stages),
        devices_(static_cast<int>(stages.size()) / chunks),
        micro_batches_(static_cast<std::size_t>(micro_batches)),
        forward_(stages.size() * micro_batches_, kOpen),
        backward_(stages.size() * micro_batches_, kOpen),
        free_(static_cast<std::size_t>(devices_)),
        next_(static_cast<std::size_t>(devices_)) {
    for (int device = 0; device < devices_; ++device)
      orders_.push_back(one_f_one_b_order(device, devices_, chunks, micro_batches));
  }

  Seconds run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t device = 0; device < orders_.size(); ++device)
        while (next_[device] < orders_[device].size() && step(device)) moved = true;
    }
    for (std::size_t device = 0; device < orders_.size(); ++device)
      TESSERA_ASSERT(next_[device] == orders_[device].size(), "a 1F1B order does not lock up");
    return *std::ranges::max_element(free_, {}, [](Seconds s) { return s.value(); });
  }

 private:
  Seconds& end(std::vector<Seconds>& ends, std::size_t stage, const Pass& pass) {
    return ends[stage * micro_batches_ + static_cast<std::size_t>(pass.micro_batch)];
  }

  /// Runs the device's next pass, if its input is there.
  bool step(std::size_t device) {
    const Pass& pass = orders_[device][next_[device]];
    const std::size_t stage = static_cast<std::size_t>(pass.chunk * devices_) + device;
    Seconds input;
    if (pass.forward && stage > 0) input = end(forward_, stage - 1, pass);
    if (!pass.forward)
      input = stage + 1 < stages_.size() ? end(backward_, stage + 1, pass) : end(forward_, stage, pass);
    if (input == kOpen) return false;
    const Seconds time = pass.forward ? stages_[stage].forward : stages_[stage].backward;
    free_[device] = max(free_[device], input) + time;
    end(pass.forward ? forward_ : backward_, stage, pass) = free_[device];
    ++next_[device];
    return true;
  }

  std::span<const PassTimes> stages_;
  int devices_;
  std::size_t micro_batches_;
  std::vector<Seconds> forward_, backward_;  // ends, by stage and micro-batch
  std::vector<Seconds> free_;                // per device
  std::vector<std::size_t> next_;
  std::vector<std::vector<Pass>> orders_;
};

}  // namespace

Seconds one_f_one_b_time(std::span<const PassTimes> stages, int chunks, std::int64_t micro_batches) {
  return Clock(stages, chunks, micro_batches).run();
}

}  // namespace tessera
