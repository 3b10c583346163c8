#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/app/output_path.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/search/gpu_scenario.hpp"
#include "sim/app/search/search_files.hpp"
#include "sim/app/search/search_folder.hpp"
#include "sim/app/search/search_report.hpp"
#include "sim/app/search/search_scenario.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/description.hpp"
#include "sim/place/search/parallel.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReplayedPlans = 4;  // of each chip; of the only one as many as asked for, if more

std::atomic<bool> interrupted{false};  // by Ctrl-C; a signal handler can reach nothing else

/// Ctrl-C ends the search at the next batch while this lives.
class InterruptGuard {
 public:
  InterruptGuard() {
    before_ = std::signal(SIGINT, [](int) { interrupted = true; });
  }
  ~InterruptGuard() { std::signal(SIGINT, before_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*before_)(int);
};

class Search final : public Command {
 public:
  explicit Search(CLI::App& app) {
    app.add_option("SCENARIO", scenario_, "what to search (`--reference` lists its keys)");
    app.add_option("--set", settings_, "change a key: --set system.memory='32 GiB'")->allow_extra_args(false);
    app.add_option("--out", out_, "folder for the results and the state, instead of results/<name>");
    app.add_option("--threads", threads_, "default: all cores (not around a GPU)");
    app.add_option("--time-budget", budget_, "seconds; the same command goes on from there (not around a GPU)");
    app.add_option("--replay", replay_,
                   "simulate plans of so many of the best chips, and rank both by that (not around a GPU)");
    app.add_flag("--pareto", pareto_,
                 "the whole front of score over die area, too (not around a GPU, which gives it anyway)");
    app.add_flag("--json", json_, "print the findings as JSON");
    app.add_flag("--reference", reference_, "print every key that a search may have, as Markdown");
  }

  int run() override {
    if (reference_) {
      fmt::print("{}\nAround a GPU:\n\n{}", search_reference(), gpu_search_reference());
      if (scenario_.empty()) return 0;
    }
    check_options();
    Document document = parse_document(scenario_);
    set_values(document, settings_);
    if (is_gpu_search(document)) {
      check_gpu_options();
      return search_gpu(document);
    }
    const SearchFile file = read_search(scenario_, settings_);
    folder_.emplace(out_.empty() ? std::filesystem::path("results") / file.scenario.name : std::filesystem::path(out_),
                    file);
    begin_ = Clock::now();
    const InterruptGuard guard;
    return search(file);
  }

 private:
  void check_options() const {
    if (scenario_.empty()) throw InputError(Diagnostic{"", 0, 0, "search: give a scenario file or --reference"});
    if (threads_ < 0)
      throw InputError(
          Diagnostic{"--threads", 0, 0, fmt::format("must not be negative (0: all cores), found {}", threads_)});
    if (replay_ < 0)
      throw InputError(Diagnostic{"--replay", 0, 0, fmt::format("must not be negative, found {}", replay_)});
    if (budget_ && !(*budget_ > 0))  // nan, too
      throw InputError(Diagnostic{"--time-budget", 0, 0, fmt::format("must be positive, found {}", *budget_)});
  }

  /// A search around a GPU takes seconds and gives the whole front anyway.
  void check_gpu_options() const {
    const std::pair<const char*, bool> given[] = {{"--pareto", pareto_},
                                                  {"--time-budget", budget_.has_value()},
                                                  {"--threads", threads_ > 0},
                                                  {"--replay", replay_ > 0}};
    for (const auto& [option, is_given] : given)
      if (is_given) throw InputError(Diagnostic{option, 0, 0, "does not apply to a search around a GPU; leave it out"});
  }

  [[nodiscard]] int search_gpu(const Document& document) const {
    const GpuScenario scenario = read<GpuScenario>(document);
    const auto folder = out_.empty() ? std::filesystem::path("results") / scenario.name : std::filesystem::path(out_);
    require_output_folder(folder);
    require_no_chip_search(folder);
    const GpuSearchResult result = [&] {
      const Progress line(fmt::format("searching around {}", scenario.gpu.around));
      try {
        return search_around(scenario);
      } catch (const RunError& error) {
        for (const char* name : {"search.json", "search.svg", "gpu.yaml"}) std::filesystem::remove(folder / name);
        throw RunError(fmt::format("{}: {}", place_of(document, {"gpu"}), error.what()));
      }
    }();
    const std::string json = gpu_json(scenario, result).dump() + "\n";
    write_file(folder / "search.json", json);
    write_file(folder / "search.svg", gpu_picture(scenario, result));
    const GpuSpec fastest = to_spec(result.front.front().gpu);
    write_file(folder / "gpu.yaml", gpu_description(fastest, fastest.name));
    if (json_)
      fmt::print("{}", json);
    else
      fmt::print("{}Files in {}: search.json, search.svg, gpu.yaml\n", gpu_table(scenario, result), folder.string());
    return 0;
  }

