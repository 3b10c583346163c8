#include "sim/place/jobs/contention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {

namespace {

constexpr double kSettled = 1e-7;  // of the share of time in which a job communicates

double share_of_time(const AloneTimes& alone, double stretch) {
  const Seconds communication = alone.communication * stretch;
  const Seconds all = alone.compute + communication;
  return all > Seconds() ? communication / all : 0;
}

}  // namespace

void LinkContention::queue(std::uint32_t job) {
  if (jobs_[job].queued) return;
  jobs_[job].queued = true;
  queue_.push_back(job);
}

void LinkContention::queue_neighbours(std::uint32_t job) {
  for (const LinkLoad& load : jobs_[job].loads)
    for (const std::uint32_t other : on_[load.link])
      if (other != job) queue(other);
}

void LinkContention::set_communicating(Member& member, double share) {
  for (const LinkLoad& load : member.loads) busy_[load.link] += load.share * (share - member.communicating);
  member.communicating = share;
}

double LinkContention::stretched(const Member& member) const {
  double most = 1;
  if (!member.shares) return most;
  for (const LinkLoad& load : member.loads)
    if (on_[load.link].size() > 1) most = std::max(most, load.share * (1 - member.communicating) + busy_[load.link]);
  return most;
}

void LinkContention::add(std::uint32_t job, const AloneTimes& alone, std::vector<LinkLoad> loads, bool shares) {
  if (jobs_.size() <= job) jobs_.resize(job + 1);
  jobs_[job] = {.alone = alone, .loads = std::move(loads), .shares = shares};
  for (const LinkLoad& load : jobs_[job].loads) on_[load.link].push_back(job);
  if (!shares) return;
  set_communicating(jobs_[job], share_of_time(alone, 1));
  queue(job);
  queue_neighbours(job);
}

void LinkContention::remove(std::uint32_t job) {
  queue_neighbours(job);
  set_communicating(jobs_[job], 0);
  for (const LinkLoad& load : jobs_[job].loads) {
    std::erase(on_[load.link], job);
    if (on_[load.link].empty()) busy_[load.link] = 0;  // no rounding is carried on
  }
  jobs_[job].loads.clear();
}

std::vector<std::uint32_t> LinkContention::settle() {
  while (!queue_.empty()) {
    const std::uint32_t job = queue_.front();
    queue_.pop_front();
    Member& member = jobs_[job];
    member.queued = false;
    const double stretch = stretched(member);
    if (stretch == member.stretch) continue;
    member.stretch = stretch;
    if (!member.changed) changed_.push_back(job);
    member.changed = true;
    const double share = share_of_time(member.alone, stretch);
    const bool matters = std::abs(share - member.communicating) > kSettled;
    set_communicating(member, share);
    if (matters) queue_neighbours(job);
  }
  for (const std::uint32_t job : changed_) jobs_[job].changed = false;
  std::ranges::sort(changed_);
  return std::exchange(changed_, {});
}

}  // namespace tessera
