#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/validation/kernel_rows.hpp"
#include "sim/app/validation/kind.hpp"
#include "sim/app/validation/model_rows.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

MeasurementKind kind(const std::string& header) {
  return kind_of(CsvTable::parse(header + "\n", "f.csv"), "f.csv");
}

TEST(Kind, FollowsFromTheColumns) {
  EXPECT_EQ(kind("gpu,dtype,op,m,n,k,latency_ms"), MeasurementKind::kernel);
  EXPECT_EQ(kind("gpu,model,mode,batch,latency_ms"), MeasurementKind::model);
  EXPECT_EQ(kind("set,platform,n_gpus,model,tp,iter_time_s"), MeasurementKind::training);
  EXPECT_EQ(kind("platform,collective,n_gpus,message_bytes,latency_us"), MeasurementKind::collective);
}

TEST(Kind, RefusesColumnsOfNoKind) {
  try {
    kind("gpu,batch,latency_ms");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().file, "f.csv");
    EXPECT_EQ(error.diagnostics().front().line, 1);
    EXPECT_THAT(error.diagnostics().front().message, HasSubstr("no kind of measurement has these columns"));
  }
}

TEST(Kind, UnitsAreSuffixes) {
  EXPECT_EQ(unit_of("latency_us"), Seconds(1e-6));
  EXPECT_EQ(unit_of("fw_ms"), Seconds(1e-3));
  EXPECT_EQ(unit_of("iter_time_s"), Seconds(1.0));
  EXPECT_THROW(unit_of("mem_gib"), InputError);
}

struct Read {
  KernelRow row;
  std::string mistakes;
};

Read read_kernel(const std::string& text, const std::map<std::string, std::string>& defaults = {}) {
  const CsvTable table = CsvTable::parse(text, "k.csv");
  Mistakes mistakes;
  Catalogue catalogue;
  RowReader reader(table, 0, defaults, mistakes);
  Read result{read_kernel_row(reader, catalogue), {}};
  result.row.gpu = nullptr;  // dies with the catalogue
  try {
    mistakes.check();
  } catch (const InputError& error) {
    result.mistakes = error.what();
  }
  return result;
}

TEST(KernelRow, WholeNumbersMayHaveAPoint) {
  const Read read = read_kernel("gpu,dtype,op,m,n,k,timing\nt4,fp32,linear,24.0,8,16,eager\n");
  EXPECT_EQ(read.mistakes, "");
  EXPECT_EQ(read.row.kernel,
            (Kernel{.op = Op::linear,
                    .dtype = Dtype::fp32,
                    .shape = GemmShape{.batch = 1, .m = 24, .n = 8, .k = 16, .layout = GemmLayout::tn, .bias = true}}));
  EXPECT_EQ(read.row.context.residency, Residency::warm);
}

TEST(KernelRow, GraphTimingIsTheDefaultAndRotatesWeights) {
  const Read read = read_kernel("gpu,dtype,op,b,m,n,k\nT4,fp16,bmm,2,24,8,16\n");
  EXPECT_EQ(read.row.context.timing, Timing::graph);
  EXPECT_EQ(read.row.context.residency, Residency::rotated);
  EXPECT_EQ(std::get<GemmShape>(read.row.kernel.shape).layout, GemmLayout::nn);
  EXPECT_EQ(std::get<GemmShape>(read.row.kernel.shape).batch, 2);
}

TEST(KernelRow, RuntimeIsWhoseKernelsRun) {
  const auto runtime = [](const std::string& name) {
    return read_kernel("gpu,dtype,op,rows,h,runtime\nT4,fp32,add,24,8," + name + "\n").row.context.runtime;
  };
  EXPECT_EQ(runtime("vllm"), Runtime::vllm);
  EXPECT_EQ(runtime("cublaslt"), Runtime::cublaslt);
  EXPECT_EQ(runtime(""), Runtime::unspecified);
  EXPECT_EQ(runtime("lmdeploy"), Runtime::other);  // predicted as the typical one, and provenance says so
}

