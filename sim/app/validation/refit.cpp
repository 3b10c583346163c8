#include "sim/app/validation/refit.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "calibration/fit.hpp"

namespace tessera {

Refit::Refit(const std::filesystem::path& data, std::vector<std::string> leave_out,
             std::function<void(std::string_view)> progress)
    : folder_(std::filesystem::temp_directory_path() / fmt::format("tessera-refit-{}", getpid())) {
  FitOptions options;
  options.data = data;
  options.out = folder_;
  options.leave_out = std::move(leave_out);
  options.progress = std::move(progress);
  try {
    fit(options);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

Refit::~Refit() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tessera
