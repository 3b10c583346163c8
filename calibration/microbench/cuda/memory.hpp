// Kernels that read, write and copy, 16 bytes a thread and step.
#pragma once

#include <cstdint>

#include "calibration/microbench/cuda/gpu.hpp"

namespace tessera::microbench {

void write_pattern(std::uint32_t* to, std::size_t words, int blocks, cudaStream_t stream);
void copy_words(const std::uint32_t* from, std::uint32_t* to, std::size_t words, int blocks, cudaStream_t stream);
/// Adds up what each block reads into one word per block; `passes` over the data.
void sum_words(const std::uint32_t* from, std::size_t words, int passes, std::uint32_t* sums, int blocks,
               cudaStream_t stream);

/// True where the buffer holds the pattern: its sum, its first and its last words.
bool holds_pattern(const Buffer& buffer);

}  // namespace tessera::microbench
