/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/mpi/ranks_rig.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char description[] =
    "problem dgemm \"C := A B\"\n"
    "    in      int     m, n, k\n"
    "    in      double  A[m, k], B[k, n]\n"
    "    out     double  C[m, n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, "
    "C, 1, "
    "1, desc(C)) in libscalapack-openmpi.so.2.2\n"
    "problem dgetrf \"LU\"\n"
    "    in      int     m, n\n"
    "    inout   double  A[m, n]\n"
    "    out     int     ipiv[min(m, n)]\n"
    "implementation scalapack\n"
    "    parallel fortran pdgetrf_(m, n, A, 1, 1, desc(A), ipiv, out info) in libscalapack-openmpi.so.2.2\n"
    "    spread  ipiv rows of A\n"
    "    note    info > 0 \"U({info},{info}) is exactly zero\"\n"
    "problem dsyrk \"C := A A'\"\n"
    "    in      int     n, k\n"
    "    in      double  A[n, k]\n"
    "    out     double  C[n, n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdsyrk_('L', 'N', n, k, double 1, A, 1, 1, desc(A), double 0, C, 1, 1, desc(C)) in "
    "libscalapack-openmpi.so.2.2\n"
    "problem dposv \"A system that is positive-definite\"\n"
    "    in      int     n, nrhs\n"
    "    inout   double  A[n, n], B[n, nrhs]\n"
    "implementation scalapack\n"
    "    parallel fortran pdposv_('U', n, nrhs, A, 1, 1, desc(A), B, 1, 1, desc(B), out info) in "
    "libscalapack-openmpi.so.2.2\n"
    "problem dgesv \"A system\"\n"
    "    in      int     n, nrhs\n"
    "    inout   double  A[n, n]\n"
    "    out     int     ipiv[n]\n"
    "    inout   double  B[n, nrhs]\n"
    "implementation scalapack\n"
    "    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), ipiv, B, 1, 1, desc(B), out info) in "
    "libscalapack-openmpi.so.2.2\n"
    "    spread  ipiv rows of A\n"
    "problem dpotrf \"Cholesky\"\n"
    "    in      int     n\n"
    "    inout   double  A[n, n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdpotrf_('L', n, A, 1, 1, desc(A), out info) in libscalapack-openmpi.so.2.2\n"
    "    error   info > 0 \"the leading minor of order {info} is not positive\"\n"
    "problem dtrsm \"A triangular solve\"\n"
    "    in      char    side\n"
    "    in      int     m, n\n"
    "    in      double  A[if(is(side, 'L'), m, n), if(is(side, 'L'), m, n)]\n"
    "    inout   double  B[m, n]\n"
    "implementation scalapack\n"
    "    parallel fortran pdtrsm_(side, 'U', 'N', 'N', m, n, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B)) "
    "in "
    "libscalapack-openmpi.so.2.2\n"
    "problem count \"Ranks\"\n"
    "    out     int     n, works\n"
    "implementation ours\n"
    "    parallel c count_ranks(communicator, n, works, context) in librankroutines.so\n"
    "problem die \"A rank is killed\"\n"
    "    in      int     which\n"
    "    inout   double  x[n]\n"
    "    in      int     n = 1\n"
    "implementation ours\n"
    "    parallel c code = die(communicator, which, x) in librankroutines.so\n"
    "problem leave \"A rank ends\"\n"
    "    in      int     which, how\n"
    "implementation ours\n"
    "    parallel c code = leave(communicator, which, how) in librankroutines.so\n"
    "problem rest \"Waits\"\n"
    "    in      double  seconds\n"
    "implementation ours\n"
    "    parallel c rest(communicator, seconds) in librankroutines.so\n"
    "problem gate \"Waits for a file\"\n"
    "implementation ours\n"
    "    parallel c gate(communicator) in librankroutines.so\n"
    "problem tell \"Tells how far it is, and waits\"\n"
    "    in      double  fraction, seconds\n"
    "implementation ours\n"
    "    parallel c tell(communicator, fraction, seconds) in librankroutines.so\n"
    "problem limited \"Waits\"\n"
    "    in      double  seconds\n"
    "implementation ours\n"
    "    parallel c rest(communicator, seconds) in librankroutines.so\n"
    "    limit   \"200 ms\"\n"
    "problem linger \"Some ranks are through long before others\"\n"
    "    in      double  seconds\n"
    "    in      int     n\n"
    "    inout   double  x[n, 1]\n"
    "implementation ours\n"
    "    parallel c linger(communicator, seconds, desc(x), x) in librankroutines.so\n"
    "problem hold \"Writes to what all ranks have\"\n"
    "    in      double  seconds\n"
    "    in      int     n\n"
    "    inout   double  x[n]\n"
    "implementation ours\n"
    "    parallel c rest(communicator, seconds, x) in librankroutines.so\n"
    "problem scale \"A column times a factor\"\n"
    "    in      double  factor\n"
    "    in      int     n\n"
    "    inout   double  x[n, 1]\n"
    "implementation ours\n"
    "    parallel c scale(factor, desc(x), x) in librankroutines.so\n"
    "problem stray \"Writes behind a column\"\n"
    "    in      int     n\n"
    "    inout   double  x[n, 1]\n"
    "implementation ours\n"
    "    parallel c stray(desc(x), x) in librankroutines.so\n"
    "problem mark \"Writes a number into a column, and counts it up\"\n"
    "    in      int     n\n"
    "    inout   int     stamp\n"
    "    out     double  x[n, 1]\n"
    "implementation ours\n"
    "    parallel c mark(stamp, desc(x), x) in librankroutines.so\n"
    "problem accumulate \"Sums down the columns\"\n"
    "    in      int     rows, block, m, n\n"
    "    inout   double  A[m, n]\n"
    "implementation ours\n"
    "    parallel c code = accumulate(communicator, rows, block, desc(A), A) in librankroutines.so\n"
    "    error   code != 0 \"redistribution: {code}\"\n"
    "problem misplace \"Layouts that are none\"\n"
    "    in      int     which\n"
    "implementation ours\n"
    "    parallel c code = misplace(communicator, which) in librankroutines.so\n"
    "    error   code != 0 \"not told\"\n"
    "problem window \"Shares memory\"\n"
    "implementation ours\n"
    "    parallel c code = window(communicator) in librankroutines.so\n"
    "    error   code != 0 \"MPI: {code}\"\n"
    "problem take \"Takes memory\"\n"
    "    in      int     which, mib, how\n"
    "implementation ours\n"
    "    parallel c code = take(communicator, which, mib, how) in librankroutines.so\n"
    "    error   code != 0 \"no memory\"\n"
    "problem forsake \"Takes memory, and returns where there is none\"\n"
    "    in      int     which, mib\n"
    "    in      double  seconds\n"
    "implementation ours\n"
    "    parallel c code = forsake(communicator, which, mib, seconds) in librankroutines.so\n"
    "    error   code != 0 \"no memory\"\n"
    "problem hurried \"The same, and has no time for it\"\n"
    "    in      int     which, mib\n"
    "    in      double  seconds\n"
    "implementation ours\n"
    "    parallel c code = forsake(communicator, which, mib, seconds) in librankroutines.so\n"
    "    limit   \"1 s\"\n"
    "problem chatter \"Prints\"\n"
    "implementation ours\n"
    "    parallel c chatter(communicator) in librankroutines.so\n"
    "problem absent \"A routine that is not there\"\n"
    "    in      int     n\n"
    "implementation ours\n"
    "    parallel c not_there(n) in librankroutines.so\n";