TEST(KernelRow, ReadsEveryShape) {
  EXPECT_EQ(read_kernel("gpu,dtype,op,rows,h\nT4,fp32,softmax,24,8\n").row.kernel.shape,
            Shape(VectorShape{.rows = 24, .h = 8}));
  EXPECT_EQ(
      read_kernel("gpu,dtype,op,b,c_in,c_out,ksize,hw,stride,pad\nT4,fp32,conv2d,1,2,3,4,5,6,7\n").row.kernel.shape,
      Shape(ConvShape{.batch = 1, .c_in = 2, .c_out = 3, .kernel = 4, .image = 5, .stride = 6, .pad = 7}));
  EXPECT_EQ(
      read_kernel("gpu,dtype,op,batch,q_len,kv_len,heads,kv_heads,head_dim\nT4,fp16,attention_decode,1,1,3,8,4,64\n")
          .row.kernel.shape,
      Shape(AttentionShape{.batch = 1, .q_len = 1, .kv_len = 3, .heads = 8, .kv_heads = 4, .head_dim = 64}));
  EXPECT_EQ(read_kernel("gpu,dtype,op,tokens,hidden,inter,topk,experts\nT4,fp16,moe,1,2,3,4,5\n").row.kernel.shape,
            Shape(MoeShape{.tokens = 1, .hidden = 2, .inter = 3, .topk = 4, .experts = 5}));
}

TEST(KernelRow, DefaultsFillMissingColumnsAndEmptyCells) {
  EXPECT_EQ(read_kernel("dtype,op,rows,h\nfp32,add,24,8\n", {{"gpu", "T4"}}).mistakes, "");
  EXPECT_EQ(read_kernel("gpu,dtype,op,rows,h\n,fp32,add,24,8\n", {{"gpu", "T4"}}).mistakes, "");
  EXPECT_EQ(
      std::get<VectorShape>(read_kernel("gpu,dtype,op,h\nT4,fp32,add,8\n", {{"rows", "3"}}).row.kernel.shape).rows, 3);
}

struct BadRow {
  const char *what, *text, *message;
};

class BadKernelRow : public testing::TestWithParam<BadRow> {};

TEST_P(BadKernelRow, NamesFileLineAndCell) {
  const std::string mistakes = read_kernel(GetParam().text).mistakes;
  EXPECT_THAT(mistakes, HasSubstr("k.csv:2"));
  EXPECT_THAT(mistakes, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadKernelRow,
    testing::Values(
        BadRow{"op", "gpu,dtype,op,rows,h\nT4,fp32,softmaxx,24,8\n",
               "unknown operator 'softmaxx'; did you mean 'softmax'?"},
        BadRow{"inner_op", "gpu,dtype,op,rows,h\nT4,fp32,optimizer,24,8\n", "unknown operator 'optimizer'"},
        BadRow{"no_op", "gpu,dtype,op,rows,h\nT4,fp32,,24,8\n", "op: expected a value, found nothing"},
        BadRow{"gpu", "gpu,dtype,op,rows,h\nT44,fp32,add,24,8\n", "did you mean 'T4'?"},
        BadRow{"no_gpu", "dtype,op,rows,h\nfp32,add,24,8\n", "gpu: expected a value, found nothing (no such column)"},
        BadRow{"dtype", "gpu,dtype,op,rows,h\nT4,fp33,add,24,8\n", "unknown dtype 'fp33'; did you mean"},
        BadRow{"fraction", "gpu,dtype,op,rows,h\nT4,fp32,add,24.5,8\n", "24.5"},
        BadRow{"empty_dim", "gpu,dtype,op,rows,h\nT4,fp32,add,,8\n", "rows: expected a whole number, found nothing"},
        BadRow{"no_dim", "gpu,dtype,op,rows\nT4,fp32,add,24\n",
               "h: expected a whole number, found nothing (no such column)"},
        BadRow{"timing", "gpu,dtype,op,rows,h,timing\nT4,fp32,add,24,8,warm\n",
               "expected graph or eager, found 'warm'"}),
    [](const auto& param) { return std::string(param.param.what); });

TEST(Mistakes, RepeatedOnesAreCounted) {
  Mistakes mistakes;
  for (const int line : {2, 5, 9})
    mistakes.add(Diagnostic{.file = "k.csv", .line = line, .column = 0, .message = "bad"});
  try {
    mistakes.check();
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1u);
    EXPECT_EQ(error.diagnostics().front().line, 2);
    EXPECT_EQ(error.diagnostics().front().message, "bad (and 2 more rows like it)");
  }
}

