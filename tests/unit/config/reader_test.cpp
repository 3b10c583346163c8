#include "sim/config/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

enum class Fold { automatic, on, off };
constexpr std::array<std::string_view, 3> enum_names(Fold) {
  return {"auto", "on", "off"};
}

struct Link {
  BytesPerSec bandwidth{};
  Seconds latency{1.5e-6};
};
void describe(Reader& r, Link& s) {
  r.required("bandwidth", s.bandwidth, "one direction, payload");
  r.optional("latency", s.latency, "one hop");
}

struct Machine {
  std::string name;
  int count = 1;
  std::int64_t parameters = 0;
  double ratio = 0.5;
  bool flash = false;
  Dtype dtype = Dtype::bf16;
  Fold fold = Fold::automatic;
  std::optional<int> heads;
  std::optional<Link> spare;
  std::vector<Link> links;
  std::vector<int> sizes{1, 2};
  std::vector<std::pair<std::string, FlopsPerSec>> peaks;
  Node options;
};
void describe(Reader& r, Machine& s) {
  r.required("name", s.name, "how it is called");
  r.optional("count", s.count, "how many");
  r.optional("parameters", s.parameters, "of the model");
  r.optional("ratio", s.ratio, "of one");
  r.optional("flash", s.flash, "flash attention");
  r.optional("dtype", s.dtype, "number format");
  r.optional("fold", s.fold, "simulate like ranks once");
  r.optional("heads", s.heads, "if not derived");
  r.optional("spare", s.spare, "second link");
  r.optional("links", s.links, "all links");
  r.optional("sizes", s.sizes, "some sizes");
  r.optional("peaks", s.peaks, "by dtype");
  r.optional("options", s.options, "of the policy");
  if (r.ok() && s.count < 1) r.error("count", "must be at least 1");
  if (r.ok() && r.has("heads") && s.heads && s.links.empty()) r.error("", "heads without links");
}

Machine machine(const std::string& text) {
  return read<Machine>(parse_text(text, "s.yaml"));
}
std::string message(const std::string& text) {
  return message_of([&] { machine("name: x\n" + text); });
}

TEST(Reader, FillsEveryType) {
  const Machine m = machine(
      "{name: 70b, count: 3, parameters: 70553706496, ratio: 1e-3, flash: true, dtype: fp8, fold: off, heads: ~,"
      " spare: {bandwidth: 0}, links: [{bandwidth: 450 GB/s, latency: 700 ns}], sizes: [4], "
      "peaks: {fp32: 19.5 TFLOP/s, bf16: 312TFLOP/s}, options: {any: [thing]}}");
  EXPECT_EQ(m.name, "70b");
  EXPECT_EQ(m.count, 3);
  EXPECT_EQ(m.parameters, 70553706496);
  EXPECT_EQ(m.ratio, 1e-3);
  EXPECT_TRUE(m.flash);
  EXPECT_EQ(m.dtype, Dtype::fp8);
  EXPECT_EQ(m.fold, Fold::off);
  EXPECT_FALSE(m.heads);
  ASSERT_TRUE(m.spare);
  EXPECT_EQ(m.spare->bandwidth, BytesPerSec(0));
  EXPECT_EQ(m.spare->latency, Seconds(1.5e-6));
  ASSERT_EQ(m.links.size(), 1);
  EXPECT_DOUBLE_EQ(m.links[0].bandwidth.value(), 450e9);
  EXPECT_DOUBLE_EQ(m.links[0].latency.value(), 700e-9);
  EXPECT_EQ(m.sizes, std::vector<int>{4});
  ASSERT_EQ(m.peaks.size(), 2);
  EXPECT_EQ(m.peaks[1].first, "bf16");
  EXPECT_DOUBLE_EQ(m.peaks[1].second.value(), 312e12);
  EXPECT_EQ(m.options.find("any")->items[0].scalar, "thing");
}

