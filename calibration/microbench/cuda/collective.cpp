// NCCL's collectives over all visible GPUs of this machine, from one process.
#include <cuda_bf16.h>
#include <nccl.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "calibration/microbench/cuda/trials.hpp"
#include "calibration/microbench/cuda/values.hpp"
#include "calibration/microbench/reference.hpp"

namespace tessera::microbench {
namespace {

void check_nccl(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw DeviceLost(std::string(what) + ": " + ncclGetErrorString(status));
}

/// Restores the current device.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "asking for the device");
    check(cudaSetDevice(device), "changing the device");
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

struct Rank {
  Stream stream;
  Event start, stop;
  Buffer send, receive;
};

class CollectiveTrial final : public Trial {
 public:
  CollectiveTrial(const Case& c, int gpus)
      : op_(c.op), gpus_(gpus), count_(static_cast<std::size_t>(c.dim("message_bytes")) / 2), ranks_(), comms_(size()) {
    // nccl-tests' message: the larger of a rank's two buffers.
    const std::size_t part = std::max<std::size_t>(1, count_ / size());
    send_count_ = op_ == "all_gather" ? part : op_ == "reduce_scatter" ? part * size() : count_;
    receive_count_ = op_ == "reduce_scatter" ? part : op_ == "all_gather" ? part * size() : count_;
    for (int i = 0; i < gpus; ++i) {
      const OnDevice on(i);
      Rank& rank = ranks_.emplace_back();
      rank.send = random_buffer(Stored::bf16, send_count_, 70u + static_cast<unsigned>(i));
      rank.receive = Buffer(2 * receive_count_);
      check(cudaDeviceSynchronize(), "filling memory");
    }
    check_nccl(ncclCommInitAll(comms_.data(), gpus, nullptr), "NCCL");
  }
  ~CollectiveTrial() override {
    for (ncclComm_t comm : comms_) ncclCommDestroy(comm);
  }
  CollectiveTrial(const CollectiveTrial&) = delete;
  CollectiveTrial& operator=(const CollectiveTrial&) = delete;

  [[nodiscard]] double tolerance() const override { return 2e-2; }  // sums in bf16

  double error() override {
    launch();
    wait();
    const std::size_t some = std::min<std::size_t>(256, std::min(send_count_, receive_count_));
    std::vector<double> expected(some);
    for (int i = 0; i < gpus_; ++i) {
      if (op_ == "all_gather" && i > 0) break;  // its first part comes from rank 0
      const OnDevice on(i);
      const std::vector<double> sent = download(ranks_[static_cast<std::size_t>(i)].send, Stored::bf16, 0, some);
      for (std::size_t j = 0; j < some; ++j) expected[j] += sent[j];
    }
    const OnDevice on(0);
    return relative_error(download(ranks_[0].receive, Stored::bf16, 0, some), expected);
  }

  Seconds time(int calls) override {
    for (int i = 0; i < gpus_; ++i) at(i).start.record(at(i).stream);
    for (int i = 0; i < calls; ++i) launch();
    for (int i = 0; i < gpus_; ++i) at(i).stop.record(at(i).stream);
    wait();
    float longest = 0;
    for (const Rank& rank : ranks_) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, rank.start, rank.stop), "reading events");
      longest = std::max(longest, milliseconds);
    }
    return Seconds(1e-3 * static_cast<double>(longest) / calls);
  }

  std::vector<std::pair<std::string, double>> extras() override { return {{"n_gpus", gpus_}}; }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(gpus_); }
  Rank& at(int i) { return ranks_[static_cast<std::size_t>(i)]; }

  void launch() {
    check_nccl(ncclGroupStart(), "NCCL");
    for (std::size_t i = 0; i < size(); ++i) {
      const Rank& r = ranks_[i];
      if (op_ == "all_gather")
        check_nccl(ncclAllGather(r.send.get(), r.receive.get(), send_count_, ncclBfloat16, comms_[i], r.stream),
                   "NCCL");
      else if (op_ == "reduce_scatter")
        check_nccl(ncclReduceScatter(r.send.get(), r.receive.get(), receive_count_, ncclBfloat16, ncclSum, comms_[i],
                                     r.stream),
                   "NCCL");
      else
        check_nccl(ncclAllReduce(r.send.get(), r.receive.get(), count_, ncclBfloat16, ncclSum, comms_[i], r.stream),
                   "NCCL");
    }
    check_nccl(ncclGroupEnd(), "NCCL");
  }

  void wait() const {
    for (const Rank& rank : ranks_) rank.stream.wait();
  }

  std::string op_;
  int gpus_;
  std::size_t count_, send_count_ = 0, receive_count_ = 0;
  std::deque<Rank> ranks_;  // streams do not move
  std::vector<ncclComm_t> comms_;
};

}  // namespace

std::unique_ptr<Trial> make_collective(const DeviceInfo&, const Case& c) {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus), "counting devices");
  if (gpus < 2) throw Unsupported("collectives need two GPUs, there is one");
  return std::make_unique<CollectiveTrial>(c, gpus);
}

}  // namespace tessera::microbench
