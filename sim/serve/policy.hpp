// How requests become batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

struct Request {
  std::int64_t prompt_tokens = 0;
};
/// One prefill: requests by index, padded to the longest prompt.
struct Batch {
  std::vector<std::uint32_t> requests;
  std::int64_t padded_tokens = 0;
};

class ServingPolicy {
 public:
  virtual ~ServingPolicy() = default;
  /// The next batch from the waiting requests; empty when there is none.
  [[nodiscard]] virtual Batch next(std::span<const Request> waiting, std::int64_t max_batch) const = 0;
};

struct ServingPolicyEntry {
  std::string_view name, what;
  std::unique_ptr<ServingPolicy> (*make)();
};
std::span<const ServingPolicyEntry> serving_policies();  // `static`: the first max_batch requests, padded
std::unique_ptr<ServingPolicy> make_serving_policy(std::string_view name);

}  // namespace tessera
