// The repository's text files, as the lint tests see them.
#pragma once

#include <map>
#include <string>

namespace tessera::lint {

/// Content by path from the root ("sim/base/error.cpp").
using SourceTree = std::map<std::string, std::string>;

/// Every file that belongs to the project: no build folders, results, or hidden folders but .ci.
SourceTree read_source_tree();

/// True for C++ and CUDA files.
bool is_code(const std::string& path);
bool is_header(const std::string& path);

}  // namespace tessera::lint
