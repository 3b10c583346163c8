#include "calibration/microbench/cuda/partition.hpp"

#include <string>

#include "calibration/microbench/device.hpp"

namespace tessera::microbench {
namespace {

constexpr unsigned kFirstVersion = 12040;  // of CUDA, with green contexts

/// A function of the driver, which is not linked: a build machine has none.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, kFirstVersion, cudaEnableDefault, &status);
  if (error != cudaSuccess || status != cudaDriverEntryPointSuccess || found == nullptr) {
    cudaGetLastError();
    throw Unsupported(std::string("the driver has no ") + name + ": parts of the SMs need CUDA 12.4");
  }
  return reinterpret_cast<Function*>(found);
}

void check_driver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  throw Unsupported(std::string(what) + ": driver error " + std::to_string(static_cast<int>(status)));
}

}  // namespace

Partition::Partition(int device, int sms) {
  const auto whole_of = driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource");
  const auto split = driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
  const auto describe = driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
  const auto create = driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate");
  const auto open_stream = driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate");
  CUdevResource whole{};
  std::array<CUdevResource, 2> pieces{};
  unsigned groups = 1;
  check_driver(whole_of(device, &whole, CU_DEV_RESOURCE_TYPE_SM), "asking for the SMs");
  check_driver(split(pieces.data(), &groups, &whole, &pieces[1], 0, static_cast<unsigned>(sms)), "cutting the SMs");
  try {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      CUdevResourceDesc description = nullptr;
      check_driver(describe(&description, &pieces[i], 1), "describing a part of the SMs");
      check_driver(create(&parts_[i].context, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "a green context");
      check_driver(open_stream(&parts_[i].stream, parts_[i].context, CU_STREAM_NON_BLOCKING, 0), "its stream");
      parts_[i].sms = static_cast<int>(pieces[i].sm.smCount);
    }
  } catch (...) {
    clear();
    throw;
  }
}

Partition::~Partition() {
  clear();
}

void Partition::clear() {
  for (Part& part : parts_) {
    if (part.stream != nullptr) cudaStreamDestroy(part.stream);
    if (part.context != nullptr) driver_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy")(part.context);
    part = {};
  }
}

}  // namespace tessera::microbench
