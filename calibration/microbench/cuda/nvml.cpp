#include "calibration/microbench/cuda/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace tessera::microbench {
namespace {

// As NVML's documentation gives them: every function returns 0 on success.
using Handle = void*;
constexpr unsigned kSmClock = 1, kMemoryClock = 2, kGpuTemperature = 0;

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shut_down)() = nullptr;
  int (*by_bus)(const char*, Handle*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;
  int (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  Handle gpu = nullptr;

  bool open(const std::string& bus) {
    void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && load(library, "nvmlInit_v2", init) && load(library, "nvmlShutdown", shut_down) &&
           load(library, "nvmlDeviceGetHandleByPciBusId_v2", by_bus) &&
           load(library, "nvmlDeviceGetClockInfo", clock) && load(library, "nvmlDeviceGetMaxClockInfo", max_clock) &&
           load(library, "nvmlDeviceGetPowerUsage", power) &&
           load(library, "nvmlDeviceGetEnforcedPowerLimit", power_limit) &&
           load(library, "nvmlDeviceGetTemperature", temperature) &&
           load(library, "nvmlSystemGetDriverVersion", driver) && init() == 0 && by_bus(bus.c_str(), &gpu) == 0;
  }
};

Nvml::Nvml(const std::string& pci_bus_id) : functions_(std::make_unique<Functions>()) {
  if (!functions_->open(pci_bus_id)) functions_.reset();
}

Nvml::~Nvml() {
  if (functions_) functions_->shut_down();
}

Sensors Nvml::sensors() const {
  Sensors sensors;
  if (!functions_) return sensors;
  unsigned value = 0;
  if (functions_->clock(functions_->gpu, kSmClock, &value) == 0) sensors.sm_clock = Hertz(1e6 * value);
  if (functions_->power(functions_->gpu, &value) == 0) sensors.power = Watts(1e-3 * value);
  if (functions_->temperature(functions_->gpu, kGpuTemperature, &value) == 0) sensors.temperature_c = value;
  return sensors;
}

void Nvml::describe(Machine& machine) const {
  if (!functions_) return;
  unsigned value = 0;
  if (functions_->max_clock(functions_->gpu, kSmClock, &value) == 0) machine.max_sm_clock = Hertz(1e6 * value);
  if (functions_->max_clock(functions_->gpu, kMemoryClock, &value) == 0) machine.max_memory_clock = Hertz(1e6 * value);
  if (functions_->power_limit(functions_->gpu, &value) == 0) machine.power_limit = Watts(1e-3 * value);
  std::array<char, 96> text{};
  if (functions_->driver(text.data(), text.size()) == 0) machine.driver = text.data();
}

}  // namespace tessera::microbench
