// The house rules that a program can see (CONTRIBUTING.md).
#pragma once

#include <string>
#include <vector>

#include "tests/lint/source_tree.hpp"

namespace tessera::lint {

/// "path:line: what is wrong" for everything that breaks one.
std::vector<std::string> house_violations(const SourceTree& tree);

}  // namespace tessera::lint
