#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/base/error.hpp"
#include "sim/config/reader.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/zoo/network.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

BuildOptions options(Mode mode, std::int64_t batch = 1) {
  return {.mode = mode, .batch = batch, .sequence = 35, .accumulate = false};
}

Graph inference(std::string_view model) {
  return build_graph(find_model(model), options(Mode::inference));
}

/// Multiply-adds of convolutions, matrix multiplications and attention, as the published counts have them.
double multiply_adds(const Graph& graph) {
  double sum = 0;
  for (const Operator& op : graph.operators) {
    const bool counted = std::holds_alternative<GemmShape>(op.kernel.shape) ||
                         std::holds_alternative<ConvShape>(op.kernel.shape) ||
                         std::holds_alternative<AttentionShape>(op.kernel.shape);
    if (counted) sum += flops(op.kernel).value() / 2;
  }
  return sum;
}

struct Published {
  std::string_view model;
  std::int64_t parameters;
  double giga_multiply_adds;
};

class ZooModel : public ::testing::TestWithParam<Published> {};

TEST_P(ZooModel, HasThePublishedParametersAndMultiplyAdds) {
  const Graph graph = inference(GetParam().model);
  EXPECT_EQ(parameter_count(graph), GetParam().parameters);
  // The tables print two decimals; ViT's leaves the softmax's neighbours out.
  EXPECT_NEAR(multiply_adds(graph) * 1e-9, GetParam().giga_multiply_adds,
              0.006 + 0.003 * GetParam().giga_multiply_adds);
}

