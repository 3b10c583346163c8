#include "sim/app/verb.hpp"

int main(int argc, char** argv) {
  return tessera::run_command_line(argc, argv);
}
