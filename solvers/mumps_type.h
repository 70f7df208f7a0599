/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS for one type: FUNCTION, OPEN, SOLVE, REFINED, DETERMINANT, LETTER, NUMBER, REAL, STRUCTURE and
 * CALL are defined by who includes this.
 */
#define MOST_RESERVE 6400 /* percent of the work space that MUMPS estimated */
#define MOST_STEPS   10   /* of refinement: each gains as many digits as the factors have */

static void quiet(STRUCTURE *mumps)
{
    for (int i = 0; i < 4; i++) /* ICNTL(1) to (4): nothing is printed */
        mumps->icntl[i] = i == 3 ? 0 : -1;
}

/* An instance with the matrix; its triplets and numbers are freed by end(). */
struct instance {
    struct kept kept;
    STRUCTURE mumps;
    struct triplets list;
    NUMBER *values;
};

static int begin(struct instance *instance, int sym, int n, const int *pointers, const int *rows,
                 const void *values)
{
    instance->mumps = (STRUCTURE){.sym = sym, .par = 1, .job = -1, .comm_fortran = -987654 /* the world */};
    CALL(&instance->mumps);
    quiet(&instance->mumps);
    if (!triplets_make(n, pointers, rows, sym != 0, &instance->list))
        return SOLVER_NO_MEMORY;
    instance->values = malloc(((size_t)instance->list.count + 1) * sizeof *instance->values);
    if (!instance->values)
        return SOLVER_NO_MEMORY;
    for (int k = 0; k < instance->list.count; k++)
        instance->values[k] = ((const NUMBER *)values)[instance->list.from[k]];
    instance->mumps.n = n;
    instance->mumps.nnz = instance->list.count;
    instance->mumps.irn = instance->list.rows;
    instance->mumps.jcn = instance->list.columns;
    instance->mumps.a = (void *)instance->values;
    return instance->list.count > 0 ? SOLVER_OK : SOLVER_SINGULAR; /* MUMPS has no matrix of zeros */
}

/* Where its estimate of the work space was too small, the step is repeated from the factorisation on, with
 * twice the reserve (ICNTL(14), in percent) each time. */
static int step(struct instance *instance, int job, int nrhs, void *b, int *info)
{
    STRUCTURE *mumps = &instance->mumps;
    const size_t bytes = (size_t)mumps->n * (size_t)nrhs * sizeof(NUMBER);
    void *kept = b ? malloc(bytes + 1) : NULL;
    if (kept)
        memcpy(kept, b, bytes);
    mumps->rhs = b;
    mumps->nrhs = nrhs;
    mumps->lrhs = mumps->n;
    mumps->job = job;
    CALL(mumps);
    while (mumps_wants_room(mumps->infog[0]) && mumps->icntl[13] < MOST_RESERVE && (!b || kept)) {
        mumps->icntl[13] = mumps->icntl[13] > 25 ? 2 * mumps->icntl[13] : 50;
        mumps->job = job == 4 ? 2 : 5; /* what was analysed stays: factor, or factor and solve */
        if (b)
            memcpy(b, kept, bytes);
        CALL(mumps);
    }
    free(kept);
    *info = mumps->infog[0];
    return mumps_meaning(*info);
}

static void end(struct instance *instance)
{
    instance->mumps.job = -2;
    CALL(&instance->mumps);
    triplets_clear(&instance->list);
    free(instance->values);
}

static void conjugate(int n, NUMBER *x)
{
    for (int i = 0; i < n; i++)
        x[i] = (NUMBER)conj(x[i]);
}

/* For an estimate of the condition: x := inverse(A) x, or that of the conjugate transpose. */
static bool apply(void *arg, bool transposed, void *x)
{
    struct instance *instance = arg;
    int info;
    if (transposed)
        conjugate(instance->mumps.n, x);
    instance->mumps.icntl[8] = transposed ? 0 : 1; /* ICNTL(9): 1: A, else its transpose */
    const int status = step(instance, 3, 1, x, &info);
    instance->mumps.icntl[8] = 1;
    if (transposed)
        conjugate(instance->mumps.n, x);
    return status == SOLVER_OK;
}

/* sym: 0 general, 1 positive definite, 2 symmetric; for 1 and 2 the lower triangle is read. */
SOLVER int FUNCTION(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                    void *b, double *rcond, int *info)
{
    struct instance instance = {.values = NULL};
    *info = 0;
    *rcond = 1;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0 || nrhs == 0)
        return SOLVER_OK;
    int status = begin(&instance, sym, n, pointers, rows, values);
    if (status == SOLVER_OK)
        status = step(&instance, 6, nrhs, b, info); /* analyse, factor, solve */
    if (status == SOLVER_OK)
        *rcond = CONDITION(n, pointers, rows, values, sym != 0 ? 'L' : 0, apply, &instance);
    end(&instance);
    return status;
}

/* r := b - A x; its norm. */
static double take_residual(int n, const int *pointers, const int *rows, const NUMBER *values,
                            const NUMBER *b, const NUMBER *x, NUMBER *r)
{
    double sum = 0;
    memcpy(r, b, (size_t)n * sizeof *r);
    for (int j = 0; j < n; j++)
        for (int k = pointers[j]; k < pointers[j + 1]; k++)
            r[rows[k]] -= values[k] * x[j];
    for (int i = 0; i < n; i++)
        sum += creal(r[i]) * creal(r[i]) + cimag(r[i]) * cimag(r[i]);
    return sqrt(sum);
}

