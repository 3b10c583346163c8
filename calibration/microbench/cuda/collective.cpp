// NCCL's collectives over all visible GPUs of this machine, from one process.
#include <cuda_bf16.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
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
    part_ = std::max<std::size_t>(1, count_ / size());
    const std::size_t whole = part_ * size();
    send_count_ = op_ == "all_gather" ? part_ : op_ == "reduce_scatter" || op_ == "alltoall" ? whole : count_;
    receive_count_ = op_ == "reduce_scatter" ? part_ : op_ == "all_gather" || op_ == "alltoall" ? whole : count_;
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
    const std::size_t some =
        std::min<std::size_t>(256, op_ == "alltoall" ? part_ : std::min(send_count_, receive_count_));
    if (op_ == "alltoall") return worst_part(some);
    std::vector<double> expected(some);
    for (int i = 0; i < gpus_; ++i) {
      if (op_ == "all_gather" && i > 0) break;            // its first part comes from rank 0
      if (op_ == "send_recv" && i + 1 < gpus_) continue;  // rank 0 receives from the last
      const std::vector<double> sent = sent_by(i, some);
      for (std::size_t j = 0; j < some; ++j) expected[j] += sent[j];
    }
    return relative_error(received(0, some), expected);
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
  [[nodiscard]] std::vector<double> sent_by(int i, std::size_t some) const {
    const OnDevice on(i);
    return download(ranks_[static_cast<std::size_t>(i)].send, Stored::bf16, 0, some);
  }
  [[nodiscard]] std::vector<double> received(std::size_t from, std::size_t some) const {
    const OnDevice on(0);
    return download(ranks_[0].receive, Stored::bf16, from, some);
  }
  /// Of an alltoall: rank 0's part i is the first part that rank i sent.
  [[nodiscard]] double worst_part(std::size_t some) const {
    double worst = 0;
    for (int i = 0; i < gpus_; ++i) {
      const double error = relative_error(received(part_ * static_cast<std::size_t>(i), some), sent_by(i, some));
      if (std::isnan(error)) return error;
      worst = std::max(worst, error);
    }
    return worst;
  }
  Rank& at(int i) { return ranks_[static_cast<std::size_t>(i)]; }

  void launch() {
    check_nccl(ncclGroupStart(), "NCCL");
    for (std::size_t i = 0; i < size(); ++i) {
      const Rank& r = ranks_[i];
      if (op_ == "send_recv")
        exchange(i, r, (i + 1) % size(), (i + size() - 1) % size(), 0, 0, send_count_);
      else if (op_ == "alltoall")
        for (std::size_t j = 0; j < size(); ++j) exchange(i, r, j, j, part_ * j, part_ * j, part_);
      else if (op_ == "all_gather")
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

  /// Rank i sends `count` elements to one peer and receives as many from another.
  void exchange(std::size_t i, const Rank& r, std::size_t to, std::size_t from, std::size_t send_at,
                std::size_t receive_at, std::size_t count) {
    check_nccl(
        ncclSend(r.send.get<__nv_bfloat16>() + send_at, count, ncclBfloat16, static_cast<int>(to), comms_[i], r.stream),
        "NCCL");
    check_nccl(ncclRecv(r.receive.get<__nv_bfloat16>() + receive_at, count, ncclBfloat16, static_cast<int>(from),
                        comms_[i], r.stream),
               "NCCL");
  }

  void wait() const {
    for (const Rank& rank : ranks_) rank.stream.wait();
  }

  std::string op_;
  int gpus_;
  std::size_t count_, part_ = 1, send_count_ = 0, receive_count_ = 0;
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
