#include "sim/config/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/rng.hpp"
#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

template <class Action>
std::string run_error_of(Action action) {
  try {
    action();
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Json, WritesInOrderWithIndent) {
  Json json;
  json["z"] = 1;
  json["a"]["list"].push("x");
  json["a"]["numbers"] = Json::Array{1, 2.5, -3};
  json["a"]["empty"] = Json::array();
  json["b"] = Json();
  json["z"] = true;
  EXPECT_EQ(json.dump(), R"({
  "z": true,
  "a": {
    "list": [
      "x"
    ],
    "numbers": [1, 2.5, -3],
    "empty": []
  },
  "b": null
})");
  EXPECT_EQ(json.dump(-1), R"({"z":true,"a":{"list":["x"],"numbers":[1,2.5,-3],"empty":[]},"b":null})");
}

TEST(Json, NumbersHaveTheFewestDigitsThatReadBack) {
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(1e300).dump(), "1e+300");
  EXPECT_EQ(Json(5e-324).dump(), "5e-324");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  Rng rng(3);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t bits = (std::uint64_t{rng.next()} << 32) | rng.next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(parse_json(Json(value).dump(), "t").number(), value);
  }
}

TEST(Json, TextIsEscaped) {
  const std::string text = "q\" b\\ n\n t\t c\x01 \xE2\x82\xAC /";
  EXPECT_EQ(Json(text).dump(), "\"q\\\" b\\\\ n\\n t\\t c\\u0001 \xE2\x82\xAC /\"");
  EXPECT_EQ(parse_json(Json(text).dump(), "t").text(), text);
}

TEST(Json, RoundTrips) {
  const char* const text =
      R"({"a":[1,2.5,"x",null,true,false,{}],"big":18446744073709551616,"deep":{"k":[[],[[1]]]},"e":"\u00e4\ud83d\ude00"})";
  const Json json = parse_json(text, "t");
  EXPECT_EQ(parse_json(json.dump(), "t").dump(), json.dump());
  EXPECT_EQ(json.at("a").items()[1].number(), 2.5);
  EXPECT_EQ(json.at("big").number(), 0x1p64);
  EXPECT_EQ(json.at("e").text(), "\xC3\xA4\xF0\x9F\x98\x80");
}

TEST(Json, Access) {
  const Json json = parse_json(R"({"i":3,"d":2.5,"w":4.0,"s":"x","b":true,"n":null,"a":[1]})", "t");
  EXPECT_EQ(json.at("i").integer(), 3);
  EXPECT_EQ(json.at("i").number(), 3.0);
  EXPECT_EQ(json.at("w").integer(), 4);
  EXPECT_TRUE(json.at("b").boolean());
  EXPECT_TRUE(json.at("n").is_null());
  EXPECT_TRUE(json.is_object() && json.at("a").is_array() && json.at("s").is_string());
  EXPECT_EQ(json.find("zzz"), nullptr);
  EXPECT_EQ(json.fields().size(), 7);
}

TEST(Json, WrongAccessIsARunError) {
  const Json json = parse_json(R"({"d":2.5,"s":"x"})", "t");
  EXPECT_EQ(run_error_of([&] { (void)json.at("zzz"); }), "JSON: missing key 'zzz'");
  EXPECT_EQ(run_error_of([&] { (void)json.at("d").integer(); }), "JSON: expected a whole number");
  EXPECT_EQ(run_error_of([&] { (void)json.at("s").number(); }), "JSON: expected a number");
  EXPECT_EQ(run_error_of([&] { (void)json.at("d").text(); }), "JSON: expected text");
  EXPECT_EQ(run_error_of([&] { (void)json.at("d").boolean(); }), "JSON: expected true or false");
  EXPECT_EQ(run_error_of([&] { (void)json.items(); }), "JSON: expected an array");
  EXPECT_EQ(run_error_of([&] { (void)json.at("d").fields(); }), "JSON: expected an object");
  EXPECT_THAT(run_error_of([&] { (void)Json(std::nan("")).dump(); }), testing::StartsWith("JSON: nan"));
  EXPECT_THAT(run_error_of([&] { (void)Json(HUGE_VAL).dump(); }), testing::StartsWith("JSON: inf"));
}

TEST(Json, MistakesHaveAPosition) {
  EXPECT_THAT(message_of([] { parse_json("{\n \"a\": 01}", "t.json"); }),
              testing::StartsWith("t.json:2:8: error: not JSON"));
  EXPECT_EQ(message_of([] { parse_json("", "t.json"); }), "t.json: error: the file is empty");
  EXPECT_THAT(message_of([] { parse_json("[1e999]", "t.json"); }), testing::StartsWith("t.json:1:"));
}

TEST(Json, ReadsFiles) {
  const std::string path = testing::TempDir() + "tessera-json-test.json";
  write_file(path, "[1]");
  EXPECT_EQ(read_json(path).items().size(), 1);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera
