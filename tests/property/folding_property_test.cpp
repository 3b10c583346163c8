// Folded against whole on random plans up to 64 GPUs, on fabrics of every kind: collectives of all kinds over two
// dimensions beside kernels and each other, and training steps of every parallelism.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/rng.hpp"
#include "sim/graph/model_config.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

constexpr int kMostGpus = 64, kPlansOfAPart = 25, kParts = 4;  // of each of two sorts: 200
constexpr std::array kKinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                            CollectiveKind::all_to_all};
constexpr std::array kFabrics{FabricKind::rail_optimised, FabricKind::fat_tree, FabricKind::dragonfly,
                              FabricKind::torus};

template <class T, std::size_t N>
T one_of(Rng& rng, const std::array<T, N>& some) {
  return some[rng.below(N)];
}

ClusterSpec drawn_cluster(Rng& rng) {
  const int gpus = 1 << rng.below(4), nodes = gpus == 1 ? 1 << (1 + rng.below(5)) : 1 << rng.below(4);
  ClusterSpec cluster = small_cluster(gpus, nodes);
  cluster.node.intra = one_of(rng, std::array{IntraNode::nvswitch, IntraNode::nvswitch, IntraNode::nvswitch,
                                              IntraNode::full_mesh, IntraNode::pcie});
  if (gpus == 8 && rng.below(6) == 0) cluster.node.intra = IntraNode::hybrid_cube_mesh;
  cluster.node.nics = std::max(1, gpus >> rng.below(3));
  cluster.gpu.architecture = "Hopper GH100";
  cluster.gpu.matrix_unit = rng.below(2) == 0 ? MatrixUnit::wgmma : MatrixUnit::mma_sync;
  cluster.gpu.boost_clock = Hertz(1.98e9);
  if (nodes == 1) return cluster;
  FabricSpec& fabric = cluster.fabric;
  fabric.kind = one_of(rng, kFabrics);
  fabric.link_bandwidth = BytesPerSec();
  fabric.levels = 0;
  fabric.radix = 8 << rng.below(3);
  const bool tree = fabric.kind == FabricKind::rail_optimised || fabric.kind == FabricKind::fat_tree;
  if (tree && rng.below(2) == 0) fabric.oversubscription = 2;
  if (tree && rng.below(2) == 0) fabric.up_path = UpPath::hashed;
  if (fabric.kind == FabricKind::torus) fabric.torus = nodes > 3 ? std::vector{nodes / 2, 2} : std::vector{nodes};
  return cluster;
}

ClusterSpec random_cluster(Rng& rng) {
  for (;;) {
    ClusterSpec cluster = drawn_cluster(rng);
    if (cluster.gpus() <= kMostGpus && !find_problem(cluster)) return cluster;
  }
}

/// A power of two up to `most`.
int random_width(Rng& rng, int most) {
  int width = 1;
  while (2 * width <= most && rng.below(2) == 0) width *= 2;
  return width;
}

BenchPlan random_program(Rng& rng) {
  const ClusterSpec cluster = random_cluster(rng);
  const int tp = random_width(rng, cluster.gpus());
  BenchPlan plan(tp, cluster.gpus() / tp, cluster);
  std::vector<TaskId> tasks;
  const auto count = 3 + rng.below(8);
  for (std::uint32_t t = 0; t < count; ++t) {
    std::vector<TaskId> after;
    if (!tasks.empty() && rng.below(2) == 0)
      after.push_back(tasks[rng.below(static_cast<std::uint32_t>(tasks.size()))]);
    if (rng.below(3) == 0) {
      tasks.push_back(plan.kernel(Seconds(1e-5 * (1 + rng.below(50))), after));
    } else {
      const Dimension over = rng.below(2) == 0 ? Dimension::tp : Dimension::dp;
      tasks.push_back(plan.collective(one_of(rng, kKinds), over, Bytes(1e3 * (1 << rng.below(18))), after));
    }
  }
  return plan;
}

/// A step of a small model.
struct Training {
  ClusterSpec cluster;
  Plan plan;
  CostTable costs;

  [[nodiscard]] Trace run(const SimulationOptions& options) const {
    Placement placement;
    for (int r = 0; r < plan.spec.world_size(); ++r) placement.gpu_of_rank.push_back(r);
    return simulate_isolated({cluster, plan, costs, placement, options});
  }
};

ParallelSpec random_parallelism(Rng& rng, int gpus) {
  ParallelSpec spec;
  spec.tp = random_width(rng, std::min(gpus, 8));
  spec.pp = random_width(rng, std::min(gpus / spec.tp, 4));
  spec.cp = rng.below(3) == 0 ? random_width(rng, std::min(gpus / (spec.tp * spec.pp), 2)) : 1;
  spec.dp = gpus / (spec.tp * spec.pp * spec.cp);
  spec.micro_batches = spec.pp;
  if (spec.pp == 2 && rng.below(2) == 0) spec.chunks = 2;
  spec.sequence_parallel = spec.tp > 1 && rng.below(2) == 0;
  spec.sharding = one_of(rng, std::array{Sharding::none, Sharding::zero1, Sharding::zero3});
  if (spec.pp > 1 && spec.sharding == Sharding::zero3) spec.sharding = Sharding::zero1;
  return spec;
}

