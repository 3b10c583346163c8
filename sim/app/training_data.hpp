// Where the measurements to fit on are.
#pragma once

#include <filesystem>
#include <string>

namespace tessera {

/// `given`, or the folder that the environment variable TESSERA_DATA names. InputError, said to be of `flag`, where
/// there is neither or no such folder.
std::filesystem::path training_data(const std::string& given, const std::string& flag);

}  // namespace tessera