TEST(Reader, DefaultsStay) {
  const Machine m = machine("name: x");
  EXPECT_EQ(m.count, 1);
  EXPECT_EQ(m.sizes, (std::vector<int>{1, 2}));
  EXPECT_EQ(m.options.kind, Node::Kind::null);
}

TEST(Reader, ReadsJsonToo) {
  const Machine m = read<Machine>(parse_text("{\"name\": \"x\", \"ratio\": 2, \"heads\": null}", "s.json", true));
  EXPECT_EQ(m.ratio, 2);
}

struct Positive {
  int count = 0;
  std::int64_t size = 0;
};
void describe(Reader& r, Positive& s) {
  r.required("count", s.count, "how many");
  r.required("size", s.size, "of each");
  if (s.count <= 0) r.error("count", "must be positive");
  if (s.size <= 0) r.error("size", "must be positive");
}

TEST(Reader, WhatCannotBeReadHasNoFollowUp) {
  const auto complaint = [](const char* text) { return message_of([&] { read<Positive>(parse_text(text, "s")); }); };
  EXPECT_EQ(complaint("{count: 8.0, size: 1}"), "s:1:9: error: count: expected a whole number, found '8.0'");
  EXPECT_EQ(complaint("count: 1"), "s:1:1: error: missing key 'size'");
  EXPECT_EQ(complaint("{count: 1, size: -1}"), "s:1:18: error: size: must be positive");
}

TEST(Reader, WrongTypes) {
  EXPECT_EQ(message("count: two"), "s.yaml:2:8: error: count: expected a whole number, found 'two'");
  EXPECT_EQ(message("count: 2.5"), "s.yaml:2:8: error: count: expected a whole number, found '2.5'");
  EXPECT_EQ(message("count: '2'"), "s.yaml:2:8: error: count: expected a whole number, found '2'");
  EXPECT_EQ(message("count: []"), "s.yaml:2:8: error: count: expected a whole number, found a list");
  EXPECT_EQ(message("count: {}"), "s.yaml:2:8: error: count: expected a whole number, found a map");
  EXPECT_THAT(message("count:"), testing::EndsWith("count: expected a whole number, found nothing"));
  EXPECT_EQ(message("count: 3000000000"), "s.yaml:2:8: error: count: 3000000000 is too large");
  EXPECT_EQ(message("ratio: .inf"), "s.yaml:2:8: error: ratio: expected a number, found '.inf'");
  EXPECT_EQ(message("ratio: nan"), "s.yaml:2:8: error: ratio: expected a number, found 'nan'");
  EXPECT_EQ(message("ratio: 1 2"), "s.yaml:2:8: error: ratio: expected a number, found '1 2'");
  EXPECT_EQ(message("flash: yes"), "s.yaml:2:8: error: flash: expected true or false, found 'yes'");
  EXPECT_EQ(message("links: {}"), "s.yaml:2:8: error: links: expected a list, found a map");
  EXPECT_EQ(message("peaks: []"), "s.yaml:2:8: error: peaks: expected a map, found a list");
  EXPECT_EQ(message("spare: 1"), "s.yaml:2:8: error: spare: expected a map, found '1'");
  EXPECT_EQ(message_of([] { machine("name: [x]"); }), "s.yaml:1:7: error: name: expected text, found a list");
  EXPECT_EQ(message_of([] { machine("[x]"); }), "s.yaml:1:1: error: expected a map, found a list");
}

TEST(Reader, NamesHaveANeighbour) {
  EXPECT_EQ(message("dtype: bf17"),
            "s.yaml:2:8: error: dtype: expected one of fp32, tf32, fp16, bf16, fp8, int8, nvfp4, found 'bf17'; did you "
            "mean 'bf16'?");
  EXPECT_EQ(message("fold: atuo"),
            "s.yaml:2:7: error: fold: expected one of auto, on, off, found 'atuo'; did you mean 'auto'?");
  EXPECT_EQ(message("fold: []"), "s.yaml:2:7: error: fold: expected one of auto, on, off, found a list");
}

