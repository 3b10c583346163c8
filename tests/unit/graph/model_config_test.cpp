#include "sim/graph/model_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::int64_t parameters(std::string_view model) {
  return parameter_count(build_graph(find_model(model), {.batch = 1, .sequence = 16}));
}

struct Published {
  std::string_view model;
  std::int64_t parameters;
};

class ParameterCount : public ::testing::TestWithParam<Published> {};

TEST_P(ParameterCount, EqualsThePublishedWeights) {
  EXPECT_EQ(parameters(GetParam().model), GetParam().parameters);
}

// Elements of the published checkpoints, tied weights once.
INSTANTIATE_TEST_SUITE_P(
    BuiltIn, ParameterCount,
    ::testing::Values(Published{"gpt2", 124'439'808}, Published{"gpt2-medium", 354'823'168},
                      Published{"gpt2_large", 774'030'080}, Published{"gpt2-xl", 1'557'611'200},
                      Published{"opt-1.3b", 1'315'758'080}, Published{"opt-13b", 12'853'473'280},
                      Published{"bert-base", 109'482'240}, Published{"bert-large", 335'141'888},
                      Published{"llama-2-7b", 6'738'415'616}, Published{"llama-2-13b", 13'015'864'320},
                      Published{"llama-2-70b", 68'976'648'192}, Published{"llama-3.1-8b", 8'030'261'248},
                      Published{"llama-3.1-70b", 70'553'706'496}, Published{"llama-3.1-405b", 405'853'388'800},
                      Published{"mistral-7b", 7'241'732'096}, Published{"mixtral-8x7b", 46'702'792'704},
                      Published{"qwen2.5-7b", 7'615'616'512}, Published{"qwen3-8b", 8'190'735'360}),
    [](const auto& instance) {
      std::string name(instance.param.model);
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

ModelConfig parse(std::string text) {
  return read_model_config(parse_text(std::move(text), "config.json", true), "test");
}

std::string mistakes(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

constexpr std::string_view kLlama = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
  "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100)";

TEST(ModelConfig, PythiaCountsAsPublished) {
  // EleutherAI's table: Pythia-1B has 1,011,781,632 parameters.
  const ModelConfig c = parse(R"({"model_type": "gpt_neox", "num_hidden_layers": 16, "hidden_size": 2048,
    "num_attention_heads": 8, "intermediate_size": 8192, "vocab_size": 50304, "rotary_pct": 0.25})");
  EXPECT_EQ(parameter_count(build_graph(c, {.batch = 1, .sequence = 16})), 1'011'781'632);
}

TEST(ModelConfig, NullMeansNotGivenAndExtraKeysAreFine) {
  const ModelConfig c = parse(std::string(kLlama) + R"(, "num_key_value_heads": null, "head_dim": null,
    "rope_scaling": {"factor": 8.0}, "eos_token_id": [1, 2]})");
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.head_dim, 16);
}

TEST(ModelConfig, NestedTextConfigIsTheLanguageModel) {
  const ModelConfig c = parse(R"({"model_type": "llava", "vision_config": {"hidden_size": 7}, "text_config": )" +
                              std::string(kLlama) + "}}");
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.hidden, 64);
}

TEST(ModelConfig, BiasesAndTyingChangeTheCount) {
  const auto count = [](const std::string& extra) {
    return parameter_count(build_graph(parse(std::string(kLlama) + extra + "}"), {.batch = 1, .sequence = 8}));
  };
  EXPECT_EQ(count("") - count(R"(, "tie_word_embeddings": true)"), 100 * 64);
  EXPECT_EQ(count(R"(, "attention_bias": true)") - count(""), 2 * 4 * 64);
  EXPECT_EQ(count(R"(, "mlp_bias": true)") - count(""), 2 * (96 + 96 + 64));
  EXPECT_EQ(count("") - count(R"(, "architectures": ["LlamaModel"])"), 100 * 64);
}

TEST(ModelConfigMistakes, MissingFieldIsNamed) {
  EXPECT_THAT(mistakes(R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 96, "vocab_size": 100})"),
              HasSubstr("config.json:1:1: error: missing key 'hidden_size'"));
}

TEST(ModelConfigMistakes, UnknownArchitectureNamesTheNearest) {
  const std::string text = mistakes("{\n  \"model_type\": \"lama\"}");
  EXPECT_THAT(text,
              HasSubstr("config.json:2:17: error: model_type: unknown architecture 'lama'; did you mean 'llama'?"));
  EXPECT_THAT(text, HasSubstr("switch_transformers"));
  EXPECT_THAT(mistakes("{}"), HasSubstr("model_type: missing; expected one of bert, gpt2"));
}

