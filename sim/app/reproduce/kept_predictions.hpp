// Answers of a model whose weights are too large to keep, operation by operation: a table that stands in for it.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/neusight/rival_model.hpp"

namespace tessera {

/// Columns gpu, op, b, m, n, k, predicted_ms; nothing measured. Vectors: b rows of n.
class KeptPredictions {
 public:
  void add(const std::string& gpu, const neusight::Operation& operation, Seconds time);
  [[nodiscard]] std::optional<Seconds> find(const std::string& gpu, const neusight::Operation& operation) const;
  [[nodiscard]] std::string csv() const;  // in order of its keys; times with five digits

 private:
  struct Key {
    std::string gpu;
    Op op{};
    std::int64_t b = 0, m = 0, n = 0, k = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key key_of(const std::string& gpu, const neusight::Operation& operation);

  std::map<Key, Seconds> times_;
};

KeptPredictions read_kept(const std::filesystem::path& path);

/// Asks `model`, and notes its answers in `kept`, which must live as long.
std::unique_ptr<LatencyModel> recording(std::unique_ptr<neusight::RivalModel> model, KeptPredictions& kept);
/// Answers what is kept and refuses the rest with RunError.
std::unique_ptr<LatencyModel> answering(KeptPredictions kept);

}  // namespace tessera
