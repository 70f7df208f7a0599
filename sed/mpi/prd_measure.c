/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the coefficients of the models of parallel routines while all ranks are working, as in calls:
 * messages and broadcasts here, kernels in prd_kernels.c. */
#include "sed/mpi/prd.h"

#include "core/unequal/allocation.h"
#include "services/fast/fit.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCHES    5
#define ROUNDS     20
#define LONG_BYTES (1 << 20)
#define LONG_TIMES 2
#define FILLS      4

/* Returns the slowest rank's time, equal on all ranks. */
static double slowest(double seconds)
{
    double most = seconds;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static double batch_s(char *out, char *in, int bytes, int times)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 0, in, bytes, MPI_CHAR,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return slowest((MPI_Wtime() - begun) / times);
}

/* Every rank sends to the next one, and receives from the one before. Returns the seconds of one such
 * message, in the batch with the least disturbance. */
static double message_s(char *out, char *in, int bytes, int times)
{
    double best = INFINITY;
    for (int i = 0; i <= BATCHES; i++) {
        const double seconds = batch_s(out, in, bytes, times);
        best = i > 0 ? fmin(best, seconds) : best;
    }
    return best;
}

static void measure_messages(struct parallel_speed *speed, char *out, char *in)
{
    speed->latency_s = message_s(out, in, 8, ROUNDS);
    double long_s = message_s(out, in, LONG_BYTES, LONG_TIMES) - speed->latency_s;
    speed->byte_s = long_s > 0 ? long_s / LONG_BYTES : 0;
}

/* ---- arguments ---- */

/* Copies into untouched memory, like a call's parts. */
static void measure_filling(struct parallel_speed *speed, const char *from)
{
    double best = INFINITY;
    for (int i = 0; i < FILLS; i++) {
        char *fresh = mmap(NULL, LONG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime();
        if (fresh != MAP_FAILED) {
            memcpy(fresh, from, LONG_BYTES);
            munmap(fresh, LONG_BYTES);
            best = fmin(best, MPI_Wtime() - begun);
        }
    }
    double seconds = slowest(best);
    speed->fill_byte_s = isfinite(seconds) ? seconds / LONG_BYTES : 0;
}

/* ---- broadcasts ---- */

enum { LENGTHS = 4, SIZES_MOST = 10, TRIES = 6 };

struct broadcast_sample {
    double ranks, bytes, seconds;
};

/* Broadcasts among the first `ranks` ranks of the job: returns the time until the last rank has it. */
static double broadcast_s(char *data, int bytes, MPI_Comm communicator)
{
    double best = INFINITY;
    for (int i = 0; i <= TRIES; i++) {
        MPI_Barrier(communicator);
        double begun = MPI_Wtime(), mine, last;
        MPI_Bcast(data, bytes, MPI_CHAR, 0, communicator);
        mine = MPI_Wtime() - begun;
        MPI_Allreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, communicator);
        best = i > 0 ? fmin(best, last) : best;
    }
    return best;
}

/* Measures among 2, 4, 8, ... ranks, and all. The others wait. */
static int sample_broadcasts(char *data, struct broadcast_sample *samples)
{
    static const int lengths[LENGTHS] = {8, 4 << 10, 64 << 10, LONG_BYTES};
    int rank, size, n = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int ranks = 2; ranks / 2 < size; ranks *= 2) {
        MPI_Comm some;
        const int of = ranks < size ? ranks : size;
        MPI_Comm_split(MPI_COMM_WORLD, rank < of ? 0 : MPI_UNDEFINED, rank, &some);
        for (int i = 0; i < LENGTHS && n < SIZES_MOST * LENGTHS; i++)
            samples[n++] = (struct broadcast_sample){
                of, lengths[i], slowest(some != MPI_COMM_NULL ? broadcast_s(data, lengths[i], some) : 0)};
        if (some != MPI_COMM_NULL)
            MPI_Comm_free(&some);
    }
    return n;
}

