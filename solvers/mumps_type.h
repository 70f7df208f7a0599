/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS for one type: FUNCTION, OPEN, SOLVE, REFINED, DETERMINANT, LETTER, NUMBER, REAL, STRUCTURE and
 * CALL are defined by who includes this.
 */
#define MOST_STEPS 10 /* of refinement: each gains as many digits as the factors have */

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

static int step(struct instance *instance, int job, int nrhs, void *b, int *info)
{
    instance->mumps.rhs = b;
    instance->mumps.nrhs = nrhs;
    instance->mumps.lrhs = instance->mumps.n;
    instance->mumps.job = job;
    CALL(&instance->mumps);
    *info = instance->mumps.infog[0];
    return mumps_meaning(*info);
}

static void end(struct instance *instance)
{
    instance->mumps.job = -2;
    CALL(&instance->mumps);
    triplets_clear(&instance->list);
    free(instance->values);
}

/* sym: 0 general, 1 positive definite, 2 symmetric; for 1 and 2 the lower triangle is read. */
SOLVER int FUNCTION(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                    void *b, int *info)
{
    struct instance instance = {.values = NULL};
    *info = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0 || nrhs == 0)
        return SOLVER_OK;
    int status = begin(&instance, sym, n, pointers, rows, values);
    if (status == SOLVER_OK)
        status = step(&instance, 6, nrhs, b, info); /* analyse, factor, solve */
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
