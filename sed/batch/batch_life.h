/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a batch job: what its state becomes after each piece of news. Pure logic without I/O.
 *
 * The exit-code file that the job writes is the truth about its end. The queue is a hint: it explains an end
 * without an exit code, and an exit code that stands for a signal. States never go backwards, and a final
 * state never changes. A batch system that does not answer changes nothing.
 */
#ifndef SED_BATCH_LIFE_H
#define SED_BATCH_LIFE_H

#include "sed/batch/batch.h"

enum batch_event {
    BATCH_EVENT_SUBMITTED, /* the batch system has taken the job, or already had it */
    BATCH_EVENT_REFUSED,   /* the batch system has refused the job; `text` is its standard error */
    BATCH_EVENT_SEEN,      /* an answer of the batch system shows the job: `sighting` */
    BATCH_EVENT_UNKNOWN,   /* an answer of the batch system does not contain the job */
    BATCH_EVENT_NO_ANSWER, /* the batch system could not be asked; `text` says why */
    BATCH_EVENT_STARTED,   /* the job has written that it started */
    BATCH_EVENT_EXITED,    /* the exit-code file is there: `exit_code` */
    BATCH_EVENT_CANCEL,    /* Espalier wants the job to end */
    BATCH_EVENT_TIME,      /* nothing happened: only time has passed */
    BATCH_N_EVENTS
};

struct batch_news {
    enum batch_event event;
    const struct batch_sighting *sighting; /* BATCH_EVENT_SEEN */
    int32_t exit_code;                     /* BATCH_EVENT_EXITED: 0 to 255; 128 + n: ended by signal n */
    const char *text;                      /* BATCH_EVENT_REFUSED, BATCH_EVENT_NO_ANSWER */
};

/* How long the machine waits before it believes the queue without an exit code. */
struct batch_patience {
    int64_t ended_ns;   /* after the queue shows the end: network file systems show new files late */
    int64_t killed_ns;  /* the same after a kill, which mostly leaves no exit code */
    int64_t unknown_ns; /* since the first of at least BATCH_UNKNOWN_ANSWERS answers without the job */
};
#define BATCH_UNKNOWN_ANSWERS 3
extern const struct batch_patience batch_patience_default; /* 60 s, 5 s, 60 s */

struct batch_life {
    enum batch_state state;
    bool cancel_wanted;
    bool perhaps_submitted; /* NEW: a submission got no answer, so the batch system may have the job */
    bool exit_known;        /* exit_code is from the exit-code file */
    int32_t exit_code;
    bool answered_since;    /* the batch system has answered since the exit code became known */
    struct esp_error error; /* final: ESP_OK after COMPLETED, else why, for the user. Before: ESP_PENDING */
    char said[BATCH_SAID_BYTES];  /* the site's latest words: its state of the job, or its standard error */
    struct batch_sighting latest; /* the latest sighting; hint BATCH_HINT_NONE: never seen */
    int64_t limit_s;              /* time limit of the job, for texts; 0: not known */
    /* The times of events that the machine waits behind. CLOCK_NEVER: there was no such event. */
    int64_t exited_ns;  /* the exit code became known */
    int64_t ended_ns;   /* the queue showed the end */
    int64_t unknown_ns; /* the first of the latest answers without the job */
    uint32_t n_unknown; /* of these answers */
    int64_t silent_ns;  /* the batch system stopped to answer */
};

/* A new job, not submitted. `limit_s`: its time limit; 0: not known. */
void batch_life_begin(struct batch_life *life, int64_t limit_s);

/* A job as a file of an earlier process describes it: its state, whether it was to be cancelled, and the text
 * of a final state (`error`; NULL: none). */
void batch_life_resume(struct batch_life *life, enum batch_state state, bool cancel_wanted, int64_t limit_s,
                       const struct esp_error *error);

/* Takes in one piece of news. True: the state has changed. */
bool batch_life_step(struct batch_life *life, const struct batch_news *news,
                     const struct batch_patience *patience, int64_t now_ns);

/* When BATCH_EVENT_TIME may change the state; CLOCK_NEVER: time alone changes nothing. */
int64_t batch_life_due_ns(const struct batch_life *life, const struct batch_patience *patience);

/* One line for people about a job that is not final: "waits: its partition is down"; "" for nothing to say.
 */
void batch_life_describe(const struct batch_life *life, int64_t now_ns, char *text, size_t size);

#endif
