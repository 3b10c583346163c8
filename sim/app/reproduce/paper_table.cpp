#include <array>

#include "sim/app/reproduce/paper.hpp"

namespace tessera {

std::span<const Paper> papers() {
  static constexpr std::array kPapers{
      Paper{"gacer", "tenants on one GPU, regulated in space and time (arXiv 2304.11745), and its rivals",
            reproduce_gacer},
      Paper{"neusight", "kernel and model latency on GPUs seen and unseen (ASPLOS 2025)", reproduce_neusight, true},
      Paper{"phaze", "accelerators and placements searched together (ICML 2024), and with its errors corrected",
            reproduce_phaze},
  };
  return kPapers;
}

}  // namespace tessera
