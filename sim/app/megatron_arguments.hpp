// Megatron-LM's command line as a scenario: what `tessera import` writes. Pure but for reading the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ImportedScenario {
  std::string scenario;              // YAML, whose model is "model.json" beside it
  std::string model;                 // a Hugging Face config.json
  std::vector<std::string> ignored;  // options that say nothing about time or memory here
};

/// Reads `--name value` and `--name` anywhere in a file (a launch script, or arguments alone), as Megatron-LM's
/// arguments.py names them. GPT and Llama-like models, dense and Mixtral-like. InputError with every mistake: a missing
/// size, a number that is none, a combination that Megatron-LM refuses. Not read: shell variables, YAML arguments.
ImportedScenario read_megatron_arguments(const std::filesystem::path& file, std::string_view cluster);

}  // namespace tessera