/// Stages with replicas of their own, on all GPUs.
ParallelSpec random_stage_replicas(Rng& rng, int gpus) {
  constexpr std::array kFour{std::array{1, 3, 0}, std::array{3, 1, 0}, std::array{2, 2, 0}, std::array{1, 2, 1},
                             std::array{2, 1, 1}};
  ParallelSpec spec;
  spec.tp = random_width(rng, std::min(gpus / 4, 8));
  spec.dp = gpus / (4 * spec.tp);
  for (const int replicas : one_of(rng, kFour))
    if (replicas > 0) spec.stage_replicas.push_back(replicas);
  spec.pp = static_cast<int>(spec.stage_replicas.size());
  spec.micro_batches = 3 + rng.below(6);
  return spec;
}

/// Of a small model, with kernels of random lengths.
Training training_of(Rng& rng, const ClusterSpec& cluster, const ParallelSpec& spec) {
  Training training{.cluster = cluster, .plan = {}, .costs = {}};
  ModelConfig model = find_model("gpt2-large");
  model.layers = 4;
  model.hidden = 1024;
  model.heads = 16;
  model.kv_heads = 16;
  const BuildOptions build{.mode = Mode::training,
                           .batch = 1,
                           .sequence = 512,
                           .dtype = Dtype::bf16,
                           .attention = AttentionKind::flash,
                           .fused = true,
                           .context = spec.cp};
  training.plan = make_plan(build_graph(model, build), spec);
  for (std::size_t k = 0; k < training.plan.kernels.size(); ++k)
    training.costs.push_back(grid(training.cluster.gpu, 200, 1024, Seconds(1e-6 * (1 + rng.below(30)))));
  return training;
}

Training random_training(Rng& rng) {
  const ClusterSpec cluster = random_cluster(rng);
  return training_of(rng, cluster, random_parallelism(rng, cluster.gpus()));
}

std::string about(const ClusterSpec& cluster) {
  return std::to_string(cluster.nodes) + " x " + std::to_string(cluster.node.gpus) + ", " +
         std::string(enum_names(cluster.node.intra)[static_cast<std::size_t>(cluster.node.intra)]) + ", " +
         std::string(enum_names(cluster.fabric.kind)[static_cast<std::size_t>(cluster.fabric.kind)]);
}

class Folding : public testing::TestWithParam<int> {
 protected:
  SimulationOptions whole_{.fold = Fold::off, .cuda_graph = true, .record_spans = false};
  SimulationOptions folded_{.fold = Fold::on, .cuda_graph = true, .record_spans = false};
  Rng rng_{static_cast<std::uint64_t>(2024 + GetParam())};
  void SetUp() override { whole_.collectives = folded_.collectives = load_collective_parameters(); }
};

TEST_P(Folding, AgreesWithTheWholeOnRandomPrograms) {
  for (int i = 0; i < kPlansOfAPart; ++i) {
    const BenchPlan plan = random_program(rng_);
    const Seconds all = plan.run_isolated(whole_).makespan, one = plan.run_isolated(folded_).makespan;
    if (all == Seconds()) continue;
    EXPECT_NEAR(one / all, 1, 0.01) << "plan " << i << " on " << about(plan.cluster());
  }
}

// Most of them have ranks that are alike: the smaller run is not the whole one again.
TEST_P(Folding, AgreesWithTheWholeOnTrainingSteps) {
  int smaller = 0;
  for (int i = 0; i < kPlansOfAPart; ++i) {
    const Training training = random_training(rng_);
    const ParallelSpec& spec = training.plan.spec;
    const Trace one = training.run(folded_);
    if (one.folded > 1) ++smaller;
    EXPECT_NEAR(one.makespan / training.run(whole_).makespan, 1, 0.01)
        << "plan " << i << ": tp " << spec.tp << ", cp " << spec.cp << ", dp " << spec.dp << ", pp " << spec.pp
        << " on " << about(training.cluster);
  }
  EXPECT_GT(smaller, kPlansOfAPart / 2);
}

// Without hashed ways, whose folding is less exact (sim/des/README.md).
TEST_P(Folding, AgreesWithTheWholeOnReplicasOfStages) {
  for (int i = 0; i < kPlansOfAPart / 3; ++i) {
    ClusterSpec cluster = random_cluster(rng_);
    while (cluster.gpus() < 4 || cluster.fabric.up_path == UpPath::hashed) cluster = random_cluster(rng_);
    const Training training = training_of(rng_, cluster, random_stage_replicas(rng_, cluster.gpus()));
    EXPECT_NEAR(training.run(folded_).makespan / training.run(whole_).makespan, 1, 0.01)
        << "plan " << i << ": tp " << training.plan.spec.tp << ", stage_replicas "
        << testing::PrintToString(training.plan.spec.stage_replicas) << " on " << about(cluster);
  }
}

// r replicas of every stage are r replicas of the pipeline: the same ranks do the same.
TEST_P(Folding, EquallyManyReplicasOfEveryStageAreReplicasOfThePipeline) {
  for (const int replicas : {2, 4}) {
    ClusterSpec cluster = random_cluster(rng_);
    while (cluster.gpus() != 16) cluster = random_cluster(rng_);
    Rng again = rng_;
    ParallelSpec spec{.tp = 2, .dp = replicas, .pp = 8 / replicas, .micro_batches = 6};
    const Training plain = training_of(rng_, cluster, spec);
    spec.dp = 1;
    spec.micro_batches *= replicas;
    spec.stage_replicas.assign(static_cast<std::size_t>(spec.pp), replicas);
    const Training in_turn = training_of(again, cluster, spec);
    EXPECT_NEAR(in_turn.run(whole_).makespan / plain.run(whole_).makespan, 1, 1e-9) << about(cluster);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Folding, testing::Range(0, kParts));

}  // namespace
}  // namespace tessera
