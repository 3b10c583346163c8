#include <iterator>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/config/csv.hpp"
#include "sim/report/error_bar.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

using KernelKey = std::tuple<Phase, std::uint32_t, KernelId>;
using CollectiveKey = std::tuple<Phase, std::string, double>;  // the last: bytes

struct Seen {
  std::int64_t calls = 0;
  Seconds time;  // of all calls
};

/// Counts by key, in order of first appearance.
template <class Key>
struct Tally {
  std::map<Key, Seen> seen;
  std::vector<Key> order;
  void add(const Key& key, Seconds time) {
    Seen& entry = seen[key];
    if (entry.calls++ == 0) order.push_back(key);
    entry.time += time;
  }
};

void append_kernel(std::string& text, const Plan& plan, const CostTable& costs, const KernelKey& key,
                   std::int64_t calls) {
  const auto& [phase, name, id] = key;
  const Kernel& kernel = plan.kernels[static_cast<std::size_t>(id)];
  const KernelCost& cost = costs[static_cast<std::size_t>(id)];
  fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                 csv_cell(plan.names[name]), to_string(phase), csv_cell(describe_kernel(kernel)), calls,
                 cost.time.p10.value(), cost.time.p50.value(), cost.time.p90.value(),
                 static_cast<double>(calls) * cost.time.p50.value(), flops(kernel).value(), cost.hbm_bytes.value(),
                 cost.energy.value(), cost.blocks, cost.blocks_per_sm, cost.waves, to_string(cost.provenance),
                 cost.out_of_range);
}

/// No kernel's columns: those stay empty.
void append_collective(std::string& text, const CollectiveKey& key, const Seen& seen) {
  const auto& [phase, name, bytes] = key;
  const double call = seen.time.value() / static_cast<double>(seen.calls);
  fmt::format_to(std::back_inserter(text), "{0},{1},{0} bytes={2},{3},{4},{5},{6},{7},,,,,,,{8},0\n", csv_cell(name),
                 to_string(phase), bytes, seen.calls, call * (1 - kCommunicationLow), call,
                 call * (1 + kCommunicationHigh), seen.time.value(), to_string(Provenance::closed_form));
}

}  // namespace

std::string ops_csv(const Plan& plan, const CostTable& costs, const Trace& trace) {
  Tally<KernelKey> kernels;
  Tally<CollectiveKey> collectives;
  const std::vector<Seconds> lasted = task_durations(plan, trace);
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = plan.tasks[i];
    if (const auto* id = std::get_if<KernelId>(&task.work))
      kernels.add({task.phase, task.name, *id}, lasted[i]);
    else
      collectives.add({task.phase, task_name(plan, task), std::get<Collective>(task.work).bytes.value()}, lasted[i]);
  }
  std::string text =
      "name,phase,kernel,calls,call_p10_s,call_p50_s,call_p90_s,total_p50_s,flops,hbm_bytes,energy_j,blocks,"
      "blocks_per_sm,waves,provenance,out_of_range\n";
  for (const KernelKey& key : kernels.order) append_kernel(text, plan, costs, key, kernels.seen[key].calls);
  for (const CollectiveKey& key : collectives.order) append_collective(text, key, collectives.seen[key]);
  return text;
}

}  // namespace tessera