TEST(ModelConfigMistakes, ContradictionsAreAllNamed) {
  const std::string text = mistakes(R"({"model_type": "mixtral", "num_hidden_layers": 0, "hidden_size": 65,
    "num_attention_heads": 4, "num_key_value_heads": 3, "intermediate_size": 96, "vocab_size": 100,
    "hidden_act": "gelo", "num_local_experts": 2, "num_experts_per_tok": 4, "attention_dropout": 1.5,
    "architectures": ["MixtralForTokenClassification"]})");
  EXPECT_THAT(text, HasSubstr("num_hidden_layers: found 0, expected 1 to 1048576"));
  EXPECT_THAT(text, HasSubstr("num_attention_heads: 4 does not divide hidden_size 65"));
  EXPECT_THAT(text, HasSubstr("num_key_value_heads: 3 does not divide num_attention_heads 4"));
  EXPECT_THAT(text, HasSubstr("hidden_act: unknown activation 'gelo'; did you mean 'gelu'?"));
  EXPECT_THAT(text, HasSubstr("num_experts_per_tok: found 4, but there are 2 experts"));
  EXPECT_THAT(text, HasSubstr("attention_dropout: found 1.5, expected 0 or more and less than 1"));
  EXPECT_THAT(text, HasSubstr("architectures: the head of 'MixtralForTokenClassification' is not known"));
}

TEST(ModelConfigMistakes, AbsurdSizesAreRefused) {
  EXPECT_THAT(
      mistakes(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 9000000000000000000, "n_head": 1, "vocab_size": 9})"),
      HasSubstr("n_embd: found 9000000000000000000, expected 1 to 1048576"));
  EXPECT_THAT(mistakes(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": -8, "n_head": 0, "vocab_size": 9})"),
              HasSubstr("n_head: found 0, expected 1 to 1048576"));
}

TEST(ModelConfigMistakes, WhatIsNotModelledIsRefused) {
  const std::string opt = R"({"model_type": "opt", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4,
    "ffn_dim": 96, "vocab_size": 100, "max_position_embeddings": 32, )";
  EXPECT_THAT(mistakes(opt + R"("word_embed_proj_dim": 32})"),
              HasSubstr("word_embed_proj_dim: found 32, only hidden_size (64) is supported"));
  EXPECT_THAT(mistakes(opt + R"("do_layer_norm_before": false})"),
              HasSubstr("do_layer_norm_before: found false, only true is supported"));
  EXPECT_THAT(mistakes(R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 1, "vocab_size": 9,
    "architectures": ["BertForPreTraining"]})"),
              HasSubstr("architectures: the head of 'BertForPreTraining' is not known"));
  const std::string t5 = R"({"model_type": "switch_transformers", "num_layers": 8, "d_model": 64, "d_ff": 96,
    "num_heads": 4, "vocab_size": 100, "num_experts": 4, "num_sparse_encoder_layers": 4, "num_sparse_decoder_layers": )";
  EXPECT_THAT(mistakes(t5 + "2}"), HasSubstr("every 4. decoder layer is sparse, but every 2. encoder layer"));
  EXPECT_THAT(mistakes(t5 + "9}"), HasSubstr("num_sparse_decoder_layers: found 9, expected 1 to 8 layers"));
}

TEST(FindModel, IgnoresCaseAndPunctuation) {
  EXPECT_EQ(find_model("Llama2-7B").name, "llama-2-7b");
  EXPECT_EQ(find_model("bert_large").name, "bert_large");  // exact names win
  EXPECT_EQ(find_model("bert-large").name, "bert-large");
}

TEST(FindModel, UnknownNameOrFile) {
  try {
    find_model("llama-2-7c");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown model 'llama-2-7c'; did you mean 'llama-2-7b'?"));
  }
  try {
    find_model("no/such/config.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no/such/config.json"));
  }
}

TEST(FindModel, EveryBuiltInBuilds) {
  const std::vector<std::string> names = builtin_models();
  EXPECT_EQ(names.size(), 49u);
  for (const std::string& name : names) {
    for (const AttentionKind attention : {AttentionKind::eager, AttentionKind::flash}) {
      const Graph graph = build_graph(find_model(name), {.mode = Mode::training,
                                                         .batch = 2,
                                                         .sequence = 128,
                                                         .dtype = Dtype::bf16,
                                                         .attention = attention,
                                                         .optimizer = OptimizerKind::adam});
      for (const Operator& op : graph.operators) EXPECT_EQ(shape_error(op.kernel), std::nullopt) << name;
    }
  }
}

}  // namespace
}  // namespace tessera
