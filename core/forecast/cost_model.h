/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost models: how long a routine takes on a machine, and how much memory beyond its arguments, as
 * functions of the sizes of a call. A model belongs to (problem, implementation, machine, threads) and to
 * some values of the options (trans, jobz). It is a sum of products of powers of the size variables, in
 * pieces because caches and memory bend the curve.
 *
 * This module evaluates, corrects, writes and reads models; services/fast/fit.h fits them to measurements.
 * Pure data; threads may share a set that no thread changes. */
#ifndef CORE_COST_MODEL_H
#define CORE_COST_MODEL_H

#include "core/message/message.h"
#include "core/problem/problem_parallel.h"
#include "util/arena.h"

#define COST_MOST_VARIABLES 6 /* sizes, then COST_LESSER, COST_WORK and COST_BYTES */
#define COST_MOST_TERMS     40
#define COST_MOST_BENDS     5 /* pieces of one shape */
#define COST_MOST_SHAPES    6 /* of one range of the lesser side */
#define COST_MOST_RANGES    2
#define COST_MOST_PIECES    (COST_MOST_RANGES * COST_MOST_SHAPES * COST_MOST_BENDS)
#define COST_MOST_POWER     4
#define COST_MOST_OPTIONS   6
#define COST_MOST_CHOICES   64
#define COST_MOST_S         1e9 /* longest time; keeps sums of nanoseconds from overflowing */

/* Values of `argument` for variables that are no argument of the problem. */
#define COST_WORK   (-1) /* the description's floating point operations */
#define COST_BYTES  (-2) /* memory of arguments and results, and that of the description's `memory` */
#define COST_LESSER (-3) /* the lesser of the model's first two sizes: the order of a rectangular matrix */

struct cost_variable {
    int32_t argument; /* index in the problem, or COST_WORK, COST_BYTES, COST_LESSER */
    char name[PROBLEM_MAX_NAME + 1];
    double least, most; /* measured */
};

struct cost_term {
    double coefficient;
    uint8_t powers[COST_MOST_VARIABLES];
};

/* A call uses the first piece whose bounds it satisfies. Pieces are ordered by their ranges of the lesser
 * side, within a range by their shapes, and within a shape by their ends; the last piece has no bounds. */
struct cost_piece {
    double lesser; /* for calls whose lesser of the first two sizes is below this; 0: no bound */
    double shape;  /* for calls whose first size is less than this times the second; 0: no bound */
    double until; /* bound of the model's last variable (COST_BYTES); HUGE_VAL in the last piece of a shape */
    uint32_t n_terms;
    struct cost_term *terms;
};

struct cost_curve {
    uint32_t n_pieces; /* 0: not known */
    struct cost_piece *pieces;
    double error;       /* expected relative error: root mean square on measurements not used in the fit */
    double least, most; /* values measured */
};

/* One measured call: the values of the variables, the time, and the memory beyond the arguments. */
struct cost_measurement {
    double x[COST_MOST_VARIABLES];
    double seconds, spread; /* spread: relative, half the range of the middle half of the repetitions */
    double bytes;
    uint32_t repetitions;
};

struct cost_option {
    int32_t argument;
    char name[PROBLEM_MAX_NAME + 1];
};

struct cost_model {
    char problem[PROBLEM_MAX_NAME + 1], implementation[PROBLEM_MAX_NAME + 1];
    char machine[CAP_NAME + 1];
    uint64_t digest; /* of the problem's signature */
    uint32_t threads;
    uint32_t n_variables, n_options, n_choices;
    struct cost_variable variables[COST_MOST_VARIABLES];
    struct cost_option options[COST_MOST_OPTIONS];
    int16_t *choices; /* n_choices rows of n_options values for which the model is valid */
    struct cost_curve time, memory;
    double floor_s_per_flop; /* lower bound: no call takes less than this times its work. Lets a search be
                                bounded */
    double factor;           /* correction by the times of real calls; 1: none */
    uint32_t n_measurements;
    struct cost_measurement *measurements; /* NULL in an agent's copy */
};

/* A call, as input for models. */
struct cost_call {
    const struct scalar_value *scalars;
    uint32_t n_scalars;
    double work_flop;
    double bytes;
};

