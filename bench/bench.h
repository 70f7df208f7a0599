/* SPDX-License-Identifier: Apache-2.0
 *
 * What every benchmark leans on: ours and its reference measured in the same run, alternating, and one row
 * for people and for bench.tsv.
 *
 * A benchmark is a program bench/bench_NAME that prints rows by bench_row(); `make bench BENCH=NAME` runs it
 * in the build folder. These functions may end the program with a message: they are for benchmarks only.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>

/* How a row's ratio (ours / reference) or, for BENCH_GROWS, the difference (ours - reference) is judged; a
 * row that is BENCH_SHOWN only helps to read others. */
enum bench_bound { BENCH_AT_MOST, BENCH_AT_LEAST, BENCH_GROWS_AT_MOST, BENCH_SHOWN };

struct bench_case {
    const char *benchmark; /* "call" */
    const char *name;      /* "bound handle" */
    const char *unit;      /* "us", "calls/s", "MB" */
    enum bench_bound kind;
    double bound;
};

/* One operation (a call). */
typedef void bench_operation(void *context);

/* `n` operations in whatever way (threads, batches); returns what is compared: seconds, calls per second. */
typedef double bench_measure(void *context, size_t n);

/* Times every single operation: `rounds` times a batch of `n` of ours and a batch of `n` of the reference,
 * in turns, after one batch of each that does not count. Reports the medians in microseconds as a row.
 * Returns the ratio. */
double bench_latency(const struct bench_case *which, bench_operation *ours, void *our_context,
                     bench_operation *reference, void *reference_context, size_t n, size_t rounds);

/* The same for whole measurements: the median over `rounds` of each. */
double bench_compare(const struct bench_case *which, bench_measure *ours, void *our_context,
                     bench_measure *reference, void *reference_context, size_t n, size_t rounds);

/* A row for figures that were got otherwise: printed, and appended to the file that $BENCH_TSV names
 * (bench.tsv in the current folder without). Returns the ratio. */
double bench_row(const struct bench_case *which, double ours, double reference);

/* Monotonic seconds. */
double bench_now(void);

/* The value below which the share `p` (0 to 1) of the samples lies, interpolated; sorts them. 0 for none. */
double bench_percentile(double *samples, size_t n, double p);
double bench_median(double *samples, size_t n);

/* Resident memory of a process in megabytes (10^6 bytes), from /proc. */
double bench_resident_mb(long pid);

/* The most that it ever was, since the start or since bench_peak_reset(). */
double bench_peak_mb(long pid);
void bench_peak_reset(long pid);

/* Prints the message and ends the program: a benchmark without figures is worth nothing. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
