#include "models/collectives/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/text.hpp"
#include "sim/config/reader.hpp"

namespace tessera {

namespace {

constexpr int kMostScheduledRanks = 1024;
constexpr int kMostChunks = 1 << 20;
constexpr std::array kScheduled{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                CollectiveKind::all_to_all};

bool sums(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

int owner(const CollectiveSchedule& s, int chunk) {
  return chunk / (s.chunks / s.ranks);
}

/// Whose data is in each rank's copy of each chunk.
class Contents {
 public:
  explicit Contents(const CollectiveSchedule& s) : s_(s) {
    for (int rank = 0; rank < s.ranks; ++rank) {
      for (int chunk = 0; chunk < s.chunks; ++chunk) {
        if (sums(s.kind) || owner(s, chunk) == rank) at(rank, chunk)[static_cast<std::size_t>(rank)] = true;
      }
    }
  }

  /// What is wrong with the step; it is done anyway.
  std::optional<std::string> apply(const TransferStep& step) {
    const std::vector<bool>& source = at(step.from, step.chunk);
    std::vector<bool>& target = at(step.to, step.chunk);
    if (std::ranges::find(source, true) == source.end())
      return fmt::format("rank {} sends chunk {}, which it does not have", step.from, step.chunk);
    if (step.action == StepAction::copy) {
      target = source;
      return std::nullopt;
    }
    for (std::size_t rank = 0; rank < source.size(); ++rank) {
      if (source[rank] && target[rank])
        return fmt::format("adds rank {}'s chunk {} to rank {}'s, which has it already", rank, step.chunk, step.to);
      if (source[rank]) target[rank] = true;
    }
    return std::nullopt;
  }

  /// What a rank must have in the end and does not: the first such chunk.
  std::optional<std::string> missing(int rank) {
    for (int chunk = 0; chunk < s_.chunks; ++chunk) {
      if (!wanted(rank, chunk)) continue;
      std::vector<int> lacks;
      for (int other = 0; other < s_.ranks; ++other) {
        const bool needed = sums(s_.kind) || other == owner(s_, chunk);
        if (needed != at(rank, chunk)[static_cast<std::size_t>(other)]) lacks.push_back(other);
      }
      if (!lacks.empty())
        return fmt::format("rank {} ends without chunk {} of rank{} {}", rank, chunk, lacks.size() > 1 ? "s" : "",
                           fmt::join(lacks, ", "));
    }
    return std::nullopt;
  }

 private:
  std::vector<bool>& at(int rank, int chunk) {
    return cells_.try_emplace({rank, chunk}, static_cast<std::size_t>(s_.ranks)).first->second;
  }
  [[nodiscard]] bool wanted(int rank, int chunk) const {
    switch (s_.kind) {
      case CollectiveKind::reduce_scatter:
        return owner(s_, chunk) == rank;
      case CollectiveKind::all_to_all:
        return chunk % (s_.chunks / s_.ranks) / (s_.chunks / s_.ranks / s_.ranks) == rank;
      default:
        return true;
    }
  }

  const CollectiveSchedule& s_;
  std::map<std::pair<int, int>, std::vector<bool>> cells_;
};

/// Every number names something that exists.
bool check_numbers(Reader& r, const CollectiveSchedule& s) {
  bool fine = true;
  const auto mistake = [&](std::size_t step, const std::string& what) {
    r.error("steps", fmt::format("step {}: {}", step, what));
    fine = false;
  };
  const auto within = [](int value, std::size_t end) { return value >= 0 && static_cast<std::size_t>(value) < end; };
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const TransferStep& step = s.steps[i];
    for (const int rank : {step.from, step.to})
      if (!within(rank, static_cast<std::size_t>(s.ranks)))
        mistake(i, fmt::format("rank {} of {} ranks, which are 0 to {}", rank, s.ranks, s.ranks - 1));
    if (step.from == step.to) mistake(i, fmt::format("rank {} sends to itself", step.from));
    if (!within(step.chunk, static_cast<std::size_t>(s.chunks)))
      mistake(i, fmt::format("chunk {} of {} chunks, which are 0 to {}", step.chunk, s.chunks, s.chunks - 1));
    for (const int before : step.after)
      if (!within(before, i)) mistake(i, fmt::format("after step {}, which is not an earlier one", before));
    if (step.action == StepAction::reduce && !sums(s.kind)) mistake(i, "nothing is summed in this collective");
  }
  return fine;
}

void check_data(Reader& r, const CollectiveSchedule& s) {
  Contents contents(s);
  bool fine = true;
  std::vector<bool> joins(static_cast<std::size_t>(s.ranks));
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const auto wrong = contents.apply(s.steps[i]);
    if (wrong) r.error("steps", fmt::format("step {}: {}", i, *wrong));
    fine = fine && !wrong;
    joins[static_cast<std::size_t>(s.steps[i].from)] = joins[static_cast<std::size_t>(s.steps[i].to)] = true;
  }
  for (int rank = 0; rank < s.ranks; ++rank) {
    if (!joins[static_cast<std::size_t>(rank)]) {
      r.error("steps", fmt::format("rank {} never joins", rank));
    } else if (const auto lacks = contents.missing(rank); lacks && fine) {
      r.error("steps", *lacks);
    }
  }
}

CollectiveKind kind_named(Reader& r, std::string_view name) {
  std::vector<std::string> names;
  for (const CollectiveKind kind : kScheduled) {
    if (to_string(kind) == name) return kind;
    names.emplace_back(to_string(kind));
  }
  r.error("collective", fmt::format("unknown collective '{}'{}; expected one of {}", name, did_you_mean(name, names),
                                    fmt::join(names, ", ")));
  return CollectiveKind::all_reduce;
}

}  // namespace

