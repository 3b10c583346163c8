#include <array>

#include "sim/app/reproduce/paper.hpp"

namespace tessera {

std::span<const Paper> papers() {
  static constexpr std::array kPapers{
      Paper{"neusight", "kernel and model latency on GPUs seen and unseen (ASPLOS 2025)", reproduce_neusight},
  };
  return kPapers;
}

}  // namespace tessera
