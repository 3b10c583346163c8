// How much jobs that share links slow each other down; recomputed only where the set of jobs on a link changes.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/place/jobs/job.hpp"
#include "sim/place/jobs/traffic.hpp"

namespace tessera {

/// Jobs compute and communicate in turn, in phases that know nothing of each other. While job j communicates it meets
/// job k with the share of time q_k = R_k / (C_k + R_k) that k communicates, and a link serves those who are there
/// alike (mean value analysis, Reiser and Lavenberg, JACM 1980, with q_k of the whole set as Bard and Schweitzer do):
///   R_j = R0_j x max(1, max over j's links of s_j + sum over the others of s_k q_k),  s = share of the link.
/// The right side is positive, grows with every R_k and less than in proportion, so that there is one solution and
/// any order of updates finds it (Yates, JSAC 1995).
/// Not modelled: phases that fall into step or that a scheduler keeps apart; several flows' shares of one link within
/// a job.
class LinkContention {
 public:
  explicit LinkContention(std::size_t links) : on_(links), busy_(links) {}

  /// `shares` false: the job is known on its links, and neither slows others nor is slowed.
  void add(std::uint32_t job, const AloneTimes& alone, std::vector<LinkLoad> loads, bool shares = true);
  void remove(std::uint32_t job);
  /// Settles and returns the jobs whose time has changed, each once, in ascending order.
  std::vector<std::uint32_t> settle();
  /// Computing and communication, with the others as they are.
  [[nodiscard]] Seconds time_of(std::uint32_t job) const {
    return jobs_[job].alone.compute + jobs_[job].alone.communication * jobs_[job].stretch;
  }
  /// Jobs that use a link.
  [[nodiscard]] const std::vector<std::uint32_t>& jobs_on(std::uint32_t link) const { return on_[link]; }

 private:
  struct Member {
    AloneTimes alone;
    std::vector<LinkLoad> loads;
    double stretch = 1, communicating = 0;  // q
    bool shares = true, queued = false, changed = false;
  };
  void queue(std::uint32_t job);
  void queue_neighbours(std::uint32_t job);
  void set_communicating(Member& member, double share);
  [[nodiscard]] double stretched(const Member& member) const;

  std::vector<Member> jobs_;                    // by number
  std::vector<std::vector<std::uint32_t>> on_;  // jobs of a link
  std::vector<double> busy_;                    // sum of s q of a link's jobs
  std::deque<std::uint32_t> queue_;
  std::vector<std::uint32_t> changed_;
};

}  // namespace tessera