static struct problem_set *read_problems(void)
{
    const char *build = getenv("top_builddir");
    char file[PATH_MAX];
    struct problem_set *problems;
    struct esp_error error = {.status = ESP_OK};
    snprintf(file, sizeof file, "%s/tests/mpi/.libs/test.esp", build ? build : ".");
    if (problem_parse(description, strlen(description), file, &problems, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return problems;
}

static const char *gate(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/ranks-gate-%d", (int)getpid());
    return path;
}

void shut_gate(void)
{
    unlink(gate());
}

void open_gate(void)
{
    FILE *file = fopen(gate(), "w");
    assert_non_null(file);
    fclose(file);
}

void open_ranks(struct rig *rig, const struct ranks_options *wanted)
{
    struct workers *workers;
    struct esp_error error;
    struct ranks_options options = *wanted;
    setenv("ESPALIER_TEST_GATE", gate(), 1); /* ranks inherit it */
    options.output = rig_output;
    options.output_arg = rig;
    if (ranks_create(&options, &workers, &error) != ESP_OK)
        fail_msg("%s", error.text);
    rig_adopt(rig, read_problems(), workers);
    rig->grid = (struct process_grid){2, 2, 3};
}

void await_ranks(struct rig *of, uint64_t started)
{
    struct ranks_counts counts;
    for (int i = 0; i < 3000; i++) {
        ranks_count(of->workers, &counts);
        if (counts.ranks > 0 && counts.started >= started)
            return;
        usleep(10000);
    }
    fail_msg("the ranks were not there within 30 s");
}

pid_t rank_of(struct rig *of, uint32_t rank)
{
    for (int i = 0; i < 3000; i++) {
        const pid_t pid = ranks_pid(of->workers, rank);
        if (pid > 0)
            return pid;
        usleep(10000);
    }
    fail_msg("rank %u was not there within 30 s", rank);
    return -1;
}

void open_ready(struct rig *of, const struct ranks_options *wanted)
{
    open_ranks(of, wanted);
    await_ranks(of, 1);
}

double *random_matrix(int n)
{
    double *a = malloc((size_t)n * sizeof *a);
    for (int i = 0; i < n; i++)
        a[i] = (double)rand() / RAND_MAX - 0.5;
    return a;
}

void multiplies(struct rig *rig, struct process_grid grid, int m, int n, int k, bool in_segment)
{
    double *a = random_matrix(m * k), *b = random_matrix(k * n), *c = calloc((size_t)(m * n), sizeof *c);
    rig->grid = grid;
    struct esp_error error = rig_call(rig, "dgemm", (void *[]){&m, &n, &k, a, b, c}, in_segment);
    assert_string_equal(error.text, "");
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i + l * m] * b[l + j * k];
            assert_true(fabs(sum - c[i + j * m]) < 1e-12 * k);
        }
    free(a);
    free(b);
    free(c);
}

