#include <array>
#include <utility>

#include "sim/app/reproduce/gacer.hpp"
#include "sim/app/tenants/profile_kernels.hpp"
#include "sim/app/tenants/workload.hpp"

namespace tessera {

namespace {

/// Short names, and the files of Orion's repository.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kProfiles{{{"R50", "resnet50_4_fwd"},
                                                                                   {"R101", "resnet101_4_fwd"},
                                                                                   {"MB2", "mobilenetv2_4_fwd"},
                                                                                   {"EFF", "efficientnet_4_fwd_new"},
                                                                                   {"BERT", "bert_2_fwd"},
                                                                                   {"TXL", "transformer_xl_4_fwd"},
                                                                                   {"RET", "retinanet_4_fwd_new"},
                                                                                   {"R50t", "resnet50_32_fb1"},
                                                                                   {"MB2t", "mobilenetv2_64_fb1"},
                                                                                   {"BERTt", "bert_8_fb1"}}};

/// The first seven are the three-tenant sets of the plan for this experiment.
constexpr std::array<std::string_view, 11> kGroups{"R50+R101+MB2",     "R50+MB2+TXL",  "R101+EFF+MB2",  "R101+TXL+EFF",
                                                   "R50+TXL+EFF",      "R50+R101+EFF", "BERT+R101+TXL", "R50+MB2",
                                                   "R50+R101+MB2+EFF", "R50t+R50",     "MB2t+R101+MB2"};

std::string_view file_of(std::string_view name) {
  for (const auto& [shorthand, file] : kProfiles)
    if (shorthand == name) return file;
  return {};
}

std::int64_t batch_of(std::string_view file) {
  const std::size_t digits = file.find_last_of('_', file.find("_f") - 1) + 1;
  return std::stoll(std::string(file.substr(digits)));
}

Tenant profiled(std::string_view name, const std::filesystem::path& folder, const GpuSpec& gpu) {
  Tenant tenant;
  tenant.name = name;
  tenant.batch = static_cast<int>(batch_of(file_of(name)));
  for (const ProfileKernel& kernel : read_profile_kernels(folder / file_of(name)))
    tenant.kernels.push_back(tenant_kernel(kernel, gpu));
  return tenant;
}

struct Member {
  std::string_view model;
  std::int64_t sequence = 1;
  Mode mode = Mode::inference;
};

Tenant modelled(const Member& member, std::int64_t batch, const GpuSpec& gpu, const LatencyModel& latency) {
  Tenant tenant;
  tenant.name = member.model;
  tenant.batch = static_cast<int>(batch);
  tenant.kernels =
      tenant_workload(
          find_model(member.model),
          {.mode = member.mode, .batch = batch, .sequence = member.sequence, .dtype = Dtype::fp32, .accumulate = false},
          gpu, latency)
          .kernels;
  return tenant;
}

}  // namespace

std::vector<TenantGroup> orion_groups(const std::filesystem::path& data) {
  const GpuSpec gpu = find_gpu("V100-PCIE-16GB");
  std::vector<TenantGroup> groups;
  for (const std::string_view name : kGroups) {
    TenantGroup group{std::string(name), gpu, {}};
    for (std::size_t start = 0; start < name.size();) {
      const std::size_t end = std::min(name.find('+', start), name.size());
      group.tenants.push_back(profiled(name.substr(start, end - start), data / "orion_v100_profiles", gpu));
      start = end + 1;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<TenantGroup> model_groups(const GpuSpec& gpu, std::int64_t batch, const LatencyModel& latency) {
  const std::array<std::pair<std::string_view, std::vector<Member>>, 6> sets{
      {{"vision", {{"resnet50"}, {"vgg16"}, {"mobilenet-v3"}}},
       {"vision, four", {{"alexnet"}, {"resnet18"}, {"mobilenet-v3"}, {"densenet121"}}},
       {"vision + language + recurrent, five",
        {{"alexnet"}, {"resnet18"}, {"mobilenet-v3"}, {"lstm", 35}, {"bert-base", 128}}},
       {"vision + language", {{"resnet101"}, {"densenet121"}, {"bert-base", 128}}},
       {"vision + recurrent", {{"alexnet"}, {"resnet34"}, {"lstm", 35}}},
       {"training + inference", {{"resnet18", 1, Mode::training}, {"resnet50"}}}}};
  std::vector<TenantGroup> groups;
  for (const auto& [name, members] : sets) {
    TenantGroup group{std::string(name), gpu, {}};
    for (const Member& member : members) group.tenants.push_back(modelled(member, batch, gpu, latency));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace tessera
