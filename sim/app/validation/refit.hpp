// Weights fitted without some GPUs, in a folder that goes away again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// What to fit anew.
struct FittedParts {
  bool kernels = true, collectives = true;
};

/// Fits on the measurements under `data` without the rows of `leave_out`, into a temporary folder.
class Refit {
 public:
  Refit(const std::filesystem::path& data, std::vector<std::string> leave_out, FittedParts parts,
        std::function<void(std::string_view)> progress);
  ~Refit();
  Refit(const Refit&) = delete;
  Refit& operator=(const Refit&) = delete;
  [[nodiscard]] const std::filesystem::path& weights() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace tessera
