/* SPDX-License-Identifier: Apache-2.0
 *
 * Numerical routines in real worker processes, against mathematics.
 */
#include "tests/unit/worker_rig.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const char description[] =
    "problem dgetrf \"A = P L U\"\n"
    "    in      int     m, n\n"
    "    inout   double  A[m, n]\n"
    "    out     int     ipiv[min(m, n)]\n"
    "implementation lapack\n"
    "    fortran dgetrf_(m, n, A, max(1,m), ipiv, out info) in liblapack.so.3\n"
    "    note    info > 0 \"U({info},{info}) is exactly zero: the matrix is singular\"\n"
    "problem dgesv \"Solve A X = B\"\n"
    "    in      int     n, nrhs\n"
    "    inout   double  A[n, n]\n"
    "    out     int     ipiv[n]\n"
    "    inout   double  B[n, nrhs]\n"
    "implementation lapack\n"
    "    fortran dgesv_(n, nrhs, A, max(1,n), ipiv, B, max(1,n), out info) in liblapack.so.3\n"
    "    error   info < 0 \"argument {-info} is illegal\"\n"
    "    error   info > 0 \"U({info},{info}) is exactly zero: the matrix is singular\"\n"
    "problem ddot \"Inner product\"\n"
    "    in      int     n\n"
    "    in      double  x[n], y[n]\n"
    "    out     double  dot\n"
    "implementation blas\n"
    "    fortran dot = ddot_(n, x, 1, y, 1) in libblas.so.3\n"
    "problem dgemm \"C := A B\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n], B[n, n]\n"
    "    out     double  C[n, n]\n"
    "implementation blas\n"
    "    fortran dgemm_('N', 'N', n, n, n, double 1.0, A, max(1,n), B, max(1,n), double 0.0, C, max(1,n)) in "
    "libblas.so.3\n"
    "problem dsyev \"Eigenvalues\"\n"
    "    in      char    jobz\n"
    "    in      int     n\n"
    "    inout   double  A[n, n]\n"
    "    out     double  w[n]\n"
    "    work    int     lwork = max(1, 34*n)\n"
    "    work    double  workspace[lwork]\n"
    "implementation lapack\n"
    "    fortran dsyev_(jobz, 'U', n, A, max(1,n), w, workspace, lwork, out info) in liblapack.so.3\n"
    "    error   info != 0 \"info = {info}\"\n"
    "problem asked \"A work array whose size the routine tells\"\n"
    "    in      int     likes, least\n"
    "    out     int     was\n"
    "    in      int     beyond\n"
    "    work    int     size = least\n"
    "    work    float   workspace[size] query\n"
    "implementation routine\n"
    "    fortran asked_(likes, workspace, size, was, beyond) in libroutines.so\n"
    "problem dsyevd \"Eigenvalues, with three sizes asked for\"\n"
    "    in      int     n\n"
    "    inout   double  A[n, n]\n"
    "    out     double  w[n]\n"
    "    work    int     lwork = 1, liwork = 1\n"
    "    work    double  workspace[lwork] query\n"
    "    work    int     iwork[liwork] query\n"
    "implementation lapack\n"
    "    fortran dsyevd_('V', 'U', n, A, max(1,n), w, workspace, lwork, iwork, liwork, out info) in "
    "liblapack.so.3\n"
    "    error   info != 0 \"info = {info}\"\n"
    "problem wrong_lda \"A leading dimension that is too small\"\n"
    "    in      int     n\n"
    "    inout   double  A[n, n]\n"
    "    out     int     ipiv[n]\n"
    "    inout   double  b[n]\n"
    "implementation lapack\n"
    "    fortran dgesv_(n, 1, A, n - 1, ipiv, b, max(1,n), out info) in liblapack.so.3\n"
    "problem wrong_trans \"A BLAS routine that is handed nonsense\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n], x[n]\n"
    "    inout   double  y[n]\n"
    "implementation blas\n"
    "    fortran dgemv_('X', n, n, double 1.0, A, max(1,n), x, 1, double 0.0, y, 1) in libblas.so.3\n"
    "problem nap \"A routine that waits\"\n"
    "    in      int     ms\n"
    "implementation routine\n"
    "    c       nap(ms) in libroutines.so\n"
    "problem no_symbol \"A routine that is not there\"\n"
    "    in      int     n\n"
    "implementation blas\n"
    "    fortran dnothing_(n) in libblas.so.3\n"
    "problem no_library \"A library that is not there\"\n"
    "    in      int     n\n"
    "implementation blas\n"
    "    fortran dnothing_(n) in libnothing.so.9\n";

