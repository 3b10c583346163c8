// Fields that several architectures of Hugging Face's config.json share; each reports its mistakes to the reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/reader.hpp"
#include "sim/graph/model_config.hpp"

namespace tessera {

/// A required number from 1 to 2^20. After a mistake it is 1, so that what is derived from it stays defined.
void size(Reader& r, std::string_view key, std::int64_t& out, std::string_view meaning);
void positive(Reader& r, std::string_view key, std::int64_t& value);
void probability(Reader& r, std::string_view key, double& out);
void divides(Reader& r, std::string_view key, std::int64_t divisor, std::string_view of, std::int64_t number);
void unsupported_unless(Reader& r, std::string_view key, bool expected, std::string_view meaning);
void activation(Reader& r, std::string_view key, std::string name, Activation& out);

/// `architectures` names the model class; of two, the first is what inference runs and the last what trains.
/// `bert`: its pre-training and classification heads are known too.
void heads(Reader& r, ModelConfig& c, bool bert = false);

}  // namespace tessera
