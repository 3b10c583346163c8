// The library's one entry, and the table from benchmarks to their trials.
#include <cublasLt.h>

#include <array>
#include <exception>
#include <string>

#include "calibration/microbench/cuda/gpu.hpp"
#include "calibration/microbench/cuda/nvml.hpp"
#include "calibration/microbench/cuda/trials.hpp"

#ifdef TESSERA_CUDNN
#include <cudnn.h>
#endif
#ifdef TESSERA_NCCL
#include <nccl.h>
#endif

namespace tessera::microbench {
namespace {

std::unique_ptr<Trial> make_sustained(const DeviceInfo& device, const Case& c) {
  return c.op == "sustained_gemm" ? make_gemm(device, c) : make_memory(device, c);
}

#ifndef TESSERA_CUDNN
std::unique_ptr<Trial> no_conv(const DeviceInfo&, const Case&) {
  throw Unsupported("built without cuDNN");
}
#endif
#ifndef TESSERA_NCCL
std::unique_ptr<Trial> no_collective(const DeviceInfo&, const Case&) {
  throw Unsupported("built without NCCL");
}
#endif

struct Row {
  std::string_view benchmark;
  TrialMaker make;
};
constexpr std::array kMakers{
    Row{"launch", make_launch},
    Row{"copy", make_copy},
    Row{"bandwidth", make_memory},
    Row{"gemm", make_gemm},
    Row{"bmm", make_gemm},
#ifdef TESSERA_CUDNN
    Row{"conv", make_conv},
#else
    Row{"conv", no_conv},
#endif
    Row{"elementwise", make_elementwise},
    Row{"rows", make_rows},
    Row{"row_gradients", make_row_gradients},
    Row{"moe", make_moe},
    Row{"attention", make_attention},
    Row{"sustained", make_sustained},
    Row{"pairs", make_pair},
#ifdef TESSERA_NCCL
    Row{"collective", make_collective},
#else
    Row{"collective", no_collective},
#endif
};

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string bus_id(int index) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index), "asking for the bus");
  return text.data();
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : nvml_(bus_id(index)) {
    check(cudaSetDevice(index), "choosing the device");
    check(cudaGetDeviceProperties(&properties_, index), "asking for the device");
    info_ = {.index = index,
             .sms = properties_.multiProcessorCount,
             .capability = 10 * properties_.major + properties_.minor};
  }

  [[nodiscard]] Machine machine() const override {
    int devices = 0, driver = 0, runtime = 0;
    check(cudaGetDeviceCount(&devices), "counting devices");
    check(cudaDriverGetVersion(&driver), "asking for the driver");
    check(cudaRuntimeGetVersion(&runtime), "asking for the runtime");
    Machine machine{
        .device = properties_.name,
        .compute_capability = std::to_string(properties_.major) + "." + std::to_string(properties_.minor),
        .sms = properties_.multiProcessorCount,
        .devices = devices,
        .memory = Bytes(static_cast<double>(properties_.totalGlobalMem)),
        .l2 = Bytes(static_cast<double>(properties_.l2CacheSize)),
        .driver = "CUDA " + cuda_version(driver),
        .libraries = {{"cudart", cuda_version(runtime)}, {"cublaslt", std::to_string(cublasLtGetVersion())}},
        .max_sm_clock = Hertz(0),
        .max_memory_clock = Hertz(0),
        .power_limit = Watts(0)};
#ifdef TESSERA_CUDNN
    machine.libraries.emplace_back("cudnn", std::to_string(cudnnGetVersion()));
#endif
#ifdef TESSERA_NCCL
    int nccl = 0;
    ncclGetVersion(&nccl);
    machine.libraries.emplace_back("nccl", std::to_string(nccl));
#endif
    nvml_.describe(machine);
    return machine;
  }

  std::unique_ptr<Trial> prepare(const Case& c) override {
    for (const Row& row : kMakers)
      if (row.benchmark == c.benchmark) return row.make(info_, c);
    throw Unsupported("not in this build");
  }

  [[nodiscard]] Sensors sensors() const override {
    return nvml_.sensors();
  }

 private:
  Nvml nvml_;
  cudaDeviceProp properties_{};
  DeviceInfo info_;
};

int count_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw Unsupported(std::string("there is no CUDA GPU to measure (") +
                      (status == cudaSuccess ? "the driver lists none" : cudaGetErrorString(status)) +
                      "); `--plan` shows what would run");
  return count;
}

}  // namespace
}  // namespace tessera::microbench

extern "C" tessera::microbench::Device* tessera_open_cuda_device(int index, std::string* complaint) {
  using namespace tessera::microbench;
  try {
    const int count = count_devices();
    if (index < 0 || index >= count) {
      *complaint = "there is no CUDA device " + std::to_string(index) + "; expected 0 to " + std::to_string(count - 1);
      return nullptr;
    }
    return std::make_unique<CudaDevice>(index).release();
  } catch (const std::exception& error) {
    *complaint = error.what();
    return nullptr;
  }
}
