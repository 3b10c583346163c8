// A session on a fake device: what is verified, timed, written, resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <map>

#include "calibration/microbench/sensor_watch.hpp"
#include "calibration/microbench/session.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/config/csv.hpp"

namespace tessera::microbench {
namespace {

using ::testing::HasSubstr;

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("microbench-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const Machine kMachine{.device = "NVIDIA Fake",
                       .compute_capability = "9.0",
                       .sms = 132,
                       .devices = 1,
                       .memory = Bytes(80e9),
                       .l2 = Bytes(50e6),
                       .driver = "580.1",
                       .libraries = {{"cublaslt", "13.0"}},
                       .max_sm_clock = Hertz(1.98e9),
                       .max_memory_clock = Hertz(2.6e9),
                       .power_limit = Watts(700)};

/// Every call takes 2 ms; what goes wrong is set by case name.
class FakeDevice final : public Device {
 public:
  enum class Fault { none, unsupported, wrong, unwritten, lost };
  std::map<std::string, Fault> faults;
  int prepared = 0;

  [[nodiscard]] Machine machine() const override { return kMachine; }
  [[nodiscard]] Sensors sensors() const override { return {Hertz(1.5e9), Watts(650), 60}; }
  std::unique_ptr<Trial> prepare(const Case& c) override {
    ++prepared;
    const Fault fault = faults[case_id(c)];
    if (fault == Fault::unsupported) throw Unsupported("no such kernel, sorry");
    if (fault == Fault::lost) throw DeviceLost("an illegal memory access");
    return std::make_unique<FakeTrial>(fault);
  }

 private:
  class FakeTrial final : public Trial {
   public:
    explicit FakeTrial(Fault fault) : fault_(fault) {}
    double error() override {
      if (fault_ == Fault::unwritten) return std::numeric_limits<double>::quiet_NaN();
      return fault_ == Fault::wrong ? 0.5 : 1e-4;
    }
    [[nodiscard]] double tolerance() const override { return 1e-2; }
    Seconds time(int) override { return Seconds(2e-3); }
    std::vector<std::pair<std::string, double>> extras() override { return {{"host_us", 3.5}}; }

   private:
    Fault fault_;
  };
};

Plan small_plan() {
  Plan plan = make_plan(find_gpu("H100-SXM-80GB"),
                        {.only = {"gemm", "copy"}, .dtypes = {}, .budget = Seconds(540), .sampling = {}});
  std::vector<PlannedCase> some;
  for (const std::string name : {"copy", "gemm"}) {
    int taken = 0;
    for (const PlannedCase& c : plan.cases)
      if (c.what.benchmark == name && taken++ < 2) some.push_back(c);
  }
  plan.cases = some;
  return plan;
}

ResultFolder open(const Folder& folder, const Machine& machine = kMachine) {
  return {folder.path(), {.gpu = "H100-SXM-80GB", .platform = "", .date = "2026-05-31"}, machine};
}

TEST(MicrobenchSession, WritesTheValidateSchemaAndTheMachine) {
  const Folder folder;
  const Plan plan = small_plan();
  FakeDevice device;
  ResultFolder results = open(folder);
  EXPECT_EQ(run_session(device, plan, results, {}).measured, plan.cases.size());

  const CsvTable kernels = CsvTable::read(folder / "kernels.csv");
  ASSERT_EQ(kernels.rows(), 2U);
  EXPECT_EQ(kernels.cell(0, kernels.need("gpu")), "H100-SXM-80GB");
  EXPECT_EQ(kernels.cell(0, kernels.need("case")), plan.cases[2].id);
  EXPECT_EQ(kernels.cell(0, kernels.need("op")), plan.cases[2].what.op);
  EXPECT_EQ(kernels.integer(0, kernels.need("m")), plan.cases[2].what.dim("m"));
  EXPECT_EQ(kernels.cell(0, kernels.need("rows")), "");  // not a dimension of a gemm
  EXPECT_DOUBLE_EQ(*kernels.number(0, kernels.need("latency_ms")), 2.0);
  EXPECT_DOUBLE_EQ(*kernels.number(0, kernels.need("sm_clock_mhz")), 1500);
  EXPECT_DOUBLE_EQ(*kernels.number(0, kernels.need("power_w")), 650);
  EXPECT_DOUBLE_EQ(*kernels.number(0, kernels.need("error")), 1e-4);
  const CsvTable copies = CsvTable::read(folder / "device.csv");
  EXPECT_DOUBLE_EQ(*copies.number(0, copies.need("host_us")), 3.5);  // the trial's own
  EXPECT_NEAR(*copies.number(0, copies.need("gb_per_s")), plan.cases[0].what.moved.value() / 2e-3 * 1e-9, 1e-3);

  const Json record = read_json(folder / "machine.json");
  EXPECT_EQ(record.at("date").text(), "2026-05-31");
  EXPECT_EQ(machine_from_json(record.at("machine")), kMachine);
}

TEST(MicrobenchSession, GoesOnWhereItStopped) {
  const Folder folder;
  Plan plan = small_plan();
  FakeDevice device;
  {
    Plan first = plan;
    first.cases.resize(1);
    ResultFolder results = open(folder);
    run_session(device, first, results, {});
  }
  ResultFolder results = open(folder);
  const SessionReport report = run_session(device, plan, results, {});
  EXPECT_EQ(report.already_there, 1U);
  EXPECT_EQ(report.measured, 3U);
  EXPECT_EQ(device.prepared, 4);
  EXPECT_EQ(CsvTable::read(folder / "device.csv").rows(), 2U);
}

TEST(MicrobenchSession, ALineCutOffIsMeasuredAgain) {
  const Folder folder;
  const Plan plan = small_plan();
  FakeDevice device;
  {
    ResultFolder results = open(folder);
    run_session(device, plan, results, {});
  }
  const std::string whole = read_file(folder / "kernels.csv");
  const std::size_t header_end = whole.find('\n') + 1;
  for (const std::size_t size :
       {whole.size() - 1, whole.size() - 20, header_end + 3, header_end, header_end - 1, std::size_t{0}}) {
    write_file(folder / "kernels.csv", whole.substr(0, size));
    ResultFolder results = open(folder);
    run_session(device, plan, results, {});
    EXPECT_EQ(read_file(folder / "kernels.csv"), whole) << size;
  }
}

TEST(MicrobenchSession, WhatIsWrongOrImpossibleIsSaidAndNotTimed) {
  const Folder folder;
  const Plan plan = small_plan();
  FakeDevice device;
  device.faults[plan.cases[0].id] = FakeDevice::Fault::unsupported;
  device.faults[plan.cases[1].id] = FakeDevice::Fault::wrong;
  device.faults[plan.cases[2].id] = FakeDevice::Fault::unwritten;
  std::vector<std::string> lines;
  ResultFolder results = open(folder);
  const SessionReport report = run_session(
      device, plan, results, {.retry = false, .progress = [&](std::string_view line) { lines.emplace_back(line); }});
  EXPECT_EQ(report.unsupported, 1U);
  EXPECT_EQ(report.wrong, 2U);
  EXPECT_EQ(report.measured, 1U);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], HasSubstr("off its reference by 0.5, expected 0.01 at most"));
  const CsvTable failed = CsvTable::read(folder / "failed.csv");
  ASSERT_EQ(failed.rows(), 3U);
  EXPECT_EQ(failed.cell(0, 0), plan.cases[0].id);
  EXPECT_EQ(failed.cell(0, 1), "no such kernel, sorry");

