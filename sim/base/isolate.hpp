// Runs a job in a process of its own: SimGrid allows one engine per process, and a crash stays contained.
#pragma once

#include <functional>
#include <string>

namespace tessera {

/// Forks, runs `job` in the child, returns the string that it returned. An InputError or RunError in the
/// child is thrown again here with its text; a signal becomes a RunError that names it.
/// Call it before any thread exists.
std::string run_isolated(const std::function<std::string()>& job);

}  // namespace tessera
