// A GPU as the session sees it; implemented with CUDA in cuda/, by a fake in the tests.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "calibration/microbench/case.hpp"
#include "calibration/microbench/machine.hpp"

namespace tessera::microbench {

/// The device, a library or this build cannot do that case; others may work.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The device is lost to this process (a kernel that faulted, a full memory): nothing more can be measured.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One case with its operands in place.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Runs once; ||result - reference|| / ||reference||, infinite where something was not written.
  virtual double error() = 0;
  [[nodiscard]] virtual double tolerance() const = 0;
  /// Runs `calls` in a row and returns the mean time of one.
  virtual Seconds time(int calls) = 0;
  /// Further columns of its table, measured after the timing.
  virtual std::vector<std::pair<std::string, double>> extras() { return {}; }
};

/// 0: not known.
struct Sensors {
  Hertz sm_clock;
  Watts power;
  double temperature_c = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual Machine machine() const = 0;
  /// Throws Unsupported or DeviceLost; so do the trial's functions.
  virtual std::unique_ptr<Trial> prepare(const Case& c) = 0;
  /// Called from another thread while a trial runs.
  [[nodiscard]] virtual Sensors sensors() const = 0;
};

/// The CUDA device with this index, from the library beside the program. RunError saying what is missing: the library
/// (built without CUDA), its libraries, a driver, a GPU.
std::unique_ptr<Device> open_device(const std::filesystem::path& library, int index);
/// Where the build puts that library: beside the running program.
std::filesystem::path device_library();

}  // namespace tessera::microbench
