// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients and GMRES with incomplete factorisations: Eigen's, which is a library of templates,
// behind functions in C. Exceptions (Eigen throws when memory ends) stop here.
#include "solvers/kept.h"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/IterativeSolvers>

#include <algorithm>
#include <complex>
#include <memory>
#include <new>
#include <type_traits>

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

// A preconditioner that was made before: Eigen's solvers take one by its type and would make it anew.
template <typename Method>
class Borrowed
{
    const Method *kept_ = nullptr;

  public:
    using StorageIndex = int;
    enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };
    void borrow(const Method *kept)
    {
        kept_ = kept;
    }
    template <typename Matrix>
    Borrowed &analyzePattern(const Matrix &)
    {
        return *this;
    }
    template <typename Matrix>
    Borrowed &factorize(const Matrix &)
    {
        return *this;
    }
    template <typename Matrix>
    Borrowed &compute(const Matrix &)
    {
        return *this;
    }
    template <typename Right>
    auto solve(const Right &b) const
    {
        return kept_->solve(b);
    }
    Eigen::ComputationInfo info() const
    {
        return Eigen::Success;
    }
};

template <typename Scalar>
using Cholesky = Eigen::IncompleteCholesky<Scalar>;
template <typename Scalar>
using LU = Eigen::IncompleteLUT<Scalar>;

template <typename Method>
struct Preconditioner {
    kept head;
    Method method;
};

