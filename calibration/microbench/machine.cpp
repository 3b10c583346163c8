#include "calibration/microbench/machine.hpp"

#include <fmt/format.h>

namespace tessera::microbench {

Json as_json(const Machine& m) {
  Json libraries = Json::object();
  for (const auto& [name, version] : m.libraries) libraries[name] = version;
  return Json(Json::Object{{"device", m.device},
                           {"compute_capability", m.compute_capability},
                           {"sms", m.sms},
                           {"devices", m.devices},
                           {"memory_bytes", m.memory.value()},
                           {"l2_bytes", m.l2.value()},
                           {"driver", m.driver},
                           {"libraries", std::move(libraries)},
                           {"max_sm_clock_hz", m.max_sm_clock.value()},
                           {"max_memory_clock_hz", m.max_memory_clock.value()},
                           {"power_limit_w", m.power_limit.value()}});
}

Machine machine_from_json(const Json& json) {
  Machine m{.device = json.at("device").text(),
            .compute_capability = json.at("compute_capability").text(),
            .sms = static_cast<int>(json.at("sms").integer()),
            .devices = static_cast<int>(json.at("devices").integer()),
            .memory = Bytes(json.at("memory_bytes").number()),
            .l2 = Bytes(json.at("l2_bytes").number()),
            .driver = json.at("driver").text(),
            .libraries = {},
            .max_sm_clock = Hertz(json.at("max_sm_clock_hz").number()),
            .max_memory_clock = Hertz(json.at("max_memory_clock_hz").number()),
            .power_limit = Watts(json.at("power_limit_w").number())};
  for (const auto& [name, version] : json.at("libraries").fields()) m.libraries.emplace_back(name, version.text());
  return m;
}

std::vector<std::string> differences(const Machine& a, const Machine& b) {
  std::vector<std::string> lines;
  const Json left = as_json(a), right = as_json(b);
  for (const auto& [name, value] : left.fields()) {
    const std::string was = value.dump(-1), is = right.at(name).dump(-1);
    if (was != is) lines.push_back(fmt::format("{}: {} and {}", name, was, is));
  }
  return lines;
}

}  // namespace tessera::microbench
