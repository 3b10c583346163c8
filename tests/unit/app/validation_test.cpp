#include "sim/app/validation/validation.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/validation/render.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// 1 ms for everything but fp16, which it cannot do; band +- 20 %.
class Fixed final : public LatencyModel {
 public:
  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                const PredictContext&) const override {
    std::vector<KernelCost> costs;
    for (const Kernel& kernel : kernels) {
      if (kernel.dtype == Dtype::fp16) throw RunError("no fp16 on " + gpu.name);
      KernelCost cost;
      cost.time = {Seconds(0.8e-3), Seconds(1e-3), Seconds(1.2e-3)};
      costs.push_back(cost);
    }
    return costs;
  }
};

class Validation : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    write_file(path, text);
    return path.string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "tessera-validation" /
                                  testing::UnitTest::GetInstance()->current_test_info()->name();
};

const char* const kKernels =
    "gpu,dtype,op,rows,h,note,latency_ms\n"
    "T4,fp32,add,24,8,a,1.0\n"
    "T4,fp32,mul,24,8,b,2.0\n"
    "P4,fp16,add,24,8,c,1.0\n"
    "P4,fp32,add,24,8,d,0.5\n"
    "P4,fp32,add,24,8,e,\n";

TEST_F(Validation, GroupsByGpuOperatorAndDtype) {
  const ValidationReport report = validate({.files = {file("k.csv", kKernels)}}, Fixed());
  ASSERT_EQ(report.groups.size(), 3u);
  EXPECT_THAT(report.groups[0].by, ElementsAre(Pair("gpu", "P4"), Pair("op", "add"), Pair("dtype", "fp32")));
  EXPECT_NEAR(report.groups[0].metrics.mape, 100.0, 1e-9);  // 1 ms against 0.5 ms
  EXPECT_EQ(report.overall.n, 3u);
  EXPECT_NEAR(report.overall.mape, (0.0 + 50.0 + 100.0) / 3, 1e-9);
  EXPECT_NEAR(report.overall.coverage, 100.0 / 3, 1e-9);
}

TEST_F(Validation, NothingIsDroppedSilently) {
  const ValidationReport report = validate({.files = {file("k.csv", kKernels)}}, Fixed());
  ASSERT_EQ(report.unsupported.size(), 2u);
  EXPECT_EQ(report.unsupported[0].reason, "no fp16 on P4");
  EXPECT_EQ(report.unsupported[1].reason, "no measured value");
  EXPECT_EQ(report.unsupported[0].rows + report.unsupported[1].rows + report.overall.n, 5u);
}

TEST_F(Validation, AnyColumnGroupsAndNoneDoesNot) {
  const std::string path = file("k.csv", kKernels);
  EXPECT_EQ(validate({.files = {path}, .where = {}, .measure = {}, .by = {"note"}}, Fixed()).groups.size(), 3u);
  EXPECT_TRUE(validate({.files = {path}, .where = {}, .measure = {}, .by = {"none"}}, Fixed()).groups.empty());
  try {
    validate({.files = {path}, .where = {}, .measure = {}, .by = {"notes"}}, Fixed());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no file has a column 'notes'; did you mean 'note'?"));
  }
}

TEST_F(Validation, CollectsTheMistakesOfAllFiles) {
  const std::string one = file("one.csv", "gpu,dtype,op,rows,h,latency_ms\nT4,fp32,ad,24,8,1\nT4,fp32,add,0,8,1\n");
  const std::string two = file("two.csv", "gpu,dtype,op,rows,h,latency_ms\nT4,fp32,add,24,8,-1\nT4,fp32,add,24,8,x\n");
  try {
    validate({.files = {one, two}}, Fixed());
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 4u);
    EXPECT_THAT(to_string(error.diagnostics()[0]), HasSubstr("one.csv:2: error: op: unknown operator 'ad'"));
    EXPECT_THAT(to_string(error.diagnostics()[1]), HasSubstr("one.csv:3: error: op: "));
    EXPECT_THAT(to_string(error.diagnostics()[2]), HasSubstr("two.csv:2: error: latency_ms: expected a time"));
    EXPECT_THAT(to_string(error.diagnostics()[3]), HasSubstr("two.csv:3: error: latency_ms"));
  }
}

