// A trace as bytes and back, bit by bit: how it leaves the process that simulated it.
#pragma once

#include <string>
#include <string_view>

#include "sim/trace/trace.hpp"

namespace tessera {

/// For the same program on the same machine only; files for people are in sim/report.
std::string to_bytes(const Trace& trace);
Trace from_bytes(std::string_view bytes);

}  // namespace tessera
