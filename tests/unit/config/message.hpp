// The text of the InputError that an action throws, for tests of messages.
#pragma once

#include <string>

#include "sim/base/error.hpp"

namespace tessera {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tessera
