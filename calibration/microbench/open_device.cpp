#include <dlfcn.h>

#include <fmt/format.h>

#include "calibration/microbench/device.hpp"
#include "sim/base/error.hpp"

namespace tessera::microbench {
namespace {

/// The library stays loaded while its device lives, and after: CUDA does not unload well.
void* load(const std::filesystem::path& library) {
  if (!std::filesystem::exists(library)) {
    throw RunError(fmt::format(
        "this build has no CUDA benchmarks ({} is missing): install the CUDA Toolkit (nvcc, cuBLAS) and build again "
        "with -DTESSERA_CUDA=ON; `--plan` shows what would run",
        library.string()));
  }
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw RunError(fmt::format("the CUDA benchmarks cannot be loaded: {}", ::dlerror()));
  return handle;
}

}  // namespace

std::filesystem::path device_library() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libtessera_cuda.so";
}

std::unique_ptr<Device> open_device(const std::filesystem::path& library, int index) {
  using Open = Device* (*)(int index, std::string* complaint);
  const auto open = reinterpret_cast<Open>(::dlsym(load(library), "tessera_open_cuda_device"));
  if (open == nullptr) throw RunError(fmt::format("{} is not Tessera's: {}", library.string(), ::dlerror()));
  std::string complaint;
  std::unique_ptr<Device> device(open(index, &complaint));
  if (device == nullptr) throw RunError(complaint);
  return device;
}

}  // namespace tessera::microbench
