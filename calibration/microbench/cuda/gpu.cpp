#include "calibration/microbench/cuda/gpu.hpp"

#include <string>

#include "calibration/microbench/device.hpp"

namespace tessera::microbench {
namespace {

bool others_may_work(cudaError_t status) {
  return status == cudaErrorMemoryAllocation || status == cudaErrorNotSupported ||
         status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidConfiguration ||
         status == cudaErrorUnsupportedPtxVersion;
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // forgets it, where it can be forgotten
  const std::string text = std::string(what) + ": " + cudaGetErrorString(status);
  if (others_may_work(status)) throw Unsupported(text);
  throw DeviceLost(text);
}

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  check(cudaMalloc(&data_, bytes), "device memory");
  check(cudaMemset(data_, 0xff, bytes), "setting device memory");
}

HostBuffer::HostBuffer(std::size_t bytes) {
  check(cudaMallocHost(&data_, bytes), "page-locked memory");
}

void Graph::begin(cudaStream_t stream) {
  clear();
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
}

void Graph::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "capturing a graph");
  const cudaError_t status = cudaGraphInstantiate(&runnable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "instantiating a graph");
}

void Graph::clear() {
  if (runnable_ != nullptr) cudaGraphExecDestroy(runnable_);
  runnable_ = nullptr;
}

}  // namespace tessera::microbench