void factorises(struct rig *rig, struct process_grid grid)
{
    int m = 50, n = 50, ipiv[50];
    double *a = random_matrix(m * n), *lu = malloc(sizeof(double) * 2500);
    memcpy(lu, a, sizeof(double) * 2500);
    rig->grid = grid;
    struct esp_error error = rig_call(rig, "dgetrf", (void *[]){&m, &n, lu, ipiv}, true);
    assert_string_equal(error.text, "");
    for (int i = 0; i < n; i++) /* P A = L U */
        for (int j = 0; j < n; j++) {
            double x = a[i + j * m];
            a[i + j * m] = a[ipiv[i] - 1 + j * m];
            a[ipiv[i] - 1 + j * m] = x;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k <= i && k <= j; k++)
                sum += (k == i ? 1 : lu[i + k * m]) * lu[k + j * m];
            assert_true(fabs(sum - a[i + j * m]) < 1e-12);
        }
    free(a);
    free(lu);
}

static struct esp_error take(struct rig *rig, int mib, int how)
{
    int which = 1;
    return rig_call(rig, "take", (void *[]){&which, &mib, &how}, false);
}

void has_bounds_of_memory(struct rig *rig)
{
    enum { N = 16 << 20 }; /* 128 MiB of arguments on the first rank */
    int n = N;
    double factor = 2, *x = calloc(N, sizeof *x);
    struct ranks_counts counts;
    rig->grid = (struct process_grid){1, 2, 64};
    assert_string_equal(take(rig, 60, 0).text, "");
    const struct esp_error error = take(rig, 1000, 0);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text,
                        "no memory; it was refused 1.05 GB of memory (a rank of this server may have "
                        "101 MB beside its arguments: worker_memory)");
    for (int i = 0; i < 3; i++)
        assert_string_equal(rig_call(rig, "scale", (void *[]){&factor, &n, x}, true).text, "");
    assert_string_equal(take(rig, 60, 0).text, "");
    ranks_count(rig->workers, &counts);
    assert_int_equal(counts.started, 1);
    assert_string_equal(take(rig, 60, 1).text, "");
    await_ranks(rig, 2);
    assert_string_equal(take(rig, 60, 0).text, "");
    free(x);
}

