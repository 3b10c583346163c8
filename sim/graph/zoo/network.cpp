#include "sim/graph/zoo/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text.hpp"
#include "sim/config/reader.hpp"
#include "sim/graph/architectures.hpp"
#include "sim/graph/hf_fields.hpp"

namespace tessera {

namespace {

constexpr std::array kNetworks{
    Network{.name = "alexnet", .build = build_alexnet, .image = 224, .classes = 1000, .least_image = 63},
    Network{.name = "cyclegan", .build = build_cyclegan, .image = 256, .least_image = 64},
    Network{.name = "deepspeech2",
            .build = build_deepspeech2,
            .classes = 29,
            .hidden = 1024,
            .layers = 5,
            .sequential = true},
    Network{.name = "densenet121", .build = build_densenet121, .image = 224, .classes = 1000, .least_image = 32},
    Network{.name = "densenet161", .build = build_densenet161, .image = 224, .classes = 1000, .least_image = 32},
    Network{.name = "dlrm", .build = build_dlrm},
    Network{.name = "efficientnet_b0", .build = build_efficientnet_b0, .image = 224, .classes = 1000},
    Network{.name = "inception_v3", .build = build_inception_v3, .image = 299, .classes = 1000, .least_image = 75},
    Network{.name = "lstm", .build = build_lstm, .hidden = 650, .layers = 2, .vocab = 10'000, .sequential = true},
    Network{.name = "mobilenet_v2", .build = build_mobilenet_v2, .image = 224, .classes = 1000},
    Network{.name = "mobilenet_v3", .build = build_mobilenet_v3, .image = 224, .classes = 1000},
    Network{.name = "resnet101", .build = build_resnet101, .image = 224, .classes = 1000},
    Network{.name = "resnet152", .build = build_resnet152, .image = 224, .classes = 1000},
    Network{.name = "resnet18", .build = build_resnet18, .image = 224, .classes = 1000},
    Network{.name = "resnet18_cifar", .build = build_resnet18_cifar, .image = 32, .classes = 10},
    Network{.name = "resnet34", .build = build_resnet34, .image = 224, .classes = 1000},
    Network{.name = "resnet50", .build = build_resnet50, .image = 224, .classes = 1000},
    Network{.name = "ssd300", .build = build_ssd300, .image = 300, .classes = 91, .least_image = 300},
    Network{.name = "transformer",
            .build = build_transformer,
            .hidden = 512,
            .layers = 6,
            .vocab = 37'000,
            .heads = 8,
            .ffn = 2048,
            .sequential = true},
    Network{.name = "unet", .build = build_unet, .image = 572, .classes = 2, .least_image = 188},
    Network{.name = "vgg16", .build = build_vgg16, .image = 224, .classes = 1000, .least_image = 32},
    Network{.name = "vgg19", .build = build_vgg19, .image = 224, .classes = 1000, .least_image = 32},
    Network{.name = "vit",
            .build = build_vit,
            .image = 224,
            .classes = 1000,
            .least_image = 16,
            .hidden = 768,
            .layers = 12,
            .heads = 12,
            .ffn = 3072,
            .patch = 16},
};

struct NetworkFile {
  ModelConfig config;
};

void set_defaults(ModelConfig& c, const Network& network) {
  c.image = network.image;
  c.classes = network.classes;
  c.hidden = network.hidden;
  c.layers = network.layers;
  c.vocab = network.vocab;
  c.heads = c.kv_heads = network.heads;
  c.ffn = network.ffn;
  c.head = c.training_head = Head::classifier;
  c.attention_bias = c.qkv_bias = c.ffn_bias = true;
  c.causal = false;
}

void check_image(Reader& r, ModelConfig& c, const Network& network) {
  if (c.image < network.least_image || c.image > kLargestImage)
    r.error("image",
            fmt::format("found {}, {} takes {} to {} pixels", c.image, c.network, network.least_image, kLargestImage));
  if (network.patch == 0) return;
  if (c.image % network.patch != 0)
    r.error("image", fmt::format("found {}, expected a multiple of {}", c.image, network.patch));
  c.fixed_sequence = (c.image / network.patch) * (c.image / network.patch) + 1;  // and the class token
}

void describe(Reader& r, NetworkFile& file) {
  ModelConfig& c = file.config;
  r.required("model_type", c.architecture, "network");
  r.required("network", c.network, "a network of sim/graph/zoo");
  const Network* network = find_network(c.network);
  if (network == nullptr) {
    std::vector<std::string> names;
    for (const Network& row : networks()) names.emplace_back(row.name);
    if (r.ok())
      r.error("network", fmt::format("unknown network '{}'{}; there are {}", c.network, did_you_mean(c.network, names),
                                     fmt::join(names, ", ")));
    return;
  }
  set_defaults(c, *network);
  c.fixed_sequence = network->sequential ? 0 : 1;
  const auto count = [&](bool takes, std::string_view key, std::int64_t& value, std::string_view what) {
    if (!takes) return;
    r.optional(key, value, what);
    positive(r, key, value);
  };
  count(network->image > 0, "image", c.image, "pixels of a side");
  count(network->classes > 0, "classes", c.classes, "outputs");
  count(network->hidden > 0, "hidden_size", c.hidden, "width of recurrent and attention layers");
  count(network->layers > 0, "num_layers", c.layers, "recurrent or attention layers");
  count(network->vocab > 0, "vocab_size", c.vocab, "rows of the embedding");
  if (network->heads > 0) {
    divides(r, "hidden_size", c.heads, "hidden_size", c.hidden);
    c.head_dim = c.hidden / c.heads;
  }
  if (network->image > 0 && r.ok()) check_image(r, c, *network);
}

}  // namespace

std::span<const Network> networks() {
  return kNetworks;
}

const Network* find_network(std::string_view name) {
  const auto found = std::ranges::find(kNetworks, name, &Network::name);
  return found == kNetworks.end() ? nullptr : &*found;
}

ModelConfig read_network(const Document& document) {
  return read<NetworkFile>(document).config;
}

void build_network(GraphBuilder& b) {
  find_network(b.config.network)->build(b);
}

}  // namespace tessera
