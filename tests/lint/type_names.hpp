// Names of types, which the one definition rule wants unique in their namespace.
#pragma once

#include <string>
#include <vector>

#include "tests/lint/source_tree.hpp"

namespace tessera::lint {

/// Types of one name in one named namespace that two files define, a line each ("b.hpp:7: Plan is also a.hpp's").
/// Linked together they would be one type to the linker and two to the compiler.
/// Types in unnamed namespaces and within other types do not count; neither do two programs' own (calibration's
/// `microbench/cuda`, each test's files), which are never linked together.
std::vector<std::string> repeated_type_names(const SourceTree& tree);

}  // namespace tessera::lint
