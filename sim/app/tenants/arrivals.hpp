// When a tenant's requests come.
#pragma once

#include <filesystem>
#include <vector>

#include "sim/app/tenants/section.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// Poisson at `rate` until `end` (at most `most`, where it is not 0): bursts of `burst` requests come at rate / burst.
std::vector<Seconds> poisson_dates(Hertz rate, std::int64_t burst, Seconds end, std::int64_t most, Rng& rng);

/// The column arrival_s of a CSV file; dates from `end` on are left out. InputError with every date that is negative or
/// before its predecessor.
std::vector<Seconds> trace_dates(const std::filesystem::path& path, Seconds end, std::int64_t most);

/// Every `of`-th date from `first`: what one of several copies gets.
std::vector<Seconds> every(const std::vector<Seconds>& dates, std::size_t of, std::size_t first);

}  // namespace tessera
