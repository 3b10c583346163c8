#include <iterator>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/config/csv.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {

std::string ops_csv(const Plan& plan, const CostTable& costs) {
  using Key = std::tuple<Phase, std::uint32_t, KernelId>;
  std::map<Key, std::int64_t> calls;
  std::vector<Key> order;  // of first appearance
  for (const Task& task : plan.tasks)
    if (const auto* id = std::get_if<KernelId>(&task.work)) {
      const Key key{task.phase, task.name, *id};
      if (calls[key]++ == 0) order.push_back(key);
    }
  std::string text =
      "name,phase,kernel,calls,call_p10_s,call_p50_s,call_p90_s,total_p50_s,flops,hbm_bytes,energy_j,blocks,"
      "blocks_per_sm,waves,provenance,out_of_range\n";
  for (const Key& key : order) {
    const auto& [phase, name, id] = key;
    const Kernel& kernel = plan.kernels[static_cast<std::size_t>(id)];
    const KernelCost& cost = costs[static_cast<std::size_t>(id)];
    const std::int64_t count = calls[key];
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                   csv_cell(plan.names[name]), to_string(phase), csv_cell(describe_kernel(kernel)), count,
                   cost.time.p10.value(), cost.time.p50.value(), cost.time.p90.value(),
                   static_cast<double>(count) * cost.time.p50.value(), flops(kernel).value(), cost.hbm_bytes.value(),
                   cost.energy.value(), cost.blocks, cost.blocks_per_sm, cost.waves, to_string(cost.provenance),
                   cost.out_of_range);
  }
  return text;
}

}  // namespace tessera
