// Runs independent pieces of work on several threads; the result does not depend on how many.
#pragma once

#include <cstddef>
#include <functional>

namespace tessera {

/// Calls `work(i)` for every i below `count`, each once, on `threads` threads; the first exception is thrown again
/// here.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace tessera
