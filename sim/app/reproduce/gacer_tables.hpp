// The part of the page that holds the engine against measurements.
#pragma once

#include <string>

#include "sim/app/reproduce/gacer.hpp"

namespace tessera {

std::string colocation_tables(const GacerResults& results);

}  // namespace tessera