TEST_F(Validation, ATimeIsPositiveAndPlausible) {
  for (const char* time : {"0", "-1", "1e-300", "1e+300"}) {
    const std::string path =
        file("k.csv", std::string("gpu,dtype,op,rows,h,latency_ms\nT4,fp32,add,24,8,") + time + "\n");
    try {
      validate({.files = {path}}, Fixed());
      FAIL() << time;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("k.csv:2: error: latency_ms: expected a time of 1e-12 s to 1000000000"));
      EXPECT_THAT(error.what(), HasSubstr(time));
    }
  }
}

TEST_F(Validation, AFileWithoutRowsIsRefused) {
  try {
    validate({.files = {file("k.csv", "gpu,dtype,op,rows,h,latency_ms\n")}}, Fixed());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("k.csv: error: no rows"));
  }
}

TEST_F(Validation, ModelsThatDoNotFitAreListed) {
  const std::string path = file("m.csv",
                                "gpu,model,mode,batch,seq,dtype,latency_ms\n"
                                "T4,gpt3_6.7b,inf,1,128,fp32,9\n"
                                "H100-SXM-80GB,gpt2,train,1,128,fp8,9\n");
  const ValidationReport report = validate({.files = {path}}, Fixed());
  ASSERT_EQ(report.unsupported.size(), 2u);
  EXPECT_EQ(report.unsupported[0].reason, "does not fit on T4");
  EXPECT_EQ(report.unsupported[1].reason, "training in fp8 is not supported");
}

TEST_F(Validation, ABadDataSheetShowsAllItsMistakes) {
  const std::string sheet = file("mine.yaml", "vendor: nvidia\nsms: -1\nmemory: 3 ms\n");
  const std::string path = file("k.csv", "gpu,dtype,op,rows,h,latency_ms\n" + sheet + ",fp32,add,24,8,1\n");
  try {
    validate({.files = {path}}, Fixed());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mine.yaml:2:"));
    EXPECT_THAT(error.what(), HasSubstr("mine.yaml:3:"));
  }
}

TEST_F(Validation, JsonHasTheContractsFields) {
  const Json json = to_json(validate({.files = {file("k.csv", kKernels)}}, Fixed()));
  const Json read = parse_json(json.dump(), "out");
  EXPECT_EQ(read.at("files").items().size(), 1u);
  for (const char* field : {"n", "mape", "median_ape", "p90_ape", "bias", "coverage", "band_width", "pinball"}) {
    EXPECT_NE(read.at("overall").find(field), nullptr) << field;
    EXPECT_NE(read.at("groups").items()[0].find(field), nullptr) << field;
  }
  EXPECT_EQ(read.at("groups").items()[0].at("by").at("gpu").text(), "P4");
  EXPECT_NEAR(read.at("overall").at("band_width").number(), 1.2 / 0.8, 1e-9);
  EXPECT_EQ(read.at("unsupported").items()[0].at("reason").text(), "no fp16 on P4");
  EXPECT_EQ(read.at("unsupported").items()[0].at("n").integer(), 1);
}

TEST_F(Validation, AnUnboundedBandIsNullInJson) {
  ValidationReport report;
  report.overall = {.n = 1, .mape = 5.0, .band_width = INFINITY, .pinball = INFINITY};
  const Json read = parse_json(to_json(report).dump(), "out");
  EXPECT_TRUE(read.at("overall").at("band_width").is_null());
  EXPECT_TRUE(read.at("overall").at("pinball").is_null());
  EXPECT_EQ(read.at("overall").at("mape").number(), 5.0);
}

TEST_F(Validation, RowsCarryTheirOwnColumnsThrough) {
  const ValidationReport report = validate({.files = {file("k.csv", kKernels)}}, Fixed());
  const CsvTable rows = CsvTable::parse(rows_csv(report), "rows.csv");
  ASSERT_EQ(rows.rows(), 5u);
  EXPECT_EQ(rows.cell(1, rows.need("note")), "b");
  EXPECT_EQ(rows.number(1, rows.need("measured_ms")), 2.0);
  EXPECT_EQ(rows.number(1, rows.need("p50_ms")), 1.0);
  EXPECT_EQ(rows.number(1, rows.need("error_percent")), -50.0);
  EXPECT_EQ(rows.cell(2, rows.need("unsupported")), "no fp16 on P4");
  EXPECT_EQ(rows.cell(2, rows.need("p50_ms")), "");
}

TEST_F(Validation, TableEndsWithOverallAndReasons) {
  const std::string text = text_table(validate({.files = {file("k.csv", kKernels)}}, Fixed()));
  EXPECT_THAT(text, HasSubstr("overall"));
  EXPECT_THAT(text, HasSubstr("not predicted, 1 rows: no fp16 on P4"));
}

}  // namespace
}  // namespace tessera