TEST(Reader, KeysThatAreMissingOrUnknown) {
  EXPECT_EQ(message_of([] { machine("count: 2"); }), "s.yaml:1:1: error: missing key 'name'");
  EXPECT_EQ(message("counts: 2"), "s.yaml:2:1: error: unknown key 'counts'; did you mean 'count'?");
  EXPECT_EQ(message("spare: {bandwidth: 0, zzz: 1}"),
            "s.yaml:2:23: error: spare: unknown key 'zzz'; expected one of bandwidth, latency");
}

TEST(Reader, AllMistakesAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(message("links:\n  - bandwith: 1 GB/s\n  - bandwidth: 1 parsec\ncount: x\n"),
            "s.yaml:3:5: error: links[0]: missing key 'bandwidth'\n"
            "s.yaml:3:5: error: links[0]: unknown key 'bandwith'; did you mean 'bandwidth'?\n"
            "s.yaml:4:16: error: links[1].bandwidth: unit 'parsec' not known here; use one of Mbit/s, MB/s, Gbit/s, "
            "GB/s, GiB/s, Tbit/s, TB/s, B/s\n"
            "s.yaml:5:8: error: count: expected a whole number, found 'x'");
}

TEST(Reader, MapsNameTheirEntries) {
  EXPECT_THAT(message("peaks: {fp32: 1}"),
              testing::StartsWith("s.yaml:2:15: error: peaks.fp32: expected a rate of work"));
}

TEST(Reader, ChecksAcrossFieldsPointAtTheKeyOrTheMap) {
  EXPECT_EQ(message("count: 0"), "s.yaml:2:8: error: count: must be at least 1");
  EXPECT_EQ(message("heads: 3"), "s.yaml:1:1: error: heads without links");
}

TEST(Reader, SetValuesGetTheSameChecks) {
  Document document = parse_text("name: x\ncount: 1\n", "s.yaml");
  set_value(document, "count", "x");
  set_value(document, "cuont", "2");
  EXPECT_EQ(message_of([&] { read<Machine>(document); }),
            "--set cuont=2: error: unknown key 'cuont'; did you mean 'count'?\n"
            "--set count=x: error: count: expected a whole number, found 'x'");
}

struct Lenient {
  int known = 0;
};
void describe(Reader& r, Lenient& s) {
  r.optional("known", s.known, "all that concerns us");
  r.allow_unknown();
}

TEST(Reader, UnknownKeysCanBeAllowed) {
  EXPECT_EQ(read<Lenient>(parse_text("{other: 1, known: 2}", "s.yaml")).known, 2);
}

TEST(Reference, OneRowPerKeyWithNestedPaths) {
  std::vector<std::string> rows;
  for (const ReferenceRow& row : reference<Machine>()) {
    rows.push_back(row.path + "|" + row.type + "|" + row.default_text + (row.required ? "|required" : ""));
  }
  EXPECT_THAT(rows, testing::ElementsAre(
                        "name|text||required", "count|whole number|1", "parameters|whole number|0", "ratio|number|0.5",
                        "flash|true or false|false", "dtype|fp32, tf32, fp16, bf16, fp8, int8, nvfp4|bf16",
                        "fold|auto, on, off|auto", "heads|whole number|not given", "spare|map|not given",
                        "spare.bandwidth|bandwidth||required", "spare.latency|time|1.5 us", "links|list of map|[]",
                        "links[].bandwidth|bandwidth||required", "links[].latency|time|1.5 us",
                        "sizes|list of whole number|[1, 2]", "peaks|map of rate of work by name|{}", "options|any|"));
}

TEST(Reference, CarriesUnitsAndMeaning) {
  const std::vector<ReferenceRow> rows = reference<Link>();
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[1].unit, "ns, us, ms, s, min, h, d");
  EXPECT_EQ(rows[1].meaning, "one hop");
}

}  // namespace
}  // namespace tessera
