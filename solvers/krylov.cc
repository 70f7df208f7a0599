// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients and GMRES with incomplete factorisations: Eigen's, which is a library of templates,
// behind functions in C. Exceptions (Eigen throws when memory ends) stop here.
//
// Eigen stops by residuals that it updates (conjugate gradients) or that are preconditioned (GMRES), and both
// may be far from b - A x. So its solvers correct what is left, again and again, until the true residual is
// small. All of it happens in double precision: in single precision the residual of an ill-conditioned system
// cannot become small, however good the method; the solution is rounded once, at the end.
#include "solvers/kept.h"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/IterativeSolvers>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <new>
#include <type_traits>

#include "solvers/sparse_structure.h"

namespace
{

// What a type is computed in.
template <typename Scalar>
using Wide = std::conditional_t<Eigen::NumTraits<Scalar>::IsComplex, std::complex<double>, double>;
template <typename Scalar>
using Sparse = Eigen::SparseMatrix<Scalar, Eigen::ColMajor, int>;
template <typename Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

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

struct Progress {
    int iterations = 0;
    double residual = 0; // relative to the right-hand side
    int status = SOLVER_OK;
};

// A correction that leaves more than this of the residual is a strike; with so many the method is out.
constexpr double WORTH_IT = 0.5;
constexpr int STRIKES = 3;

// A x for the matrix that the method takes it for.
template <bool symmetric, typename Scalar>
Vector<Scalar> product(const Sparse<Scalar> &a, const Vector<Scalar> &x)
{
    if constexpr (symmetric)
        return a.template selfadjointView<Eigen::Lower>() * x;
    else
        return a * x;
}

// One right-hand side, from x = 0 until ||b - A x|| <= tolerance ||b||.
template <bool symmetric, typename Solver, typename Scalar>
Progress correct(Solver &solver, const Sparse<Scalar> &a, const Vector<Scalar> &b, double tolerance, int most,
                 Vector<Scalar> &x)
{
    Progress progress;
    const double size = b.norm(), target = tolerance * size;
    double left = size, margin = 0.5;
    int strikes = 0;
    Vector<Scalar> residual = b;
    x.setZero(b.size());
    while (left > target && progress.iterations < most && strikes < STRIKES) {
        solver.setTolerance(std::max(margin * target / left, 1e-15));
        solver.setMaxIterations(most - progress.iterations);
        const Vector<Scalar> next = x + solver.solve(residual);
        progress.iterations += std::max(1, static_cast<int>(solver.iterations()));
        const Vector<Scalar> rest = b - product<symmetric>(a, next);
        const double norm = rest.norm();
        strikes = norm <= WORTH_IT * left ? 0 : strikes + 1; // and where it is no number
        margin = std::max(margin / 10, 1e-6);
        if (!(norm < left))
            continue;
        x = next;
        residual = rest;
        left = norm;
    }
    progress.residual = size > 0 ? left / size : 0;
    const bool had_its_chance = strikes >= STRIKES || progress.iterations >= b.size();
    if (left > target)
        progress.status =
            had_its_chance && left > WORTH_IT * size ? SOLVER_USELESS_FACTORS : SOLVER_NO_CONVERGENCE;
    return progress;
}

// Column by column, so that iterations and residual are those of the worst one.
template <bool symmetric, typename Scalar, typename Solver>
int iterate(Solver &solver, const Sparse<Wide<Scalar>> &matrix, int nrhs, const Scalar *b, Scalar *x,
            double tolerance, int most, const Outcome &outcome)
{
    int status = SOLVER_OK;
    const auto n = matrix.rows();
    if (most == 0)
        most = static_cast<int>(std::min<long>(std::max(2L * n, 100L), 1L << 30));
    for (int j = 0; j < nrhs; j++) {
        const Vector<Wide<Scalar>> right =
            Eigen::Map<const Vector<Scalar>>(b + j * n, n).template cast<Wide<Scalar>>();
        Vector<Wide<Scalar>> solution;
        const Progress progress = correct<symmetric>(solver, matrix, right, tolerance, most, solution);
        Eigen::Map<Vector<Scalar>>(x + j * n, n) = solution.template cast<Scalar>();
        *outcome.iterations = std::max(*outcome.iterations, progress.iterations);
        *outcome.residual = std::max(*outcome.residual, progress.residual);
        status = progress.status == SOLVER_OK ? status : progress.status;
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

template <typename Scalar>
Sparse<Wide<Scalar>> widened(int n, const int *pointers, const int *rows, const void *values)
{
    return Eigen::Map<const Sparse<Scalar>>(n, n, pointers[n], pointers, rows,
                                            static_cast<const Scalar *>(values))
        .template cast<Wide<Scalar>>();
}

template <template <typename> class Method, typename Scalar>
int solve_with(const System &system, const Preconditioner<Method<Wide<Scalar>>> &kept)
{
    using Number = Wide<Scalar>;
    constexpr bool symmetric = std::is_same_v<Method<Number>, Cholesky<Number>>;
    using P = Borrowed<Method<Number>>;
    if (!structure_is_good(system.n, system.pointers, system.rows))
        return SOLVER_INVALID;
    if (system.n == 0 || system.nrhs == 0)
        return SOLVER_OK;
    const Outcome outcome = {system.iterations, system.residual};
    const Sparse<Number> a = widened<Scalar>(system.n, system.pointers, system.rows, system.values);
    std::conditional_t<symmetric, Eigen::ConjugateGradient<Sparse<Number>, Eigen::Lower, P>,
                       Eigen::GMRES<Sparse<Number>, P>>
        solver;
    if constexpr (!symmetric)
        solver.set_restart(std::min(system.restart, system.n));
    solver.preconditioner().borrow(&kept.method);
    solver.compute(a);
    return iterate<symmetric>(solver, a, system.nrhs, static_cast<const Scalar *>(system.b),
                              static_cast<Scalar *>(system.x), system.tolerance, system.most, outcome);
}

template <typename Method>
void release(kept *head)
{
    delete reinterpret_cast<Preconditioner<Method> *>(head);
}

// Eigen's incomplete Cholesky ends the process where a diagonal element is not stored.
template <typename Scalar>
bool has_positive_diagonal(const Sparse<Scalar> &a)
{
    for (Eigen::Index j = 0; j < a.cols(); j++)
        if (!(std::real(a.coeff(j, j)) > 0))
            return false;
    return true;
}

template <template <typename> class Method, typename Scalar, typename Setting>
int open(int kind, int n, const int *pointers, const int *rows, const void *values, void **state,
         Setting setting)
{
    *state = nullptr;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    using Kept = Method<Wide<Scalar>>;
    auto made = std::make_unique<Preconditioner<Kept>>();
    made->head = {kind, n, release<Kept>};
    setting(made->method);
    if (n > 0) {
        const auto a = widened<Scalar>(n, pointers, rows, values);
        if (std::is_same_v<Kept, Cholesky<Wide<Scalar>>> && !has_positive_diagonal(a))
            return SOLVER_SINGULAR;
        made->method.compute(a);
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
    return solve_with<Method, Scalar>(system,
                                      *static_cast<const Preconditioner<Method<Wide<Scalar>>> *>(state));
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
    const std::unique_ptr<Preconditioner<Method<Wide<Scalar>>>> made(
        static_cast<Preconditioner<Method<Wide<Scalar>>> *>(state));
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
            return open<LU, Scalar>(KEPT_ILU + #letter[0], n, pointers, rows, values, state,                 \
                                    [&](auto &method) {                                                      \
                                        method.setDroptol(drop);                                             \
                                        method.setFillfactor(fill);                                          \
                                    });                                                                      \
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
