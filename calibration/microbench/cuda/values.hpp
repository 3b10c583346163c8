// Random operands on the device, and results back as doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibration/microbench/cuda/gpu.hpp"
#include "sim/base/dtype.hpp"

namespace tessera::microbench {

/// Formats in memory: tf32 is fp32 there, products of int8 are int32.
enum class Stored : std::uint8_t { fp32, fp16, bf16, fp8, int8, fp4, int32 };
Stored stored(Dtype dtype);
std::size_t bytes_for(Stored format, std::size_t count);

/// A buffer of random numbers, uniform in [low, high); for int8 and fp4 all their codes, whatever the range.
Buffer random_buffer(Stored format, std::size_t count, std::uint32_t seed, float low = -1, float high = 1);
/// A buffer of `count` times one byte.
Buffer constant_buffer(std::size_t count, int byte);

/// `count` elements from `offset`, each `stride` after the last (fp4: 1 only).
std::vector<double> download(const Buffer& buffer, Stored format, std::size_t offset, std::size_t count,
                             std::size_t stride = 1);

/// True where some 32-bit word is still as `Buffer` set it.
bool unwritten(const Buffer& buffer);

/// Keeps the stream busy, so that what follows is queued before it starts.
void delay(cudaStream_t stream, unsigned microseconds);

}  // namespace tessera::microbench
