// What fits of the command line need: where the measurements are, and which GPUs to leave out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

/// `given`, or the folder that the environment variable TESSERA_DATA names. InputError, said to be of `flag`, where
/// there is neither or no such folder.
std::filesystem::path training_data(const std::string& given, const std::string& flag);

/// GPUs to leave out by the names of their descriptions. A name that is none is an InputError with the nearest: it
/// would leave nothing out.
std::vector<std::string> left_out_gpus(const std::vector<std::string>& names);

}  // namespace tessera
