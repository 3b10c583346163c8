// The makers of all verbs, for the table.
#pragma once

#include <memory>

#include "sim/app/verb.hpp"

namespace tessera {

std::unique_ptr<Command> make_calibrate(CLI::App& app);
std::unique_ptr<Command> make_check(CLI::App& app);
std::unique_ptr<Command> make_import(CLI::App& app);
std::unique_ptr<Command> make_list(CLI::App& app);
std::unique_ptr<Command> make_microbench(CLI::App& app);
std::unique_ptr<Command> make_predict(CLI::App& app);
std::unique_ptr<Command> make_reproduce(CLI::App& app);
std::unique_ptr<Command> make_search(CLI::App& app);
std::unique_ptr<Command> make_simulate(CLI::App& app);
std::unique_ptr<Command> make_validate(CLI::App& app);

}  // namespace tessera