/* How reliable a forecast is. */
enum cost_ground {
    COST_NOT_MEASURED, /* no model and no earlier call: declared work divided by speed */
    COST_MEASURED,
    COST_EXTRAPOLATED,  /* beyond the measured sizes: extrapolated by the leading term */
    COST_OTHER_OPTIONS, /* only other values of its options were measured */
    COST_CALLED         /* no model, but earlier calls of the problem on this server */
};

struct cost_forecast {
    double seconds, error_s; /* error: expected absolute error */
    double memory_bytes;     /* beyond the arguments; 0: not known */
    enum cost_ground ground;
};

/* Returns the first size divided by the second, which selects pieces by shape; 1 without a second size. */
double cost_shape(const struct cost_model *model, const double *x);
/* Evaluates a curve. Beyond the measured range: the value at the nearest measured sizes, times the ratio
 * of the leading terms; *extrapolated (may be NULL) is true then. Always finite, >= 0 and at most
 * COST_MOST_S for times. */
double cost_curve_value(const struct cost_model *model, const struct cost_curve *curve, const double *x,
                        bool *extrapolated);
/* Forecasts the computation of a call. False when a variable of the model is not in the call. */
bool cost_evaluate(const struct cost_model *model, const struct cost_call *call,
                   struct cost_forecast *forecast);

/* cost_piece_follows(): whether pieces may come in that order. cost_piece_is_last(): whether a piece may be
 * the last. */
bool cost_piece_follows(const struct cost_piece *before, const struct cost_piece *piece);
bool cost_piece_is_last(const struct cost_piece *piece);
/* Whether pieces of the model are restricted to some shapes. */
bool cost_has_shapes(const struct cost_model *model);
/* Returns the lowest version of a text or message that can represent the pieces: 1, or 2 with shapes, 3
 * with ranges of the lesser side. */
uint8_t cost_version(const struct cost_model *model);

/* ---- sets ---- */

/* Times of a problem on the ranks of a parallel server, each on its fastest grid, as a function of its
 * work. Between points it is interpolated in logarithms; beyond the last one the time is proportional to
 * the work. */
#define COST_RANKS_POINTS 16
struct cost_ranks {
    uint64_t digest;
    uint32_t n;
    float work_flop[COST_RANKS_POINTS], seconds[COST_RANKS_POINTS]; /* > 0, the work ascending */
    struct process_grid grids[COST_RANKS_POINTS];                   /* rows 0: not known */
    bool only; /* no worker of that server can compute it */
};

/* The models of one server, in the order of their digests. All-zero is empty. */
struct cost_set {
    struct arena arena; /* owns what models point to */
    struct cost_model *models;
    uint32_t n, capacity;
    struct cost_ranks *ranks; /* in the order of their digests; NULL: none */
    uint32_t n_ranks;
    double fastest_s_per_flop; /* least lower bound of all models; HUGE_VAL: none */
};

void cost_set_clear(struct cost_set *set);
/* Copies the model into the set, replacing one for the same call; with its measurements if `whole`.
 * ESP_NO_MEMORY. */
enum esp_status cost_set_add(struct cost_set *set, const struct cost_model *model, bool whole,
                             struct esp_error *error);
/* Recomputes fastest_s_per_flop after a change of a model. */
void cost_set_bound(struct cost_set *set);
/* Finds the model for a call of that signature: one whose choices match the call's options, else (and
 * *other is true) the first of that signature; NULL: none. */
struct cost_model *cost_set_find(const struct cost_set *set, uint64_t digest, const struct cost_call *call,
                                 bool *other);
/* Forecasts by that set; false (and nothing set) when it has no model for the call. */
bool cost_set_evaluate(const struct cost_set *set, uint64_t digest, const struct cost_call *call,
                       struct cost_forecast *forecast);

/* ---- servers with ranks (core/forecast/cost_model.c) ---- */

/* Sorts `ranks` in place and copies them into the set, replacing the earlier ones. ESP_NO_MEMORY. */
enum esp_status cost_set_ranks(struct cost_set *set, struct cost_ranks *ranks, uint32_t n,
                               struct esp_error *error);