static struct rig rig;

static int setup(void **state)
{
    (void)state;
    rig_open(&rig, description, 2, 1, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static void assert_ok(struct esp_error error)
{
    if (error.status != ESP_OK)
        fail_msg("%s: %s", esp_status_string(error.status), error.text);
}

static void assert_fails(struct esp_error error, enum esp_status status, const char *text)
{
    if (error.status != status || !strstr(error.text, text))
        fail_msg("expected %s: ... %s ..., found %s: %s", esp_status_string(status), text,
                 esp_status_string(error.status), error.text);
}

/* A well-conditioned matrix, the same each time. */
static void fill_matrix(double *a, int n)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            a[i + j * n] = i == j ? n + 1.0 : 1.0 / (1 + i + j);
}

static void solves(int n, bool in_segment)
{
    double *a = calloc((size_t)(n * n), sizeof *a), *b = calloc((size_t)n, sizeof *b);
    double *first = calloc((size_t)(n * n), sizeof *first);
    int *ipiv = calloc((size_t)n, sizeof *ipiv), nrhs = 1;
    fill_matrix(a, n);
    memcpy(first, a, (size_t)(n * n) * sizeof *a);
    for (int i = 0; i < n; i++) /* the solution is (1, 2, ..., n) */
        for (int j = 0; j < n; j++)
            b[i] += a[i + j * n] * (j + 1);
    assert_ok(rig_call(&rig, "dgesv", (void *[]){&n, &nrhs, a, ipiv, b}, in_segment));
    for (int i = 0; i < n; i++) {
        assert_true(fabs(b[i] - (i + 1)) < 1e-10 * n);
        assert_in_range(ipiv[i], i + 1, n);
    }
    assert_memory_not_equal(a, first, (size_t)(n * n) * sizeof *a); /* the factors came back */
    free(a);
    free(b);
    free(first);
    free(ipiv);
}

static void dgesv_solves_a_small_system_through_the_ring(void **state)
{
    (void)state;
    solves(3, false);
}

static void dgesv_solves_a_large_system_in_a_segment(void **state)
{
    (void)state;
    solves(100, true);
    solves(257, true); /* an odd number of bytes behind the last page's beginning */
}

static void dgesv_takes_a_system_of_no_equations(void **state)
{
    (void)state;
    int n = 0, nrhs = 1, none = 0;
    assert_ok(rig_call(&rig, "dgesv", (void *[]){&n, &nrhs, &none, &none, &none}, false));
    assert_ok(rig_call(&rig, "dgesv", (void *[]){&n, &nrhs, &none, &none, &none}, true));
}

static void a_singular_matrix_is_named_by_the_error_clause(void **state)
{
    (void)state;
    int n = 2, nrhs = 1, ipiv[2];
    double a[] = {1, 2, 2, 4}, b[] = {1, 1};
    assert_fails(rig_call(&rig, "dgesv", (void *[]){&n, &nrhs, a, ipiv, b}, false), ESP_FAILED,
                 "U(2,2) is exactly zero: the matrix is singular");
}

static void factors_of_a_singular_matrix_come_with_a_note(void **state)
{
    (void)state;
    for (int in_segment = 0; in_segment < 2; in_segment++) {
        int m = 2, n = 2, ipiv[2];
        double a[] = {1, 2, 2, 4};
        struct esp_error error = rig_call(&rig, "dgetrf", (void *[]){&m, &n, a, ipiv}, in_segment);
        assert_int_equal(error.status, ESP_OK);
        assert_string_equal(error.text, "U(2,2) is exactly zero: the matrix is singular");
        assert_true(a[0] == 2 && a[1] == 0.5 && a[2] == 4 && a[3] == 0);
        assert_int_equal(ipiv[0], 2);
        a[3] = 2;
        assert_string_equal(rig_call(&rig, "dgetrf", (void *[]){&m, &n, a, ipiv}, in_segment).text, "");
    }
}

static void ddot_returns_its_result(void **state)
{
    (void)state;
    int n = 4;
    double x[] = {1, 2, 3, 4}, y[] = {5, 6, 7, 8}, dot = 0;
    assert_ok(rig_call(&rig, "ddot", (void *[]){&n, x, y, &dot}, false));
    assert_true(dot == 70);
    assert_ok(rig_call(&rig, "ddot", (void *[]){&n, x, y, &dot}, true));
    assert_true(dot == 70);
}

static void dgemm_multiplies(void **state)
{
    (void)state;
    enum { N = 64 };
    int n = N;
    static double a[N * N], b[N * N], c[N * N];
    fill_matrix(a, N);
    for (int i = 0; i < N * N; i++)
        b[i] = i % 7 - 3;
    for (int in_segment = 0; in_segment < 2; in_segment++) {
        memset(c, 0, sizeof c);
        assert_ok(rig_call(&rig, "dgemm", (void *[]){&n, a, b, c}, in_segment));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < N; k++)
                    sum += a[i + k * N] * b[k + j * N];
                assert_true(fabs(sum - c[i + j * N]) < 1e-11);
            }
    }
}

