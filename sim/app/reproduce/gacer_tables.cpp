#include "sim/app/reproduce/gacer_tables.hpp"

#include <array>
#include <iterator>

#include <fmt/format.h>

namespace tessera {
namespace {

double ms(Seconds time) {
  return time.value() * 1e3;
}

std::string share_table(const std::vector<ShareRow>& rows) {
  std::string text = "| model | batch | SMs | measured ms | predicted ms | error |\n|---|---|---|---|---|---|\n";
  double sum = 0;
  for (const ShareRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "| {} | {} | {:.0f} % | {:.2f} | {:.2f} | {:+.1f} % |\n", row.model,
                   row.batch, 100 * row.share, ms(row.measured), ms(row.predicted), 100 * row.error());
    sum += std::abs(row.error());
  }
  return text + fmt::format("\nMean absolute error: {:.1f} %.\n", 100 * sum / static_cast<double>(rows.size()));
}

std::string copy_table(const std::vector<CopyRow>& rows) {
  std::string text = "| two copies of | measured | predicted |\n|---|---|---|\n";
  double measured = 0, predicted = 0;
  for (const CopyRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "| {} | {:+.1f} % | {:+.1f} % |\n", row.model, 100 * (row.measured - 1),
                   100 * (row.predicted - 1));
    measured += 100 * (row.measured - 1) / static_cast<double>(rows.size());
    predicted += 100 * (row.predicted - 1) / static_cast<double>(rows.size());
  }
  return text + fmt::format("| mean | {:+.1f} % | {:+.1f} % |\n\nDifference of the means: {:.1f} points.\n", measured,
                            predicted, std::abs(measured - predicted));
}

std::string slice_table(const std::vector<SliceRow>& rows) {
  std::string text = "| model | batch | slice | measured | predicted |\n|---|---|---|---|---|\n";
  for (const SliceRow& row : rows)
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {:.2f} | {:.2f} |\n", row.model, row.batch, row.slice,
                   row.measured, row.predicted);
  double relative = 0;
  for (const SliceRow& row : rows) relative += std::abs(row.predicted / row.measured - 1);
  return text + fmt::format("\nMean absolute difference: {:.1f} points; relative: {:.1f} %.\n",
                            100 * mean_abs_difference(rows), 100 * relative / static_cast<double>(rows.size()));
}

std::string preemption_table(const std::vector<PreemptionRow>& rows) {
  constexpr std::array<std::string_view, 3> kNames{"launches held back", "queue flushed", "kernel interrupted"};
  std::string text = "| level | mean absolute error over 20 kernel lengths of 0.1 to 2 ms |\n|---|---|\n";
  double all = 0;
  for (int level = 1; level <= 3; ++level) {
    double sum = 0, count = 0;
    for (const PreemptionRow& row : rows) {
      if (row.level != level) continue;
      sum += std::abs(row.predicted / row.measured - 1);
      count += 1;
    }
    fmt::format_to(std::back_inserter(text), "| {} | {:.1f} % |\n", kNames[static_cast<std::size_t>(level) - 1],
                   100 * sum / count);
    all += sum;
  }
  return text + fmt::format("| all | {:.1f} % |\n", 100 * all / static_cast<double>(rows.size()));
}

std::string training_table(const std::vector<TrainingPairRow>& rows) {
  double mean = 0;
  for (const TrainingPairRow& row : rows) mean += row.measured / static_cast<double>(rows.size());
  double constant = 0, bias = 0;
  for (const TrainingPairRow& row : rows) {
    constant += std::abs(row.measured - mean) / static_cast<double>(rows.size());
    bias += (row.predicted - row.measured) / static_cast<double>(rows.size());
  }
  std::string text = "| job | beside | measured | predicted |\n|---|---|---|---|\n";
  for (const TrainingPairRow& row : rows)
    if (row.job.find("64)") != std::string::npos || row.job.find("LM (batch size 20)") != std::string::npos)
      if (row.beside.find("64)") != std::string::npos || row.beside.find("LM (batch size 20)") != std::string::npos)
        fmt::format_to(std::back_inserter(text), "| {} | {} | {:.2f} | {:.2f} |\n", row.job, row.beside, row.measured,
                       row.predicted);
  return text + fmt::format(
                    "\nOver all {} speeds: mean absolute difference {:.1f} points, bias {:+.1f}; their own mean as a "
                    "constant would have {:.1f}.\n",
                    rows.size(), 100 * mean_abs_difference(rows), 100 * bias, 100 * constant);
}

}  // namespace

std::string colocation_tables(const GacerResults& r) {
  std::string out =
      "\n# The engine against measurements\n\nNothing is fitted on these rows but what sim/dispatch/README.md says of "
      "its terms (the gap between kernels is iGniter's, preemption XSched's own medians).\n";
  const auto put = [&](std::string_view title, const std::string& text) {
    fmt::format_to(std::back_inserter(out), "\n## {}\n\n{}", title, text);
  };
  put("iGniter: shares of a V100's SMs",
      "TensorRT under MPS. The time with all SMs is given.\n\n" + share_table(r.shares));
  put("iGniter: two copies on half of the SMs each, batch 16", copy_table(r.copies));
  put("MISO: training on MIG slices of an A100",
      "Speed relative to the whole GPU, whose step time is given; where our GPU time is below it, the host is taken to "
      "be the bound. Its embedding and GNN are left out: their layers are not stated.\n\n" +
          slice_table(r.slices));
  put("XSched: preemption on a GV100", preemption_table(r.preemption));
  if (r.pair)
    put("IOS: two convolutions on a V100",
        fmt::format(
            "375 to 375 and 375 to 750 channels, 3x3, batch 1, maps of 14 x 14 assumed (not stated there), solo "
            "times given: together {:.1f} us measured, {:.1f} us predicted ({:+.1f} %).\n",
            1e6 * r.pair->measured.value(), 1e6 * r.pair->predicted.value(),
            100 * (r.pair->predicted / r.pair->measured - 1)));
  put("Gavel: training pairs on a V100",
      "Speed beside the other, relative to alone; uncapped pairs, MPS. Shown: batch 64, LM 20.\n\n" +
          training_table(r.training));
  return out;
}

}  // namespace tessera
