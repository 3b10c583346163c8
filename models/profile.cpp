#include "models/profile.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/catalogue.hpp"
#include "sim/config/reader.hpp"

namespace tessera {

namespace {

/// As the file has it.
struct ProfileFile {
  std::int64_t version = 0;
  Profile profile;
};

void check_number(Reader& r, std::string_view key, double value, double low) {
  if (r.has(key) && !(value >= low && value <= kLargestOffset))
    r.error(key, fmt::format("must be between {} and {}, found {}", low, kLargestOffset, value));
}

FamilyId read_family(Reader& r, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < families().size(); ++i) {
    if (families()[i].name == name) return static_cast<FamilyId>(i);
    names.emplace_back(families()[i].name);
  }
  if (r.has("family"))
    r.error("family", fmt::format("unknown family '{}'{}; there are {}", name, did_you_mean(name, names),
                                  fmt::join(names, ", ")));
  return FamilyId::memory;
}

}  // namespace

void describe(Reader& r, FamilyOffset& s);
void describe(Reader& r, ProfileSource& s);
void describe(Reader& r, ProfileFile& s);

void describe(Reader& r, FamilyOffset& s) {
  std::string family;
  r.required("family", family, "of kernels");
  r.optional("dtype", s.dtype, "its own row; without: dtypes not measured");
  r.required("rows", s.rows, "measurements of it");
  r.required("log_offset", s.log_offset, "log of measured over predicted");
  r.required("deviation", s.deviation, "of log_offset");
  s.family = read_family(r, family);
  if (r.has("rows") && s.rows < 0) r.error("rows", fmt::format("must not be negative, found {}", s.rows));
  check_number(r, "log_offset", s.log_offset, -kLargestOffset);
  check_number(r, "deviation", s.deviation, 0);
}

void check_offsets(Reader& r, const std::vector<FamilyOffset>& offsets) {
  for (std::size_t i = 0; i < offsets.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (offsets[i].family == offsets[j].family && offsets[i].dtype == offsets[j].dtype)
        r.error("offsets",
                fmt::format("two rows of {} {}", families()[static_cast<std::size_t>(offsets[i].family)].name,
                            offsets[i].dtype ? to_string(*offsets[i].dtype) : "without a dtype"));
}

void describe(Reader& r, ProfileSource& s) {
  r.required("file", s.file, "of measurements");
  r.required("hash", s.hash, "of its content");
}

void describe(Reader& r, ProfileFile& s) {
  r.required("version", s.version, "of this format");
  if (r.has("version") && s.version != kProfileVersion)
    r.error("version", fmt::format("this program reads version {}, found {}; run tessera calibrate again",
                                   kProfileVersion, s.version));
  r.required("gpu", s.profile.gpu, "what was measured");
  if (r.has("gpu")) {
    const std::string mistake = name_mistake(s.profile.gpu, {"gpus"}, "GPU");
    if (!mistake.empty()) r.error("gpu", mistake);
  }
  r.optional("date", s.profile.date, "of the measurements");
  r.required("weights", s.profile.weights, "hash of the weights that the offsets are from");
  r.required("sources", s.profile.sources, "files of measurements");
  r.optional("host_launch", s.profile.host_launch, "CPU time to launch a kernel");
  r.optional("bare_launch", s.profile.bare_launch, "host_launch is without a framework: a lower bound");
  r.required("offsets", s.profile.offsets, "per family and dtype");
  if (!s.profile.date.empty() && !is_date(s.profile.date))
    r.error("date", fmt::format("expected a date such as 2026-05-31, found '{}'", s.profile.date));
  if (s.profile.host_launch && !(*s.profile.host_launch > Seconds(0) && *s.profile.host_launch <= kLongestLaunch))
    r.error("host_launch", fmt::format("must be above 0 and at most {} us, found {:g} us", 1e6 * kLongestLaunch.value(),
                                       1e6 * s.profile.host_launch->value()));
  check_offsets(r, s.profile.offsets);
}

bool is_date(std::string_view text) {
  int year = 0, month = 0, day = 0;
  const std::string begin(text.substr(0, std::string_view("yyyy-mm-dd").size()));
  if (std::sscanf(begin.c_str(), "%4d-%2d-%2d", &year, &month, &day) != 3 || begin.size() < 10) return false;
  return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(day)))
      .ok();
}

const FamilyOffset* Profile::offset_of(FamilyId family, Dtype dtype) const {
  const FamilyOffset* others = nullptr;
  for (const FamilyOffset& offset : offsets) {
    if (offset.family != family) continue;
    if (offset.dtype == dtype) return &offset;
    if (!offset.dtype) others = &offset;
  }
  return others;
}

Seconds Profile::launch_time(Seconds described) const {
  if (!host_launch) return described;
  return bare_launch ? max(*host_launch, described) : *host_launch;
}

Profile read_profile(const std::filesystem::path& path) {
  Profile profile = read<ProfileFile>(parse_document(path)).profile;
  profile.name = path.stem().string();
  return profile;
}

Profile find_profile(std::string_view profile) {
  return read_profile(find_description(profile, {"profiles"}, "profile"));
}

std::string to_yaml(const Profile& profile) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "# Made by tessera calibrate --gpu {}: see calibration/README.md.\n", profile.gpu);
  fmt::format_to(out, "version: {}\ngpu: {}\n", kProfileVersion, profile.gpu);
  if (!profile.date.empty()) fmt::format_to(out, "date: \"{}\"\n", profile.date);
  fmt::format_to(out, "weights: \"{}\"\nsources:\n", profile.weights);
  for (const ProfileSource& source : profile.sources)
    fmt::format_to(out, "  - {{file: \"{}\", hash: \"{}\"}}\n", source.file, source.hash);
  if (profile.host_launch)
    fmt::format_to(out, "host_launch: {:.4g} us\nbare_launch: {}\n", 1e6 * profile.host_launch->value(),
                   profile.bare_launch);
  fmt::format_to(out, "offsets:\n");
  for (const FamilyOffset& offset : profile.offsets)
    fmt::format_to(out, "  - {{family: {}, {}rows: {}, log_offset: {:.5f}, deviation: {:.5f}}}\n",
                   families()[static_cast<std::size_t>(offset.family)].name,
                   offset.dtype ? fmt::format("dtype: {}, ", to_string(*offset.dtype)) : "", offset.rows,
                   offset.log_offset, offset.deviation);
  return text;
}

}  // namespace tessera
