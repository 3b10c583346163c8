// Phaze's compatible mode against what the original computed: TESSERA_DATA names the folder of measurements.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/config/csv.hpp"
#include "sim/config/json.hpp"
#include "sim/place/chip/space.hpp"
#include "sim/place/chip/systolic.hpp"

namespace tessera {
namespace {

class Phaze : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TESSERA_DATA");
    if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
    folder_ = std::filesystem::path(data) / "phaze";
  }
  std::filesystem::path folder_;
};

TEST_F(Phaze, AreasAreThePublishedOnes) {
  const CsvTable table = CsvTable::read(folder_ / "outer_llama2.csv");
  const auto at = [&](std::size_t row, const char* name) { return table.number(row, table.need(name)).value(); };
  const std::vector<SystolicChip> chips = enumerate(phaze_space());
  auto chip = chips.begin();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (at(row, "mbs") != 1) continue;
    const SystolicChip wanted{.tensor_cores = static_cast<int>(at(row, "num_tc")),
                              .vector_cores = static_cast<int>(at(row, "num_vc")),
                              .width = static_cast<int>(at(row, "width")),
                              .depth = static_cast<int>(at(row, "depth")),
                              .lanes = static_cast<int>(at(row, "width")),
                              .buffer = Bytes(at(row, "glb_MiB") * 1048576)};
    chip = std::find(chip, chips.end(), wanted);  // in the same order
    ASSERT_NE(chip, chips.end()) << describe(wanted);
    EXPECT_NEAR(area(*chip).value() * 1e6 / at(row, "area_um2"), 1, 1e-11);  // the file has three decimals
  }
}

TEST_F(Phaze, AreaTableIsTheModels) {
  const Json model = read_json(folder_ / "area_model.json");
  EXPECT_NEAR(phaze_space().area_limit.value() * 1e6 / model.at("limit").number(), 1, 1e-15);
  const double mac = model.at("mac_plus_L1_tensor").number(), lane = model.at("mac_plus_L1_vector").number();
  const auto sram = [&](int bytes) { return model.at("L2_sram_bytes_to_area").at(std::to_string(bytes)).number(); };
  for (const auto& [MiB, buffer] : model.at("global_buffer_MiB_to_area").fields())
    for (int side = 2; side <= 256; side *= 2) {
      const SystolicChip chip{.tensor_cores = 3,
                              .vector_cores = 5,
                              .width = side,
                              .depth = side,
                              .lanes = side,
                              .buffer = Bytes(std::stod(MiB) * 1048576)};
      const double expected = 3 * (mac * side * side + sram(std::max(1024, 16 * side * side))) +
                              5 * (lane * side + sram(std::max(1024, 16 * side))) + buffer.number();
      EXPECT_NEAR(area(chip).value() * 1e6 / expected, 1, 1e-15);
    }
}

}  // namespace
}  // namespace tessera
