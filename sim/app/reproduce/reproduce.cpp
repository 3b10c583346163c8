#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/app/output_path.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/reproduce/paper.hpp"
#include "sim/app/training_data.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

const Paper& find_paper(const std::string& name) {
  std::vector<std::string> names;
  for (const Paper& paper : papers()) {
    if (paper.name == name) return paper;
    names.emplace_back(paper.name);
  }
  throw InputError(Diagnostic{.file = "reproduce",
                              .line = 0,
                              .column = 0,
                              .message = fmt::format("unknown paper '{}'{}; there are {}", name,
                                                     did_you_mean(name, names), fmt::join(names, ", "))});
}

class Reproduce final : public Command {
 public:
  explicit Reproduce(CLI::App& app) {
    std::string listed;
    for (const Paper& paper : papers()) listed += fmt::format("\n  {}: {}", paper.name, paper.what);
    app.add_option("PAPER", paper_, "whose experiments to repeat:" + listed)->required();
    app.add_option("--data", data_, "folder of the paper's measurements (default: the folder TESSERA_DATA names)");
    app.add_option("--out", out_, "folder for the page and its pictures (default: results)");
    app.add_option("--weights", options_.weights, "folder of rebuilt models (default: calibration/rivals)");
    app.add_flag("--refit", options_.refit,
                 "also our model fitted as the paper's, and without each GPU in turn; slower");
  }

  int run() override {
    const Paper& paper = find_paper(paper_);
    if (!paper.fits && (options_.refit || !options_.weights.empty()))
      throw InputError(Diagnostic{options_.refit ? "--refit" : "--weights", 0, 0,
                                  fmt::format("{} has no models to fit; drop it", paper.name)});
    require_output_folder(out_);
    options_.data = training_data(data_, "reproduce");
    options_.command = "tessera reproduce " + paper_ + (data_.empty() ? "" : " --data DIR") +
                       (options_.weights.empty() ? "" : " --weights DIR") + (options_.refit ? " --refit" : "");
    std::optional<Progress> line;
    options_.progress = [&](std::string_view step) {
      line.reset();
      line.emplace(step);
    };
    const Reproduction result = paper.run(options_);
    line.reset();
    for (const auto& [name, content] : result.files) write_file(std::filesystem::path(out_) / name, content);
    fmt::print("{}", result.summary);
    for (const auto& [name, content] : result.files) {
      fmt::print("{}\n", (std::filesystem::path(out_) / name).string());
    }
    return 0;
  }

 private:
  ReproduceOptions options_;
  std::string paper_, data_, out_ = "results";
};

}  // namespace

std::unique_ptr<Command> make_reproduce(CLI::App& app) {
  return std::make_unique<Reproduce>(app);
}

}  // namespace tessera
