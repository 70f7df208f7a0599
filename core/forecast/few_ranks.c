/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts times on many ranks from runs on few. */
#include "core/forecast/few_ranks.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- codes with work proportional to memory ---- */

/* y = at + slope * x, fitted by least squares. */
struct line {
    double at, slope;
};

static bool fit_line(const double *x, const double *y, size_t n, struct line *line)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    if (n < 2 || !(xx > 0))
        return false;
    *line = (struct line){mean_y - xy / xx * mean_x, xy / xx};
    return true;
}

/* Fits a line to the overheads of the runs with that number of ranks. */
static bool fit_overheads(const struct few_ranks_run *runs, size_t n, double ranks, struct line *line)
{
    double work[FEW_RANKS_MOST_RUNS], overhead[FEW_RANKS_MOST_RUNS];
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (runs[i].ranks < ranks || runs[i].ranks > ranks)
            continue;
        work[found] = runs[i].work;
        overhead[found++] = runs[i].seconds - runs[i].alone_s;
    }
    return fit_line(work, overhead, found, line);
}

static bool was_seen(const struct few_ranks_run *runs, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (!(runs[i].ranks < runs[before].ranks) && !(runs[i].ranks > runs[before].ranks))
            return true;
    return false;
}

static bool is_possible(const struct few_ranks_run *run)
{
    return run->ranks >= 2 && run->work > 0 && run->alone_s > 0 && run->seconds > 0 && isfinite(run->ranks) &&
           isfinite(run->work) && isfinite(run->alone_s) && isfinite(run->seconds);
}

static enum esp_status check_runs(const struct few_ranks_run *runs, size_t n, struct esp_error *error)
{
    if (n > FEW_RANKS_MOST_RUNS)
        return error_set(error, ESP_INVALID, "prediction: expected at most %d runs, found %zu",
                         FEW_RANKS_MOST_RUNS, n);
    for (size_t i = 0; i < n; i++)
        if (!is_possible(&runs[i]))
            return error_set(
                error, ESP_INVALID,
                "prediction: expected runs on 2 ranks or more with work and times above 0, found "
                "%g ranks, work %g, %g s alone and %g s in run %zu",
                runs[i].ranks, runs[i].work, runs[i].alone_s, runs[i].seconds, i);
    return ESP_OK;
}

static void find_error(const struct few_ranks_run *runs, size_t n, struct few_ranks_model *model)
{
    model->error = 0;
    for (size_t i = 0; i < n; i++) {
        const double predicted = few_ranks_seconds(model, runs[i].ranks, runs[i].work, runs[i].alone_s);
        model->error = fmax(model->error, fabs(predicted - runs[i].seconds) / runs[i].seconds);
    }
}

enum esp_status few_ranks_fit(const struct few_ranks_run *runs, size_t n, struct few_ranks_model *model,
                              struct esp_error *error)
{
    double logs[FEW_RANKS_MOST_RUNS] = {0}, alphas[FEW_RANKS_MOST_RUNS] = {0}, most = 0, mean = 0;
    struct line line;
    size_t numbers = 0;
    const enum esp_status status = check_runs(runs, n, error);
    if (status != ESP_OK)
        return status;
    *model = (struct few_ranks_model){0};
    for (size_t i = 0; i < n; i++) {
        if (was_seen(runs, i))
            continue;
        if (!fit_overheads(runs, n, runs[i].ranks, &line))
            return error_set(
                error, ESP_INVALID,
                "prediction: expected two amounts of work or more on each number of ranks, found "
                "one on %g ranks",
                runs[i].ranks);
        logs[numbers] = log2(runs[i].ranks);
        alphas[numbers++] = line.at;
        model->gamma = runs[i].ranks > most ? line.slope : model->gamma;
        most = fmax(most, runs[i].ranks);
    }
    if (!fit_line(logs, alphas, numbers, &line))
        return error_set(error, ESP_INVALID, "prediction: expected runs on two numbers of ranks, found %zu",
                         numbers);
    for (size_t i = 0; i < numbers; i++)
        mean += alphas[i] / (double)numbers;
    model->c = line.slope > 0 ? line.at : mean;
    model->d = fmax(line.slope, 0);
    find_error(runs, n, model);
    return ESP_OK;
}

double few_ranks_seconds(const struct few_ranks_model *model, double ranks, double work, double alone_s)
{
    const double overhead = model->c + model->d * log2(ranks) + model->gamma * work;
    return alone_s + (ranks > 1 ? fmax(overhead, 0) : 0);
}

double few_ranks_both(double seconds_a, double seconds_b)
{
    return fmax(seconds_a, seconds_b);
}

/* ---- dense routines ---- */

static void find_terms(double ranks, double n, double flop, double *terms)
{
    terms[0] = 1;
    terms[1] = flop / ranks;
    terms[2] = n * n / ranks;
    terms[3] = n * log2(ranks);
    terms[4] = ranks > 1 ? n * n / sqrt(ranks) : 0;
}

double dense_ranks_seconds(const struct dense_ranks_model *model, double ranks, double n, double flop)
{
    double terms[DENSE_RANKS_TERMS], seconds = 0;
    find_terms(ranks, n, flop, terms);
    for (int i = 0; i < DENSE_RANKS_TERMS; i++)
        seconds += model->t[i] * terms[i];
    return seconds;
}

/* Normal equations of relative errors, each term divided by its size, so that they are well scaled. */
struct normal {
    double a[DENSE_RANKS_TERMS][DENSE_RANKS_TERMS], b[DENSE_RANKS_TERMS], scale[DENSE_RANKS_TERMS];
};