// Column by column, so that iterations and residual are those of the worst one.
template <typename Solver, typename Scalar>
int iterate(Solver &solver, const Sparse<Scalar> &matrix, int nrhs, const Scalar *b, Scalar *x,
            double tolerance, int most, const Outcome &outcome)
{
    solver.setTolerance(static_cast<typename Eigen::NumTraits<Scalar>::Real>(tolerance));
    if (most > 0)
        solver.setMaxIterations(most);
    int status = SOLVER_OK;
    for (int j = 0; j < nrhs; j++) {
        const auto n = matrix.rows();
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

// Nothing that is thrown leaves.
template <typename Work>
int guarded(Work work)
try {
    return work();
} catch (const std::bad_alloc &) {
    return SOLVER_NO_MEMORY;
} catch (...) {
    return SOLVER_FAILED;
}

struct System {
    int n, nrhs;
    const int *pointers, *rows;
    const void *values, *b;
    void *x;
    double tolerance;
    int most, restart;
    int *iterations;
    double *residual;
};

template <template <typename> class Method, typename Scalar>
int solve_with(const System &system, const Preconditioner<Method<Scalar>> &kept)
{
    constexpr bool symmetric = std::is_same_v<Method<Scalar>, Cholesky<Scalar>>;
    using P = Borrowed<Method<Scalar>>;
    if (!structure_is_good(system.n, system.pointers, system.rows))
        return SOLVER_INVALID;
    if (system.n == 0 || system.nrhs == 0)
        return SOLVER_OK;
    const Outcome outcome = {system.iterations, system.residual};
    const Sparse<Scalar> a(Eigen::Map<const Sparse<Scalar>>(system.n, system.n, system.pointers[system.n],
                                                            system.pointers, system.rows,
                                                            static_cast<const Scalar *>(system.values)));
    std::conditional_t<symmetric, Eigen::ConjugateGradient<Sparse<Scalar>, Eigen::Lower, P>,
                       Eigen::GMRES<Sparse<Scalar>, P>>
        solver;
    if constexpr (!symmetric)
        solver.set_restart(std::min(system.restart, system.n));
    solver.preconditioner().borrow(&kept.method);
    solver.compute(a);
    return iterate(solver, a, system.nrhs, static_cast<const Scalar *>(system.b),
                   static_cast<Scalar *>(system.x), system.tolerance, system.most, outcome);
}

template <typename Method>
void release(kept *head)
{
    delete reinterpret_cast<Preconditioner<Method> *>(head);
}

template <template <typename> class Method, typename Scalar, typename Setting>
int open(int kind, int n, const int *pointers, const int *rows, const void *values, void **state,
         Setting setting)
{
    *state = nullptr;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    auto made = std::make_unique<Preconditioner<Method<Scalar>>>();
    made->head = {kind, n, release<Method<Scalar>>};
    setting(made->method);
    if (n > 0) {
        made->method.compute(Sparse<Scalar>(Eigen::Map<const Sparse<Scalar>>(
            n, n, pointers[n], pointers, rows, static_cast<const Scalar *>(values))));
        if (made->method.info() != Eigen::Success)
            return SOLVER_SINGULAR;
    }
    *state = made.release();
    return SOLVER_OK;
}

template <template <typename> class Method, typename Scalar>
int solve_kept(int kind, char letter, const void *state, const System &system)
{
    *system.iterations = 0;
    *system.residual = 0;
    const int status = kept_check(state, kind, letter, system.n);
    if (status != SOLVER_OK)
        return status;
    return solve_with<Method, Scalar>(system, *static_cast<const Preconditioner<Method<Scalar>> *>(state));
}

// Makes the preconditioner, and forgets it.
template <template <typename> class Method, typename Scalar>
int solve(const System &system)
{
    void *state = nullptr;
    *system.iterations = 0;
    *system.residual = 0;
    int status =
        open<Method, Scalar>(0, system.n, system.pointers, system.rows, system.values, &state, [](auto &) {});
    if (status != SOLVER_OK)
        return status;
    const std::unique_ptr<Preconditioner<Method<Scalar>>> made(
        static_cast<Preconditioner<Method<Scalar>> *>(state));
    return solve_with<Method, Scalar>(system, *made);
}

} // namespace

#define KRYLOV(letter, Scalar)                                                                               \
    int esp_##letter##cg(int n, int nrhs, const int *pointers, const int *rows, const void *values,          \
                         const void *b, void *x, double tolerance, int most, int *iterations,                \
                         double *residual)                                                                   \
    {                                                                                                        \
        const System system = {n, nrhs,      pointers, rows, values,     b,                                  \
                               x, tolerance, most,     0,    iterations, residual};                          \
        return guarded([&] { return solve<Cholesky, Scalar>(system); });                                     \
    }                                                                                                        \
    int esp_##letter##gmres(int n, int nrhs, const int *pointers, const int *rows, const void *values,       \
                            const void *b, void *x, double tolerance, int most, int restart,                 \
                            int *iterations, double *residual)                                               \
    {                                                                                                        \
        const System system = {n, nrhs,      pointers, rows,    values,     b,                               \
                               x, tolerance, most,     restart, iterations, residual};                       \
        return guarded([&] { return solve<LU, Scalar>(system); });                                           \
    }                                                                                                        \
    int esp_##letter##ic_open(int n, const int *pointers, const int *rows, const void *values, void **state) \
    {                                                                                                        \
        return guarded([&] {                                                                                 \
            return open<Cholesky, Scalar>(KEPT_IC + #letter[0], n, pointers, rows, values, state,            \
                                          [](auto &) {});                                                    \
        });                                                                                                  \
    }                                                                                                        \
    int esp_##letter##ilu_open(int n, const int *pointers, const int *rows, const void *values, double drop, \
                               int fill, void **state)                                                       \
    {                                                                                                        \
        return guarded([&] {                                                                                 \
            return open<LU, Scalar>(                                                                         \
                KEPT_ILU + #letter[0], n, pointers, rows, values, state, [&](auto &method) {                 \
                    method.setDroptol(static_cast<Eigen::NumTraits<Scalar>::Real>(drop));                    \
                    method.setFillfactor(fill);                                                              \
                });                                                                                          \
        });                                                                                                  \
    }                                                                                                        \
    int esp_##letter##ic_cg(void *state, int n, int nrhs, const int *pointers, const int *rows,              \
                            const void *values, const void *b, void *x, double tolerance, int most,          \
                            int *iterations, double *residual)                                               \
    {                                                                                                        \
        const System system = {n, nrhs,      pointers, rows, values,     b,                                  \
                               x, tolerance, most,     0,    iterations, residual};                          \
        return guarded([&] { return solve_kept<Cholesky, Scalar>(KEPT_IC, #letter[0], state, system); });    \
    }                                                                                                        \
    int esp_##letter##ilu_gmres(void *state, int n, int nrhs, const int *pointers, const int *rows,          \
                                const void *values, const void *b, void *x, double tolerance, int most,      \
                                int restart, int *iterations, double *residual)                              \
    {                                                                                                        \
        const System system = {n, nrhs,      pointers, rows,    values,     b,                               \
                               x, tolerance, most,     restart, iterations, residual};                       \
        return guarded([&] { return solve_kept<LU, Scalar>(KEPT_ILU, #letter[0], state, system); });         \
    }

extern "C" {
KRYLOV(s, float)
KRYLOV(d, double)
KRYLOV(c, std::complex<float>)
KRYLOV(z, std::complex<double>)
}
