// Networks that are no decoder or BERT: vision, recurrent, recommendation, generative. One row each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/graph/builder.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

inline constexpr std::int64_t kLargestImage = 4096;

struct Network {
  std::string_view name;
  void (*build)(GraphBuilder&);
  std::int64_t image = 0, classes = 0;  // of the published network; 0: takes none
  std::int64_t least_image = 1;         // pixels of a side from which every layer has a result
  std::int64_t hidden = 0, layers = 0;  // recurrent and attention layers; 0: fixed by `build`
  std::int64_t vocab = 0;               // rows of the embedding
  std::int64_t heads = 0, ffn = 0;      // attention
  std::int64_t patch = 0;               // image side of a token
  bool sequential = false;              // the workload says how many tokens a sample has
};

std::span<const Network> networks();
/// Null: there is none of that name.
const Network* find_network(std::string_view name);

/// A config of model_type "network": its name, and what differs from the published one.
ModelConfig read_network(const Document& document);

// One function per row; files as in README.md.
void build_alexnet(GraphBuilder& b);
void build_cyclegan(GraphBuilder& b);
void build_deepspeech2(GraphBuilder& b);
void build_densenet121(GraphBuilder& b);
void build_densenet161(GraphBuilder& b);
void build_dlrm(GraphBuilder& b);
void build_efficientnet_b0(GraphBuilder& b);
void build_inception_v3(GraphBuilder& b);
void build_lstm(GraphBuilder& b);
void build_mobilenet_v2(GraphBuilder& b);
void build_mobilenet_v3(GraphBuilder& b);
void build_resnet18(GraphBuilder& b);
void build_resnet18_cifar(GraphBuilder& b);
void build_resnet34(GraphBuilder& b);
void build_resnet50(GraphBuilder& b);
void build_resnet101(GraphBuilder& b);
void build_resnet152(GraphBuilder& b);
void build_ssd300(GraphBuilder& b);
void build_transformer(GraphBuilder& b);
void build_unet(GraphBuilder& b);
void build_vgg16(GraphBuilder& b);
void build_vgg19(GraphBuilder& b);
void build_vit(GraphBuilder& b);

}  // namespace tessera
