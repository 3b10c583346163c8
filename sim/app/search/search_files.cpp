#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/app/search/search_report.hpp"

namespace tessera {
namespace {

/// The document as YAML text, without some keys: what a search read, to be read again.
void write_node(std::string& out, const Node& node, std::size_t indent);

std::string scalar_text(const Node& node) {
  return node.quoted ? Json(node.scalar).dump(-1) : node.scalar;
}

void write_value(std::string& out, const Node& node, std::size_t indent) {
  const bool empty = node.items.empty() && node.fields.empty();
  if (node.kind == Node::Kind::null) {
    out += " null\n";
  } else if (node.kind == Node::Kind::scalar) {
    out += " " + scalar_text(node) + "\n";
  } else if (empty) {
    out += node.kind == Node::Kind::map ? " {}\n" : " []\n";
  } else {
    out += "\n";
    write_node(out, node, indent);
  }
}

void write_node(std::string& out, const Node& node, std::size_t indent) {
  const std::string spaces(indent, ' ');
  for (const Node& item : node.items) {
    out += spaces + "-";
    write_value(out, item, indent + 2);
  }
  for (const auto& [key, value] : node.fields) {
    out += spaces + key + ":";
    write_value(out, value, indent + 2);
  }
}

std::string placement_scenario(const SearchFile& file, const SystolicChip& chip) {
  Node root = file.document.root;
  std::erase_if(root.fields, [](const auto& field) {
    return field.first == "space" || field.first == "chip" || field.first == "plan" || field.first == "search";
  });
  std::string out = "# The best chip of this search, as a search for its placement.\n";
  write_node(out, root, 0);
  out += fmt::format(
      "search: placement\nchip:\n  tensor_cores: {}\n  vector_cores: {}\n  width: {}\n  depth: {}\n  buffer: {:g} "
      "MiB\n  "
      "hbm_stacks: {}\n",
      chip.tensor_cores, chip.vector_cores, chip.width, chip.depth, chip.buffer.value() / 1048576, chip.hbm_stacks);
  return out;
}

/// The chip as simulate's GPUs are described: a tensor core is an SM.
std::string platform(const SystolicChip& chip, const ChipResult& result, const SystemSection& system) {
  const double macs = static_cast<double>(chip.tensor_cores) * chip.width * chip.depth;
  const double lanes = static_cast<double>(chip.vector_cores) * chip.lanes;
  const double clock = kSystolicClock.value();
  return fmt::format(
      "# {}: a tensor core stands for an SM.\nvendor: searched\narchitecture: systolic\nprocess_nm: 22\nsms: {}\n"
      "fp32_lanes_per_sm: {}\nbase_clock: {:g} MHz\nboost_clock: {:g} MHz\nmatrix_unit: mma_sync\npeak:\n  fp32: "
      "{:.6g} "
      "TFLOP/s\n  bf16: {:.6g} TFLOP/s\n  fp16: {:.6g} TFLOP/s\nmemory: {:g} GiB\nmemory_type: HBM2\nmemory_bandwidth: "
      "{:g} "
      "GB/s\nl2: {:g} MiB\nshared_memory_per_sm: {:g} KiB\nregisters_per_sm: {:g} KiB\nthreads_per_sm: "
      "2048\nblocks_per_sm: "
      "32\npcie_bandwidth: 32 GB/s\npower_cap: {:.0f} W\nsource: tessera search\n",
      describe(chip), chip.tensor_cores, std::max(1.0, std::round(lanes / chip.tensor_cores)), clock / 1e6, clock / 1e6,
      2 * lanes * clock / 1e12, 2 * macs * clock / 1e12, 2 * macs * clock / 1e12, system.memory.value() / 1073741824.0,
      hbm_bandwidth(chip).value() / 1e9, chip.buffer.value() / 1048576, tensor_sram(chip).value() / 1024,
      std::max(1.0, 32.0 * chip.width * chip.depth / 1024), std::max(1.0, 2 * result.power.value()));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> search_files(const SearchFile& file, const SearchFindings& findings) {
  const SearchScenario& scenario = file.scenario;
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("search.json", search_json(scenario, findings).dump() + "\n");
  files.emplace_back("search.svg", search_picture(scenario, findings));
  const StudiedChip& best = findings.best.front();
  files.emplace_back("best.yaml", placement_scenario(file, best.chip));
  files.emplace_back("chip.yaml", platform(best.chip, best.workloads.front().result, scenario.system));
  return files;
}

}  // namespace tessera
