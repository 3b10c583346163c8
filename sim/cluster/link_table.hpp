// Collects the links and numbers the vertices of a topology while it is built.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace tessera {

struct LinkTable {
  std::vector<Link>& links;
  std::uint32_t vertices = 0;

  /// The first of `count` new vertices.
  std::uint32_t add_vertices(std::size_t count) {
    const std::uint32_t first = vertices;
    vertices += static_cast<std::uint32_t>(count);
    return first;
  }
  /// The id that the next link gets.
  [[nodiscard]] std::size_t next() const { return links.size(); }
  void add(Link link) { links.push_back(std::move(link)); }
};

inline LinkId link_id(std::size_t index) {
  return LinkId(static_cast<std::uint32_t>(index));
}

}  // namespace tessera
