#include "sim/config/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"
#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string yaml_message(std::string text) {
  return message_of([&] { parse_text(std::move(text), "s.yaml"); });
}
std::string json_message(std::string text) {
  return message_of([&] { parse_text(std::move(text), "s.json", true); });
}

void expect_at(const Node* node, int line, int column) {
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->line, line);
  EXPECT_EQ(node->column, column);
}

TEST(Yaml, KindsOrderAndPositions) {
  const Node root = parse_text("b: 1\na:\n  - 'x'\n  - [y, {k: ~}]\nempty:\n", "s.yaml").root;
  ASSERT_EQ(root.kind, Node::Kind::map);
  EXPECT_EQ(root.fields[0].first, "b");
  EXPECT_EQ(root.fields[1].first, "a");
  expect_at(root.find("b"), 1, 4);
  const Node* a = root.find("a");
  expect_at(a, 3, 3);
  EXPECT_EQ(a->key_line, 2);
  EXPECT_EQ(a->key_column, 1);
  expect_at(&a->items[0], 3, 5);
  EXPECT_TRUE(a->items[0].quoted);
  const Node& inner = a->items[1];
  ASSERT_EQ(inner.kind, Node::Kind::sequence);
  EXPECT_FALSE(inner.items[0].quoted);
  expect_at(&inner.items[0], 4, 6);
  EXPECT_EQ(inner.items[1].find("k")->kind, Node::Kind::null);
  EXPECT_EQ(root.find("empty")->kind, Node::Kind::null);
  EXPECT_EQ(root.find("empty")->key_line, 5);
  EXPECT_EQ(root.find("none"), nullptr);
}

TEST(Yaml, ScalarsKeepTheirText) {
  const Node root = parse_text("[010, 1e3, yes, \"12\", 0x1F, 3 GB/s]", "s.yaml").root;
  const std::vector<std::string> expected{"010", "1e3", "yes", "12", "0x1F", "3 GB/s"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(root.items[i].scalar, expected[i]);
    EXPECT_EQ(root.items[i].quoted, expected[i] == "12");
  }
}

TEST(Yaml, AliasesAreCopies) {
  const Node root = parse_text("a: &x {k: 1}\nb: *x\n", "s.yaml").root;
  EXPECT_EQ(root.find("b")->find("k")->scalar, "1");
  EXPECT_THAT(yaml_message("a: &x [*x]"), HasSubstr("error: "));
}

TEST(Yaml, MistakesHaveAPosition) {
  EXPECT_THAT(yaml_message("a: 1\nb: [1, 2\n"), StartsWith("s.yaml:3:1: error: not YAML: "));
  EXPECT_EQ(yaml_message("a: 1\nb: 2\na: 3\n"), "s.yaml:3:1: error: key 'a' appears twice; first in line 1");
  EXPECT_EQ(yaml_message("a: &x {k: 1}\nb:\n  <<: *x\n"),
            "s.yaml:3:3: error: merge keys ('<<') are not supported; write the keys out");
  EXPECT_EQ(yaml_message("? [1]\n: 2\n"), "s.yaml:1:3: error: expected a name as key");
  EXPECT_EQ(yaml_message("a: !gpu x\n"), "s.yaml:1:4: error: tags ('!gpu') are not supported");
  EXPECT_THAT(yaml_message("a: 1\n---\nb: 2\n"), StartsWith("s.yaml:3:1: error: expected one document"));
}

TEST(Yaml, NestingEnds) {
  EXPECT_THAT(yaml_message(std::string(300, '[') + std::string(300, ']')),
              HasSubstr("nested too deeply, or too many aliases"));
  EXPECT_THAT(yaml_message(std::string(5000, '[')), testing::EndsWith("error: nested too deeply"));
}