/* One column; r has room for it. The newest correction is kept only when it has helped. */
static int refine(struct instance *instance, const int *pointers, const int *rows, const NUMBER *values,
                  const NUMBER *b, NUMBER *x, double tol, NUMBER *r, int *steps, double *residual, int *info)
{
    int n = instance->mumps.n, status = SOLVER_OK, done = 0;
    memset(x, 0, (size_t)n * sizeof *x);
    const double size = take_residual(n, pointers, rows, values, b, x, r);
    double left = size;
    for (int i = 0; i <= MOST_STEPS && left > tol * size && status == SOLVER_OK; i++) {
        status = step(instance, 3, 1, r, info);
        for (int k = 0; k < n; k++)
            x[k] += r[k];
        NUMBER *correction = r + n;
        memcpy(correction, r, (size_t)n * sizeof *r);
        double now = take_residual(n, pointers, rows, values, b, x, r);
        done = i;
        if (now < left) {
            left = now;
            continue;
        }
        for (int k = 0; k < n; k++)
            x[k] -= correction[k];
        break;
    }
    *steps = done > *steps ? done : *steps;
    *residual = size > 0 && left / size > *residual ? left / size : *residual;
    return status != SOLVER_OK ? status : left > tol * size ? SOLVER_NO_CONVERGENCE : SOLVER_OK;
}

SOLVER int REFINED(int n, int nrhs, const int *pointers, const int *rows, const void *values, const void *b,
                   void *x, double tol, int *steps, double *residual, int *info)
{
    struct instance instance = {.values = NULL};
    *steps = *info = 0;
    *residual = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0 || nrhs == 0)
        return SOLVER_OK;
    NUMBER *r = malloc(2 * (size_t)n * sizeof *r);
    int status = begin(&instance, 0, n, pointers, rows, values), worst = SOLVER_OK;
    if (status == SOLVER_OK)
        status = r ? step(&instance, 4, 0, NULL, info) : SOLVER_NO_MEMORY;
    for (int j = 0; j < nrhs && status == SOLVER_OK; j++) {
        size_t at = (size_t)j * (size_t)n;
        status = refine(&instance, pointers, rows, values, (const NUMBER *)b + at, (NUMBER *)x + at, tol, r,
                        steps, residual, info);
        worst = status == SOLVER_NO_CONVERGENCE ? status : worst;
        status = status == SOLVER_NO_CONVERGENCE ? SOLVER_OK : status;
    }
    end(&instance);
    free(r);
    return status == SOLVER_OK ? worst : status;
}

/* Mantissa and exponent come apart (ICNTL(33)); the scaling that MUMPS chose is in them. */
SOLVER int DETERMINANT(int n, const int *pointers, const int *rows, const void *values, NUMBER *det,
                       REAL *logabs, int *info)
{
    struct instance instance = {.values = NULL};
    *info = 0;
    *det = 1;
    *logabs = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0)
        return SOLVER_OK;
    int status = begin(&instance, 0, n, pointers, rows, values);
    instance.mumps.icntl[32] = 1;
    if (status == SOLVER_OK)
        status = step(&instance, 4, 0, NULL, info);
    const double re = instance.mumps.rinfog[11], im = instance.mumps.rinfog[12];
    const int exponent = instance.mumps.infog[33];
    const bool is_complex = LETTER == 'c' || LETTER == 'z';
    end(&instance);
    if (status != SOLVER_OK && status != SOLVER_SINGULAR)
        return status;
    const double modulus = status == SOLVER_SINGULAR ? 0 : hypot(re, is_complex ? im : 0);
    *det = modulus == 0 ? 0 : (NUMBER)ldexp(re, exponent);
    if (is_complex && modulus > 0)
        ((REAL *)det)[1] = (REAL)ldexp(im, exponent);
    *logabs = (REAL)(log(modulus) + exponent * log(2));
    if (modulus == 0)
        *logabs = -(REAL)INFINITY;
    return SOLVER_OK;
}

static void release(struct kept *kept)
{
    if (kept->n > 0)
        end((struct instance *)kept);
    free(kept);
}

SOLVER int OPEN(int sym, int n, const int *pointers, const int *rows, const void *values, void **state,
                int *info)
{
    *state = NULL;
    *info = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return SOLVER_NO_MEMORY;
    instance->kept = (struct kept){KEPT_MUMPS + LETTER, n, release};
    int status = n > 0 ? begin(instance, sym, n, pointers, rows, values) : SOLVER_OK;
    if (status == SOLVER_OK && n > 0)
        status = step(instance, 4, 0, NULL, info); /* analyse and factor */
    if (status == SOLVER_OK)
        *state = instance;
    else
        release(&instance->kept);
    return status;
}

SOLVER int SOLVE(void *state, int n, int nrhs, void *b, int *info)
{
    int status = kept_check(state, KEPT_MUMPS, LETTER, n);
    *info = 0;
    if (status != SOLVER_OK || n == 0 || nrhs == 0)
        return status;
    return step(state, 3, nrhs, b, info);
}
