// How much jobs that share links slow each other down; recomputed only where the set of jobs on a link changes.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/place/jobs/job.hpp"
#include "sim/place/jobs/traffic.hpp"

namespace tessera {

/// Jobs compute and communicate in turn, in phases that know nothing of each other. Who begins to communicate meets job
/// k with the share of time q_k = R_k / (C_k + R_k) in which k would communicate without him, and a link serves those
/// who are there alike (mean value analysis: Reiser and Lavenberg, JACM 1980; exact for two jobs that compute for
/// exponential times):
///   R_j = R0_j x max(1, max over j's links of s_j + sum over the others of s_k q_k),  s = share of the link,
/// with R_k less R0_k s_j R0_j / (C_j + R0_j), about what j itself adds to it. The right side grows with every R_k and
/// is bounded, so that updates in any order converge.
/// Not modelled: phases that fall into step or that a scheduler keeps apart; several flows' shares of one link within
/// a job.
class LinkContention {
 public:
  explicit LinkContention(std::size_t links) : on_(links) {}

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
  [[nodiscard]] std::vector<std::uint32_t> jobs_on(std::uint32_t link) const;

 private:
  struct User {
    std::uint32_t job = 0;
    double share = 0;
  };
  struct Member {
    AloneTimes alone;
    std::vector<LinkLoad> loads;
    double stretch = 1;
    bool shares = true, queued = false, changed = false;
  };
  void queue(std::uint32_t job);
  void queue_neighbours(std::uint32_t job);
  [[nodiscard]] double stretched(std::uint32_t job) const;

  std::vector<Member> jobs_;           // by number
  std::vector<std::vector<User>> on_;  // of every link
  std::deque<std::uint32_t> queue_;
  std::vector<std::uint32_t> changed_;
};

}  // namespace tessera
