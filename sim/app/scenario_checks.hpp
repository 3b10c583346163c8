// Checks that the descriptions of a scenario's parts share.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string_view>

#include "sim/app/scenario.hpp"

namespace tessera {

/// Reports the mistakes that looking something up brings to light, at `key`. True if there were none.
bool look_up(Reader& r, std::string_view key, const std::function<void()>& what);

template <class T>
void check_positive(Reader& r, std::string_view key, const std::optional<T>& value) {
  if (value && *value <= 0) r.error(key, fmt::format("must be positive, found {}", *value));
}

/// Reports at `key` where the GPU does not compute in `dtype`.
void check_dtype(Reader& r, Dtype dtype, const GpuSpec& gpu, std::string_view key);

/// Reports where `section_times` are not of the run's very model, micro-batch and width.
void check_sections(Reader& r, const RunSection& s);

/// Who splits the step: the scenario, or the placement policy. Of a run whose fields are each right.
void check_chosen(Reader& r, const RunSection& s);

/// Checks that need several fields of a run of a workload; only for a section whose fields are each right.
void check_together(Reader& r, const RunSection& s);

}  // namespace tessera
