// Megatron-LM's options as a scenario, read back by the scenario's own reader.
#include "sim/app/megatron_arguments.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/scenario.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MegatronArguments : public testing::Test {
 protected:
  MegatronArguments()
      : folder_(std::filesystem::temp_directory_path() /
                ("tessera-megatron-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {}
  ~MegatronArguments() override { std::filesystem::remove_all(folder_); }

  ImportedScenario import(const std::string& text) {
    write_file(folder_ / "args.sh", text);
    return read_megatron_arguments(folder_ / "args.sh", "dgx-h100");
  }
  RunSpec run_of(const std::string& text) {
    const ImportedScenario imported = import(text);
    write_file(folder_ / "model.json", imported.model);
    write_file(folder_ / "scenario.yaml", imported.scenario);
    const Scenario scenario = read_scenario(folder_ / "scenario.yaml").scenario;
    return resolve(scenario, scenario.runs.front());
  }
  std::string refusal(const std::string& text) {
    try {
      import(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }

  std::filesystem::path folder_;
};

TEST_F(MegatronArguments, AGptOfALaunchScript) {
  const RunSpec spec = run_of(
      "torchrun pretrain_gpt.py \\\n  --num-layers 24 --hidden-size 1024 \\\n  --num-attention-heads 16\n"
      "ARGS=\"--seq-length 2048 --micro-batch-size 2 --global-batch-size 32 --bf16 --use-flash-attn\"\n"
      "--tensor-model-parallel-size=2 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 6\n"
      "--sequence-parallel --use-distributed-optimizer --recompute-activations --lr 0.0001\n");
  EXPECT_EQ(spec.model.layers, 24);
  EXPECT_EQ(spec.model.ffn, 4096);
  EXPECT_EQ(spec.build.attention, AttentionKind::flash);
  EXPECT_EQ(spec.parallel.tp, 2);
  EXPECT_EQ(spec.parallel.dp, 2);
  EXPECT_EQ(spec.parallel.chunks, 2);
  EXPECT_EQ(spec.parallel.micro_batches, 32 / 2 / 2);
  EXPECT_TRUE(spec.parallel.sequence_parallel);
  EXPECT_FALSE(spec.parallel.overlap);
  EXPECT_EQ(spec.parallel.sharding, Sharding::zero1);
  EXPECT_EQ(spec.parallel.recompute, Recompute::selective);
}

TEST_F(MegatronArguments, AMixtral) {
  const RunSpec spec = run_of(
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
      "--num-query-groups 8 --seq-length 4096 --vocab-size 32000 --swiglu --normalization RMSNorm "
      "--untie-embeddings-and-output-weights --num-experts 8 --expert-model-parallel-size 8 --micro-batch-size 1 "
      "--global-batch-size 64 --bf16 --transformer-impl transformer_engine --moe-ffn-hidden-size 1408 --kv-channels "
      "64");
  EXPECT_EQ(spec.model.experts, 8);
  EXPECT_EQ(spec.model.expert_ffn, 1408);
  EXPECT_EQ(spec.model.head_dim, 64);
  EXPECT_EQ(spec.model.kv_heads, 8);
  EXPECT_EQ(spec.parallel.ep, 8);
}

TEST_F(MegatronArguments, NamesWhatItDoesNotUse) {
  const ImportedScenario imported = import(
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --micro-batch-size 1 "
      "--global-batch-size 8 --lr 0.1 --clip-grad 1.0");
  EXPECT_THAT(imported.ignored, ElementsAre("clip-grad", "lr"));
}

TEST_F(MegatronArguments, CommentsAreNoOptionsAndGatedBlocksAreNarrower) {
  const RunSpec spec = run_of(
      "# --pipeline-model-parallel-size 4\n--num-layers 2 --hidden-size 4096 --num-attention-heads 32 --seq-length 64 "
      "--micro-batch-size 1 --global-batch-size 8 --swiglu # --ffn-hidden-size 512\n");
  EXPECT_EQ(spec.parallel.pp, 1);
  EXPECT_EQ(spec.model.ffn, 10880);  // int(4 x 4096 x 2 / 3 / 64) x 64
}

TEST_F(MegatronArguments, MistakesComeTogether) {
  const std::string why = refusal(
      "--num-layers 24\n--hidden-size wide\n--num-attention-heads 16 --seq-length 64 --micro-batch-size 1 "
      "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4 --num-experts 8");
  EXPECT_THAT(why, HasSubstr("args.sh:2:1: error: --hidden-size: expected a positive whole number, found 'wide'"));
  EXPECT_THAT(why, HasSubstr("missing option --global-batch-size"));
  EXPECT_THAT(why, HasSubstr("24 layers are not divided over 4 stages"));
  EXPECT_THAT(why, HasSubstr("args.sh:3:1: error: --num-experts: experts are read with --swiglu alone"));
}

TEST_F(MegatronArguments, AMissingOptionIsPerhapsAMisspeltOne) {
  const std::string why = refusal("--num-layers 24 --hidden-size 64 --num-attention-heads 16\n--seq-lenght 64");
  EXPECT_THAT(why, HasSubstr("args.sh:2:1: error: missing option --seq-length; is '--seq-lenght' meant for it?"));
}

TEST_F(MegatronArguments, HeadsOfAnotherWidthNeedALlama) {
  const std::string why = refusal("--num-layers 24 --hidden-size 64 --num-attention-heads 16\n--kv-channels 8");
  EXPECT_THAT(why, HasSubstr("args.sh:2:1: error: --kv-channels: other than hidden-size / heads, 4, is read"));
}

}  // namespace
}  // namespace tessera
