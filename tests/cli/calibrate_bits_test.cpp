// `tessera calibrate` from the command line: the same measurements give the same bytes, in either layout of NeuSight's.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "sim/base/file.hpp"
#include "tests/cli/program.hpp"

namespace tessera::testing {
namespace {

struct Gpu {
  const char *ours, *theirs;
  double gbs;  // what its copies reach
};
constexpr Gpu kGpus[] = {
    {"P4", "Tesla P4", 150}, {"T4", "Tesla T4", 240}, {"V100-PCIE-32GB", "Tesla V100-PCIE-32GB", 800}};

/// Additions of two tensors of 512 to 4,096 columns, at a bandwidth.
std::string milliseconds(const Gpu& gpu, int rows, int h) {
  return fmt::format("{:.6g}", 0.01 + 12.0 * rows * h / (gpu.gbs * 1e6));
}

void write_repackaged(const std::filesystem::path& root) {
  std::string text = "gpu,dtype,op,rows,h,latency_ms,split\n";
  for (const Gpu& gpu : kGpus) {
    for (int i = 0; i < 40; ++i) {
      const int rows = 8192 + 512 * i, h = 512 << (i % 4);
      text += fmt::format("{},fp32,add,{},{},{},train\n", gpu.ours, rows, h, milliseconds(gpu, rows, h));
    }
  }
  write_file(root / "neusight" / "elementwise.csv.gz", text);
}

void write_checkout(const std::filesystem::path& root) {
  for (const Gpu& gpu : kGpus) {
    std::string text = "OPName,Latency,Device,Kernel Name,Grid x,Grid y,Grid z,B,H\n";
    for (int i = 0; i < 40; ++i) {
      const int rows = 8192 + 512 * i, h = 512 << (i % 4);
      text += fmt::format("add,{},{},k,1,1,1,{},{}\n", milliseconds(gpu, rows, h), gpu.theirs, rows, h);
    }
    write_file(root / "scripts/asplos/data/dataset/train/collect/add/p2.1.0" / (std::string(gpu.theirs) + ".csv"),
               text);
  }
}

std::string weights_from(const std::filesystem::path& data, const std::filesystem::path& out) {
  const Outcome outcome = run_program("calibrate --family memory --data " + data.string() + " --out " + out.string());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? read_file(out / "memory.json") : outcome.err;
}

TEST(CalibrateBits, TheSameMeasurementsGiveTheSameBytes) {
  const Scratch data, checkout, first, second, third;
  write_repackaged(data.path());
  write_checkout(checkout.path());
  const std::string weights = weights_from(data.path(), first.path());
  EXPECT_NE(weights.find("\"left_out\""), std::string::npos);
  EXPECT_EQ(weights_from(data.path(), second.path()), weights);
  EXPECT_EQ(weights_from(checkout.path(), third.path()), weights);
}

}  // namespace
}  // namespace tessera::testing