static struct esp_error forsake(struct rig *rig, int mib, double seconds)
{
    int which = 1;
    return rig_call(rig, "forsake", (void *[]){&which, &mib, &seconds}, false);
}

void does_not_wait_for_who_got_no_memory(struct rig *rig)
{
    static const char begins[] = "forsake on a grid of 1 x 2 ranks was stopped, as others were still in it ";
    struct ranks_counts counts;
    rig->grid = (struct process_grid){1, 2, 64};
    assert_string_equal(forsake(rig, 1, 0).text, "");
    assert_string_equal(forsake(rig, 1000, 0.3).text, ""); /* nobody waits for it */
    ranks_count(rig->workers, &counts);
    const struct esp_error error = forsake(rig, 1000, 0);
    assert_int_equal(error.status, ESP_FAILED);
    if (strncmp(error.text, begins, strlen(begins)) != 0 ||
        !strstr(error.text, " s after rank 1 of 2 (process "))
        fail_msg("%s", error.text);
    assert_non_null(strstr(error.text,
                           ") had returned; it was refused 1.05 GB of memory (a rank of this server "
                           "may have 101 MB beside its arguments: worker_memory); the ranks are "
                           "started again"));
    await_ranks(rig, counts.started + 1);
    assert_string_equal(forsake(rig, 1, 0).text, "");
}

static void hears(struct rig *rig, const struct rig_job *job, double expected)
{
    double heard = -1;
    for (int i = 0; i < 3000 && heard < 0; i++) {
        heard = rig->workers->ops->progress(rig->workers, job->job.id);
        usleep(heard < 0 ? 10000 : 0);
    }
    assert_true(heard == expected);
}

void tells_how_far_it_is(struct rig *rig, struct process_grid grid)
{
    double fractions[] = {0.25, 0.5}, long_s = 60, short_s = 0;
    struct rig_job *jobs[2];
    rig->grid = grid;
    assert_string_equal(rig_call(rig, "tell", (void *[]){&fractions[0], &short_s}, false).text, "");
    for (int i = 0; i < 2; i++) {
        jobs[i] = rig_prepare(rig, "tell", (void *[]){&fractions[i], &long_s}, false);
        rig_start(rig, jobs[i]);
    }
    for (int i = 0; i < 2; i++)
        hears(rig, jobs[i], fractions[i]);
    for (int i = 0; i < 2; i++)
        rig->workers->ops->cancel(rig->workers, jobs[i]->job.id);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_wait(rig, jobs[i], false)->error.status, ESP_CANCELLED);
        assert_true(rig->workers->ops->progress(rig->workers, jobs[i]->job.id) < 0);
        rig_finish(jobs[i]);
    }
}

static long ticks_of(pid_t pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_int_equal(
        sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system),
        2);
    return (long)(user + system);
}

static long ticks_of_all(struct rig *rig, uint32_t n)
{
    long ticks = 0;
    for (uint32_t i = 0; i < n; i++)
        ticks += ticks_of(rank_of(rig, i));
    return ticks;
}

void become_idle(struct rig *rig, uint32_t n)
{
    long took = 3;
    for (int tries = 0; tries < 10 && took > 2;
         tries++) { /* what the last call still took is over some time */
        const long before = ticks_of_all(rig, n);
        sleep(1);
        took = ticks_of_all(rig, n) - before;
    }
    assert_true(took <= 2);
}

pid_t parent_of(pid_t pid)
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %*s %*c %d", &parent), 1);
    fclose(file);
    return parent;
}

void folder_of_segments(pid_t pid, char folder[256])
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    folder[0] = 0;
    while (!folder[0] && fgets(line, sizeof line, file)) {
        const char *begin = strchr(line, '/'), *end = begin ? strstr(begin, "/vader_segment") : NULL;
        if (end)
            snprintf(folder, 256, "%.*s", (int)(end - begin), begin);
    }
    fclose(file);
}