  /// A budget that is too short for anything still gives one step, so that repeated calls end.
  [[nodiscard]] bool stop() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return interrupted || (budget_ && progressed_ && seconds > *budget_);
  }
  [[nodiscard]] int threads() const {
    return threads_ > 0 ? threads_ : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  int search(const SearchFile& file) {
    const std::vector<SystolicChip> chips = candidates_of(file.scenario);
    const ChipStudy study = study_of(file.scenario, PlanKinds::exact);
    const SearchTask task = study.task(chips);
    // Memory does not depend on the chip.
    if (study.smallest_miss(chips.front()) > Bytes()) return nothing_fits(file, study, chips);
    SearchState state = folder_->state(chips.size());
    const bool was_complete = state.complete;
    certified_search(task, options_for(chips.size()), state);
    line_.reset();
    if (!was_complete) folder_->write_state(state);
    if (interrupted) {
      fmt::print(stderr, "interrupted; the same command goes on from {}\n", folder_->state_path().string());
      return 1;
    }
    const Certificate proof = certificate(state, chips.size());
    if (proof.complete && !proof.feasible) return nothing_fits(file, study, chips);
    if (!proof.feasible) return nothing_solved(file, proof);
    report(file, findings(file.scenario, study, chips, state));
    return 0;
  }

  /// A failure, for there is nothing to go on with.
  [[nodiscard]] int nothing_solved(const SearchFile& file, const Certificate& proof) const {
    if (json_)
      fmt::print("{}\n",
                 search_json(file.scenario, {.certificate = proof, .best = {}, .reference = {}, .front = {}}).dump());
    fmt::print(stderr, "no chip was solved within the time budget; the same command goes on from {}\n",
               folder_->state_path().string());
    return 1;
  }

  [[nodiscard]] SearchOptions options_for(std::size_t candidates) {
    return {
        .threads = threads(),
        .stop = [this] { return stop(); },
        .report =
            [this, candidates, saved = Clock::now()](const SearchState& state, double best) mutable {
              progressed_ = true;
              line_.reset();
              line_.emplace(state.next == 0
                                ? fmt::format("bounds of {} of {} chips", state.bounds.size(), candidates)
                                : fmt::format("{} of {} chips looked at, best {:.4g}", state.next, candidates, best));
              if (Clock::now() - saved < std::chrono::seconds(5)) return;
              saved = Clock::now();
              folder_->write_state(state);
            }};
  }

  /// Throws why no chip is feasible, the chip that misses the least, and where the limit stands.
  [[nodiscard]] int nothing_fits(const SearchFile& file, const ChipStudy& study,
                                 const std::vector<SystolicChip>& chips) const {
    folder_->write({});
    const SearchScenario& scenario = file.scenario;
    const Bytes miss = study.smallest_miss(chips.front());
    const StudiedChip first = study.evaluate(chips.front());
    std::string why = first.workloads.front().result.why;
    for (const auto& workload : first.workloads)
      if (!workload.result.feasible) why = workload.result.why;
    if (miss > Bytes())
      throw RunError(fmt::format("{}: {}: no plan fits into {} of HBM on any of {} chips; the smallest miss is {}: {}",
                                 place_of(file.document, {"system", "memory"}), scenario.name,
                                 format(scenario.system.memory), chips.size(), format(miss), why));
    const std::string_view limit = scenario.power ? "power" : scenario.price ? "price" : "system";
    throw RunError(fmt::format("{}: {}: none of {} chips is feasible{}", place_of(file.document, {limit}),
                               scenario.name, chips.size(),
                               why.empty() ? ": the limits of power or price exclude all" : ": " + why));
  }

  /// "file:line:col" of a key, or of the innermost map around it that the file has.
  [[nodiscard]] static std::string place_of(const Document& document, std::initializer_list<std::string_view> path) {
    const Node* at = &document.root;
    for (const std::string_view key : path) {
      const Node* next = at->find(key);
      if (next == nullptr) break;
      at = next;
    }
    return fmt::format("{}:{}:{}", document.file, at->line, at->column);
  }

  [[nodiscard]] SearchFindings findings(const SearchScenario& scenario, const ChipStudy& study,
                                        const std::vector<SystolicChip>& chips, const SearchState& state) {
    SearchFindings found{.certificate = certificate(state, chips.size()), .best = {}, .reference = {}, .front = {}};
    const ChipStudy full = study_of(scenario, PlanKinds::full);
    std::vector<SearchState::Solved> solved = state.solved;
    std::erase_if(solved, [](const auto& s) { return s.score == -std::numeric_limits<double>::infinity(); });
    std::ranges::stable_sort(solved, [&](const auto& a, const auto& b) {  // of equals, the smaller die
      return a.score != b.score ? a.score > b.score : area(chips[a.candidate]) < area(chips[b.candidate]);
    });
    solved.resize(std::min(solved.size(), static_cast<std::size_t>(scenario.top)));
    found.best.resize(solved.size());
    parallel_for(solved.size(), threads(),
                 [&](std::size_t i) { found.best[i] = full.evaluate(chips[solved[i].candidate]); });
    std::ranges::stable_sort(found.best, [](const auto& a, const auto& b) {
      return a.score != b.score ? a.score > b.score : a.die < b.die;
    });
    found.reference = full.evaluate(reference_chip(scenario));
    found.expert = expert_of(scenario);
    if (pareto_ && found.certificate.complete) add_front(study, chips, state, found);
    if (scenario.solver != OperatorSolver::own) add_solved(scenario, full, found);
    if (replay_ > 0) add_replays(scenario, found);
    return found;
  }

  /// The best chip's layers at the widths of its plans.
  static void add_solved(const SearchScenario& scenario, const ChipStudy& study, SearchFindings& found) {
    const IlpOptions options{.solver = scenario.solver == OperatorSolver::glpk ? IlpSolver::glpk : IlpSolver::cbc,
                             .limit = scenario.solver_limit};
    const StudiedChip& best = found.best.front();
    for (std::size_t w = 0; w < best.workloads.size(); ++w) {
      const auto& [choice, result] = best.workloads[w];
      if (!result.feasible) continue;
      std::set<int> widths;
      for (const PipelineStage& stage : result.plan.stages) widths.insert(stage.width);
      for (const int width : widths)
        std::ranges::move(study.workloads()[w].choices[choice].solve_passes(best.chip, width, options),
                          std::back_inserter(found.solved));
    }
  }

  /// The same chips held to plans that the event loop runs, by their simulated score.
  void add_replays(const SearchScenario& scenario, SearchFindings& found) {
    const ChipStudy study = study_of(scenario, PlanKinds::replayable);
    const std::size_t plans =
        found.best.size() > 1 ? kReplayedPlans : std::max(kReplayedPlans, static_cast<std::size_t>(replay_));
    for (std::size_t i = 0; i < std::min(found.best.size(), static_cast<std::size_t>(replay_)); ++i) {
      line_.emplace(fmt::format("simulating the plans of chip {} of {}", i + 1, replay_));
      found.replayed.push_back(replayed_chip(scenario, study, found.best[i].chip, i + 1, plans));
      line_.reset();
    }
    std::ranges::stable_sort(found.replayed, std::greater(), &ReplayedChip::score);
  }

  void add_front(const ChipStudy& study, const std::vector<SystolicChip>& chips, const SearchState& state,
                 SearchFindings& found) const {
    std::vector<double> areas;
    for (const SystolicChip& chip : chips) areas.push_back(area(chip).value());
    const SearchOptions options{.threads = threads(), .stop = [this] { return stop(); }, .report = {}};
    const auto front = pareto_front(study.task(chips), areas, state.bounds, options);
    found.front.resize(front.size());
    parallel_for(front.size(), threads(),
                 [&](std::size_t i) { found.front[i] = study.evaluate(chips[front[i].candidate]); });
    found.front_complete = !stop();
  }

  void report(const SearchFile& file, const SearchFindings& found) const {
    std::string written;
    std::vector<NamedFile> files = search_files(file, found);
    const ChipStudy study = study_of(file.scenario, PlanKinds::replayable);
    const StudiedChip best =
        found.replayed.empty() ? study.evaluate(found.best.front().chip) : found.replayed.front().chip;
    std::ranges::move(simulate_files(file.scenario, study, best), std::back_inserter(files));
    folder_->write(files);
    for (const NamedFile& written_file : files) written += (written.empty() ? "" : ", ") + written_file.name;
    if (json_)
      fmt::print("{}\n", search_json(file.scenario, found).dump());
    else
      fmt::print("{}Files in {}: {}\n", search_table(file.scenario, found), folder_->path().string(), written);
  }

  std::string scenario_, out_;
  std::vector<std::string> settings_;
  std::optional<double> budget_;
  int threads_ = 0, replay_ = 0;
  bool progressed_ = false;  // in this call
  bool pareto_ = false, json_ = false, reference_ = false;
  std::optional<SearchFolder> folder_;
  Clock::time_point begin_;
  std::optional<Progress> line_;
};

}  // namespace

std::unique_ptr<Command> make_search(CLI::App& app) {
  return std::make_unique<Search>(app);
}

}  // namespace tessera
