/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("benchmark failed: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_samples(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_percentile(double *samples, size_t n, double p)
{
    if (n == 0)
        return 0;
    qsort(samples, n, sizeof *samples, compare_samples);
    double place = p * (double)(n - 1);
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return samples[n - 1];
    return samples[below] + (place - (double)below) * (samples[below + 1] - samples[below]);
}

double bench_median(double *samples, size_t n)
{
    return bench_percentile(samples, n, 0.5);
}

double bench_resident_mb(long pid)
{
    char path[64];
    long total, resident;
    snprintf(path, sizeof path, "/proc/%ld/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
        bench_fail("cannot read %s", path);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

double bench_peak_mb(long pid)
{
    char path[64], line[128];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "r");
    while (file && kib == 0 && fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %ld", &kib);
    if (kib == 0)
        bench_fail("cannot read %s", path);
    fclose(file);
    return (double)kib * 1024 / 1e6;
}

void bench_peak_reset(long pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/clear_refs", pid);
    FILE *file = fopen(path, "w");
    if (!file || fputs("5", file) == EOF || fclose(file) != 0)
        bench_fail("cannot write %s", path);
}

static void print_heading(void)
{
    static bool printed;
    if (!printed)
        printf("%-12s %-34s %12s %12s %-9s %8s %10s\n", "benchmark", "case", "ours", "reference", "unit",
               "ratio", "bound");
    printed = true;
}

/* One write of one line, so that benchmarks that run at the same time do not mix theirs. */
static void append_row(const struct bench_case *which, double ours, double reference, double ratio,
                       const char *bound)
{
    const char *path = getenv("BENCH_TSV");
    FILE *file = fopen(path ? path : "bench.tsv", "a");
    if (!file)
        bench_fail("cannot write %s", path ? path : "bench.tsv");
    fprintf(file, "%s\t%s\t%.6g\t%.6g\t%s\t%.4g\t%s\n", which->benchmark, which->name, ours, reference,
            which->unit, ratio, bound);
    fclose(file);
}

double bench_row(const struct bench_case *which, double ours, double reference)
{
    static const char *const signs[] = {"<=", ">=", "<=+"};
    double ratio = reference != 0 ? ours / reference : INFINITY;
    double judged = which->kind == BENCH_GROWS_AT_MOST ? ours - reference : ratio;
    bool good = which->kind == BENCH_AT_LEAST ? judged >= which->bound : judged <= which->bound;
    char bound[32] = "-";
    if (which->kind == BENCH_SHOWN)
        good = true;
    else
        snprintf(bound, sizeof bound, "%s%g", signs[which->kind], which->bound);
    print_heading();
    printf("%-12s %-34s %12.5g %12.5g %-9s %8.3g %10s %s\n", which->benchmark, which->name, ours, reference,
           which->unit, ratio, bound, good ? "ok" : "MISSED");
    fflush(stdout);
    append_row(which, ours, reference, ratio, bound);
    return ratio;
}

static void run_batch(bench_operation *operation, void *context, size_t n, double *samples_us)
{
    for (size_t i = 0; i < n; i++) {
        double start = bench_now();
        operation(context);
        samples_us[i] = (bench_now() - start) * 1e6;
    }
}

double bench_latency(const struct bench_case *which, bench_operation *ours, void *our_context,
                     bench_operation *reference, void *reference_context, size_t n, size_t rounds)
{
    double *our_samples = calloc(n * rounds, sizeof *our_samples);
    double *reference_samples = calloc(n * rounds, sizeof *reference_samples);
    if (!our_samples || !reference_samples)
        bench_fail("out of memory for %zu samples", n * rounds);
    run_batch(ours, our_context, n, our_samples); /* the first batches are overwritten */
    run_batch(reference, reference_context, n, reference_samples);
    for (size_t i = 0; i < rounds; i++) {
        run_batch(ours, our_context, n, our_samples + i * n);
        run_batch(reference, reference_context, n, reference_samples + i * n);
    }
    double ratio =
        bench_row(which, bench_median(our_samples, n * rounds), bench_median(reference_samples, n * rounds));
    free(our_samples);
    free(reference_samples);
    return ratio;
}

double bench_compare(const struct bench_case *which, bench_measure *ours, void *our_context,
                     bench_measure *reference, void *reference_context, size_t n, size_t rounds)
{
    double *samples = calloc(2 * rounds, sizeof *samples);
    if (!samples)
        bench_fail("out of memory for %zu samples", 2 * rounds);
    for (size_t i = 0; i < rounds; i++) {
        samples[i] = ours(our_context, n);
        samples[rounds + i] = reference(reference_context, n);
    }
    double ratio = bench_row(which, bench_median(samples, rounds), bench_median(samples + rounds, rounds));
    free(samples);
    return ratio;
}