// torchvision's table of weights (`num_params` and `GFLOPS`, which count multiply-adds), 0.15. Inception-v3 without the
// 3,326,696 parameters of its auxiliary classifier. CycleGAN: the generator's count as the authors' program prints it
// (11.378 M), and 56.8 G multiply-adds (Li et al., GAN Compression, arXiv 2003.08936, table 1), which count the two
// transposed convolutions at the pixels of their results, four times those that they multiply.
INSTANTIATE_TEST_SUITE_P(
    Table, ZooModel,
    ::testing::Values(Published{"alexnet", 61'100'840, 0.71}, Published{"vgg16", 138'357'544, 15.47},
                      Published{"vgg19", 143'667'240, 19.63}, Published{"resnet18", 11'689'512, 1.81},
                      Published{"resnet34", 21'797'672, 3.66}, Published{"resnet50", 25'557'032, 4.09},
                      Published{"resnet101", 44'549'160, 7.80}, Published{"resnet152", 60'192'808, 11.51},
                      Published{"mobilenet-v2", 3'504'872, 0.30}, Published{"mobilenet-v3", 5'483'032, 0.22},
                      Published{"densenet121", 7'978'856, 2.83}, Published{"densenet161", 28'681'000, 7.73},
                      Published{"inception-v3", 27'161'264 - 3'326'696, 5.71},
                      Published{"efficientnet-b0", 5'288'548, 0.39}, Published{"vit-b-16", 86'567'656, 17.56},
                      Published{"ssd300", 35'641'826, 34.86},
                      Published{"cyclegan", 11'378'179, 56.8 - 2 * 3 * 294'912 * 4096e-9}),
    [](const auto& instance) {
      std::string name(instance.param.model);
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(Zoo, OtherNetworksCountAsPublishedOrByFormula) {
  // U-Net, figure 1: 31,030,658 weights and biases.
  EXPECT_EQ(parameter_count(inference("unet")), 31'030'658);
  // Zaremba et al., section 4.1: two layers of 650 units and 10,000 words; 20 M parameters.
  EXPECT_EQ(parameter_count(inference("lstm")), 10'000 * 650 + 2 * (4 * 650 * (650 + 650) + 8 * 650) + 651 * 10'000);
  // DLRM's repository: 33,762,577 rows of 16, about 540 M parameters; the perceptrons by their widths.
  const auto perceptron = [](std::initializer_list<std::int64_t> widths) {
    std::int64_t sum = 0, in = 0;
    for (const std::int64_t out : widths) {
      if (in > 0) sum += (in + 1) * out;
      in = out;
    }
    return sum;
  };
  EXPECT_EQ(parameter_count(inference("dlrm")),
            33'762'577 * 16 + perceptron({13, 512, 256, 64, 16}) + perceptron({367, 512, 256, 1}));
  // Vaswani et al., table 3: base has 65 M parameters, with some 37,000 shared tokens.
  EXPECT_NEAR(static_cast<double>(parameter_count(inference("transformer"))), 65e6, 0.04 * 65e6);
}

TEST(Zoo, TheDiscriminatorsAndBothGeneratorsTrain) {
  // The authors' program: G 11.378 M and D 2.765 M parameters, two of each.
  const Graph graph = build_graph(find_model("cyclegan"), options(Mode::training));
  EXPECT_EQ(parameter_count(graph), 2 * (11'378'179 + 2'764'737));
}

TEST(Zoo, TrainingIsThreeTimesTheForwardPassBarTheFirstLayer) {
  for (const std::string_view model : {"resnet50", "vgg16", "mobilenet-v2", "densenet121"}) {
    const Graph graph = build_graph(find_model(model), options(Mode::training, 2));
    double forward = 0, all = 0;
    for (const Operator& op : graph.operators) {
      const double work = flops(op.kernel).value();
      if (!std::holds_alternative<ConvShape>(op.kernel.shape) && !std::holds_alternative<GemmShape>(op.kernel.shape))
        continue;
      all += work;
      if (op.phase == Phase::forward) forward += work;
    }
    const auto& first = graph.operators.front().kernel;
    EXPECT_NEAR(all, 3 * forward - flops(first).value(), 1e-9 * all) << model;
  }
}

TEST(Zoo, EveryNetworkHasAModelAndBuildsInBothModes) {
  std::set<std::string> named;
  for (const std::string& name : builtin_models()) {
    const ModelConfig config = find_model(name);
    if (config.network.empty()) continue;
    named.insert(config.network);
    for (const Mode mode : {Mode::inference, Mode::training}) {
      for (const bool fused : {false, true}) {
        BuildOptions how = options(mode, 2);
        how.fused = fused;
        const Graph graph = build_graph(config, how);
        EXPECT_FALSE(graph.operators.empty());
        for (const Operator& op : graph.operators) ASSERT_EQ(shape_error(op.kernel).value_or(""), "") << name;
      }
    }
  }
  for (const Network& row : networks()) EXPECT_TRUE(named.contains(std::string(row.name))) << row.name;
}

TEST(Zoo, FusionLeavesFewerKernelsAndTheSameArithmetic) {
  const ModelConfig model = find_model("resnet50");
  BuildOptions how = options(Mode::inference, 8);
  const Graph eager = build_graph(model, how);
  how.fused = true;
  const Graph fused = build_graph(model, how);
  // 53 convolutions, 2 poolings, 1 linear layer; besides 53 norms, 49 activations and 16 sums.
  EXPECT_EQ(fused.operators.size(), 56U);
  EXPECT_EQ(eager.operators.size(), 56U + 53 + 49 + 16);
  EXPECT_DOUBLE_EQ(multiply_adds(eager), multiply_adds(fused));
}

std::string mistake(const std::string& fields) {
  try {
    read_model_config(parse_text(R"({"model_type": "network", )" + fields + "}", "n.json", true), "n");
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Zoo, MistakesAreNamed) {
  EXPECT_THAT(mistake(R"("network": "resnet51")"), HasSubstr("unknown network 'resnet51'; did you mean 'resnet50'?"));
  EXPECT_THAT(mistake(R"("network": "inception_v3", "image": 32)"), HasSubstr("takes 75 to 4096 pixels"));
  EXPECT_THAT(mistake(R"("network": "vit", "image": 225)"), HasSubstr("expected a multiple of 16"));
  EXPECT_THAT(mistake(R"("network": "alexnet", "hidden_size": 5)"), HasSubstr("hidden_size"));
}

}  // namespace
}  // namespace tessera
