#include "sim/graph/hf_fields.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/text.hpp"

namespace tessera {

namespace {

constexpr std::int64_t kLargest = 1 << 20;  // products of three stay far from overflow

struct ActivationName {
  std::string_view name;
  Activation activation;
};
constexpr std::array<ActivationName, 7> kActivations{{{"gelu", Activation::gelu},
                                                      {"gelu_fast", Activation::gelu_new},
                                                      {"gelu_new", Activation::gelu_new},
                                                      {"gelu_pytorch_tanh", Activation::gelu_new},
                                                      {"relu", Activation::relu},
                                                      {"silu", Activation::silu},
                                                      {"swish", Activation::silu}}};

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

std::optional<Head> head_of(std::string_view model_class, bool bert) {
  for (const std::string_view tail : {"LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForConditionalGeneration"}) {
    if (ends_with(model_class, tail)) return Head::language_model;
  }
  if (bert && model_class == "BertForPreTraining") return Head::pretraining;
  if (bert && model_class == "BertForSequenceClassification") return Head::classifier;
  if (ends_with(model_class, "Model")) return Head::none;
  return std::nullopt;
}

}  // namespace

void activation(Reader& r, std::string_view key, std::string name, Activation& out) {
  r.optional(key, name, "activation of the feed-forward layer");
  std::vector<std::string> known;
  for (const ActivationName& row : kActivations) {
    if (row.name == name) {
      out = row.activation;
      return;
    }
    known.emplace_back(row.name);
  }
  r.error(key, fmt::format("unknown activation '{}'{}; expected one of {}", name, did_you_mean(name, known),
                           fmt::join(known, ", ")));
}

void positive(Reader& r, std::string_view key, std::int64_t& value) {
  if (value > 0 && value <= kLargest) return;
  r.error(key, fmt::format("found {}, expected 1 to {}", value, kLargest));
  value = 1;
}

void size(Reader& r, std::string_view key, std::int64_t& out, std::string_view meaning) {
  out = 1;
  r.required(key, out, meaning);
  positive(r, key, out);
}

void probability(Reader& r, std::string_view key, double& out) {
  r.optional(key, out, "dropout probability in training");
  if (!(out >= 0 && out < 1)) r.error(key, fmt::format("found {}, expected 0 or more and less than 1", out));
}

void divides(Reader& r, std::string_view key, std::int64_t divisor, std::string_view of, std::int64_t number) {
  if (divisor > 0 && number % divisor != 0) {
    r.error(key, fmt::format("{} does not divide {} {}", divisor, of, number));
  }
}

void unsupported_unless(Reader& r, std::string_view key, bool expected, std::string_view meaning) {
  bool value = expected;
  r.optional(key, value, meaning);
  if (value != expected) r.error(key, fmt::format("found {}, only {} is supported", value, expected));
}

void heads(Reader& r, ModelConfig& c, bool bert) {
  std::vector<std::string> classes;
  r.optional("architectures", classes, "model class: ...Model has no head, ...ForCausalLM one over the vocabulary");
  if (classes.empty()) return;
  const auto inference = head_of(classes.front(), bert), training = head_of(classes.back(), bert);
  if (!inference || !training) {
    r.error("architectures",
            fmt::format("the head of '{}' is not known; expected a class ending in Model, LMHeadModel, "
                        "ForCausalLM, ForMaskedLM or ForConditionalGeneration",
                        inference ? classes.back() : classes.front()));
    return;
  }
  c.head = *inference;
  c.training_head = *training;
}

}  // namespace tessera
