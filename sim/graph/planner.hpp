// Strings one rank's operators and collectives together, pass by pass: how `make_plan` works inside.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/graph/pipeline.hpp"
#include "sim/graph/plan.hpp"
#include "sim/graph/rank_operators.hpp"

namespace tessera {

class Planner {
 public:
  Planner(const Graph& graph, const ParallelSpec& spec);
  Plan run();

 private:
  using Tasks = std::vector<TaskId>;

  /// Gradients that wait for their reduction.
  struct Bucket {
    Dimension over = Dimension::dp;
    Bytes filled{};
    TaskId completed_by{};
    std::optional<TaskId> last{};  // reduction
  };

  // planner.cpp: stages and passes
  void begin_program(int stage, int replica);
  void add(const Pass& pass);
  void run_pass(const Pass& pass, const std::vector<std::size_t>& operators);
  void add_operator(std::size_t index);
  [[nodiscard]] bool skipped(const Operator& op, BackwardPart part) const;
  void recompute(const Operator& op);
  [[nodiscard]] bool recomputes(const Operator& op, std::size_t product) const;
  void finish_program();

  // planner_messages.cpp: tensor, context, expert and pipeline communication
  void gather_sequence();
  void gather_inputs_again(const RankOperator& local);
  void sum_over_tp(const RankOperator& local, std::optional<TaskId> before, const Tasks& inputs);
  void begin_open_sum();
  /// Waits for `after` alone; or for what the compute stream was last given too, as PyTorch's process groups do.
  TaskId communicate(CollectiveKind kind, Dimension over, Bytes bytes, std::uint32_t name, Tasks after);
  TaskId collective(CollectiveKind kind, Dimension over, Bytes bytes, std::uint32_t name, Tasks after);
  void receive(bool forward);
  void send(bool forward);
  /// `other`: the program at the other end.
  TaskId message(bool forward, bool receives, int other, std::int64_t number, Bytes bytes, std::uint32_t name,
                 Tasks after);
  [[nodiscard]] int program_of_neighbour(bool next) const;
  [[nodiscard]] std::int64_t message_number(bool forward, int sender) const;
  [[nodiscard]] bool has_neighbour(bool next) const;
  [[nodiscard]] Bytes message_bytes() const;

  // planner_shards.cpp: gradients, sharded parameters, the optimizer
  void enter_layer(std::int32_t layer);
  void leave_layer();
  void gather_parameters(std::int32_t layer, const Tasks& after);
  [[nodiscard]] bool gathers(std::int32_t layer) const;
  [[nodiscard]] bool reduces_now() const;
  void add_gradient(const RankOperator& local, TaskId completed_by);
  void flush(Bucket& bucket);
  [[nodiscard]] Tasks reductions() const;
  Tasks exchange_tied_gradients();
  void optimizer(Tasks after);
  void gather_after_step();

  TaskId push(Task task);
  Task here(StreamKind stream, std::uint32_t name) const;
  TaskId compute(const RankOperator& local, const Operator& op, Tasks after);
  std::uint32_t name(std::string_view text);
  Tasks take_inputs();
  [[nodiscard]] int program() const { return spec().first_program(stage_) + replica_; }
  [[nodiscard]] int virtual_stage() const { return chunk_ * spec().pp + stage_; }
  [[nodiscard]] const ParallelSpec& spec() const { return plan_.spec; }
  [[nodiscard]] const StageOperators& operators() const { return ranks_.stage(virtual_stage()); }

  const Graph& graph_;
  Plan plan_;
  RankOperators ranks_;
  struct Names {
    std::uint32_t tp, sequence, cp, ep, dp, parameters, activations, gradients, tied;
  } names_{};

  // where it is
  int stage_ = 0, replica_ = 0, chunk_ = 0;
  std::int64_t micro_batch_ = 0, last_micro_batch_ = 0;
  std::uint32_t gradient_sums_ = 0;  // of this program so far
  Phase phase_ = Phase::forward;
  std::int32_t layer_ = -1;
  bool replaying_ = false;   // computing a forward operator again
  std::size_t product_ = 0;  // matrix products of the layer so far, in a replay

  // what is open on this stage
  Tasks inputs_;                                       // what the next operator on the data's path waits for
  Tasks gathered_inputs_;                              // what the next gradient of parameters waits for
  Tasks later_;                                        // asynchronous tp: what the operator after the next waits for
  std::optional<TaskId> received_;                     // what the next kernel waits for
  std::optional<TaskId> last_, result_;                // compute task; that is no parameter gradient
  Bytes scattered_{};                                  // hidden states that lie divided over tp
  std::optional<Collective> open_sum_{};               // tp_waits: begins after the gradients of parameters
  std::array<Bucket, 2> buckets_{};                    // of dense parameters, of experts
  std::array<std::optional<TaskId>, 2> layer_ends_{};  // last compute tasks of the two layers before
  bool gathered_outside_ = false;                      // in this pass: the parameters of no layer
};

}  // namespace tessera
