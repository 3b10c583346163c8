#include "sim/cluster/description.hpp"

#include <fmt/format.h>

#include "sim/config/yaml.hpp"

namespace tessera {
namespace {

using namespace literals;

template <class Quantity>
std::string with_unit(Quantity value, Quantity unit, std::string_view name) {
  return fmt::format("{} {}", value / unit, name);
}
std::string gigabytes_per_second(BytesPerSec value) {
  return with_unit(value, 1.0_GBps, "GB/s");
}
std::string microseconds(Seconds value) {
  return with_unit(value, 1.0_us, "us");
}
template <class Enum>
std::string_view name_of(Enum value) {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

Json peaks(const GpuSpec& gpu) {
  Json result = Json::object();
  for (const Dtype dtype : kDtypes)
    if (gpu.peak_of(dtype) > FlopsPerSec())
      result[to_string(dtype)] = with_unit(gpu.peak_of(dtype), 1.0_TFLOPs, "TFLOP/s");
  return result;
}

}  // namespace

std::string gpu_description(const GpuSpec& gpu, std::string_view comment) {
  Json root(Json::Object{{"vendor", gpu.vendor},
                         {"architecture", gpu.architecture},
                         {"process_nm", gpu.process_nm},
                         {"sms", gpu.sms},
                         {"fp32_lanes_per_sm", gpu.fp32_lanes_per_sm}});
  if (gpu.base_clock > Hertz()) root["base_clock"] = with_unit(gpu.base_clock, 1.0_MHz, "MHz");
  root["boost_clock"] = with_unit(gpu.boost_clock, 1.0_MHz, "MHz");
  root["matrix_unit"] = to_string(gpu.matrix_unit);
  root["peak"] = peaks(gpu);
  root["fp32_vector_peak"] = with_unit(gpu.fp32_vector_peak, 1.0_TFLOPs, "TFLOP/s");
  root["memory"] = with_unit(gpu.memory, 1.0_GiB, "GiB");
  root["memory_type"] = gpu.memory_type;
  root["memory_bandwidth"] = gigabytes_per_second(gpu.memory_bandwidth);
  root["l2"] = with_unit(gpu.l2, 1.0_MiB, "MiB");
  root["shared_memory_per_sm"] = with_unit(gpu.shared_memory_per_sm, 1.0_KiB, "KiB");
  root["registers_per_sm"] = with_unit(gpu.registers_per_sm, 1.0_KiB, "KiB");
  root["threads_per_sm"] = gpu.threads_per_sm;
  root["blocks_per_sm"] = gpu.blocks_per_sm;
  root["warp_size"] = gpu.warp_size;
  if (gpu.nvlink_bandwidth > BytesPerSec()) root["nvlink_bandwidth"] = gigabytes_per_second(gpu.nvlink_bandwidth);
  root["pcie_bandwidth"] = gigabytes_per_second(gpu.pcie_bandwidth);
  root["power_cap"] = with_unit(gpu.power_cap, Watts(1), "W");
  root["source"] = gpu.source;
  return yaml_text(root, comment);
}

std::string node_description(const NodeSpec& node, std::string_view comment) {
  Json root(Json::Object{{"gpu", node.gpu}, {"gpus", node.gpus}, {"intra", name_of(node.intra)}});
  if (node.gpu_link > BytesPerSec()) root["gpu_link"] = gigabytes_per_second(node.gpu_link);
  root["gpu_link_latency"] = microseconds(node.gpu_link_latency);
  root["nics"] = node.nics;
  if (node.nics > 0) root["nic_bandwidth"] = gigabytes_per_second(node.nic_bandwidth);
  root["nic_latency"] = microseconds(node.nic_latency);
  root["host_launch"] = microseconds(node.host_launch);
  root["device_malloc"] = microseconds(node.device_malloc);
  root["host_power"] = with_unit(node.host_power, Watts(1), "W");
  root["source"] = node.source;
  return yaml_text(root, comment);
}

std::string cluster_description(const ClusterSpec& cluster, std::string_view node, std::string_view comment) {
  const FabricSpec& f = cluster.fabric;
  Json fabric(Json::Object{{"kind", name_of(f.kind)}});
  if (f.kind == FabricKind::torus) {
    fabric["torus"] = Json::array();
    for (const int size : f.torus) fabric["torus"].push(size);
  } else {
    fabric["radix"] = f.radix;
  }
  if (f.kind == FabricKind::rail_optimised || f.kind == FabricKind::fat_tree) {
    if (f.levels > 0) fabric["levels"] = f.levels;
    fabric["oversubscription"] = f.oversubscription;
  }
  if (f.link_bandwidth > BytesPerSec()) fabric["link_bandwidth"] = gigabytes_per_second(f.link_bandwidth);
  fabric["hop_latency"] = microseconds(f.hop_latency);
  return yaml_text(
      Json(Json::Object{
          {"node", node}, {"nodes", cluster.nodes}, {"fabric", std::move(fabric)}, {"source", cluster.source}}),
      comment);
}

}  // namespace tessera
