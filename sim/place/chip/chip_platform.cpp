#include "sim/place/chip/chip_platform.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/device.hpp"
#include "sim/place/chip/economics.hpp"

namespace tessera {
namespace {

using namespace literals;

constexpr int kWidestSwitch = 1024;  // ports
constexpr Bytes kRegister{32};       // of a MAC (Phaze's L1)

void set_peaks(GpuSpec& spec, const SystolicChip& chip) {
  const double macs = static_cast<double>(chip.tensor_cores) * chip.width * chip.depth;
  const double lanes = static_cast<double>(chip.vector_cores) * chip.lanes;
  const FlopsPerSec matrix(2 * macs * kSystolicClock.value()), vector(2 * lanes * kSystolicClock.value());
  spec.peak[static_cast<std::size_t>(Dtype::fp32)] = spec.fp32_vector_peak = vector;
  spec.peak[static_cast<std::size_t>(Dtype::bf16)] = spec.peak[static_cast<std::size_t>(Dtype::fp16)] = matrix;
  spec.fp32_lanes_per_sm = static_cast<int>(std::clamp(std::round(lanes / chip.tensor_cores), 1.0, 65536.0));
}

/// One switch where its ports suffice.
void set_fabric(ClusterSpec& cluster) {
  const int ports = cluster.nodes * cluster.node.nics;
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.radix = std::clamp(ports, 4, kWidestSwitch);
  cluster.fabric.levels = ports <= kWidestSwitch ? 1 : 0;
  cluster.fabric.hop_latency = Seconds();
}

}  // namespace

GpuSpec to_spec(const SystolicChip& chip, Bytes memory) {
  GpuSpec spec;
  spec.name = describe(chip);
  spec.vendor = "searched";
  spec.architecture = "systolic";
  spec.process_nm = 22;
  spec.sms = chip.tensor_cores;
  spec.base_clock = spec.boost_clock = kSystolicClock;
  spec.matrix_unit = MatrixUnit::mma_sync;
  set_peaks(spec, chip);
  spec.memory = memory;
  spec.memory_type = "HBM2";
  spec.memory_bandwidth = hbm_bandwidth(chip);
  spec.l2 = chip.buffer;
  spec.shared_memory_per_sm = tensor_sram(chip);
  spec.registers_per_sm = max(1.0_KiB, kRegister * chip.width * chip.depth);
  spec.threads_per_sm = 2048;
  spec.blocks_per_sm = 32;
  spec.pcie_bandwidth = 32.0_GBps;
  spec.power_cap = Watts(1);
  spec.power_cap = Watts(1) * (idle_power(chip) / derive_device(spec).idle);
  spec.source = "tessera search";
  return spec;
}

std::variant<ClusterSpec, std::string> chip_cluster(const GpuSpec& chip, int devices,
                                                    std::span<const NetworkLevel> network) {
  if (network.size() > 2)
    return fmt::format("the network has {} levels, a cluster has nodes and what joins them", network.size());
  ClusterSpec cluster;
  cluster.name = "chips";
  cluster.node.name = "node";
  cluster.node.gpu = chip.name;
  cluster.gpu = chip;
  const NetworkLevel &inner = network.front(), &outer = network.back();
  cluster.node.gpus = network.size() > 1 ? std::min(devices, inner.devices) : 1;
  if (devices % cluster.node.gpus != 0)
    return fmt::format("{} devices do not fill nodes of {}", devices, cluster.node.gpus);
  cluster.nodes = devices / cluster.node.gpus;
  cluster.node.intra = cluster.node.gpus > 1 ? IntraNode::nvswitch : IntraNode::pcie;
  cluster.gpu.pcie_bandwidth = max(chip.pcie_bandwidth, outer.bandwidth);
  cluster.node.gpu_link = cluster.node.gpus > 1 ? inner.bandwidth : cluster.gpu.pcie_bandwidth;
  cluster.node.gpu_link_latency = cluster.node.gpus > 1 ? inner.latency : Seconds();
  cluster.node.nics = cluster.node.gpus;
  cluster.node.nic_bandwidth = outer.bandwidth;
  cluster.node.nic_latency = outer.latency / 2.0;
  cluster.node.host_launch = cluster.node.device_malloc = Seconds();
  cluster.node.source = cluster.source = chip.source;
  if (cluster.nodes > 1) set_fabric(cluster);
  return cluster;
}

}  // namespace tessera
