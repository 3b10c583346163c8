#include "sim/des/engine_config.hpp"

#include <xbt/log.h>

#include <array>
#include <csignal>
#include <string>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

// CM02 without its TCP corrections: a flow alone takes size over bandwidth, exactly.
constexpr std::array kConfig{
    "network/model:CM02",      // the default, LV08, multiplies latency by 13 and bandwidth by 0.97
    "network/TCP-gamma:0",     // no window: 50 GB/s at 50 us would lose 19 %
    "network/crosstraffic:0",  // no acknowledgements: they would cost 5 %
    "surf/precision:1e-12",    // seconds within which two events are one; a block may last under a microsecond
    "maxmin/precision:1e-9",
};

/// SimGrid installs its own for SIGINT and SIGSEGV; ours stay.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &saved_[i]);
  }
  ~KeepSignalHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &saved_[i], nullptr);
  }
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGSEGV};
  std::array<struct sigaction, kSignals.size()> saved_{};
};

}  // namespace

std::unique_ptr<simgrid::s4u::Engine> start_simgrid() {
  static bool started = false;  // a fact about the process, not about an object
  TESSERA_ASSERT(!started, "one engine per process: SimGrid would keep the first one's clock");
  started = true;
  xbt_log_control_set("root.thresh:critical");  // results are ours to report
  const KeepSignalHandlers keep;
  // SimGrid takes its options from argv: it gets its own, so that it cannot take ours.
  std::string program = "tessera";
#ifdef TESSERA_SANITIZED
  std::string option = "--cfg=contexts/factory:thread";  // the sanitizer does not follow swapped stacks
  std::array<char*, 3> argv{program.data(), option.data(), nullptr};
#else
  std::array<char*, 2> argv{program.data(), nullptr};
#endif
  int argc = static_cast<int>(argv.size()) - 1;
  auto engine = std::make_unique<simgrid::s4u::Engine>(&argc, argv.data());
  for (const char* setting : kConfig) simgrid::s4u::Engine::set_config(std::string(setting));
  return engine;
}

}  // namespace tessera
