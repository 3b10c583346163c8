// The one place where SimGrid is configured. Included by engine.cpp and the bench of bare SimGrid only.
#pragma once

#include <simgrid/s4u/Engine.hpp>

#include <memory>

namespace tessera {

/// Starts SimGrid with our models; aborts if this process ever had an engine.
std::unique_ptr<simgrid::s4u::Engine> start_simgrid();

/// SimGrid's payload is an integer: one byte is 2^20 units of it, so that a rounded flow is off by under 1e-6 bytes.
inline constexpr double kPayloadPerByte = 1048576.0;

}  // namespace tessera