TEST(TextFiles, EmptyAndBinary) {
  EXPECT_EQ(yaml_message(""), "s.yaml: error: the file is empty");
  EXPECT_EQ(yaml_message(" \n\t\n"), "s.yaml: error: the file is empty");
  EXPECT_EQ(yaml_message("# only a comment\n"), "s.yaml: error: the file is empty");
  EXPECT_EQ(json_message("\n"), "s.json: error: the file is empty");
  EXPECT_EQ(yaml_message(std::string("a: 1\nb\0c", 8)),
            "s.yaml:2:2: error: a binary file (byte 0x00); expected text in UTF-8");
  EXPECT_EQ(json_message("\xff\xfe"), "s.json:1:1: error: a binary file (byte 0xff); expected text in UTF-8");
}

TEST(TextFiles, OnlyWellFormedUtf8) {
  const std::vector<std::string> good{"\xC3\xA4", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xF0\x9F\x98\x80",
                                      "\xF4\x8F\xBF\xBF"};
  for (const std::string& text : good) EXPECT_EQ(parse_text(text, "s.yaml").root.scalar, text);
  const std::vector<std::string> bad{
      "\x80", "\xC0\xAF", "\xC3", "\xC3(", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80"};
  for (const std::string& text : bad) EXPECT_THAT(yaml_message(text), HasSubstr("a binary file"));
}

TEST(Documents, AreReadFromFilesByEnding) {
  const std::string path = testing::TempDir() + "tessera-node-test.json";
  write_file(path, "{'a': 1}");
  EXPECT_THAT(message_of([&] { parse_document(path); }), StartsWith(path + ":1:2: error: not JSON"));
  write_file(path, "{\"a\": 1}");
  EXPECT_EQ(parse_document(path).root.find("a")->scalar, "1");
  EXPECT_EQ(parse_document(path).file, path);
  std::filesystem::remove(path);
}

TEST(JsonNodes, KindsTextAndPositions) {
  const std::string text =
      "{\n\t\"a\\\"\\\\\": \"q\\\"\\\\\",\n  \"n\": [1, -2.50e+3,true , null,{\"k\":18446744073709551616}]\n}\n";
  const Node root = parse_text(text, "s.json", true).root;
  expect_at(&root, 1, 1);
  const Node* quoted = root.find("a\"\\");
  expect_at(quoted, 2, 11);
  EXPECT_EQ(quoted->key_column, 2);
  EXPECT_EQ(quoted->scalar, "q\"\\");
  EXPECT_TRUE(quoted->quoted);
  const Node* list = root.find("n");
  expect_at(list, 3, 8);
  ASSERT_EQ(list->items.size(), 5);
  expect_at(&list->items[0], 3, 9);
  EXPECT_EQ(list->items[1].scalar, "-2.50e+3");
  expect_at(&list->items[1], 3, 12);
  expect_at(&list->items[2], 3, 21);
  EXPECT_EQ(list->items[3].kind, Node::Kind::null);
  expect_at(list->items[4].find("k"), 3, 38);
  EXPECT_EQ(list->items[4].find("k")->scalar, "18446744073709551616");
}

TEST(JsonNodes, ScalarsStandAlone) {
  EXPECT_EQ(parse_text("12", "s.json", true).root.scalar, "12");
  EXPECT_EQ(parse_text(" \"\" ", "s.json", true).root.column, 2);
}

TEST(JsonNodes, MistakesHaveAPosition) {
  EXPECT_THAT(json_message("{\"a\": 1,\n \"b\": }"), StartsWith("s.json:2:7: error: not JSON: syntax error"));
  EXPECT_THAT(json_message("{\"a\": 1,}"), StartsWith("s.json:1:9: error: not JSON"));
  EXPECT_THAT(json_message("{\"a\": NaN}"), HasSubstr("not JSON"));
  EXPECT_THAT(json_message("[1] 2"), StartsWith("s.json:1:5: error: not JSON"));
  EXPECT_THAT(json_message("[1, 2"), StartsWith("s.json:1:6: error: not JSON"));
  EXPECT_EQ(json_message("{\"a\": 1,\n \"a\": 2}"), "s.json:2:2: error: key 'a' appears twice");
  EXPECT_EQ(json_message(std::string(257, '[')), "s.json:1:257: error: nested deeper than 256 levels");
}

}  // namespace
}  // namespace tessera
