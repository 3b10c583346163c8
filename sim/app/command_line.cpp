#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/app/verb.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongInput = 2;

/// fmt::print throws where stderr is closed or full; then nobody is left to tell, and the exit code must still be
/// right.
void complain(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

InputError wrong_usage(const std::string& message) {
  return InputError(Diagnostic{"", 0, 0, message});
}

std::string overview() {
  std::string text =
      "Tessera simulates GPU clusters for deep learning: how long will this model take there, and why.\n\n"
      "Usage: tessera VERB [OPTIONS]\n\n";
  for (const Verb& verb : verbs()) text += fmt::format("  {:<12}{}\n", verb.name, verb.what);
  return text +
         "\n`tessera VERB --help` explains one, with an example. Start with: tessera simulate "
         "scenarios/quickstart.yaml\n";
}

const Verb& find_verb(const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return verb;
    names.emplace_back(verb.name);
  }
  throw wrong_usage(
      fmt::format("unknown verb '{}'{}; there are {}", name, did_you_mean(name, names), fmt::join(names, ", ")));
}

/// CLI11's complaint, with the nearest flag where one was mistyped.
std::string complaint(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    for (const std::string& argument : arguments) {
      const std::string flag = argument.substr(0, argument.find('='));
      if (!flag.starts_with("-") || std::ranges::find(flags, flag) != flags.end()) continue;
      return fmt::format("{}: unknown option '{}'{}", app.get_name(), flag, did_you_mean(flag, flags));
    }
  return fmt::format("{}: {}", app.get_name(), error.what());
}

int run_verb(const Verb& verb, const std::vector<std::string>& arguments) {
  CLI::App app{std::string(verb.what), "tessera " + std::string(verb.name)};
  app.footer(fmt::format("Example:\n  {}", verb.example));
  const auto command = verb.make(app);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return kDone;
  } catch (const CLI::ParseError& error) {
    throw wrong_usage(complaint(app, error, arguments));
  }
  return command->run();
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    complain(overview());
    return kWrongInput;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    fmt::print("{}", overview());
    return kDone;
  }
  if (arguments[0] == "--version") {
    fmt::print("tessera {}\n", TESSERA_VERSION);
    return kDone;
  }
  return run_verb(find_verb(arguments[0]), {arguments.begin() + 1, arguments.end()});
}

int run_and_complain(const std::vector<std::string>& arguments) {
  try {
    return dispatch(arguments);
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) complain(to_string(diagnostic) + '\n');
    return kWrongInput;
  } catch (const std::bad_alloc&) {
    complain("error: out of memory\n");
  } catch (const std::exception& error) {
    complain(fmt::format("error: {}\n", error.what()));
  }
  return kFailed;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  const int code = run_and_complain({argv + 1, argv + argc});
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  complain("error: cannot write to stdout: it is closed, or the disk is full\n");
  return code == kDone ? kFailed : code;
}

}  // namespace tessera
