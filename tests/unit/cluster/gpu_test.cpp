// Reading one data sheet: names, defaults, and every mistake that a user can make in it.
#include "sim/cluster/gpu.hpp"

#include <array>

#include "sim/config/reader.hpp"
#include "tests/unit/cluster/support.hpp"

namespace tessera {
namespace {

using test::mistake;
using test::with_line;

const std::string kSheet = R"(# A part nobody sells
vendor: NVIDIA
architecture: Example
process_nm: 4
sms: 100
fp32_lanes_per_sm: 128
boost_clock: 2 GHz
matrix_unit: wgmma
peak:
  fp32: 51.2 TFLOP/s
  bf16: 800 TFLOP/s
memory: 80 GiB
memory_type: HBM3
memory_bandwidth: 3 TB/s
l2: 50 MiB
shared_memory_per_sm: 228 KiB
registers_per_sm: 256 KiB
threads_per_sm: 2048
blocks_per_sm: 32
pcie_bandwidth: 64 GB/s
power_cap: 700 W
source: invented
)";

struct GpuReading : testing::Test {
  test::Folder folder;
  std::string wrong(const std::string& key, const std::string& line) {
    return mistake([&] { read_gpu(folder.write("Mine.yaml", with_line(kSheet, key, line))); });
  }
};

TEST_F(GpuReading, TakesNameFromFileAndFillsDefaults) {
  const GpuSpec gpu = read_gpu(folder.write("Mine.yaml", kSheet));
  EXPECT_EQ(gpu.name, "Mine");
  EXPECT_EQ(gpu.peak_of(Dtype::bf16), 800.0_TFLOPs);
  EXPECT_EQ(gpu.peak_of(Dtype::fp8), FlopsPerSec());
  EXPECT_EQ(gpu.fp32_vector_peak, 51.2_TFLOPs);
  EXPECT_EQ(gpu.base_clock, Hertz());
  EXPECT_EQ(gpu.nvlink_bandwidth, BytesPerSec());
  EXPECT_EQ(gpu.warp_size, 32);
}

TEST_F(GpuReading, FindsByPath) {
  EXPECT_EQ(find_gpu(folder.write("Mine.yaml", kSheet)).sms, 100);
}

TEST(GpuNames, IgnoreCaseAndPunctuation) {
  EXPECT_EQ(find_gpu("h100_sxm 80gb").name, "H100-SXM-80GB");
}

TEST(GpuNames, UnknownOnesSuggestTheNearest) {
  EXPECT_EQ(mistake([] { find_gpu("H100-SMX-80GB"); }),
            "error: no GPU named 'H100-SMX-80GB'; did you mean 'H100-SXM-80GB'?");
  EXPECT_EQ(mistake([] { find_gpu("abacus"); }).find("error: no GPU named 'abacus'; known are A10, A100-PCIE-40GB,"),
            0U);
}

TEST_F(GpuReading, RejectsMissingKey) {
  EXPECT_EQ(wrong("sms", ""), "Mine.yaml:2:1: error: missing key 'sms'");
  EXPECT_EQ(wrong("  fp32", ""), "Mine.yaml:10:3: error: peak: missing key 'fp32'");
}

TEST_F(GpuReading, RejectsUnknownKey) {
  EXPECT_EQ(wrong("source", "source: x\ntdp: 3 W"),
            "Mine.yaml:23:1: error: unknown key 'tdp'; expected one of vendor, architecture, process_nm, sms, "
            "fp32_lanes_per_sm, base_clock, boost_clock, matrix_unit, peak, fp32_vector_peak, memory, memory_type, "
            "memory_bandwidth, l2, shared_memory_per_sm, registers_per_sm, threads_per_sm, blocks_per_sm, warp_size, "
            "nvlink_bandwidth, pcie_bandwidth, power_cap, source");
  EXPECT_EQ(wrong("  bf16", "  bf61: 8 TFLOP/s"),
            "Mine.yaml:11:3: error: peak: unknown key 'bf61'; did you mean 'bf16'?");
}

TEST_F(GpuReading, RejectsWrongUnit) {
  EXPECT_EQ(wrong("memory_bandwidth", "memory_bandwidth: 3 GB"),
            "Mine.yaml:14:19: error: memory_bandwidth: unit 'GB' not known here; use one of Mbit/s, MB/s, Gbit/s, "
            "GB/s, GiB/s, Tbit/s, TB/s, B/s");
}

TEST_F(GpuReading, RejectsWhatCannotBe) {
  EXPECT_EQ(wrong("memory_bandwidth", "memory_bandwidth: -3 TB/s")
                .find("Mine.yaml:14:19: error: memory_bandwidth: expected a positive bandwidth, found '-3 TB/s'"),
            0U);
  EXPECT_EQ(wrong("memory_bandwidth", "memory_bandwidth: 0 TB/s"),
            "Mine.yaml:14:19: error: memory_bandwidth: must be 1 MB/s to 1 PB/s");
  EXPECT_EQ(wrong("sms", "sms: -4"), "Mine.yaml:5:6: error: sms: must be 1 to 65536");
  EXPECT_EQ(wrong("boost_clock", "base_clock: 3 GHz\nboost_clock: 2 GHz"),
            "Mine.yaml:7:13: error: base_clock: must not exceed boost_clock");
  EXPECT_EQ(wrong("threads_per_sm", "threads_per_sm: 2000"),
            "Mine.yaml:18:17: error: threads_per_sm: must be a multiple of warp_size");
  EXPECT_EQ(wrong("matrix_unit", "matrix_unit: wmma"),
            "Mine.yaml:8:14: error: matrix_unit: expected one of none, mma_sync, wgmma, tcgen05, mfma, found 'wmma'; "
            "did you mean 'wgmma'?");
}

// A slip of the unit or of a digit would otherwise come back as inf or nan, far from its cause.
TEST_F(GpuReading, RejectsWhatIsOutOfAnyRange) {
  for (const auto& [key, value, expected] : {std::array{"boost_clock", "1e300 GHz", "1 MHz to 100 GHz"},
                                             {"boost_clock", "1 Hz", "1 MHz to 100 GHz"},
                                             {"memory_bandwidth", "1e-300 B/s", "1 MB/s to 1 PB/s"},
                                             {"pcie_bandwidth", "1e300 GB/s", "1 MB/s to 1 PB/s"},
                                             {"memory", "1 B", "1 MiB to 1 PiB"},
                                             {"l2", "1e300 MiB", "1 KiB to 1 TiB"},
                                             {"power_cap", "1e300 MW", "0.1 W to 1 MW"},
                                             {"process_nm", "1e300", "0.1 to 100000"},
                                             {"sms", "2147483647", "1 to 65536"}}) {
    const std::string message = wrong(key, std::string(key) + ": " + value);
    EXPECT_EQ(message.substr(message.find(" error: ")), std::string(" error: ") + key + ": must be " + expected);
    EXPECT_EQ(message.find("Mine.yaml:"), 0U) << message;
  }
  EXPECT_EQ(wrong("  bf16", "  bf16: 1e300 TFLOP/s"),
            "Mine.yaml:11:9: error: peak.bf16: must be 1 MFLOP/s to 1 ZFLOP/s");
}

TEST_F(GpuReading, ReportsAllMistakesAtOnce) {
  EXPECT_EQ(wrong("sms", "sms: 0\nl3: 1 MiB"),
            "Mine.yaml:5:6: error: sms: must be 1 to 65536\n"
            "Mine.yaml:6:1: error: unknown key 'l3'; did you mean 'l2'?");
}

TEST(GpuReference, ListsEveryKeyWithItsMeaning) {
  const std::vector<ReferenceRow> rows = reference<GpuSpec>();
  const auto row = std::find_if(rows.begin(), rows.end(), [](const ReferenceRow& r) { return r.path == "peak.nvfp4"; });
  ASSERT_NE(row, rows.end());
  EXPECT_FALSE(row->required);
  for (const ReferenceRow& r : rows) EXPECT_FALSE(r.meaning.empty()) << r.path;
}

}  // namespace
}  // namespace tessera
