#include "sim/config/yaml.hpp"

#include <gtest/gtest.h>

#include "sim/config/node.hpp"

namespace tessera {
namespace {

TEST(Yaml, WhatIsWrittenIsReadBack) {
  const Json inner(Json::Object{{"a", 1}, {"b", Json(Json::Array{Json(2.5), Json(true), Json()})}});
  const Json root(Json::Object{{"name", "x"}, {"list", Json(Json::Array{inner, inner})}, {"none", Json::array()}});
  EXPECT_EQ(
      yaml_text(root, "made\nhere"),
      "# made\n# here\nname: x\nlist:\n  -\n    a: 1\n    b:\n      - 2.5\n      - true\n      - null\n  -\n    a: "
      "1\n    b:\n      - 2.5\n      - true\n      - null\nnone: []\n");
  const Document read = parse_text(yaml_text(root), "test.yaml");
  EXPECT_EQ(read.root.find("list")->items.at(1).find("b")->items.at(0).scalar, "2.5");
}

TEST(Yaml, TextStaysText) {
  for (const char* const text : {"12",   "1e3",  "-",   "- a", "yes", "null", "",     " a",     "a ",    "a: b",
                                 "a #b", "#",    "[1]", "{a}", "'",   "\"",   "a\nb", "80 GiB", "C:\\x", "@a",
                                 "%a",   "key:", ".5",  "+1",  "~",   "~a",   "é",    "a'b\"c", "nan",   "inf"}) {
    const Document read = parse_text(yaml_text(Json(Json::Object{{"key", text}})), "test.yaml");
    const Node* node = read.root.find("key");
    ASSERT_NE(node, nullptr) << text;
    EXPECT_EQ(node->kind, Node::Kind::scalar) << text;
    EXPECT_EQ(node->scalar, text);
  }
  EXPECT_EQ(yaml_text(Json(Json::Object{{"key", "80 GiB"}})), "key: 80 GiB\n");
  EXPECT_EQ(yaml_text(Json(Json::Object{{"key", "12"}})), "key: \"12\"\n");
}

}  // namespace
}  // namespace tessera
