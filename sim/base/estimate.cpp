#include "sim/base/estimate.hpp"

namespace tessera {

std::string_view to_string(Provenance provenance) {
  switch (provenance) {
    case Provenance::measured:
      return "measured";
    case Provenance::calibrated:
      return "calibrated";
    case Provenance::fitted:
      return "fitted";
    case Provenance::typical:
      return "fitted, typical runtime";
    case Provenance::closed_form:
      return "closed form";
    case Provenance::extrapolated:
      return "extrapolated";
  }
  return "unknown";
}

}  // namespace tessera
