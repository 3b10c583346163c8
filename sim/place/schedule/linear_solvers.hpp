// The back-ends of linear_solvers(); each is compiled only where its library is found.
#pragma once

#include "sim/place/schedule/linear_program.hpp"

namespace tessera {

LinearSolution solve_with_cbc(const LinearProgram& program, std::span<const double> start, Seconds limit);
LinearSolution solve_with_glpk(const LinearProgram& program, std::span<const double> start, Seconds limit);

}  // namespace tessera
