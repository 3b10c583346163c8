#include "sim/place/jobs/contention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {

namespace {

constexpr double kSettled = 1e-7;  // of a stretch

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
    for (const User& other : on_[load.link])
      if (other.job != job) queue(other.job);
}

std::vector<std::uint32_t> LinkContention::jobs_on(std::uint32_t link) const {
  std::vector<std::uint32_t> jobs;
  for (const User& user : on_[link]) jobs.push_back(user.job);
  return jobs;
}

double LinkContention::stretched(std::uint32_t job) const {
  const Member& member = jobs_[job];
  double most = 1;
  if (!member.shares) return most;
  const double alone = share_of_time(member.alone, 1);
  for (const LinkLoad& load : member.loads) {
    double sum = load.share;
    for (const User& other : on_[load.link]) {
      if (other.job == job || !jobs_[other.job].shares) continue;
      const double without = std::max(1.0, jobs_[other.job].stretch - load.share * alone);
      sum += other.share * share_of_time(jobs_[other.job].alone, without);
    }
    most = std::max(most, sum);
  }
  return most;
}

void LinkContention::add(std::uint32_t job, const AloneTimes& alone, std::vector<LinkLoad> loads, bool shares) {
  if (jobs_.size() <= job) jobs_.resize(job + 1);
  jobs_[job] = {.alone = alone, .loads = std::move(loads), .shares = shares};
  for (const LinkLoad& load : jobs_[job].loads) on_[load.link].push_back({job, load.share});
  if (!shares) return;
  queue(job);
  queue_neighbours(job);
}

void LinkContention::remove(std::uint32_t job) {
  queue_neighbours(job);
  for (const LinkLoad& load : jobs_[job].loads)
    std::erase_if(on_[load.link], [job](const User& user) { return user.job == job; });
  jobs_[job].loads.clear();
}

std::vector<std::uint32_t> LinkContention::settle() {
  while (!queue_.empty()) {
    const std::uint32_t job = queue_.front();
    queue_.pop_front();
    Member& member = jobs_[job];
    member.queued = false;
    const double stretch = stretched(job), change = stretch - member.stretch;
    if (change == 0) continue;
    member.stretch = stretch;
    if (!member.changed) changed_.push_back(job);
    member.changed = true;
    if (std::abs(change) > kSettled) queue_neighbours(job);
  }
  for (const std::uint32_t job : changed_) jobs_[job].changed = false;
  std::ranges::sort(changed_);
  return std::exchange(changed_, {});
}

}  // namespace tessera
