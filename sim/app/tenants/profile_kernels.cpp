#include "sim/app/tenants/profile_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/device.hpp"
#include "sim/base/error.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kMostSms = 1'000'000;  // grids of measured kernels need some ten thousands
constexpr double kLongestNs = 1e12;

double bandwidth_share(KernelClass kind) {
  switch (kind) {
    case KernelClass::memory:
      return 0.8;
    case KernelClass::compute:
      return 0.3;
    case KernelClass::unknown:
      return 0.4;
  }
  return 0;
}

class Rows {
 public:
  explicit Rows(const std::filesystem::path& path)
      : table_(CsvTable::read(path)),
        name_(table_.need("Name")),
        class_(table_.need("Profile")),
        sms_(table_.need("SM_usage")),
        duration_(table_.need("Duration")) {}

  std::vector<ProfileKernel> read() {
    std::vector<ProfileKernel> kernels;
    for (std::size_t row = 0; row < table_.rows(); ++row) kernels.push_back(kernel(row));
    if (kernels.empty()) wrong_.push_back({"", 0, 0, "the profile has no kernels"});
    if (!wrong_.empty()) throw InputError(std::move(wrong_));
    return kernels;
  }

 private:
  ProfileKernel kernel(std::size_t row) {
    const std::int64_t kind = whole(row, class_, -1, 1, "-1, 0 or 1");
    const std::int64_t sms = whole(row, sms_, 1, kMostSms, "1 to 1000000 SMs");
    const double nanoseconds = table_.number(row, duration_).value_or(0);
    if (!(nanoseconds > 0) || nanoseconds > kLongestNs)
      wrong_.push_back(table_.at(
          row, duration_,
          fmt::format("found '{}', expected a positive time in ns, up to 1e12", table_.cell(row, duration_))));
    return {std::string(table_.cell(row, name_)),
            kind == 1   ? KernelClass::compute
            : kind == 0 ? KernelClass::memory
                        : KernelClass::unknown,
            sms, Seconds(nanoseconds * 1e-9)};
  }

  std::int64_t whole(std::size_t row, std::size_t column, std::int64_t least, std::int64_t most,
                     std::string_view expected) {
    const std::optional<std::int64_t> value = table_.integer(row, column);
    if (value && *value >= least && *value <= most) return *value;
    wrong_.push_back(
        table_.at(row, column, fmt::format("found '{}', expected {}", table_.cell(row, column), expected)));
    return least;
  }

  CsvTable table_;
  std::size_t name_, class_, sms_, duration_;
  std::vector<Diagnostic> wrong_;
};

}  // namespace

std::vector<ProfileKernel> read_profile_kernels(const std::filesystem::path& path) {
  return Rows(path).read();
}

TenantKernel tenant_kernel(const ProfileKernel& kernel, const GpuSpec& gpu) {
  const Device device = derive_device(gpu);
  const double used = static_cast<double>(std::min<std::int64_t>(kernel.sms, gpu.sms));
  const BytesPerSec drawn =
      min(gpu.memory_bandwidth * bandwidth_share(kernel.kind), min(device.hbm, device.hbm_per_sm * used));
  TenantKernel result;
  result.kind = kernel.kind;
  KernelCost& cost = result.cost;
  cost.time = {kernel.duration, kernel.duration, kernel.duration};
  cost.blocks = kernel.sms;
  cost.blocks_per_sm = 1;
  cost.waves = (kernel.sms + gpu.sms - 1) / gpu.sms;
  cost.hbm_bytes = drawn * kernel.duration;
  cost.energy = (gpu.power_cap - device.idle) * (used / gpu.sms) * kernel.duration;
  return result;
}

}  // namespace tessera
