#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "sim/place/schedule/linear_solvers.hpp"

namespace tessera {

namespace {

struct Delete {
  void operator()(glp_prob* problem) const { glp_delete_prob(problem); }
};

int kind_of(double lower, double upper) {
  if (lower == upper) return GLP_FX;
  if (std::isinf(lower)) return std::isinf(upper) ? GLP_FR : GLP_UP;
  return std::isinf(upper) ? GLP_LO : GLP_DB;
}

/// GLPK counts rows and columns from 1.
void load(glp_prob* problem, const LinearProgram& program) {
  glp_set_obj_dir(problem, GLP_MIN);
  glp_add_cols(problem, static_cast<int>(program.columns.size()));
  for (std::size_t c = 0; c < program.columns.size(); ++c) {
    const auto& [lower, upper, cost, integer] = program.columns[c];
    const int column = static_cast<int>(c) + 1;
    glp_set_col_bnds(problem, column, kind_of(lower, upper), lower, upper);
    glp_set_obj_coef(problem, column, cost);
    if (integer) glp_set_col_kind(problem, column, GLP_IV);
  }
  glp_add_rows(problem, static_cast<int>(program.rows.size()));
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    const LinearProgram::Row& row = program.rows[r];
    std::vector<int> columns{0};
    std::vector<double> factors{0.0};
    for (const auto& [column, factor] : row.terms) {
      columns.push_back(column + 1);
      factors.push_back(factor);
    }
    glp_set_row_bnds(problem, static_cast<int>(r) + 1, kind_of(row.lower, row.upper), row.lower, row.upper);
    glp_set_mat_row(problem, static_cast<int>(r) + 1, static_cast<int>(row.terms.size()), columns.data(),
                    factors.data());
  }
}

}  // namespace

LinearSolution solve_with_glpk(const LinearProgram& program, std::span<const double>, Seconds limit) {
  glp_term_out(GLP_OFF);
  const std::unique_ptr<glp_prob, Delete> problem(glp_create_prob());
  load(problem.get(), program);
  glp_iocp options;
  glp_init_iocp(&options);
  options.msg_lev = GLP_MSG_OFF;
  options.presolve = GLP_ON;
  options.tm_lim = static_cast<int>(std::min(limit.value() * 1e3, 2e9));
  LinearSolution solution;
  solution.infeasible = glp_intopt(problem.get(), &options) == GLP_ENOPFS;
  const int status = glp_mip_status(problem.get());
  solution.optimal = status == GLP_OPT;
  solution.infeasible = solution.infeasible || status == GLP_NOFEAS;
  if (status != GLP_OPT && status != GLP_FEAS) return solution;
  if (solution.optimal) solution.bound = glp_mip_obj_val(problem.get());
  for (std::size_t c = 0; c < program.columns.size(); ++c) {
    solution.values.push_back(glp_mip_col_val(problem.get(), static_cast<int>(c) + 1));
  }
  return solution;
}

}  // namespace tessera
