#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "calibration/aiconfigurator.hpp"
#include "calibration/neusight.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

class FamilyReaders : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            (std::string("tessera_readers_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    for (const AicSystem& system : aic_systems()) std::filesystem::create_directories(aic(system.folder));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::filesystem::path aic(std::string_view folder) const {
    return root_ / "kernels" / "aiconfigurator" / folder;
  }
  void write(const std::filesystem::path& path, const std::string& text) const { write_file(path, text); }

  /// NeuSight's three vector files, rows given per file.
  void write_vector(const std::string& elementwise, const std::string& softmax, const std::string& layernorm) const {
    const std::string header = "gpu,dtype,op,rows,h,bytes,latency_ms,split\n";
    write(root_ / "neusight" / "elementwise.csv.gz", header + elementwise);
    write(root_ / "neusight" / "softmax.csv.gz", header + softmax);
    write(root_ / "neusight" / "layernorm.csv.gz", header + layernorm);
  }

  std::filesystem::path root_;
};

constexpr const char* kAttentionHeader =
    "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,"
    "kv_cache_dtype,step,latency\n";

TEST_F(FamilyReaders, VectorRowsKeepShapeTimingAndTime) {
  write_vector("T4,fp32,add,16384,1024,201326592,0.9,train\n", "T4,fp32,softmax,16384,1024,134217728,0.7,test\n",
               "T4,fp32,ln,16384,1024,134217728,0.8,train\n");
  const Dataset data = read_neusight_vector(root_);
  ASSERT_EQ(data.samples.size(), 3u);
  EXPECT_EQ(data.samples[0].kernel, (Kernel{Op::add, Dtype::fp32, VectorShape{16384, 1024}}));
  EXPECT_EQ(data.samples[0].context.timing, Timing::eager);
  EXPECT_EQ(data.samples[0].context.residency, Residency::warm);
  EXPECT_DOUBLE_EQ(data.samples[0].time.value(), 0.9e-3);
  EXPECT_TRUE(data.samples[0].fit);
  EXPECT_FALSE(data.samples[1].fit);  // split=test
  EXPECT_EQ(data.samples[2].kernel.op, Op::layernorm);
  EXPECT_NE(data.samples[1].session, data.samples[2].session);
}

TEST_F(FamilyReaders, RowsThatShowTheHostAreNotRead) {
  write_vector("T4,fp32,add,16,1024,196608,0.03,train\nT4,fp32,add,16384,1024,201326592,0.9,train\n", "", "");
  EXPECT_EQ(read_neusight_vector(root_).samples.size(), 1u);
}

