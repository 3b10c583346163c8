#include "sim/cluster/gpu.hpp"

#include "sim/cluster/catalogue.hpp"
#include "sim/cluster/checks.hpp"

namespace tessera {

namespace {

/// The map `peak`: one optional key per dtype.
struct Peaks {
  std::array<FlopsPerSec, kDtypeCount>& of;
};

void describe(Reader& r, Peaks& peaks) {
  for (const Dtype dtype : kDtypes) {
    FlopsPerSec& peak = peaks.of[static_cast<std::size_t>(dtype)];
    if (dtype == Dtype::fp32) {
      required_within(r, to_string(dtype), peak, kPeak,
                      "dense, multiply-add as 2; matrix unit where it takes fp32 (AMD)");
    } else {
      optional_within(r, to_string(dtype), peak, kPeak, "dense, fp32 accumulation; absent: not supported");
    }
  }
}

void describe_compute(Reader& r, GpuSpec& gpu) {
  r.required("vendor", gpu.vendor, "NVIDIA, AMD, ...");
  r.required("architecture", gpu.architecture, "family and die");
  required_within(r, "process_nm", gpu.process_nm, kProcess, "nominal node of the compute die in nm");
  required_within(r, "sms", gpu.sms, kUnits, "streaming multiprocessors (AMD: compute units) that are enabled");
  required_within(r, "fp32_lanes_per_sm", gpu.fp32_lanes_per_sm, kUnits, "fp32 multiply-adds per clock and SM");
  optional_within(r, "base_clock", gpu.base_clock, kClock, "leave out where it is not published");
  required_within(r, "boost_clock", gpu.boost_clock, kClock, "highest sustained clock of the data sheet");
  r.required("matrix_unit", gpu.matrix_unit, "how matrix units are fed");
  Peaks peaks{gpu.peak};
  r.required("peak", peaks, "dense peak per dtype");
  gpu.fp32_vector_peak = gpu.peak_of(Dtype::fp32);
  optional_within(r, "fp32_vector_peak", gpu.fp32_vector_peak, kPeak, "without matrix units; default: peak.fp32");
}

void describe_memory(Reader& r, GpuSpec& gpu) {
  required_within(r, "memory", gpu.memory, kMemory, "usable capacity");
  r.required("memory_type", gpu.memory_type, "HBM3, GDDR6, ...");
  required_within(r, "memory_bandwidth", gpu.memory_bandwidth, kBandwidth, "of the data sheet");
  required_within(r, "l2", gpu.l2, kOnChip, "all slices together");
  required_within(r, "shared_memory_per_sm", gpu.shared_memory_per_sm, kOnChip, "largest configuration (AMD: LDS)");
  required_within(r, "registers_per_sm", gpu.registers_per_sm, kOnChip, "vector registers");
  required_within(r, "threads_per_sm", gpu.threads_per_sm, kUnits, "resident at once");
  required_within(r, "blocks_per_sm", gpu.blocks_per_sm, kUnits, "resident at once");
  optional_within(r, "warp_size", gpu.warp_size, kUnits, "threads in lockstep");
}

void describe_board(Reader& r, GpuSpec& gpu) {
  optional_within(r, "nvlink_bandwidth", gpu.nvlink_bandwidth, kBandwidth,
                  "all links together, one direction (AMD: Infinity Fabric); leave out where there is none");
  required_within(r, "pcie_bandwidth", gpu.pcie_bandwidth, kBandwidth, "to the host, one direction, nominal");
  required_within(r, "power_cap", gpu.power_cap, kPower, "default limit of the board");
  r.required("source", gpu.source, "where the figures are from");
}

}  // namespace

std::string_view to_string(MatrixUnit unit) {
  return enum_names(unit)[static_cast<std::size_t>(unit)];
}

void describe(Reader& r, GpuSpec& gpu) {
  describe_compute(r, gpu);
  describe_memory(r, gpu);
  describe_board(r, gpu);
  if (r.ok() && gpu.base_clock > gpu.boost_clock) r.error("base_clock", "must not exceed boost_clock");
  if (r.ok() && gpu.threads_per_sm % gpu.warp_size != 0) {
    r.error("threads_per_sm", "must be a multiple of warp_size");
  }
}

GpuSpec read_gpu(const std::filesystem::path& path) {
  GpuSpec gpu = read<GpuSpec>(parse_document(path));
  gpu.name = path.stem().string();
  return gpu;
}

GpuSpec find_gpu(std::string_view gpu) {
  return read_gpu(find_description(gpu, {"gpus"}, "GPU"));
}

std::vector<std::string> known_gpus() {
  return catalogue("gpus");
}

}  // namespace tessera
