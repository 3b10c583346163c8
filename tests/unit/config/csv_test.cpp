#include "sim/config/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"
#include "sim/config/gzip.hpp"
#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

std::string message(const std::string& text) {
  return message_of([&] { CsvTable::parse(text, "t.csv"); });
}

TEST(Csv, CellsByColumnName) {
  const CsvTable table = CsvTable::parse("gpu,ms\nV100,1.5\nT4,\n", "t.csv");
  EXPECT_EQ(table.rows(), 2);
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"gpu", "ms"}));
  EXPECT_EQ(table.column("ms"), 1);
  EXPECT_EQ(table.column("s"), std::nullopt);
  EXPECT_EQ(table.cell(0, table.need("gpu")), "V100");
  EXPECT_EQ(table.number(0, 1), 1.5);
  EXPECT_EQ(table.number(1, 1), std::nullopt);
}

TEST(Csv, SurvivesBeingMoved) {  // short texts live inside a std::string
  CsvTable first = CsvTable::parse("a\nb\n", "t.csv");
  const CsvTable second = std::move(first);
  EXPECT_EQ(second.cell(0, 0), "b");
}

TEST(Csv, Quotes) {
  const CsvTable table = CsvTable::parse("a,b,c\n\"x,\"\"y\"\"\nz\",\"\",\" q \"\r\n1,2,3", "t.csv");
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(table.cell(0, 0), "x,\"y\"\nz");
  EXPECT_EQ(table.cell(0, 1), "");
  EXPECT_EQ(table.cell(0, 2), " q ");
  EXPECT_EQ(table.cell(1, 2), "3");
  EXPECT_EQ(table.at(1, 2, "odd").line, 4);  // a quoted line break counts
}

TEST(Csv, LineEndsBlankLinesAndByteOrderMark) {
  const CsvTable table = CsvTable::parse("\xEF\xBB\xBF\"a\",b\r\n\r\n1,2\r\n\r\n", "t.csv");
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows(), 1);
  EXPECT_EQ(table.cell(0, 1), "2");
  EXPECT_EQ(table.at(0, 0, "odd").line, 3);
}

TEST(Csv, EmptyCellsAtTheEnds) {
  const CsvTable table = CsvTable::parse("a,b,c\n,,\n,x,", "t.csv");
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(table.cell(0, 2), "");
  EXPECT_EQ(table.cell(1, 1), "x");
}

TEST(Csv, Integers) {
  const CsvTable table = CsvTable::parse("n\n24\n24.0\n1e3\n2.5\n1e300\n\n", "t.csv");
  EXPECT_EQ(table.integer(0, 0), 24);
  EXPECT_EQ(table.integer(1, 0), 24);
  EXPECT_EQ(table.integer(2, 0), 1000);
  EXPECT_EQ(message_of([&] { (void)table.integer(3, 0); }), "t.csv:5: error: n: expected a whole number, found '2.5'");
  EXPECT_THAT(message_of([&] { (void)table.integer(4, 0); }), HasSubstr("expected a whole number"));
}

TEST(Csv, Mistakes) {
  EXPECT_EQ(message(""), "t.csv: error: the file is empty");
  EXPECT_EQ(message(std::string("a\n\0\n", 4)), "t.csv:2:1: error: a binary file (byte 0x00); expected text in UTF-8");
  EXPECT_EQ(message("a,b\n1\n1,2\n1,2,3\n"),
            "t.csv:2: error: expected 2 cells as in the header, found 1\n"
            "t.csv:4: error: expected 2 cells as in the header, found 3");
  EXPECT_EQ(message("a,b\n1,\"2\n3,4\n"), "t.csv:2: error: a quote that is opened here is never closed");
  EXPECT_EQ(message("a,b\n\"1\"x,2\n"), "t.csv:2: error: expected a comma after the closing quote");
  EXPECT_EQ(message("a,b,a\n1,2,3\n"), "t.csv:1: error: column 'a' appears twice");
  EXPECT_EQ(message("a,,b\n1,2,3\n"), "t.csv:1: error: column 2 of the header has no name");
  const CsvTable table = CsvTable::parse("latency_ms\nfast\nnan\n", "t.csv");
  EXPECT_EQ(message_of([&] { (void)table.need("latency"); }),
            "t.csv:1: error: missing column 'latency'; did you mean 'latency_ms'?");
  EXPECT_EQ(message_of([&] { (void)table.number(0, 0); }),
            "t.csv:2: error: latency_ms: expected a number, found 'fast'");
  EXPECT_THAT(message_of([&] { (void)table.number(1, 0); }), HasSubstr("found 'nan'"));
}

TEST(Csv, StopsCountingMistakesSomewhere) {
  std::string text = "a,b\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";
  const std::string all = message(text);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 19);
}

TEST(Csv, WrittenCellsReadBack) {
  const std::vector<std::string> cells{"plain", "a,b", "say \"so\"", "two\nlines", " edges ", "", "r\r"};
  std::string header, row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    header += (i == 0 ? "c" : ",c") + std::to_string(i);
    row += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  }
  const CsvTable table = CsvTable::parse(header + "\n" + row + "\n", "t.csv");
  for (std::size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(table.cell(0, i), cells[i]);
  EXPECT_EQ(csv_cell("plain"), "plain");
}

TEST(Csv, PlainAndPackedFiles) {
  const std::string path = testing::TempDir() + "tessera-csv-test.csv";
  write_file(path, "a\n1\n");
  EXPECT_EQ(CsvTable::read(path).cell(0, 0), "1");
  write_file(path + ".gz", gzip("a\n2\n"));
  EXPECT_EQ(CsvTable::read(path + ".gz").cell(0, 0), "2");
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".gz");
}

}  // namespace
}  // namespace tessera
