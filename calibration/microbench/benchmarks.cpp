#include "calibration/microbench/benchmarks.hpp"

#include <array>

namespace tessera::microbench {

std::span<const Benchmark> benchmarks() {
  static constexpr std::array kBenchmarks{
      Benchmark{"launch", "kernel launches in a stream and in a graph", "", 1, Seconds(0.05), launch_cases},
      Benchmark{"copy", "device, to-device and from-device copies", "", 1, Seconds(0.2), copy_cases},
      Benchmark{"bandwidth", "reading, writing and copying from 1 MiB to 1 GiB: L2, then device memory", "", 2,
                Seconds(0.1), bandwidth_cases},
      Benchmark{"gemm", "matrix products, plain and with bias, per dtype and layout", "cublasLt", 8, Seconds(0.1),
                gemm_cases},
      Benchmark{"bmm", "batched matrix products", "cublasLt", 3, Seconds(0.1), bmm_cases},
      Benchmark{"conv", "convolutions: forward, input and weight gradient", "cuDNN", 3, Seconds(0.8), conv_cases},
      Benchmark{"elementwise", "one and two tensors, with a scalar, activations", "", 2, Seconds(0.1),
                elementwise_cases},
      Benchmark{"rows", "softmax, layernorm, rmsnorm, embedding", "", 2, Seconds(0.1), row_cases},
      Benchmark{"row_gradients", "backward of softmax, layernorm, rmsnorm by their input", "", 1, Seconds(0.1),
                row_gradient_cases},
      Benchmark{"moe", "experts' grouped matrix products and their activation", "cuBLAS", 2, Seconds(0.5), moe_cases},
      Benchmark{"attention", "prefill and decode by a plain flash kernel on tensor cores", "", 2, Seconds(0.2),
                attention_cases},
      Benchmark{"sustained", "clock and power of long loads", "libnvidia-ml", 3, Seconds(0.2), sustained_cases},
      Benchmark{"pairs", "two kernels at once: on all SMs, and each on its part of them", "", 3, Seconds(0.2),
                pair_cases},
      Benchmark{"collective", "all-reduce, all-gather, reduce-scatter, alltoall, send-receive between the GPUs",
                "NCCL, two GPUs", 2, Seconds(2), collective_cases},
  };
  return kBenchmarks;
}

}  // namespace tessera::microbench
