#include "calibration/microbench/session.hpp"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "calibration/microbench/sensor_watch.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera::microbench {
namespace {

class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Result measure(Device& device, const Case& c, const Sampling& sampling) {
  const std::unique_ptr<Trial> trial = device.prepare(c);
  Result result;
  result.error = trial->error();
  if (!(result.error <= trial->tolerance())) {  // NaN is wrong, too
    throw WrongResult(fmt::format("result is off its reference by {:.3g}, expected {:.3g} at most", result.error,
                                  trial->tolerance()));
  }
  SensorWatch watch(device);
  result.time = summarise(take_samples(sampling, c.timing, c.hold, [&](int calls) { return trial->time(calls); }));
  result.sensors = watch.stop();
  result.extras = trial->extras();
  return result;
}

}  // namespace

SessionReport run_session(Device& device, const Plan& plan, ResultFolder& folder, const SessionOptions& options) {
  SessionReport report;
  std::size_t index = 0;
  for (const PlannedCase& planned : plan.cases) {
    ++index;
    if (folder.measured(planned.id) || (folder.failed(planned.id) && !options.retry)) {
      ++report.already_there;
      continue;
    }
    const auto say = [&](std::string_view what) {
      if (options.progress) options.progress(fmt::format("[{}/{}] {}: {}", index, plan.cases.size(), planned.id, what));
    };
    const auto failed = [&](std::string_view why) {
      folder.add_failure(planned.id, why);
      say(why);
    };
    try {
      const Result result = measure(device, planned.what, plan.sampling);
      folder.add(planned.what, result);
      ++report.measured;
      say(format(result.time.median));
    } catch (const Unsupported& error) {
      failed(error.what());
      ++report.unsupported;
    } catch (const WrongResult& error) {
      failed(error.what());
      ++report.wrong;
    } catch (const DeviceLost& error) {
      failed(error.what());
      throw RunError(fmt::format("{}: {}; run again to go on behind this case", planned.id, error.what()));
    }
  }
  return report;
}

}  // namespace tessera::microbench