void describe(Reader& r, TransferStep& step) {
  r.required("from", step.from, "rank of the group that sends");
  r.required("to", step.to, "rank that receives");
  r.required("chunk", step.chunk, "which part of the buffer");
  r.required("do", step.action, "copy: it replaces the receiver's; reduce: it is added to it");
  r.optional("after", step.after, "numbers of earlier steps that must have ended, beside those whose data it needs");
}

void describe(Reader& r, CollectiveSchedule& s) {
  std::string kind;
  r.required("collective", kind, "what it promises: all_reduce, all_gather, reduce_scatter, alltoall");
  if (r.has("collective")) s.kind = kind_named(r, kind);
  r.required("ranks", s.ranks, "of the group");
  r.required("chunks", s.chunks, "equal parts of the buffer, equally many of each rank");
  r.required("steps", s.steps, "transfers, in an order in which they could run one by one; the first is step 0");
  if (r.has("ranks") && (s.ranks < 2 || s.ranks > kMostScheduledRanks))
    r.error("ranks", fmt::format("must be 2 to {}, found {}", kMostScheduledRanks, s.ranks));
  if (!r.ok() || r.printing()) return;
  const int parts = s.kind == CollectiveKind::all_to_all ? s.ranks * s.ranks : s.ranks;
  if (s.chunks < 1 || s.chunks > kMostChunks || s.chunks % parts != 0) {
    r.error("chunks", fmt::format("must be a multiple of {}, found {}", parts, s.chunks));
    return;
  }
  if (check_numbers(r, s)) check_data(r, s);
}

CollectiveSchedule read_collective_schedule(const std::filesystem::path& path) {
  auto schedule = read<CollectiveSchedule>(parse_document(path));
  schedule.name = path.stem().string();
  return schedule;
}

Bytes chunk_bytes(const CollectiveSchedule& s, Bytes bytes) {
  const double parts = s.kind == CollectiveKind::all_to_all ? s.chunks / s.ranks : s.chunks;
  return bytes / parts;
}

namespace {

/// Steps that touched a rank's copy of a chunk: what a further sum, and what a further read, must wait for.
struct Touched {
  std::vector<std::uint32_t> base, writers, readers;
};

void append(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& some) {
  to.insert(to.end(), some.begin(), some.end());
}

}  // namespace

std::vector<std::vector<std::uint32_t>> step_dependencies(const CollectiveSchedule& s) {
  std::vector<std::vector<std::uint32_t>> all;
  std::map<std::pair<int, int>, Touched> cells;
  for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
    const TransferStep& step = s.steps[i];
    std::vector<std::uint32_t> before(step.after.begin(), step.after.end());
    Touched& source = cells[{step.from, step.chunk}];
    append(before, source.writers);
    source.readers.push_back(i);
    Touched& target = cells[{step.to, step.chunk}];
    if (step.action == StepAction::copy) {
      append(before, target.writers);
      append(before, target.readers);
      target = {.base = {i}, .writers = {i}, .readers = {}};
    } else {
      if (!target.readers.empty()) target.base = std::exchange(target.readers, {});
      append(before, target.base);
      target.writers.push_back(i);
    }
    std::ranges::sort(before);
    const auto repeated = std::ranges::unique(before);
    before.erase(repeated.begin(), repeated.end());
    all.push_back(std::move(before));
  }
  return all;
}

}  // namespace tessera