/* Memory of a datum, at the end of its page. */
static struct job_file file_with(const double *values, size_t bytes)
{
    struct job_file file = {.fd = memfd_create("datum", MFD_CLOEXEC), .offset = 4096 - bytes, .bytes = bytes};
    assert_int_equal(ftruncate(file.fd, 4096), 0);
    if (values)
        assert_int_equal(pwrite(file.fd, values, bytes, (off_t)file.offset), (ssize_t)bytes);
    return file;
}

static struct job_file for_reading(const struct job_file *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    struct job_file reader = *file;
    reader.fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(reader.fd >= 0);
    return reader;
}

static void arguments_may_lie_in_files_of_their_own(void **state)
{
    (void)state;
    int n = 2, nrhs = 1, ipiv[2];
    const double a[] = {4, 2, 1, 3}, b[] = {6, 8};
    double x[2], c[4], read_back[4];
    struct job_file datum = file_with(a, sizeof a), reader = for_reading(&datum);
    /* dgesv overwrites A: it gets a copy, and the datum stays. */
    struct rig_job *job = rig_prepare(&rig, "dgesv", (void *[]){&n, &nrhs, c, ipiv, (double *)b}, true);
    job->arguments[2].source = &reader;
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    memcpy(x, job->arguments[4].data, sizeof x);
    rig_finish(job);
    assert_true(fabs(x[0] - 1) < 1e-14 && fabs(x[1] - 2) < 1e-14);
    assert_int_equal(pread(datum.fd, read_back, sizeof read_back, (off_t)datum.offset), sizeof read_back);
    assert_memory_equal(read_back, a, sizeof a);
    /* dgemm reads it where it is, twice, and its result goes into a new one. */
    struct job_file fresh = file_with(NULL, sizeof c);
    job = rig_prepare(&rig, "dgemm", (void *[]){&n, c, c, c}, true);
    job->arguments[1].file = job->arguments[2].file = &reader;
    job->arguments[3].file = &fresh;
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    rig_finish(job);
    assert_int_equal(pread(fresh.fd, read_back, sizeof read_back, (off_t)fresh.offset), sizeof read_back);
    assert_memory_equal(read_back, ((const double[]){18, 14, 7, 11}), sizeof read_back);
    close(datum.fd);
    close(reader.fd);
    close(fresh.fd);
}

