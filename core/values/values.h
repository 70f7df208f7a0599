/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a call: from "name=value" words, matrices and their files to typed memory, and back to
 * matrices.
 */
#ifndef CORE_VALUES_H
#define CORE_VALUES_H

#include "espalier.h"
#include "core/matrix/matrix.h"
#include "core/problem/problem.h"

struct value_function;

/* What values ask of the client library: its functions of these names in espalier.h. */
struct values_library {
    enum esp_status (*arguments_complete)(const struct esp_problem *problem, struct esp_argument *arguments,
                                          size_t n_arguments);
    enum esp_status (*arguments_fit)(const struct esp_problem *problem, const struct esp_argument *arguments,
                                     size_t n_arguments);
    enum esp_status (*data_look)(const char *id, struct esp_data_info **infos, size_t *n);
    void (*data_free)(struct esp_data_info *infos);
    int64_t (*deadline_begin)(double seconds);
    void (*deadline_end)(int64_t before);
    const struct esp_error *(*last_error)(void);
    void (*callback_fail)(const char *text);
};
/* For those that link the client library. */
#define VALUES_LIBRARY                                                                                       \
    {                                                                                                        \
        .arguments_complete = esp_arguments_complete, .arguments_fit = esp_arguments_fit,                    \
        .data_look = esp_data_look, .data_free = esp_data_free, .deadline_begin = esp_deadline_begin,        \
        .deadline_end = esp_deadline_end, .last_error = esp_last_error, .callback_fail = esp_callback_fail   \
    }

struct values {
    const struct esp_problem *problem;    /* not owned */
    const struct values_library *library; /* not owned */
    struct problem_set *described;        /* the same, for what its expressions say */
    struct esp_argument *arguments;       /* one for each of the problem's; ready for esp_call() */
    struct value_slot {
        void *memory;                     /* what the argument's data points to */
        char *text;                       /* of an output string */
        const char *path;                 /* where the output goes, or NULL */
        const struct esp_job_name *other; /* by which -o has named the output; NULL: by its own */
        char *spool; /* a file of ours where an output of type file stands in for "-", or that is a copy of
                      * one that goes in and comes back; values_clear() ends it */
        bool has_spools; /* likewise of an array of files: pointers of `memory` outside its block lead to
                            names */
        bool given;
        bool is_full; /* a matrix as it is, whatever its description says of its storage: in `memory`, */
        struct matrix sparse; /* or here, when it came sparse and is to be packed or banded; */
                              /* of a result of an abstract problem: the result, when that is sparse */
        bool is_unwanted;     /* nobody asks for the output array, whatever is saved */
        bool is_nothing;      /* [], of which the other arguments may say what extents it has */
        size_t block;         /* bytes of `memory` when it holds pointers to texts */
        uint64_t n_texts;     /* of those */
        uint64_t count;       /* elements given, when the extents are not (three dimensions and more) */
        struct value_function *function; /* a callback (core/values/values_function.h) */
        char *random;                    /* the input is made up: as it was asked for */
        char *datum;                     /* the input lives on servers: its identity */
        bool is_kept;                    /* the output stays on the server, */
        char *kept;                      /* under this identity after the call; */
        bool comes;                      /* and comes besides, by its mode */
        bool is_whole;                   /* it was to stay in pieces, and does not (values_look_at_kept()) */
    } * slots;
    struct matrix_reading reading;      /* how matrix files are read; its limit holds for other files too */
    const struct matrix_format *format; /* of --format; NULL: by the endings of the files */
    int64_t look_ns;                    /* what is left for looking up data; 0: no limit */
    const struct esp_job_name
        *others; /* not owned: more names for -o, as a job of an abstract problem has them */
    size_t n_others;
    bool as_json;    /* what goes to "-" is part of the JSON value */
    bool some_saved; /* then arrays without a path are not fetched */
    bool is_late;    /* output arrays get memory when they are there: values_prepare() makes none */
};

/* Typed and shown as a text. */
static inline bool is_text(enum esp_type type)
{
    return type == ESP_TYPE_STRING || type == ESP_TYPE_STATE;
}

/* No values yet. The problem and the library outlive them. ESP_NO_MEMORY. */
enum esp_status values_init(struct values *values, const struct esp_problem *problem,
                            const struct values_library *library, struct esp_error *error);
void values_clear(struct values *values);

/* Takes "name=value": a number, a text, "[1,2;3,4]", "@file" (of an array: a matrix file; of a string: its
 * contents; of a file: the file), "rand" (core/values/values_random.h), of a
 * callback expressions (core/values/values_function.h). ESP_INVALID (name, type, range, shape);
 * what matrix_load() says. */
enum esp_status values_assign(struct values *values, const char *word, struct esp_error *error);
/* Takes a matrix for the argument of that name. */
enum esp_status values_assign_matrix(struct values *values, const char *name, const struct matrix *matrix,
                                     struct esp_error *error);
/* Takes "name=file" of -o; "name=data:MODE" besides that where the mode makes the result come as well. */
enum esp_status values_save_to(struct values *values, const char *word, struct esp_error *error);

/* After the call: how what stayed lies. What cannot be looked at lies as it was to. */
void values_look_at_kept(struct values *values);

/* Whether the output array stays where it is computed, as nobody has asked for it. */
bool values_is_left(const struct values *values, size_t index);

/* Takes "inputs", "outputs" or "all", a mode may follow (":persistent"), of --leave: these arrays stay on the
 * server. What -o names comes as well, what it leaves stays as it says. `job`: nobody waits for the results'
 * identities here. ESP_INVALID. */
enum esp_status values_leave(struct values *values, const char *word, bool job, struct esp_error *error);

/* Completes what was left out (ESP_INVALID names what cannot be, and how it is given) and makes room for the
 * outputs. When -o names some, other output arrays are not asked for. */
enum esp_status values_prepare(struct values *values, struct esp_error *error);

/* After the call: arrays with a count are as long as it says, and an output that -o has named by another name
 * has the rows that it has under that name. ESP_FAILED: a count that is too large. */
enum esp_status values_cut(struct values *values, struct esp_error *error);

/* A numeric argument as a matrix (matrix_clear() frees): a vector as one column. */
enum esp_status values_matrix(const struct values *values, size_t index, struct matrix *matrix,
                              struct esp_error *error);
#endif
