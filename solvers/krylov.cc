// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients and GMRES with incomplete factorisations: Eigen's, which is a library of templates,
// behind functions in C. Exceptions (Eigen throws when memory ends) stop here.
#include "solvers/solvers.h"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/IterativeSolvers>

#include <complex>
#include <new>

#include "solvers/sparse_structure.h"

namespace
{

template <typename Scalar>
using Sparse = Eigen::SparseMatrix<Scalar, Eigen::ColMajor, int>;
template <typename Scalar>
using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

struct Outcome {
    int *iterations;
    double *residual;
};

// Column by column, so that iterations and residual are those of the worst one.
template <typename Solver, typename Scalar>
int iterate(Solver &solver, const Eigen::Map<const Sparse<Scalar>> &a, int nrhs, const Scalar *b, Scalar *x,
            double tolerance, int most, const Outcome &outcome)
{
    Sparse<Scalar> matrix(a);
    solver.setTolerance(static_cast<typename Eigen::NumTraits<Scalar>::Real>(tolerance));
    if (most > 0)
        solver.setMaxIterations(most);
    solver.compute(matrix);
    if (solver.info() != Eigen::Success)
        return SOLVER_SINGULAR;
    int status = SOLVER_OK;
    for (int j = 0; j < nrhs; j++) {
        const auto n = a.rows();
        Eigen::Map<const Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> right(b + j * n, n);
        Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> solution(x + j * n, n);
        solution = solver.solve(right);
        *outcome.iterations = std::max(*outcome.iterations, static_cast<int>(solver.iterations()));
        const double size = right.norm(), rest = (right - matrix * solution).norm();
        *outcome.residual = std::max(*outcome.residual, size > 0 ? rest / size : rest);
        if (solver.info() != Eigen::Success || !(rest <= 10 * tolerance * size))
            status = SOLVER_NO_CONVERGENCE;
    }
    return status;
}

enum Method { CONJUGATE_GRADIENTS, GENERALIZED_MINIMAL_RESIDUALS };

template <Method method, typename Scalar>
int solve(int n, int nrhs, const int *pointers, const int *rows, const Scalar *values, const Scalar *b,
          Scalar *x, double tolerance, int most, int restart, int *iterations, double *residual)
try {
    *iterations = 0;
    *residual = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0 || nrhs == 0)
        return SOLVER_OK;
    const Outcome outcome = {iterations, residual};
    Eigen::Map<const Sparse<Scalar>> a(n, n, pointers[n], pointers, rows, values);
    if constexpr (method == CONJUGATE_GRADIENTS) {
        Eigen::ConjugateGradient<Sparse<Scalar>, Eigen::Lower, Eigen::IncompleteCholesky<Scalar>> solver;
        return iterate(solver, a, nrhs, b, x, tolerance, most, outcome);
    } else {
        Eigen::GMRES<Sparse<Scalar>, Eigen::IncompleteLUT<Scalar>> solver;
        solver.set_restart(std::min(restart, n));
        return iterate(solver, a, nrhs, b, x, tolerance, most, outcome);
    }
} catch (const std::bad_alloc &) {
    return SOLVER_NO_MEMORY;
} catch (...) {
    return SOLVER_FAILED;
}

} // namespace

#define KRYLOV(letter, Scalar)                                                                               \
    int esp_##letter##cg(int n, int nrhs, const int *pointers, const int *rows, const void *values,          \
                         const void *b, void *x, double tolerance, int most, int *iterations,                \
                         double *residual)                                                                   \
    {                                                                                                        \
        return solve<CONJUGATE_GRADIENTS>(n, nrhs, pointers, rows, static_cast<const Scalar *>(values),      \
                                          static_cast<const Scalar *>(b), static_cast<Scalar *>(x),          \
                                          tolerance, most, 0, iterations, residual);                         \
    }                                                                                                        \
    int esp_##letter##gmres(int n, int nrhs, const int *pointers, const int *rows, const void *values,       \
                            const void *b, void *x, double tolerance, int most, int restart,                 \
                            int *iterations, double *residual)                                               \
    {                                                                                                        \
        return solve<GENERALIZED_MINIMAL_RESIDUALS>(                                                         \
            n, nrhs, pointers, rows, static_cast<const Scalar *>(values), static_cast<const Scalar *>(b),    \
            static_cast<Scalar *>(x), tolerance, most, restart, iterations, residual);                       \
    }

extern "C" {
KRYLOV(d, double)
KRYLOV(z, std::complex<double>)
}
