#include "sim/app/validation/refit.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "calibration/collective_fit.hpp"
#include "calibration/fit.hpp"

namespace tessera {

Refit::Refit(const std::filesystem::path& data, std::vector<std::string> leave_out, FittedParts parts,
             std::function<void(std::string_view)> progress)
    : folder_(std::filesystem::temp_directory_path() / fmt::format("tessera-refit-{}", getpid())) {
  FitOptions options;
  options.data = data;
  options.out = folder_;
  options.leave_out = std::move(leave_out);
  options.progress = std::move(progress);
  try {
    if (parts.collectives) {
      if (options.progress) options.progress("collectives");
      fit_collectives_file(data, folder_, options.leave_out);
    }
    if (parts.kernels) fit(options);
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
