/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost models: how long a routine takes on a machine, and how much memory beyond its arguments, as functions
 * of the sizes of a call. A model belongs to (problem, implementation, machine, threads) and to some values
 * of the options (trans, jobz); it is a sum of products of powers of the size variables, in pieces where
 * cache or memory bends the curve.
 *
 * Here models are evaluated, corrected, written and read; services/fast/fit.h makes them from measurements.
 * Pure data; a set that nobody changes may be shared between threads.
 */
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
#define COST_MOST_S         1e9 /* longer is "never", and keeps sums of nanoseconds far from overflow */

/* What a variable is when it is no argument of the problem. */
#define COST_WORK   (-1) /* the description's floating point operations */
#define COST_BYTES  (-2) /* memory of arguments and results, and what the description asks for beyond */
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

/* A call belongs to the first piece that it is within the bounds of. They are in the order of their ranges of
 * the lesser side, within a range in that of their shapes, and within a shape in that of their ends; the last
 * one has none of these. */
struct cost_piece {
    double lesser; /* for calls the lesser of whose first two sizes is less than that; 0: whatever it is */
    double shape;  /* for calls whose first size is less than so many times the second; 0: of all shapes */
    double
        until; /* of the model's last variable (COST_BYTES); the last one of a shape has no end: HUGE_VAL */
    uint32_t n_terms;
    struct cost_term *terms;
};

struct cost_curve {
    uint32_t n_pieces; /* 0: not known */
    struct cost_piece *pieces;
    double error;       /* expected, relative: root mean square on measurements not used in the fit */
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
    int16_t *choices; /* n_choices rows of n_options values for which it holds */
    struct cost_curve time, memory;
    double floor_s_per_flop; /* no call takes less than this times its work: lets a search be bounded */
    double factor;           /* correction by what calls really took; 1: none */
    uint32_t n_measurements;
    struct cost_measurement *measurements; /* NULL in an agent's copy */
};

/* A call, as models see it. */
struct cost_call {
    const struct scalar_value *scalars;
    uint32_t n_scalars;
    double work_flop;
    double bytes;
};

/* How far a forecast may be trusted. */
enum cost_ground {
    COST_NOT_MEASURED, /* there is no model and no call was made: declared work over speed */
    COST_MEASURED,
    COST_EXTRAPOLATED,  /* beyond the measured sizes: by the leading term */
    COST_OTHER_OPTIONS, /* measured with other values of its options */
    COST_CALLED         /* there is no model: what calls of the problem took there */
};

struct cost_forecast {
    double seconds, error_s; /* error: expected, absolute */
    double memory_bytes;     /* beyond the arguments; 0: not known */
    enum cost_ground ground;
};

/* The first size over the second, by which pieces are told apart; 1 where there is no second one. */
double cost_shape(const struct cost_model *model, const double *x);
/* The value of a curve; of a point beyond the measured range, by the leading terms: the value at the nearest
 * measured sizes, times the ratio of those terms there and here. Always finite, >= 0 and at most COST_MOST_S
 * for times. *extrapolated (may be NULL) tells. */
double cost_curve_value(const struct cost_model *model, const struct cost_curve *curve, const double *x,
                        bool *extrapolated);
/* Forecast of the computation of a call. False when the model cannot tell (a variable is not in the call). */
bool cost_evaluate(const struct cost_model *model, const struct cost_call *call,
                   struct cost_forecast *forecast);

/* Whether pieces may come in that order, and whether it may be the last one. */
bool cost_piece_follows(const struct cost_piece *before, const struct cost_piece *piece);
bool cost_piece_is_last(const struct cost_piece *piece);
/* Whether pieces of the model are for some shapes only. */
bool cost_has_shapes(const struct cost_model *model);
/* The least version of a text, or of a message, that can say what its pieces are for: 1, 2 for some shapes, 3
 * for some ranges of the lesser side. */
uint8_t cost_version(const struct cost_model *model);

/* ---- sets ---- */

/* What a problem takes on the ranks of a parallel server, on the grid that is the fastest for it, over its
 * work. Between the points it is interpolated in logarithms; beyond them a flop takes what it takes at the
 * last. */
#define COST_RANKS_POINTS 16
struct cost_ranks {
    uint64_t digest;
    uint32_t n;
    float work_flop[COST_RANKS_POINTS], seconds[COST_RANKS_POINTS]; /* > 0, the work ascending */
    struct process_grid grids[COST_RANKS_POINTS];                   /* rows 0: not told */
    bool only;                                                      /* no worker of that server computes it */
};

/* The models of one server, in the order of their digests. All-zero is empty. */
struct cost_set {
    struct arena arena; /* owns what models point to */
    struct cost_model *models;
    uint32_t n, capacity;
    struct cost_ranks *ranks; /* in the order of their digests; NULL: it has none */
    uint32_t n_ranks;
    double fastest_s_per_flop; /* least floor of all models; HUGE_VAL: there is none */
};

void cost_set_clear(struct cost_set *set);
/* A copy of the model goes into the set, in place of one for the same call. With its measurements if `whole`.
 * ESP_NO_MEMORY. */
