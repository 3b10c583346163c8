// Collectives that a user writes down: transfers of chunks between ranks, read from a file and checked.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/graph/plan.hpp"

namespace tessera {

class Reader;

/// copy: the destination's chunk becomes the source's. reduce: the source's is added to it.
enum class StepAction : std::uint8_t { copy, reduce };
constexpr std::array<std::string_view, 2> enum_names(StepAction) {
  return {"copy", "reduce"};
}

struct TransferStep {
  int from = 0, to = 0;  // ranks of the group
  int chunk = 0;
  StepAction action = StepAction::copy;
  std::vector<int> after{};  // earlier steps, beside those whose data it needs
};
void describe(Reader& r, TransferStep& step);

/// The buffers are cut into equal chunks; chunk c belongs to rank c / (chunks / ranks), whose part of a gathered or
/// scattered buffer it is. Of an alltoall, chunk c goes from rank c / (chunks / ranks) to the rank that has the same
/// place among that one's chunks. Steps mean what they do one after the other, in order; they run as soon as the data
/// is there.
struct CollectiveSchedule {
  std::string name;  // of the file
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 2, chunks = 1;
  std::vector<TransferStep> steps{};
};
/// Reports all mistakes: ranks and chunks that do not exist, data that is not there or would be summed twice, a rank
/// that never joins, and what a rank does not have in the end.
void describe(Reader& r, CollectiveSchedule& schedule);
CollectiveSchedule read_collective_schedule(const std::filesystem::path& path);

/// The collectives of its kind over a dimension are done by a schedule.
struct OwnCollective {
  Dimension over = Dimension::tp;
  CollectiveSchedule schedule;
};

/// Of one chunk, where the collective has `bytes` (nccl-tests' size).
Bytes chunk_bytes(const CollectiveSchedule& schedule, Bytes bytes);

/// Which steps each step waits for: those that wrote what it reads, that read or wrote what it overwrites, and `after`.
/// Sums into one chunk do not wait for each other.
std::vector<std::vector<std::uint32_t>> step_dependencies(const CollectiveSchedule& schedule);

}  // namespace tessera
