#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/serve/policy.hpp"

namespace tessera {
namespace {

/// The first max_batch requests in order of arrival, padded to the longest prompt (FasterTransformer's batching).
/// Not modelled: waiting for a fuller batch, continuous batching, decode.
class StaticBatching final : public ServingPolicy {
 public:
  [[nodiscard]] Batch next(std::span<const Request> waiting, std::int64_t max_batch) const override {
    Batch batch;
    std::int64_t longest = 0;
    for (std::uint32_t i = 0; i < waiting.size() && std::int64_t{i} < max_batch; ++i) {
      batch.requests.push_back(i);
      longest = std::max(longest, waiting[i].prompt_tokens);
    }
    batch.padded_tokens = longest * static_cast<std::int64_t>(batch.requests.size());
    return batch;
  }
};

}  // namespace

std::span<const ServingPolicyEntry> serving_policies() {
  static constexpr std::array<ServingPolicyEntry, 1> kPolicies{{
      {"static", "the first requests that fit the batch, padded to the longest prompt",
       []() -> std::unique_ptr<ServingPolicy> { return std::make_unique<StaticBatching>(); }},
  }};
  return kPolicies;
}

std::unique_ptr<ServingPolicy> make_serving_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& entry : serving_policies()) {
    if (entry.name == name) return entry.make();
    names.emplace_back(entry.name);
  }
  throw InputError(Diagnostic{"", 0, 0,
                              fmt::format("unknown serving policy '{}'{}; there are {}", name,
                                          did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace tessera
