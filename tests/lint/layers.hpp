// The layer rule: what a layer's files may include, directly or through their headers.
#pragma once

#include <string>
#include <vector>

#include "tests/lint/source_tree.hpp"

namespace tessera::lint {

/// "path: what is wrong" for every include that breaks the rule.
std::vector<std::string> layer_violations(const SourceTree& tree);

}  // namespace tessera::lint
