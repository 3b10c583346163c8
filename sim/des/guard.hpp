// Keeps exceptions of call-backs out of SimGrid, which would be left with activities that it cannot free.
#pragma once

#include <exception>
#include <functional>

#include "sim/base/units.hpp"

namespace tessera {

/// After the first exception no further call is made, and the simulation runs dry.
class Guard {
 public:
  void call(const std::function<void()>& callback, Seconds now) {
    if (failure_) return;
    try {
      callback();
    } catch (...) {  // no actors here, so SimGrid's kill exception cannot be among them
      failure_ = std::current_exception();
      failed_at_ = now;
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  [[nodiscard]] bool failed() const { return failure_ != nullptr; }
  [[nodiscard]] Seconds failed_at() const { return failed_at_; }

 private:
  std::exception_ptr failure_;
  Seconds failed_at_;
};

}  // namespace tessera
