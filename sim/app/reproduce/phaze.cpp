#include "sim/app/reproduce/phaze.hpp"

#include <fmt/format.h>

#include "sim/app/reproduce/paper.hpp"
#include "sim/base/error.hpp"

namespace tessera {

Reproduction reproduce_phaze(const ReproduceOptions& options) {
  if (!std::filesystem::is_directory(options.data / "phaze"))
    throw InputError(Diagnostic{.file = (options.data / "phaze").string(),
                                .message = "no such folder: reproduce phaze needs the recorded graphs and cycles"});
  PhazeResults results;
  options.progress("the public log");
  results.log = phaze_log(options.data);
  results.recorded = phaze_recorded(options.data, options.progress);
  options.progress("corrections");
  results.corrections = phaze_corrections(options.data);
  results.suite = phaze_suite(options.progress);
  results.replays = phaze_replays(results.suite, options.progress);
  std::string summary;
  for (const PhazeLogRow& row : results.log)
    summary +=
        fmt::format("public log, micro-batch {}: {:.5f} samples/s, ours {:.5f}\n", row.micro_batch, row.log, row.ours);
  for (const PhazeRecordedRow& row : results.recorded)
    summary +=
        fmt::format("recorded cycles, micro-batch {}: best {:.4f}, the original's stop rule gets {:.0f} % of it\n",
                    row.micro_batch, row.best, 100 * row.stopped / row.best);
  return {std::move(summary),
          {{"phaze.md", phaze_page(results, options.command)}, {"phaze.svg", phaze_picture(results.suite)}}};
}

}  // namespace tessera
