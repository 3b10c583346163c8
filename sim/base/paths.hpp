// Where the project's data files are: beside the sources, or where TESSERA_HOME points.
#pragma once

#include <filesystem>

namespace tessera {

/// The folder that holds platforms/, scenarios/ and calibration/weights/. InputError where it has no platforms/.
std::filesystem::path home();

}  // namespace tessera
