// CUDA's resources by ownership, and its errors as exceptions.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace tessera::microbench {

/// Unsupported for what this device or its free memory cannot do, DeviceLost for everything else that failed.
void check(cudaError_t status, const char* what);

/// Device memory, every byte set to 0xff: NaN in every float format, so that what is not written shows.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  ~Buffer() { cudaFree(data_); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  template <class T = void>
  [[nodiscard]] T* get() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Page-locked host memory.
class HostBuffer {
 public:
  explicit HostBuffer(std::size_t bytes);
  ~HostBuffer() { cudaFreeHost(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  template <class T = void>
  [[nodiscard]] T* get() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)
  void wait() const { check(cudaStreamSynchronize(stream_), "a kernel"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }  // NOLINT(google-explicit-constructor)
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "recording an event"); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A graph of what was launched into a stream between `begin` and `end`.
class Graph {
 public:
  Graph() = default;
  ~Graph() { clear(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(runnable_, stream), "launching a graph"); }

 private:
  void clear();
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace tessera::microbench