static void add_run(struct normal *normal, const struct dense_ranks_run *run)
{
    double terms[DENSE_RANKS_TERMS];
    find_terms(run->ranks, run->n, run->flop, terms);
    for (int i = 0; i < DENSE_RANKS_TERMS; i++) {
        terms[i] /= run->seconds;
        normal->b[i] += terms[i];
        for (int j = 0; j <= i; j++)
            normal->a[i][j] += terms[i] * terms[j];
    }
}

static void scale_normal(struct normal *normal)
{
    for (int i = 0; i < DENSE_RANKS_TERMS; i++)
        normal->scale[i] = normal->a[i][i] > 0 ? sqrt(normal->a[i][i]) : 1;
    for (int i = 0; i < DENSE_RANKS_TERMS; i++) {
        normal->b[i] /= normal->scale[i];
        for (int j = 0; j <= i; j++) {
            normal->a[i][j] /= normal->scale[i] * normal->scale[j];
            normal->a[j][i] = normal->a[i][j];
        }
    }
}

/* Computes the least squares solution with the terms of that set; the others are 0. False: the terms are
 * linearly dependent. */
static bool solve_subset(const struct normal *normal, unsigned set, double *t)
{
    double l[DENSE_RANKS_TERMS][DENSE_RANKS_TERMS], y[DENSE_RANKS_TERMS];
    int of[DENSE_RANKS_TERMS], k = 0;
    for (int i = 0; i < DENSE_RANKS_TERMS; i++)
        if (set >> i & 1)
            of[k++] = i;
    for (int i = 0; i < k; i++) { /* Cholesky */
        for (int j = 0; j <= i; j++) {
            l[i][j] = normal->a[of[i]][of[j]];
            for (int q = 0; q < j; q++)
                l[i][j] -= l[i][q] * l[j][q];
            if (i == j && !(l[i][i] > 1e-10))
                return false;
            l[i][j] = i == j ? sqrt(l[i][i]) : l[i][j] / l[j][j];
        }
        y[i] = normal->b[of[i]];
        for (int q = 0; q < i; q++)
            y[i] -= l[i][q] * y[q];
        y[i] /= l[i][i];
    }
    memset(t, 0, DENSE_RANKS_TERMS * sizeof *t);
    for (int i = k - 1; i >= 0; i--) {
        for (int q = i + 1; q < k; q++)
            y[i] -= l[q][i] * y[q];
        y[i] /= l[i][i];
        t[of[i]] = y[i];
    }
    return true;
}

/* Chooses, of all sets of terms, the one with the least error and no negative coefficient. This is the result
 * of non-negative least squares; there are only 31 sets. */
static bool solve_normal(const struct normal *normal, double *best)
{
    double least = INFINITY, t[DENSE_RANKS_TERMS];
    for (unsigned set = 1; set < 1U << DENSE_RANKS_TERMS; set++) {
        if (!solve_subset(normal, set, t))
            continue;
        double error = 0; /* minus a constant that is the same for all sets */
        bool allowed = true;
        for (int i = 0; i < DENSE_RANKS_TERMS; i++) {
            error -= normal->b[i] * t[i];
            allowed = allowed && t[i] >= 0;
        }
        if (!allowed || error >= least)
            continue;
        least = error;
        for (int i = 0; i < DENSE_RANKS_TERMS; i++)
            best[i] = t[i] / normal->scale[i];
    }
    return isfinite(least);
}

static bool is_possible_dense(const struct dense_ranks_run *run)
{
    return run->ranks >= 1 && run->n > 0 && run->flop > 0 && run->seconds > 0 && isfinite(run->ranks) &&
           isfinite(run->n) && isfinite(run->flop) && isfinite(run->seconds);
}

static enum esp_status check_dense(const struct dense_ranks_run *runs, size_t n, struct esp_error *error)
{
    bool differ = false;
    for (size_t i = 0; i < n; i++) {
        if (!is_possible_dense(&runs[i]))
            return error_set(
                error, ESP_INVALID,
                "prediction: expected runs with sizes and times above 0, found %g ranks, n = %g, "
                "%g operations and %g s in run %zu",
                runs[i].ranks, runs[i].n, runs[i].flop, runs[i].seconds, i);
        differ = differ || runs[i].ranks < runs[0].ranks || runs[i].ranks > runs[0].ranks;
    }
    if (n < DENSE_RANKS_TERMS || !differ)
        return error_set(error, ESP_INVALID,
                         "prediction: expected %d runs or more on several numbers of ranks, found %zu on %s",
                         DENSE_RANKS_TERMS, n, differ ? "several" : "one");
    return ESP_OK;
}

enum esp_status dense_ranks_fit(const struct dense_ranks_run *runs, size_t n, struct dense_ranks_model *model,
                                struct esp_error *error)
{
    struct normal normal = {.b = {0}};
    double squares = 0;
    const enum esp_status status = check_dense(runs, n, error);
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        add_run(&normal, &runs[i]);
    scale_normal(&normal);
    if (!solve_normal(&normal, model->t))
        return error_set(error, ESP_INVALID, "prediction: the runs cannot be fitted");
    for (size_t i = 0; i < n; i++) {
        const double off =
            dense_ranks_seconds(model, runs[i].ranks, runs[i].n, runs[i].flop) / runs[i].seconds - 1;
        squares += off * off / (double)n;
    }
    model->error = sqrt(squares);
    return ESP_OK;
}