/* Returns the seconds of a call with that work on the ranks; HUGE_VAL: not known. */
double cost_ranks_s(const struct cost_set *set, uint64_t digest, double work_flop);
/* Returns the entry of that problem; NULL: none. */
struct cost_ranks *cost_ranks_find(const struct cost_set *set, uint64_t digest);
/* Returns the grid that such a call uses: that of the nearest point; rows 0: not known. */
struct process_grid cost_ranks_grid(const struct cost_ranks *ranks, double work_flop);

/* ---- correction while running ---- */

#define COST_WINDOW 31
/* The calibration counts as this many calls with exactly the forecast time. */
#define COST_CALIBRATION_VOTES 3
/* Largest correction factor, in either direction: a larger deviation means another machine, which must be
 * calibrated again. */
#define COST_MOST_FACTOR 4.0

struct cost_correction {
    double ratios[COST_WINDOW];
    uint32_t n, next;
};
/* Notes a call that took `seconds`, forecast as `forecast_s` by the uncorrected model. Returns the new
 * factor: the median of the window's ratios and the calibration's votes. Implausible values (not above 0,
 * not finite, shorter than COST_LEAST_S) change nothing. */
#define COST_LEAST_S 0.001
double cost_correct(struct cost_correction *correction, double seconds, double forecast_s);

/* ---- text (core/forecast/cost_text.c) ---- */

#define COST_FORMAT                                                                                          \
    3 /* the newest version; models are written in the lowest one that can represent them: cost_version() */
#define COST_SUFFIX ".model"

/* Writes the path of a server's folder of models: <state_dir>/models. */
void cost_folder(const char *state_dir, char *path, size_t size);
/* Returns the model with its measurements as a text, for free(); NULL without memory. */
char *cost_text(const struct cost_model *model, size_t *length);
/* Parses such a text, called `path` in messages. Errors as for cost_load(). */
enum esp_status cost_parse(const char *text, size_t length, const char *path, struct arena *arena,
                           struct cost_model *model, struct esp_error *error);
/* Writes the model with its measurements, atomically: a temporary file, synced, renamed. ESP_SYSTEM. */
enum esp_status cost_save(const struct cost_model *model, const char *path, struct esp_error *error);
/* Reads a model into *model, which points into `arena`. ESP_NOT_FOUND, ESP_SYSTEM; ESP_INVALID with
 * "path:line: ..." for a file that is damaged, cut, or of another version. */
enum esp_status cost_load(const char *path, struct arena *arena, struct cost_model *model,
                          struct esp_error *error);
/* Loads all models of a folder, with their measurements, into a new set (core/forecast/cost_text.c). Calls
 * `wrong` for each malformed file and skips it. A missing folder yields an empty set. */
enum esp_status cost_load_folder(const char *folder, void (*wrong)(void *arg, const struct esp_error *error),
                                 void *arg, struct cost_set *set, struct esp_error *error);

/* ---- wire (core/forecast/cost_wire.c) ---- */

/* Tag of an extension of a server's record: its models without their measurements. Without the tag, models
 * received earlier in the same incarnation stay valid. */
#define EXTENSION_COST_MODELS 60
#define CAP_COST_BYTES        (512 * 1024)

/* Encodes as many models as fit CAP_COST_BYTES, in `arena`; NULL (and *length 0) without memory. */
uint8_t *cost_encode(const struct cost_set *set, struct arena *arena, uint32_t *length);
/* Decodes models into a new set; false, with an empty set, when the value is malformed or without memory. */
bool cost_decode(const uint8_t *data, uint32_t length, struct cost_set *set);

/* Tag of an extension that accompanies EXTENSION_COST_MODELS: the grids of the ranks, and which problems
 * only ranks compute (core/forecast/cost_model.c). */
#define EXTENSION_RANK_GRIDS 95

/* Encodes the grids in `arena`; NULL (and *length 0) without memory, or without ranks. */
uint8_t *cost_grids_encode(const struct cost_set *set, struct arena *arena, uint32_t *length);
/* Decodes grids into a set that has the ranks. Malformed entries, and those of other problems, are
 * skipped. */
void cost_grids_decode(const uint8_t *data, uint32_t length, struct cost_set *set);

#endif
