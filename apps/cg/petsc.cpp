/// Conjugate gradients by PETSc: KSPCG without a preconditioner, for a given number of steps.

#include <petscksp.h>

#include "../steps/mpi.hpp"
#include "poisson.hpp"

namespace {

using namespace apps;

void check(PetscErrorCode code) { PetscCallAbort(PETSC_COMM_WORLD, code); }

class Solver {
 public:
  Solver(const StepsOptions& options, const World& world) : world_(world), steps_(options.steps) {
    const cg::Chunks allowed(options, world.ranks(), "size");  // as in the other versions
    check(PetscInitializeNoArguments());
    const auto size = static_cast<PetscInt>(options.size);
    check(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, size, size, 3, nullptr, 1, nullptr, &matrix_));
    check(MatCreateVecs(matrix_, &x_, &b_));
    PetscInt begin = 0, end = 0;
    check(MatGetOwnershipRange(matrix_, &begin, &end));
    for (PetscInt row = begin; row < end; ++row) {
      // Columns below 0 are left out, those beyond the last one are an error.
      const PetscInt columns[] = {row - 1, row, row + 1 < size ? row + 1 : -1};
      const PetscScalar values[] = {-1.0, 2.0, -1.0};
      check(MatSetValues(matrix_, 1, &row, 3, columns, values, INSERT_VALUES));
      check(VecSetValue(b_, row, cg::right_hand_side(row, size), INSERT_VALUES));
    }
    check(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY));
    check(VecAssemblyBegin(b_));
    check(VecAssemblyEnd(b_));
    check(KSPCreate(PETSC_COMM_WORLD, &solver_));
    check(KSPSetOperators(solver_, matrix_, matrix_));
    check(KSPSetType(solver_, KSPCG));
    check(KSPSetNormType(solver_, KSP_NORM_NATURAL));  // r·r, which a step needs anyway
    check(KSPSetConvergenceTest(solver_, KSPConvergedSkip, nullptr, nullptr));
    PC preconditioner = nullptr;
    check(KSPGetPC(solver_, &preconditioner));
    check(PCSetType(preconditioner, PCNONE));
    solve(1);  // all memory has been used before the clock starts, as in the other versions
  }
  ~Solver() {
    check(KSPDestroy(&solver_));
    check(VecDestroy(&b_));
    check(VecDestroy(&x_));
    check(MatDestroy(&matrix_));
    check(PetscFinalize());
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  void run() { solve(steps_); }

  Verified verify() {
    PetscInt done = 0, count = 0;
    PetscReal norm = 0.0;
    const PetscScalar* own = nullptr;
    check(KSPGetIterationNumber(solver_, &done));
    if (done != steps_) throw std::runtime_error("PETSc ended after " + std::to_string(done) + " steps");
    check(KSPGetResidualNorm(solver_, &norm));
    check(VecGetLocalSize(x_, &count));
    check(VecGetArrayRead(x_, &own));
    const std::vector<double> all = gathered(world_, {own, static_cast<std::size_t>(count)});
    check(VecRestoreArrayRead(x_, &own));
    return world_.rank() == 0 ? cg::verify(all, norm * norm, steps_) : Verified{};
  }
  static int tasks() { return 0; }

 private:
  void solve(int steps) {
    check(KSPSetTolerances(solver_, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, steps));
    check(KSPSolve(solver_, b_, x_));
  }

  const World& world_;
  const int steps_;
  Mat matrix_ = nullptr;
  Vec x_ = nullptr, b_ = nullptr;
  KSP solver_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_mpi_steps<Solver>(argc, argv, apps::cg::problem, "petsc"); }
