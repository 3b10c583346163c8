// Built-in networks against timm's published throughputs (TESSERA_DATA/models): a sanity figure, nothing is fitted on
// it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "sim/app/tenants/workload.hpp"
#include "sim/config/csv.hpp"

namespace tessera {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kNames{
    {{"resnet18", "resnet18"},
     {"resnet34", "resnet34"},
     {"resnet50", "resnet50"},
     {"resnet101", "resnet101"},
     {"resnet152", "resnet152"},
     {"vgg16", "vgg16"},
     {"vgg19", "vgg19"},
     {"mobilenetv2_100", "mobilenet-v2"},
     {"mobilenetv3_large_100", "mobilenet-v3"},
     {"densenet121", "densenet121"},
     {"densenet161", "densenet161"},
     {"inception_v3", "inception-v3"},
     {"efficientnet_b0", "efficientnet-b0"},
     {"vit_base_patch16_224", "vit-b-16"}}};

std::string_view model_of(std::string_view timm) {
  for (const auto& [theirs, ours] : kNames)
    if (theirs == timm) return ours;
  return {};
}

/// Mean |GPU time / step - 1| of half-precision rows in the layout of eager PyTorch, at the published image size.
double mean_error(const std::filesystem::path& path, std::string_view mode, int& rows) {
  const CsvTable table = CsvTable::read(path);
  const auto text = [&](std::size_t row, std::string_view column) { return table.cell(row, table.need(column)); };
  const auto latency = make_latency_model();
  double sum = 0;
  rows = 0;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string_view name = model_of(text(r, "model"));
    if (name.empty() || text(r, "precision") != "amp" || text(r, "mode") != mode || text(r, "layout") != "nchw" ||
        text(r, "torch_compile") != "0")
      continue;
    const ModelConfig model = find_model(name);
    if (table.number(r, table.need("img_size")) != static_cast<double>(model.image)) continue;
    const TenantWorkload workload =
        tenant_workload(model,
                        {.mode = mode == "infer" ? Mode::inference : Mode::training,
                         .batch = static_cast<std::int64_t>(table.number(r, table.need("batch_size")).value()),
                         .sequence = 1,
                         .dtype = Dtype::fp16,
                         .attention = AttentionKind::flash,
                         .accumulate = false},
                        find_gpu(text(r, "gpu")), *latency);
    sum += std::abs(device_time(workload).value() * 1e3 / table.number(r, table.need("step_time_ms")).value() - 1);
    ++rows;
  }
  return sum / rows;
}

TEST(Timm, NetworksOnRtx3090And4090) {
  const char* folder = std::getenv("TESSERA_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
  const auto path = std::filesystem::path(folder) / "models" / "singlegpu_timm_rtx3090_4090.csv.gz";
  int rows = 0;
  EXPECT_LT(mean_error(path, "infer", rows), 0.15);
  EXPECT_EQ(rows, 56);
  EXPECT_LT(mean_error(path, "train", rows), 0.25);
  EXPECT_EQ(rows, 14);
}

}  // namespace
}  // namespace tessera