TEST(Parallelism, ReadsTheContractsWords) {
  EXPECT_EQ(parse_parallelism("none"), Parallelism{});
  EXPECT_EQ(parse_parallelism("dp4"), (Parallelism{.dp = 4}));
  EXPECT_EQ(parse_parallelism("tp8"), (Parallelism{.dp = 1, .tp = 8}));
  EXPECT_EQ(parse_parallelism("pp4_2"), (Parallelism{.dp = 1, .tp = 1, .stages = 4, .micro_batches = 2}));
  for (const char* bad : {"", "dp", "dp0", "xp4", "pp4", "pp_2", "tp4x", "tp-1"})
    EXPECT_FALSE(parse_parallelism(bad)) << bad;
}

struct ReadModel {
  ModelRow row;
  std::string mistakes;
};

ReadModel read_model(const std::string& cells) {
  const CsvTable table = CsvTable::parse(
      "gpu,platform,model,mode,batch,seq,parallelism,n_gpu,dtype,fused,timing,attention\n" + cells + "\n", "m.csv");
  Mistakes mistakes;
  Catalogue catalogue;
  const std::map<std::string, std::string> no_defaults;
  RowReader reader(table, 0, no_defaults, mistakes);
  ReadModel result{read_model_row(reader, catalogue), {}};
  try {
    mistakes.check();
  } catch (const InputError& error) {
    result.mistakes = error.what();
  }
  return result;
}

TEST(ModelRow, BatchIsGlobal) {
  const ReadModel read = read_model("A100-SXM4-40GB,dgx-a100-40gb,gpt2_large,train,8,1024,dp4,4,fp32,0,eager,eager");
  EXPECT_EQ(read.mistakes, "");
  EXPECT_EQ(read.row.spec.build.batch, 2);
  EXPECT_EQ(read.row.spec.parallel.dp, 4);
  EXPECT_EQ(read.row.spec.build.mode, Mode::training);
  EXPECT_EQ(read.row.spec.build.optimizer, OptimizerKind::none);
  EXPECT_FALSE(read.row.spec.simulation.cuda_graph);
  EXPECT_FALSE(read.row.spec.check_memory);
}

TEST(ModelRow, EmptyCellsTakeTheDocumentedDefaults) {
  const ReadModel half = read_model("T4,,bert_large,inf,8,512,,,fp16,,,");
  EXPECT_EQ(half.mistakes, "");
  EXPECT_EQ(half.row.spec.build.attention, AttentionKind::flash);
  EXPECT_TRUE(half.row.spec.simulation.cuda_graph);
  EXPECT_EQ(read_model("T4,,bert_large,inf,8,512,,,fp32,,,").row.spec.build.attention, AttentionKind::eager);
}

TEST(ModelRow, EagerTrainingStartsWithAnEmptyAllocator) {
  EXPECT_TRUE(read_model("T4,,bert_large,train,8,512,,,fp32,,eager,").row.spec.cold_allocator);
  EXPECT_FALSE(read_model("T4,,bert_large,train,8,512,,,fp32,,graph,").row.spec.cold_allocator);
  EXPECT_FALSE(read_model("T4,,bert_large,inf,8,512,,,fp32,,eager,").row.spec.cold_allocator);
}