  device.faults.clear();
  EXPECT_EQ(run_session(device, plan, results, {}).measured, 0U);
  EXPECT_EQ(run_session(device, plan, results, {.retry = true, .progress = {}}).measured, 3U);
}

TEST(MicrobenchSession, ALostDeviceEndsTheRunAndTheNextGoesOnBehindIt) {
  const Folder folder;
  const Plan plan = small_plan();
  FakeDevice device;
  device.faults[plan.cases[1].id] = FakeDevice::Fault::lost;
  {
    ResultFolder results = open(folder);
    try {
      run_session(device, plan, results, {});
      FAIL();
    } catch (const RunError& error) {
      EXPECT_THAT(error.what(), HasSubstr(plan.cases[1].id));
      EXPECT_THAT(error.what(), HasSubstr("an illegal memory access; run again"));
    }
  }
  ResultFolder results = open(folder);
  EXPECT_EQ(run_session(device, plan, results, {}).measured, 2U);
}

TEST(MicrobenchSession, AnotherMachinesFolderIsRefused) {
  const Folder folder;
  open(folder);
  Machine other = kMachine;
  other.power_limit = Watts(350);
  try {
    open(folder, other);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another machine"));
    EXPECT_THAT(error.what(), HasSubstr("power_limit_w: 700 and 350"));
  }
}

TEST(MicrobenchSession, AForeignFileIsRefused) {
  const Folder folder;
  write_file(folder / "kernels.csv", "gpu,latency_ms\nT4,1\n");
  try {
    open(folder);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.diagnostics()[0].message, HasSubstr("other columns"));
  }
}

TEST(MicrobenchSession, SensorsAreMedians) {
  EXPECT_EQ(median({}).power, Watts(0));
  const Sensors m = median({{Hertz(1), Watts(30), 50}, {Hertz(3), Watts(10), 70}, {Hertz(2), Watts(20), 60}});
  EXPECT_EQ(m.sm_clock, Hertz(2));
  EXPECT_EQ(m.power, Watts(20));
  EXPECT_EQ(m.temperature_c, 60);
}

TEST(MicrobenchSession, WithoutTheLibraryItSaysWhatIsMissing) {
  const Folder folder;
  try {
    open_device(folder / "libtessera_cuda.so", 0);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUDA Toolkit"));
    EXPECT_THAT(error.what(), HasSubstr("-DTESSERA_CUDA=ON"));
  }
  write_file(folder / "libtessera_cuda.so", "no library");
  EXPECT_THROW(open_device(folder / "libtessera_cuda.so", 0), RunError);
}

}  // namespace
}  // namespace tessera::microbench
