#include "sim/base/text.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

TEST(Text, NormaliseDropsCaseAndPunctuation) {
  EXPECT_EQ(normalise("H100-SXM 80GB"), "h100sxm80gb");
  EXPECT_EQ(normalise("--"), "");
}

TEST(Text, NearestName) {
  const std::vector<std::string> names{"bandwidth", "latency", "H100-SXM-80GB", "H100-NVL", "tp"};
  EXPECT_EQ(nearest_name("bandwith", names), "bandwidth");
  EXPECT_EQ(nearest_name("H100", names), "H100-NVL");  // the shorter of two that contain it
  EXPECT_EQ(nearest_name("h100 sxm 80gb", names), "H100-SXM-80GB");
  EXPECT_EQ(nearest_name("pp", names), "tp");
  EXPECT_EQ(nearest_name("laetcny", names), "latency");  // two swaps
  const std::vector<std::string> gpus{"MI100", "H100-SXM-80GB", "GH200", "H200-SXM"};
  EXPECT_EQ(nearest_name("H100", gpus), "H100-SXM-80GB");  // begins with it; MI100 is nearer by letters
  EXPECT_EQ(nearest_name("H200", gpus), "H200-SXM");       // GH200 contains it, too
  EXPECT_EQ(nearest_name("100-sxm", gpus), "H100-SXM-80GB");
  EXPECT_EQ(nearest_name("colour", names), std::nullopt);
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(did_you_mean("latencey", names), "; did you mean 'latency'?");
  EXPECT_EQ(did_you_mean("colour", names), "");
  const std::vector<std::string> boards{"A100-PCIE", "H100-NVL", "H100-PCIE", "H100-SXM", "MI100"};
  EXPECT_EQ(did_you_mean("H100", boards), "; did you mean 'H100-NVL', 'H100-PCIE' or 'H100-SXM'?");
  EXPECT_EQ(did_you_mean("H100-P", boards), "; did you mean 'H100-PCIE'?");
}

TEST(Text, SplitAndTrim) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Format, ThreeSignificantDigitsInAFittingUnit) {
  EXPECT_EQ(format(Seconds(1.2345e-3)), "1.23 ms");
  EXPECT_EQ(format(Seconds(999.6e-6)), "1.00 ms");  // not 1000 us
  EXPECT_EQ(format(Seconds(0.5e-9)), "0.50 ns");
  EXPECT_EQ(format(Seconds(7200)), "2.00 h");
  EXPECT_EQ(format(Seconds(86400 * 30)), "30.0 d");
  EXPECT_EQ(format(Seconds(-2e-6)), "-2.00 us");
  EXPECT_EQ(format(Seconds(0)), "0 s");
  EXPECT_EQ(format(Bytes(24.5 * 0x1p30)), "24.5 GiB");
  EXPECT_EQ(format(Bytes(1000 * 0x1p20)), "1000 MiB");
  EXPECT_EQ(format(BytesPerSec(3.35e12)), "3.35 TB/s");
  EXPECT_EQ(format(FlopsPerSec(989e12)), "989 TFLOP/s");
  EXPECT_EQ(format(Flops(2e9)), "2.00 GFLOP");
  EXPECT_EQ(format(Joules(5100)), "5.10 kJ");
  EXPECT_EQ(format(Watts(700)), "700 W");
}

TEST(Format, EstimateInOneUnit) {
  EXPECT_EQ(format(Estimate<Seconds>{Seconds(0.9e-3), Seconds(1.23e-3), Seconds(1.4e-3)}), "1.23 ms (0.90-1.40)");
}

TEST(Estimates, ScaleAndNames) {
  Estimate<Seconds> estimate{Seconds(1), Seconds(2), Seconds(3)};
  estimate *= 2;
  EXPECT_EQ(estimate.p10, Seconds(2));
  EXPECT_EQ(estimate.p90, Seconds(6));
  EXPECT_EQ(Estimate<Bytes>::exact(Bytes(5)).p90, Bytes(5));
  constexpr std::array kAll{Provenance::measured, Provenance::fitted, Provenance::closed_form,
                            Provenance::extrapolated};
  constexpr std::array<std::string_view, 4> kNames{"measured", "fitted", "closed form", "extrapolated"};
  for (std::size_t i = 0; i < kAll.size(); ++i) EXPECT_EQ(to_string(kAll[i]), kNames[i]);
}

}  // namespace
}  // namespace tessera
