// A GPU as its data sheet describes it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"

namespace tessera {

class Reader;

/// How the matrix units are fed; decides the share of peak that GEMMs reach per watt.
enum class MatrixUnit : std::uint8_t { none, mma_sync, wgmma, tcgen05, mfma };
constexpr std::array<std::string_view, 5> enum_names(MatrixUnit) {
  return {"none", "mma_sync", "wgmma", "tcgen05", "mfma"};
}
std::string_view to_string(MatrixUnit unit);

struct GpuSpec {
  std::string name;  // of the file
  std::string vendor, architecture;
  double process_nm = 0;  // nominal node of the compute die, nm
  int sms = 0;            // AMD: compute units
  int fp32_lanes_per_sm = 0;
  Hertz base_clock, boost_clock;  // base 0: not published
  MatrixUnit matrix_unit = MatrixUnit::none;
  FlopsPerSec fp32_vector_peak;  // without matrix units
  /// Dense peak per dtype through the fastest unit that takes it; 0: not supported. fp32 on NVIDIA is the vector peak.
  std::array<FlopsPerSec, kDtypeCount> peak{};
  Bytes memory;
  std::string memory_type;
  BytesPerSec memory_bandwidth;
  Bytes l2;
  Bytes shared_memory_per_sm, registers_per_sm;
  int threads_per_sm = 0, blocks_per_sm = 0, warp_size = 32;
  BytesPerSec nvlink_bandwidth;  // all links of the GPU together, one direction; AMD: Infinity Fabric; 0: none
  BytesPerSec pcie_bandwidth;    // to the host, one direction: PCIe, or NVLink-C2C where the CPU hangs on it
  Watts power_cap;
  std::string source;

  [[nodiscard]] FlopsPerSec peak_of(Dtype dtype) const { return peak[static_cast<std::size_t>(dtype)]; }
};

void describe(Reader& r, GpuSpec& gpu);

/// Reads a data sheet; InputError with all mistakes.
GpuSpec read_gpu(const std::filesystem::path& path);
/// `gpu` is a name in platforms/gpus (case and punctuation ignored) or a path ending in .yaml.
GpuSpec find_gpu(std::string_view gpu);
std::vector<std::string> known_gpus();  // sorted

}  // namespace tessera
