// A verb of the command line: `tessera VERB ...`. One .cpp per verb, one row in verb_table.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 spells it so
class App;
}

namespace tessera {

/// A parsed verb, ready to run. Its members are the options that `make` declared.
class Command {
 public:
  virtual ~Command() = default;
  /// Returns the exit code; prints its result on stdout. InputError and RunError go to main.
  virtual int run() = 0;
};

struct Verb {
  std::string_view name, what, example;
  /// Declares the options on `app` (each with a description) and returns the command that holds them.
  std::unique_ptr<Command> (*make)(CLI::App& app);
};
/// One row per verb, alphabetical.
std::span<const Verb> verbs();

/// The whole program: parses, runs one verb, turns every error into a message and an exit code (0, 1, 2).
int run_command_line(int argc, const char* const* argv);

}  // namespace tessera
