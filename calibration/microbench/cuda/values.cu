#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <stdexcept>

#include "calibration/microbench/cuda/values.hpp"

namespace tessera::microbench {
namespace {

constexpr int kThreads = 256, kBlocks = 2048;

/// PCG output of a counter (Jarzynski and Olano 2020, JCGT 9(3)).
__device__ std::uint32_t hash(std::uint64_t index, std::uint32_t seed) {
  std::uint32_t state =
      (static_cast<std::uint32_t>(index) ^ static_cast<std::uint32_t>(index >> 32) * 0x9e3779b9u ^ seed) * 747796405u +
      2891336453u;
  state = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return (state >> 22) ^ state;
}

template <class T>
__global__ void fill_floats(T* data, std::size_t count, std::uint32_t seed, float low, float high) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    data[i] = static_cast<T>(low + (high - low) * (static_cast<float>(hash(i, seed) >> 8) * 0x1p-24f));
}

__global__ void fill_bytes(std::uint8_t* data, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    data[i] = static_cast<std::uint8_t>(hash(i, seed) >> 24);
}

__global__ void find_unwritten(const std::uint32_t* data, std::size_t count, int* found) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    if (data[i] == 0xffffffffu) *found = 1;
}

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(unsigned microseconds) {
  const std::uint64_t end = nanoseconds() + 1000ull * microseconds;
  while (nanoseconds() < end) {
  }
}

template <class T>
void fill(const Buffer& buffer, std::size_t count, std::uint32_t seed, float low, float high) {
  fill_floats<<<kBlocks, kThreads>>>(buffer.get<T>(), count, seed, low, high);
}

/// e2m1: sign, two bits of exponent with bias 1, one of mantissa.
double decode_fp4(unsigned code) {
  constexpr double kValues[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kValues[code & 7] : kValues[code & 7];
}

template <class T>
std::vector<double> decode(const std::vector<unsigned char>& bytes) {
  const T* const values = reinterpret_cast<const T*>(bytes.data());
  std::vector<double> result(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if constexpr (std::is_same_v<T, std::int32_t>)
      result[i] = values[i];
    else
      result[i] = static_cast<double>(static_cast<float>(values[i]));
  }
  return result;
}

std::vector<double> decode(Stored format, const std::vector<unsigned char>& bytes) {
  switch (format) {
    case Stored::fp32:
      return decode<float>(bytes);
    case Stored::fp16:
      return decode<__half>(bytes);
    case Stored::bf16:
      return decode<__nv_bfloat16>(bytes);
    case Stored::fp8:
      return decode<__nv_fp8_e4m3>(bytes);
    case Stored::int8:
      return decode<signed char>(bytes);
    case Stored::int32:
      return decode<std::int32_t>(bytes);
    case Stored::fp4:
      break;
  }
  std::vector<double> result;
  for (const unsigned char pair : bytes) {
    result.push_back(decode_fp4(pair & 15u));
    result.push_back(decode_fp4(pair >> 4u));
  }
  return result;
}

}  // namespace

Stored stored(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp16:
      return Stored::fp16;
    case Dtype::bf16:
      return Stored::bf16;
    case Dtype::fp8:
      return Stored::fp8;
    case Dtype::int8:
      return Stored::int8;
    case Dtype::nvfp4:
      return Stored::fp4;
    default:
      return Stored::fp32;
  }
}

std::size_t bytes_for(Stored format, std::size_t count) {
  constexpr std::size_t kHalfBytes[] = {8, 4, 4, 2, 2, 1, 8};
  return (count * kHalfBytes[static_cast<std::size_t>(format)] + 1) / 2;
}

Buffer random_buffer(Stored format, std::size_t count, std::uint32_t seed, float low, float high) {
  Buffer buffer(bytes_for(format, count));
  switch (format) {
    case Stored::fp32:
      fill<float>(buffer, count, seed, low, high);
      break;
    case Stored::fp16:
      fill<__half>(buffer, count, seed, low, high);
      break;
    case Stored::bf16:
      fill<__nv_bfloat16>(buffer, count, seed, low, high);
      break;
    case Stored::fp8:
      fill<__nv_fp8_e4m3>(buffer, count, seed, low, high);
      break;
    default:
      fill_bytes<<<kBlocks, kThreads>>>(buffer.get<std::uint8_t>(), buffer.size(), seed);
  }
  check(cudaGetLastError(), "filling memory");
  check(cudaDeviceSynchronize(), "filling memory");
  return buffer;
}

Buffer constant_buffer(std::size_t count, int byte) {
  Buffer buffer(count);
  check(cudaMemset(buffer.get(), byte, count), "setting device memory");
  check(cudaDeviceSynchronize(), "setting device memory");
  return buffer;
}

std::vector<double> download(const Buffer& buffer, Stored format, std::size_t offset, std::size_t count,
                             std::size_t stride) {
  if (format == Stored::fp4 && (stride != 1 || offset % 2 != 0)) throw std::logic_error("half a byte");
  const std::size_t size = format == Stored::fp4 ? 1 : bytes_for(format, 1);
  std::vector<unsigned char> bytes(bytes_for(format, count));
  const unsigned char* const from = buffer.get<unsigned char>() + bytes_for(format, offset);
  if (stride == 1)
    check(cudaMemcpy(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost), "copying a result");
  else
    check(cudaMemcpy2D(bytes.data(), size, from, stride * size, size, count, cudaMemcpyDeviceToHost),
          "copying a result");
  return decode(format, bytes);
}

bool unwritten(const Buffer& buffer) {
  const Buffer found = constant_buffer(sizeof(int), 0);
  find_unwritten<<<kBlocks, kThreads>>>(buffer.get<std::uint32_t>(), buffer.size() / 4, found.get<int>());
  check(cudaGetLastError(), "checking a result");
  return download(found, Stored::int32, 0, 1)[0] != 0;
}

void delay(cudaStream_t stream, unsigned microseconds) {
  spin<<<1, 1, 0, stream>>>(microseconds);
  check(cudaGetLastError(), "delaying a stream");
}

}  // namespace tessera::microbench