TEST(ModelRow, PipelinesSplitTheBatchIntoMicroBatches) {
  const ReadModel read = read_model("A100-SXM4-40GB,dgx-a100-40gb,gpt2_large,train,4,1024,pp4_2,4,fp32,0,eager,eager");
  EXPECT_EQ(read.mistakes, "");
  EXPECT_EQ(read.row.unsupported, "");
  EXPECT_EQ(read.row.spec.parallel.pp, 4);
  EXPECT_EQ(read.row.spec.parallel.micro_batches, 2);
  EXPECT_EQ(read.row.spec.build.batch, 2);
  EXPECT_THAT(read_model("A100-SXM4-40GB,dgx-a100-40gb,gpt2_large,train,3,1024,pp4_2,4,fp32,0,eager,eager").mistakes,
              HasSubstr("expected a multiple of 2 (micro-batches), found 3"));
}

class BadModelRow : public testing::TestWithParam<BadRow> {};

TEST_P(BadModelRow, NamesFileLineAndCell) {
  const std::string mistakes = read_model(GetParam().text).mistakes;
  EXPECT_THAT(mistakes, HasSubstr("m.csv:2"));
  EXPECT_THAT(mistakes, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadModelRow,
    testing::Values(
        BadRow{"model", "T4,,bert_larg,inf,8,512,none,1,fp32,0,eager,eager", "unknown model 'bert_larg'; did you mean"},
        BadRow{"mode", "T4,,bert_large,infer,8,512,none,1,fp32,0,eager,eager", "expected inf or train, found 'infer'"},
        BadRow{"platform", "A100-SXM4-40GB,dgx-a100-40g,bert_large,inf,8,512,dp4,4,fp32,0,eager,eager",
               "dgx-a100-40gb"},
        BadRow{"no_platform", "T4,,bert_large,inf,8,512,dp4,4,fp32,0,eager,eager", "expected a platform for 4 GPUs"},
        BadRow{"other_gpu", "T4,dgx-a100-40gb,bert_large,inf,8,512,dp4,4,fp32,0,eager,eager", "the row says T4"},
        BadRow{"too_many", "A100-SXM4-40GB,dgx-a100-40gb,bert_large,inf,16,512,dp16,16,fp32,0,eager,eager",
               "has 8 GPUs, the row wants 16"},
        BadRow{"parallelism", "T4,,bert_large,inf,8,512,ep4,1,fp32,0,eager,eager", "expected none, dpN, tpN or ppN_M"},
        BadRow{"world", "A100-SXM4-40GB,dgx-a100-40gb,bert_large,inf,8,512,dp4,2,fp32,0,eager,eager", "uses 4 GPUs"},
        BadRow{"batch", "A100-SXM4-40GB,dgx-a100-40gb,bert_large,inf,6,512,dp4,4,fp32,0,eager,eager",
               "expected a multiple of 4 (dp), found 6"},
        BadRow{"no_batch", "T4,,bert_large,inf,,512,none,1,fp32,0,eager,eager", "batch: expected a whole number"},
        BadRow{"dtype", "T4,,bert_large,inf,8,512,none,1,fp23,0,eager,eager", "unknown dtype 'fp23'"},
        BadRow{"fused", "T4,,bert_large,inf,8,512,none,1,fp32,2,eager,eager", "expected 0 or 1, found 2"},
        BadRow{"timing", "T4,,bert_large,inf,8,512,none,1,fp32,0,lazy,eager", "expected graph or eager, found 'lazy'"},
        BadRow{"attention", "T4,,bert_large,inf,8,512,none,1,fp32,0,eager,paged",
               "expected eager or flash, found 'paged'"}),
    [](const auto& param) { return std::string(param.param.what); });

}  // namespace
}  // namespace tessera
