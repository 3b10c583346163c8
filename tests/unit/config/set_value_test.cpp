#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/node.hpp"
#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

Document scenario() {
  return parse_text("cluster: {nodes: 1}\nempty:\nruns:\n  - {name: train, parallel: {tp: 2}}\n  - {name: infer}\n",
                    "s.yaml");
}

std::string message(const char* path, const char* value = "1") {
  Document document = scenario();
  return message_of([&] { set_value(document, path, value); });
}

TEST(SetValue, ReplacesByNameAndByIndex) {
  Document document = scenario();
  set_value(document, "cluster.nodes", "4");
  set_value(document, "runs.train.parallel.tp", "8");
  set_value(document, "runs[1].name", "\"prefill\"");
  EXPECT_EQ(document.root.find("cluster")->find("nodes")->scalar, "4");
  const Node& runs = *document.root.find("runs");
  EXPECT_EQ(runs.items[0].find("parallel")->find("tp")->scalar, "8");
  EXPECT_EQ(runs.items[1].find("name")->scalar, "prefill");
  EXPECT_TRUE(runs.items[1].find("name")->quoted);
}

TEST(SetValue, AddsMissingKeysAndTakesAnyYaml) {
  Document document = scenario();
  set_value(document, "runs.infer.parallel.tp", "4");
  EXPECT_EQ(document.root.find("runs")->items[1].find("parallel")->find("tp")->scalar, "4");
  EXPECT_EQ(document.root.find("runs")->items[1].find("parallel")->origin, "--set runs.infer.parallel.tp=4");
  set_value(document, "runs.infer.batch", "[1, {a: b}]");
  set_value(document, "empty.key", "x");
  set_value(document, "cluster.nodes", "");
  EXPECT_EQ(document.root.find("runs")->items[1].find("batch")->items[1].find("a")->scalar, "b");
  EXPECT_EQ(document.root.find("empty")->find("key")->scalar, "x");
  EXPECT_EQ(document.root.find("cluster")->find("nodes")->kind, Node::Kind::null);
}

TEST(SetValue, ValuesSayWhereTheyComeFrom) {
  Document document = scenario();
  set_value(document, "cluster.nodes", "[x]");
  const Node& item = document.root.find("cluster")->find("nodes")->items[0];
  EXPECT_EQ(item.origin, "--set cluster.nodes=[x]");
  EXPECT_EQ(item.line, 0);
}

TEST(SetValue, WrongPathsNameThemselves) {
  EXPECT_EQ(message("runs.trian.x"), "--set runs.trian.x=1: error: runs has no 'trian'; did you mean 'train'?");
  EXPECT_EQ(message("runs[2].x"), "--set runs[2].x=1: error: runs has 2 items; there is no [2]");
  EXPECT_EQ(message("cluster[0]"), "--set cluster[0]=1: error: cluster is not a list");
  EXPECT_EQ(message("cluster.nodes.x"), "--set cluster.nodes.x=1: error: cluster.nodes has no 'x'");
  EXPECT_EQ(message("runs[a]"), "--set runs[a]=1: error: expected an index such as [0], found '[a]'");
  EXPECT_EQ(message("runs[0"), "--set runs[0=1: error: expected an index such as [0], found '[0'");
  EXPECT_THAT(message(""), testing::HasSubstr("expected a path such as"));
  EXPECT_THAT(message("a..b"), testing::HasSubstr("expected a path such as"));
  EXPECT_EQ(message("new.list[0]"), "--set new.list[0]=1: error: new.list is not a list");
  EXPECT_THAT(message("cluster.nodes", "[1"), testing::StartsWith("--set cluster.nodes=[1:"));
}

TEST(SetValues, ReportsAllMistakes) {
  Document document = scenario();
  const std::vector<std::string> settings{"runs.trian.x=1", "cluster.nodes=2", "tp", "runs[2]=1"};
  EXPECT_EQ(message_of([&] { set_values(document, settings); }),
            "--set runs.trian.x=1: error: runs has no 'trian'; did you mean 'train'?\n"
            "--set: error: 'tp' is not of the form path=value\n"
            "--set runs[2]=1: error: runs has 2 items; there is no [2]");
  EXPECT_EQ(document.root.find("cluster")->find("nodes")->scalar, "2");
}

}  // namespace
}  // namespace tessera
