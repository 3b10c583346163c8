// What is alike in a run: ranks, groups, flows and links that do the same, found by refining colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/des/routing.hpp"

namespace tessera {

using Colour = std::uint64_t;

/// All groups of one stage over one dimension, done one way; messages of one program.
struct GroupKind {
  std::span<CommunicationGroup> groups;
  std::span<std::uint32_t> group_of_rank;  // of those ranks
  bool message = false;
  bool coarse = false;  // its flows have too many colours: those of an earlier round
  struct Coloured {
    Flow* flow;
    std::size_t group;  // of `groups`
    Colour colour;
  };
  std::vector<Coloured> flows{};
  std::vector<Colour> of_group{};
};

/// The coarsest equitable partition of the graph of ranks, groups, flows and links (Grohe et al., ESA 2014, shrink
/// linear programs so): a flow's colour says whose group's it is and how many links of each colour it takes, a link's
/// how many flows of each colour take it, a group's which ranks and flows it has, a rank's in which groups it is.
/// Flows of one colour that start together have the same max-min fair rates.
class Colouring {
 public:
  /// `sorts`: of each rank what it is from the start: its program, and its GPU's speed. Where not `ranks_apart`, ranks
  /// of one sort stay alike, and wait for each other at every collective.
  Colouring(std::vector<GroupKind>& kinds, const std::vector<Link>& links, std::vector<Colour> sorts, bool ranks_apart);
  [[nodiscard]] const std::vector<Colour>& of_link() const { return of_link_; }
  [[nodiscard]] const std::vector<Colour>& of_rank() const { return of_rank_; }
  [[nodiscard]] std::size_t rank_colours() const { return rank_colours_; }

 private:
  void begin(const std::vector<Link>& links);
  [[nodiscard]] bool refine();
  void colour_links();
  [[nodiscard]] bool recolour_flows(GroupKind& kind);
  void colour_groups(GroupKind& kind);
  [[nodiscard]] bool colour_ranks();

  std::vector<GroupKind>& kinds_;
  std::vector<Colour> of_link_, of_rank_;
  std::vector<std::size_t> flow_colours_;  // of each kind
  std::size_t rank_colours_ = 0;
  bool ranks_apart_;
};

/// SplitMix64's finisher (Steele et al., OOPSLA 2014).
Colour mixed(Colour x);

}  // namespace tessera