static void dsyev_finds_the_eigenvalues_of_the_second_difference(void **state)
{
    (void)state;
    enum { N = 20 };
    int n = N;
    char jobz = 'V';
    double a[N * N] = {0}, w[N];
    for (int i = 0; i < N; i++) {
        a[i + i * N] = 2;
        if (i > 0)
            a[i - 1 + i * N] = a[i + (i - 1) * N] = -1;
    }
    assert_ok(rig_call(&rig, "dsyev", (void *[]){&jobz, &n, a, w, NULL, NULL}, false));
    for (int i = 0; i < N; i++)
        assert_true(fabs(w[i] - (2 - 2 * cos((i + 1) * M_PI / (N + 1)))) < 1e-12);
}

static void the_routine_is_asked_for_the_size_of_its_work_array(void **state)
{
    (void)state;
    static const struct {
        int likes, least, was;
    } rows[] = {{100, 10, 100},          {5, 10, 10},        {0, 0, 0}, {-7, 3, 3},
                {16777218, 1, 16777218}, {100000, 7, 100000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int likes = rows[i].likes, least = rows[i].least, was = 0, beyond = 0;
        assert_ok(rig_call(&rig, "asked", (void *[]){&likes, &least, &was, &beyond, NULL, NULL}, false));
        /* A size of more than 24 bits may have been rounded down to a float. */
        assert_in_range(was, rows[i].was, rows[i].was + 2 * (rows[i].was > 1 << 24));
    }
    int likes = 1024, least = 1, was = 0, beyond = 1;
    assert_fails(rig_call(&rig, "asked", (void *[]){&likes, &least, &was, &beyond, NULL, NULL}, false),
                 ESP_CRASHED, "wrote behind the end of argument 'workspace'");
}

static void dsyevd_tells_three_sizes_and_finds_the_eigenvalues(void **state)
{
    (void)state;
    enum { N = 60 };
    static double a[N * N], w[N];
    int n = N;
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++) {
        a[i + i * N] = 2;
        if (i + 1 < N)
            a[i + (i + 1) * N] = a[i + 1 + i * N] = -1;
    }
    assert_ok(rig_call(&rig, "dsyevd", (void *[]){&n, a, w, NULL, NULL, NULL, NULL}, true));
    for (int k = 1; k <= N; k++)
        assert_true(fabs(w[k - 1] - 2 * (1 - cos(k * acos(-1.0) / (N + 1)))) < 1e-13);
}

