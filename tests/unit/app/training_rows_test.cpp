// Training rows: what they say, what frameworks decide, what is open.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/validation/training_rows.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

const std::string kHeader =
    "platform,n_gpus,precision,model,family,n_layers,hidden,ffn,heads,kv_heads,vocab,seq_len,mbs,gbs,tp,pp,vpp,dp,cp,"
    "seq_parallel,sharding,recompute,attention,framework,compile,iter_time_s\n";

struct Read {
  TrainingRow row;
  std::string mistakes;
};

Read read(const std::string& cells, const std::map<std::string, std::string>& defaults = {}) {
  const CsvTable table = CsvTable::parse(kHeader + cells + "\n", "t.csv");
  Mistakes mistakes;
  Catalogue catalogue;
  RowReader reader(table, 0, defaults, mistakes);
  Read result{read_training_row(reader, catalogue), {}};
  try {
    mistakes.check();
  } catch (const InputError& error) {
    result.mistakes = error.what();
  }
  return result;
}

TEST(TrainingRow, TheShapeWinsOverTheLabel) {
  const Read r = read(
      "dgx-a100-80gb,16,fp16,gpt2,gpt,24.0,1024,4096,16,16,51200,1024,4,64,2,2,1,4,1,0,none,full,eager,"
      "megatron-deepspeed,0,1");
  EXPECT_EQ(r.mistakes, "");
  ASSERT_EQ(r.row.runs.size(), 1u);
  const RunSpec& spec = r.row.runs.front();
  EXPECT_EQ(spec.model.layers, 24);
  EXPECT_EQ(spec.model.vocab, 51200);
  EXPECT_EQ(spec.cluster.nodes, 2);
  EXPECT_EQ(spec.parallel.dp, 4);
  EXPECT_EQ(spec.parallel.micro_batches, 64 / 4 / 4);
  EXPECT_EQ(spec.parallel.recompute, Recompute::full);
  EXPECT_EQ(spec.build.attention, AttentionKind::fused_softmax);
  EXPECT_FALSE(spec.parallel.overlap);
  EXPECT_FALSE(spec.check_memory);  // everything was said: it was measured, so it fitted
}

TEST(TrainingRow, CountsAreFromOneOn) {
  const Read r =
      read("dgx-h100,0,fp16,gpt2,gpt,-1,1024,4096,16,16,0,1024,4,64,1,1,1,1,1,0,none,full,eager,torchtitan,0,1");
  EXPECT_THAT(r.mistakes, HasSubstr("n_layers: expected 1 to 1048576, found -1"));
  EXPECT_THAT(r.mistakes, HasSubstr("vocab: expected 1 to 1048576, found 0"));
  EXPECT_THAT(r.mistakes, HasSubstr("n_gpus: expected 1 to 1048576, found 0"));
}

TEST(TrainingRow, NarrowPrecisionIsThatOfTheProducts) {
  const Read r =
      read("dgx-h100,8,fp8,L,llama,32,4096,14336,32,8,128256,8192,1,8,1,1,1,8,1,0,fsdp,selective,flash,torchtitan,1,1");
  EXPECT_EQ(r.mistakes, "");
  const RunSpec& spec = r.row.runs.front();
  EXPECT_EQ(spec.build.dtype, Dtype::bf16);
  EXPECT_EQ(spec.build.products, Dtype::fp8);
  EXPECT_EQ(spec.parallel.sharding, Sharding::zero3);
  EXPECT_EQ(spec.parallel.recompute, Recompute::operators);  // what torchtitan calls selective
  EXPECT_TRUE(spec.model.gated_ffn);
}

TEST(TrainingRow, ScalesAreOfTheTensorOrOfItsRows) {
  const std::string cells = "dgx-h100,8,fp8,L,gpt,2,64,256,4,4,100,64,1,8,1,1,1,8,1,0,none,none,flash,x,0,1";
  EXPECT_THAT(read(cells, {{"fp8_recipe", "rowise"}}).mistakes,
              HasSubstr("fp8_recipe: expected tensorwise, rowwise, found 'rowise'"));
}

