// Streams that each see only a part of the SMs: CUDA's green contexts, which do inside one process what MPS does
// between several with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <array>

namespace tessera::microbench {

class Partition {
 public:
  /// At least `sms` for the first stream (the hardware rounds up), the rest for the second. Throws Unsupported where
  /// the driver is older than CUDA 12.4 or the GPU cannot be cut so.
  Partition(int device, int sms);
  ~Partition();
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  [[nodiscard]] cudaStream_t stream(int which) const { return parts_[static_cast<std::size_t>(which)].stream; }
  [[nodiscard]] int sms(int which) const { return parts_[static_cast<std::size_t>(which)].sms; }

 private:
  struct Part {
    CUgreenCtx context = nullptr;
    CUstream stream = nullptr;
    int sms = 0;
  };
  void clear();

  std::array<Part, 2> parts_;
};

}  // namespace tessera::microbench
