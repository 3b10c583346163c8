// Makers of the trials, one per benchmark; the table that names them is in cuda_device.cpp.
#pragma once

#include <memory>

#include "calibration/microbench/device.hpp"

namespace tessera::microbench {

/// What makers need to know of the device.
struct DeviceInfo {
  int index = 0, sms = 0;
  int capability = 0;  // 90 for 9.0
};

using TrialMaker = std::unique_ptr<Trial> (*)(const DeviceInfo& device, const Case& c);

std::unique_ptr<Trial> make_launch(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_copy(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_memory(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_gemm(const DeviceInfo& device, const Case& c);  // bmm, too
std::unique_ptr<Trial> make_conv(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_elementwise(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_rows(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_row_gradients(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_moe(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_attention(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_pair(const DeviceInfo& device, const Case& c);
std::unique_ptr<Trial> make_collective(const DeviceInfo& device, const Case& c);

}  // namespace tessera::microbench