TEST_F(FamilyReaders, AnUnknownOperatorIsNamedWithItsLine) {
  write_vector("T4,fp32,addd,16384,1024,201326592,0.9,train\n", "", "");
  try {
    read_neusight_vector(root_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(to_string(error.diagnostics().front()), testing::HasSubstr("elementwise.csv.gz:2"));
    EXPECT_THAT(error.what(), testing::HasSubstr("unknown operator 'addd'"));
  }
}

TEST_F(FamilyReaders, ARowWhoseShapeCannotBeIsNamedWithItsLine) {
  write(aic("h100_sxm") / "context_attention__vllm-1.csv.gz",
        std::string(kAttentionHeader) + "fa3,2,512,32,5,128,0,1,bfloat16,bfloat16,256,0.1\n");
  EXPECT_THROW(read_aic_prefill(root_), InputError);  // 5 key heads for 32
  write(aic("l40s") / "moe__trtllm-1.csv.gz",
        "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,latency\n"
        "moe_torch_flow_cutlass,bfloat16,16,4096,14336,9,8,2,1,0.5\n");
  EXPECT_THROW(read_aic_moe(root_), InputError);  // 9 of 8 experts
}

TEST_F(FamilyReaders, UnsteadyClocksAndUnalignedRowsAreNotForFitting) {
  write_vector(
      "A100-PCIE-40GB,fp32,powu,4096,1024,33554432,0.05,train\n"  // counts cycles
      "A100-PCIE-40GB,fp32,addu,4096,1024,33554432,0.05,train\n",
      "T4,fp32,softmax,16384,1023,134086656,0.7,train\n", "");
  const Dataset data = read_neusight_vector(root_);
  ASSERT_EQ(data.samples.size(), 3u);
  EXPECT_FALSE(data.samples[0].fit);
  EXPECT_TRUE(data.samples[1].fit);
  EXPECT_FALSE(data.samples[2].fit);
}

TEST_F(FamilyReaders, CopiesAreTheElementwiseRowsBoundByMemory) {
  write_vector("T4,fp32,add,16384,1024,201326592,0.9,train\nT4,fp32,pow,16384,1024,201326592,0.9,train\n", "", "");
  const Dataset data = read_neusight_copies(root_);
  ASSERT_EQ(data.samples.size(), 1u);
  EXPECT_EQ(data.samples[0].kernel.op, Op::memory);
  EXPECT_DOUBLE_EQ(traffic(data.samples[0].kernel).total().value(), 3.0 * 4 * 16384 * 1024);
}

TEST_F(FamilyReaders, ConvolutionsAreRead) {
  write(root_ / "neusight" / "conv.csv.gz",
        "gpu,dtype,op,b,c_in,c_out,ksize,hw,stride,pad,latency_ms,split\nP4,fp32,conv,2,3,64,3,32,1,1,0.5,train\n");
  const Dataset data = read_neusight_conv(root_);
  ASSERT_EQ(data.samples.size(), 1u);
  EXPECT_EQ(data.samples[0].kernel, (Kernel{Op::conv2d, Dtype::fp32, ConvShape{2, 3, 64, 3, 32, 1, 1}}));
  EXPECT_TRUE(data.samples[0].fit);
}

TEST_F(FamilyReaders, PrefillRowsCountNewTokensAmongTheKeys) {
  write(aic("h100_sxm") / "context_attention__vllm-1.csv.gz",
        std::string(kAttentionHeader) +
            "fa3,2,512,32,0,128,0,1,bfloat16,bfloat16,256,0.1\n"  // 0 key heads: all
            "fa3,2,512,32,8,128,0,1,bfloat16,fp8,0,0.1\n"
            "fa3,2,512,32,8,128,128,1,bfloat16,bfloat16,0,0.1\n");
  const Dataset data = read_aic_prefill(root_);
  ASSERT_EQ(data.samples.size(), 1u);
  EXPECT_EQ(data.gpus.front(), "H100-SXM-80GB");
  const AttentionShape expected{.batch = 2, .q_len = 512, .kv_len = 768, .heads = 32, .kv_heads = 32, .head_dim = 128};
  EXPECT_EQ(data.samples[0].kernel, (Kernel{Op::attention_prefill, Dtype::bf16, expected}));
  EXPECT_EQ(data.samples[0].context.residency, Residency::rotated);
}

TEST_F(FamilyReaders, DecodeLeavesOutOfTheFitWhatSharedPagesOrAnUntunedKernelTimed) {
  const std::string grouped = "x,8,1,32,8,128,0,1,bfloat16,bfloat16,1023,0.1\n";
  write(aic("a100_sxm") / "generation_attention__trtllm-1.0.0.csv.gz",
        std::string(kAttentionHeader) + grouped + "x,8,1,32,32,128,0,1,bfloat16,bfloat16,1023,0.3\n");
  write(aic("a100_sxm") / "generation_attention__vllm-0.14.0.csv.gz",
        std::string(kAttentionHeader) + grouped + "vllm_flash_attn_fa4,8,1,32,8,512,0,1,bfloat16,bfloat16,1023,9\n");
  const Dataset data = read_aic_decode(root_);
  ASSERT_EQ(data.samples.size(), 4u);
  EXPECT_FALSE(data.samples[0].fit);  // grouped: sequences share pages in that file
  EXPECT_TRUE(data.samples[1].fit);
  EXPECT_TRUE(data.samples[2].fit);
  EXPECT_FALSE(data.samples[3].fit);
  EXPECT_EQ(data.samples[0].context.runtime, Runtime::trtllm);
  EXPECT_EQ(data.samples[2].context.runtime, Runtime::vllm);
  EXPECT_NE(data.samples[0].session, data.samples[2].session);
  EXPECT_EQ(std::get<AttentionShape>(data.samples[2].kernel.shape).kv_len, 1023);
}

TEST_F(FamilyReaders, LatentAttentionIsReadWhereItsCacheIsBf16) {
  const std::string header = "kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency\n";
  write(aic("h100_sxm") / "context_mla__trtllm-1.csv.gz",
        header + "default,bfloat16,bfloat16,16,2,512,8,0,0.2\ndefault,bfloat16,fp8,16,2,512,8,0,0.2\n");
  write(aic("b200_sxm") / "generation_mla__trtllm-1.csv.gz", header + "default,bfloat16,bfloat16,16,2,1,8,1023,0.1\n");
  const Dataset prefill = read_aic_mla_prefill(root_), decode = read_aic_mla_decode(root_);
  ASSERT_EQ(prefill.samples.size(), 1u);
  EXPECT_EQ(prefill.samples[0].kernel,
            (Kernel{Op::mla_prefill, Dtype::bf16, MlaShape{.batch = 2, .q_len = 512, .kv_len = 512, .heads = 16}}));
  ASSERT_EQ(decode.samples.size(), 1u);
  EXPECT_EQ(decode.samples[0].kernel,
            (Kernel{Op::mla_decode, Dtype::bf16, MlaShape{.batch = 2, .q_len = 1, .kv_len = 1023, .heads = 16}}));
  EXPECT_EQ(decode.gpus.front(), "B200-SXM-180GB");
}

TEST_F(FamilyReaders, ExpertsAreReadWithoutExpertParallelismAndDividedByTensorParallelism) {
  write(aic("l40s") / "moe__trtllm-1.csv.gz",
        "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,latency\n"
        "moe_torch_flow_cutlass,bfloat16,16,4096,14336,2,8,2,1,0.5\n"
        "moe_torch_flow_nongated,bfloat16,16,4096,14336,2,8,1,1,0.5\n"
        "moe_torch_flow_cutlass,bfloat16,16,4096,14336,2,8,1,4,0.5\n"
        "moe_torch_flow_cutlass,fp8,16,4096,14336,2,8,1,1,0.5\n"
        "moe_torch_flow_cutlass,fp8_block,16,4096,14336,2,8,1,1,0.5\n");
  const Dataset data = read_aic_moe(root_);
  ASSERT_EQ(data.samples.size(), 3u);
  EXPECT_EQ(data.samples[2].kernel.dtype, Dtype::fp8);
  EXPECT_EQ(std::get<MoeShape>(data.samples[0].kernel.shape).inter, 7168);
  EXPECT_TRUE(std::get<MoeShape>(data.samples[0].kernel.shape).gated);
  EXPECT_FALSE(std::get<MoeShape>(data.samples[1].kernel.shape).gated);
}

}  // namespace
}  // namespace tessera