TEST(TrainingRow, AnUnknownFrameworkIsNoDefault) {
  const Read r =
      read("dgx-h100,8,bf16,L,llama,32,4096,14336,32,8,128256,8192,1,8,1,1,1,8,1,0,fsdp,none,flash,torchtitn,1,1");
  EXPECT_THAT(r.mistakes, HasSubstr("framework: unknown framework 'torchtitn'; did you mean 'torchtitan'?"));
}

TEST(TrainingRow, DTensorWaitsForItsSums) {
  for (const bool waits : {true, false}) {
    const Read r =
        read(std::string("dgx-h100,8,bf16,L,llama,32,4096,14336,32,8,128256,8192,1,8,8,1,1,1,1,1,none,none,") +
             (waits ? "flash,torchtitan,1,1" : "flash,megatron-core,1,1"));
    EXPECT_EQ(r.mistakes, "");
    EXPECT_EQ(r.row.runs.front().parallel.tp_waits, waits);
  }
}

// 96 layers on 8 stages: 1, 2, 3, 4, 6, 12 chunks; of 24 micro-batches, 12, or 6, which 8 divides, or does not.
TEST(TrainingRow, OpenCellsAreAllThatTheAuthorsCouldHaveChosen) {
  const Read r =
      read("dgx-h100,512,bf16,L,gpt,96,12288,49152,96,96,51200,2048,,192,8,8,,8,1,1,zero1,,flash,megatron-core,0,1");
  EXPECT_EQ(r.mistakes, "");
  std::map<std::int64_t, int> of_size;
  for (const RunSpec& spec : r.row.runs) {
    ++of_size[spec.build.batch];
    EXPECT_TRUE(spec.check_memory);
    EXPECT_TRUE(spec.parallel.chunks == 1 || spec.parallel.micro_batches % 8 == 0);
  }
  EXPECT_THAT(of_size, testing::ElementsAre(testing::Pair(1, 6 * 3), testing::Pair(2, 3), testing::Pair(4, 3),
                                            testing::Pair(8, 3)));
}

TEST(TrainingRow, MistakesNameTheirColumn) {
  const auto mistakes = [](const std::string& cells) { return read(cells).mistakes; };
  EXPECT_THAT(mistakes("dgx-h100,6,bf16,L,gpt,2,64,256,4,4,100,64,1,8,4,1,1,1,1,0,none,none,flash,x,0,1"),
              HasSubstr("tp 4 x cp 1 x pp 1 does not divide 6 GPUs"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf16,L,gpt,2,64,256,4,4,100,64,1,9,1,1,1,8,1,0,none,none,flash,x,0,1"),
              HasSubstr("expected a multiple of dp 8"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf16,L,gpt,2,64,256,4,4,100,64,3,16,1,1,1,8,1,0,none,none,flash,x,0,1"),
              HasSubstr("3 does not divide the 2 samples of a replica"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf16,L,gpt,2,64,256,4,4,100,64,1,8,1,1,1,8,1,0,zero4,none,flash,x,0,1"),
              HasSubstr("expected none, zero1, zero2, zero3, fsdp, found 'zero4'"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf17,L,gpt,2,64,256,4,4,100,64,1,8,1,1,1,8,1,0,none,none,flash,x,0,1"),
              HasSubstr("unknown dtype 'bf17'"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf16,L,gpt,2,64,256,4,3,100,64,1,8,1,1,1,8,1,0,none,none,flash,x,0,1"),
              HasSubstr("kv_heads: expected a divisor of 4 (heads), found 3"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf16,L,gpt,2,65,256,4,4,100,64,1,8,1,1,1,8,1,0,none,none,flash,x,0,1"),
              HasSubstr("hidden: expected a multiple of 4 (heads), found 65"));
  EXPECT_THAT(mistakes("dgx-h100,8,bf16,L,gpt,2,64,256,4,4,100,-5,1,8,1,1,1,8,1,0,none,none,flash,x,0,1"),
              HasSubstr("seq_len: expected 1 to 1048576, found -5"));
}

}  // namespace
}  // namespace tessera
