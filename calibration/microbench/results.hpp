// The folder that measurements go to, row by row, so that an interrupted run goes on where it stopped.
#pragma once

#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "calibration/microbench/device.hpp"
#include "calibration/microbench/statistics.hpp"

namespace tessera::microbench {

/// What a case gave.
struct Result {
  Statistics time;
  double error = 0;
  Sensors sensors;
  std::vector<std::pair<std::string, double>> extras;
};

/// What the caller says about the machine.
struct Origin {
  std::string gpu;       // name of the data sheet
  std::string platform;  // of the collectives; may be empty
  std::string date;      // as the caller gave it
};

std::string_view file_name(Table table);
std::span<const std::string_view> columns(Table table);

/// One line of the table's file, with its line end.
std::string csv_row(const Case& c, const Result& result, const Origin& origin);

/// machine.json, one CSV per table, and failed.csv.
class ResultFolder {
 public:
  /// Opens or makes the folder. A last line that an interruption cut off is removed. RunError where it holds another
  /// machine's measurements, InputError where a file's columns are not ours.
  ResultFolder(std::filesystem::path folder, Origin origin, const Machine& machine);

  [[nodiscard]] bool measured(const std::string& id) const { return measured_.contains(id); }
  [[nodiscard]] bool failed(const std::string& id) const { return failed_.contains(id); }
  void add(const Case& c, const Result& result);
  void add_failure(const std::string& id, std::string_view reason);

 private:
  void check_machine(const Machine& machine) const;
  void read_ids(std::string_view file, std::string_view header, std::set<std::string>& ids) const;
  void append(std::string_view file, const std::string& header, const std::string& line) const;

  std::filesystem::path folder_;
  Origin origin_;
  std::set<std::string> measured_, failed_;
};

}  // namespace tessera::microbench