/* Fits latency and seconds of a byte for one of the forms. Returns its mean relative error. */
static double fit_broadcast(const struct parallel_broadcast *form, const struct broadcast_sample *samples,
                            int n, double *c)
{
    double A[2 * SIZES_MOST * LENGTHS], b[SIZES_MOST * LENGTHS], weights[SIZES_MOST * LENGTHS], errors = 0;
    for (int i = 0; i < n; i++) {
        A[i] = form->latency_terms(samples[i].ranks);
        A[n + i] = form->volume_terms(samples[i].ranks) * samples[i].bytes;
        b[i] = samples[i].seconds;
        weights[i] = 1 / samples[i].seconds;
    }
    if (!fit_least_squares(A, b, weights, n, 2, false, c))
        return INFINITY;
    for (int i = 0; i < n; i++)
        errors += fabs(c[0] * A[i] + c[1] * A[n + i] - b[i]) * weights[i] / n;
    return errors;
}

/* Chooses the form that best describes this MPI's broadcasts. */
static void measure_broadcasts(struct parallel_speed *speed, char *data)
{
    struct broadcast_sample samples[SIZES_MOST * LENGTHS];
    double least = INFINITY, c[2];
    const int n = sample_broadcasts(data, samples);
    for (uint32_t i = 0; i < PARALLEL_BROADCASTS && n > 0; i++) {
        const double error = fit_broadcast(parallel_broadcast_at(i), samples, n, c);
        if (error >= least)
            continue;
        least = error;
        speed->broadcast = i + 1;
        speed->broadcast_latency_s = c[0];
        speed->broadcast_byte_s = c[1];
    }
}

/* ---- speeds of the ranks ---- */

#define PRODUCT_ORDER 192
#define PRODUCTS_S    0.03 /* several periods of a quota of processor time */

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t transa_length, size_t transb_length);

/* Returns the seconds of this rank's matrix product while all compute; 0 without memory. */
static double product_s(void)
{
    const int n = PRODUCT_ORDER;
    const size_t elements = (size_t)n * (size_t)n;
    const double one = 1, zero = 0;
    double *memory = calloc(3 * elements, sizeof *memory), seconds = 0;
    int times = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (double begun = MPI_Wtime(); memory && seconds < PRODUCTS_S; times++) {
        dgemm_("N", "N", &n, &n, &n, &one, memory, &n, memory + elements, &n, &zero, memory + 2 * elements,
               &n, 1, 1);
        seconds = MPI_Wtime() - begun;
    }
    free(memory);
    return times > 0 ? seconds / times : 0;
}

/* Computes the gain of shares proportional to speed over equal ones. If a rank could not measure, nothing
 * is known. */
static void measure_gain(struct parallel_speed *speed)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *all = malloc((size_t)size * sizeof *all);
    int mine = all != NULL, able;
    MPI_Allreduce(&mine, &able, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (able) {
        const double seconds = product_s();
        MPI_Allgather(&seconds, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        if (allocation_check(all, (uint32_t)size, NULL) == ESP_OK)
            speed->gain = allocation_gain(all, (uint32_t)size);
    }
    free(all);
}

/* ---- properties that need no measurement ---- */

/* A function of ScaLAPACK, with Fortran's interface: the columns of PBLAS's panels. */
int pilaenv_(const int *context, const char *type, size_t length);

/* Of the host on which the most ranks share a processor. */
static void count_processors(struct parallel_speed *speed)
{
    struct {
        double per_processor;
        int rank;
    } mine, most;
    cpu_set_t set;
    MPI_Comm host;
    int sharers, counts[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &mine.rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mine.rank, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &sharers);
    MPI_Comm_free(&host);
    counts[0] = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sharers;
    counts[1] = sharers;
    mine.per_processor = (double)sharers / counts[0];
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Bcast(counts, 2, MPI_INT, most.rank, MPI_COMM_WORLD);
    speed->processors = counts[0];
    speed->sharers = counts[1];
}

static bool all_of_us(bool mine)
{
    int all, one = mine;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

void rank_measure(struct parallel_speed *speed, bool known)
{
    *speed = (struct parallel_speed){0};
    if (all_of_us(known))
        return;
    static const int context = 0; /* it is not read */
    speed->panel = fmax(0, pilaenv_(&context, "D", 1));
    count_processors(speed);
    rank_measure_kernels(speed);
    measure_gain(speed);
    char *out = calloc(2, LONG_BYTES), *in = out ? out + LONG_BYTES : NULL;
    if (all_of_us(out != NULL)) {
        measure_messages(speed, out, in);
        measure_filling(speed, out);
        measure_broadcasts(speed, in);
    }
    free(out);
}