enum esp_status cost_set_add(struct cost_set *set, const struct cost_model *model, bool whole,
                             struct esp_error *error);
/* Works fastest_s_per_flop out again, after a change of a model. */
void cost_set_bound(struct cost_set *set);
/* The model for a call of that signature: one whose choices have the values of the call's options, else (and
 * *other is true) the first of that signature; NULL: there is none. */
struct cost_model *cost_set_find(const struct cost_set *set, uint64_t digest, const struct cost_call *call,
                                 bool *other);
/* The forecast by that set; false (and nothing set) when it has no model for the call. */
bool cost_set_evaluate(const struct cost_set *set, uint64_t digest, const struct cost_call *call,
                       struct cost_forecast *forecast);

/* ---- servers with ranks (core/forecast/cost_model.c) ---- */

/* Copies of these, which are sorted in place, take the place of those in the set. ESP_NO_MEMORY. */
enum esp_status cost_set_ranks(struct cost_set *set, struct cost_ranks *ranks, uint32_t n,
                               struct esp_error *error);
/* Seconds that a call of so much work takes on the ranks; HUGE_VAL: nobody knows. */
double cost_ranks_s(const struct cost_set *set, uint64_t digest, double work_flop);
/* What is known of that problem; NULL: nothing. */
struct cost_ranks *cost_ranks_find(const struct cost_set *set, uint64_t digest);
/* On which grid that would be: the one of the point nearest to it; rows 0: not told. */
struct process_grid cost_ranks_grid(const struct cost_ranks *ranks, double work_flop);

/* ---- correction while running ---- */

#define COST_WINDOW 31
/* The calibration counts as so many calls that took what was forecast. */
#define COST_CALIBRATION_VOTES 3
/* A correction is at most this factor, either way: what is further off is another machine, to be measured
 * again. */
#define COST_MOST_FACTOR 4.0

struct cost_correction {
    double ratios[COST_WINDOW];
    uint32_t n, next;
};
/* A call took `seconds` where the uncorrected model said `forecast_s`: returns the new factor, the median of
 * the window's ratios and the calibration's votes. Absurd values (not above 0, not finite, shorter than
 * COST_LEAST_S) change nothing. */
#define COST_LEAST_S 0.001
double cost_correct(struct cost_correction *correction, double seconds, double forecast_s);

/* ---- text (core/forecast/cost_text.c) ---- */

#define COST_FORMAT 3 /* earlier ones are written where they do, and read: cost_version() */
#define COST_SUFFIX ".model"

/* Where a server keeps its models: <state_dir>/models. */
void cost_folder(const char *state_dir, char *path, size_t size);
/* The model with its measurements as a text, for free(); NULL without memory. */
char *cost_text(const struct cost_model *model, size_t *length);
/* Reads such a text, which `path` names in messages: as cost_load(). */
enum esp_status cost_parse(const char *text, size_t length, const char *path, struct arena *arena,
                           struct cost_model *model, struct esp_error *error);
/* Writes the model with its measurements, atomically: a temporary file, synced, renamed. ESP_SYSTEM. */
enum esp_status cost_save(const struct cost_model *model, const char *path, struct esp_error *error);
/* Reads it into *model, which points into `arena`. ESP_NOT_FOUND, ESP_SYSTEM; ESP_INVALID with
 * "path:line: ..." for a file that is damaged, cut, or of another version. */
enum esp_status cost_load(const char *path, struct arena *arena, struct cost_model *model,
                          struct esp_error *error);
/* All models of a folder, with their measurements, into a new set (core/forecast/cost_text.c). Files that
 * are wrong are told to `wrong` and left out. A folder that is not there has none. */
enum esp_status cost_load_folder(const char *folder, void (*wrong)(void *arg, const struct esp_error *error),
                                 void *arg, struct cost_set *set, struct esp_error *error);

/* ---- wire (core/forecast/cost_wire.c) ---- */

/* Tag of an extension of a server's record: its models without their measurements. A record without it says
 * nothing of models: those told before hold, within one incarnation. */
#define EXTENSION_COST_MODELS 60
#define CAP_COST_BYTES        (512 * 1024)

/* As many models as CAP_COST_BYTES holds, in `arena`; NULL (and *length 0) without memory. */
uint8_t *cost_encode(const struct cost_set *set, struct arena *arena, uint32_t *length);
/* Fills a set from what came; false, and the set empty, when it is not such a message or without memory. */
bool cost_decode(const uint8_t *data, uint32_t length, struct cost_set *set);

/* Tag of another one, which comes with that: the grids of the ranks, and what only ranks compute. Earlier
 * versions do without. (core/forecast/cost_model.c) */
#define EXTENSION_RANK_GRIDS 95

/* In `arena`; NULL without memory, or where there are no ranks (and *length 0). */
uint8_t *cost_grids_encode(const struct cost_set *set, struct arena *arena, uint32_t *length);
/* Into a set that has the ranks. What does not belong to it, or is none, is left out. */
void cost_grids_decode(const uint8_t *data, uint32_t length, struct cost_set *set);

#endif