static void an_illegal_argument_is_an_error_and_neither_a_print_nor_an_exit(void **state)
{
    (void)state;
    int n = 3, ipiv[3];
    double a[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[3] = {1, 2, 3};
    uint64_t lines = atomic_load(&rig.lines);
    struct esp_error error = rig_call(&rig, "wrong_lda", (void *[]){&n, a, ipiv, b}, false);
    assert_fails(error, ESP_FAILED, "argument 4 of DGESV is illegal (n - 1)");
    error = rig_call(&rig, "wrong_trans", (void *[]){&n, a, b, b}, false);
    assert_fails(error, ESP_FAILED, "argument 1 of DGEMV is illegal");
    assert_int_equal(atomic_load(&rig.lines), lines);
    solves(3, false); /* on the same worker: nothing of it is left */
}

/* Models are made of what a routine takes by itself. */
/* A worker's waiting time is divided between the worker and those who took its processor, by the switches
 * of both kinds: a worker that is never pushed aside (in at least one of a few naps) has taken all of it. */
static void who_waits_takes_the_time_of_the_clock(void **state)
{
    (void)state;
    int ms = 40;
    double most_s = 0;
    for (int i = 0; i < 20 && most_s < 0.040; i++) {
        struct rig_job *job = rig_prepare(&rig, "nap", (void *[]){&ms}, false);
        job->job.timed = true;
        rig_start(&rig, job);
        const struct job_end *end = rig_wait(&rig, job, true);
        assert_ok(end->error);
        assert_true(end->cpu_s <= end->compute_s + 0.040);
        most_s = end->cpu_s > most_s ? end->cpu_s : most_s;
        rig_finish(job);
    }
    assert_true(most_s >= 0.040);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    int n = 1;
    assert_fails(rig_call(&rig, "no_symbol", (void *[]){&n}, false), ESP_SYSTEM,
                 "libblas.so.3 has no symbol 'dnothing_'");
    assert_fails(rig_call(&rig, "no_library", (void *[]){&n}, false), ESP_SYSTEM, "libnothing.so.9");
}

static struct esp_error check(const char *name)
{
    struct esp_error error = {.status = ESP_OK};
    const struct problem *problem = problem_find(rig.problems, name);
    processes_check(rig.workers, problem, &problem->implementations[0], &error);
    return error;
}

static void what_is_missing_is_found_by_the_check(void **state)
{
    (void)state;
    assert_ok(check("dgesv"));
    assert_ok(check("ddot"));
    assert_fails(check("no_symbol"), ESP_NOT_FOUND,
                 "problem no_symbol, implementation blas: libblas.so.3 has no symbol 'dnothing_'");
    assert_fails(check("no_library"), ESP_NOT_FOUND, "libnothing.so.9");
}

static void without_a_helper_the_end_is_reported_too(void **state)
{
    (void)state;
    int n = 4;
    double x[] = {1, 2, 3, 4}, y[] = {5, 6, 7, 8}, dot = 0;
    for (int i = 0; i < 200; i++) {
        dot = 0;
        struct rig_job *job = rig_prepare(&rig, "ddot", (void *[]){&n, x, y, &dot}, false);
        rig_start(&rig, job);
        assert_ok(rig_wait(&rig, job, i % 3 == 0)->error);
        assert_true(dot == 70);
        assert_true(job->end.compute_s >= 0 && job->end.compute_s < 60);
    }
}

#define CALLERS 4

struct caller {
    struct rig *rig;
    pthread_mutex_t *preparing;
    int number, wrong;
};

static void *call_often(void *arg)
{
    struct caller *caller = arg;
    for (int i = 0; i < 300; i++) {
        int n = 3;
        double x[] = {1, caller->number, i}, y[] = {1, 1, 1}, dot = -1;
        pthread_mutex_lock(caller->preparing);
        struct rig_job *job = rig_prepare(caller->rig, "ddot", (void *[]){&n, x, y, &dot}, i % 5 == 0);
        rig_start(caller->rig, job);
        pthread_mutex_unlock(caller->preparing);
        const struct job_end *end = rig_wait(caller->rig, job, (i + caller->number) % 3 > 0);
        caller->wrong += end->error.status != ESP_OK || dot != 1 + caller->number + i;
        pthread_mutex_lock(caller->preparing);
        rig_finish(job);
        pthread_mutex_unlock(caller->preparing);
    }
    return NULL;
}

static void threads_call_side_by_side(void **state)
{
    (void)state;
    static struct rig own;
    pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[CALLERS];
    struct caller callers[CALLERS];
    rig_open(&own, description, CALLERS, 1, 1);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.rig = &own, .preparing = &preparing, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    rig_close(&own);
}

static void too_much_beside_the_segment_is_refused(void **state)
{
    (void)state;
    enum { N = 200 };
    int n = N;
    static double a[N * N], b[N * N], c[N * N];
    struct rig_job *job = rig_prepare(&rig, "dgemm", (void *[]){&n, a, b, c}, false);
    struct esp_error error;
    assert_int_equal(rig.workers->ops->start(rig.workers, &job->job, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "dgemm"));
    solves(3, false);
}

static const char inquiries[] =
    "problem blas_threads \"Threads of BLAS\"\n    in int n\n    out int threads\n"
    "implementation blas\n    c threads = openblas_get_num_threads(n) in libblas.so.3\n"
    "problem niceness \"How nice\"\n    in int n\n    out int result\n"
    "implementation test\n    c result = niceness(n) in \"libroutines.so\"\n"
    "problem can_allocate \"Memory\"\n    in int megabytes\n    out int result\n"
    "implementation test\n    c result = can_allocate(megabytes) in \"libroutines.so\"\n";

#ifdef __SANITIZE_ADDRESS__
#define N_LIMITS 0 /* the sanitizer takes more memory than that by itself */
#else
#define N_LIMITS 1
#endif

static int ask(struct rig *of, const char *problem, int n)
{
    int answer = -1;
    assert_ok(rig_call(of, problem, (void *[]){&n, &answer}, false));
    return answer;
}

static void workers_have_the_threads_the_niceness_and_the_limits_asked_for(void **state)
{
    (void)state;
    static struct rig own;
    struct spawner_limit limit = {.resource = RLIMIT_DATA, .value = UINT64_C(1) << 30};
    rig_open_with(
        &own, inquiries,
        &(struct processes_options){
            .slots = 1, .spares = 1, .threads = 2, .nice = 3, .limits = &limit, .n_limits = N_LIMITS});
    assert_int_equal(ask(&own, "niceness", 0), nice(0) + 3);
    assert_int_equal(ask(&own, "can_allocate", 100), 1);
    if (N_LIMITS > 0)
        assert_int_equal(ask(&own, "can_allocate", 2000), 0);
    const struct problem *threads = problem_find(own.problems, "blas_threads");
    struct esp_error error;
    if (processes_check(own.workers, threads, &threads->implementations[0], &error) == ESP_OK)
        assert_int_equal(ask(&own, "blas_threads", 0), 2);
    rig_close(&own);
}

static void impossible_options_are_refused(void **state)
{
    (void)state;
    struct esp_error error;
    struct processes_options options = {.slots = 0, .threads = 1};
    struct workers *workers;
    assert_int_equal(processes_create(&options, &workers, &error), ESP_INVALID);
    options = (struct processes_options){.slots = 1, .threads = 1, .program = "/nothing/here"};
    assert_int_equal(processes_create(&options, &workers, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "/nothing/here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dgesv_solves_a_small_system_through_the_ring),
        cmocka_unit_test(dgesv_solves_a_large_system_in_a_segment),
        cmocka_unit_test(dgesv_takes_a_system_of_no_equations),
        cmocka_unit_test(a_singular_matrix_is_named_by_the_error_clause),
        cmocka_unit_test(factors_of_a_singular_matrix_come_with_a_note),
        cmocka_unit_test(ddot_returns_its_result),
        cmocka_unit_test(dgemm_multiplies),
        cmocka_unit_test(arguments_may_lie_in_files_of_their_own),
        cmocka_unit_test(dsyev_finds_the_eigenvalues_of_the_second_difference),
        cmocka_unit_test(the_routine_is_asked_for_the_size_of_its_work_array),
        cmocka_unit_test(dsyevd_tells_three_sizes_and_finds_the_eigenvalues),
        cmocka_unit_test(an_illegal_argument_is_an_error_and_neither_a_print_nor_an_exit),
        cmocka_unit_test(who_waits_takes_the_time_of_the_clock),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(what_is_missing_is_found_by_the_check),
        cmocka_unit_test(without_a_helper_the_end_is_reported_too),
        cmocka_unit_test(threads_call_side_by_side),
        cmocka_unit_test(too_much_beside_the_segment_is_refused),
        cmocka_unit_test(workers_have_the_threads_the_niceness_and_the_limits_asked_for),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
