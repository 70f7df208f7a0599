/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_life.h"

#include "util/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An exit code from here on stands for a signal, as shells write it: the queue may know who sent the signal.
 */
#define SIGNAL_CODE 128

const struct batch_patience batch_patience_default = {
    .ended_ns = 60 * NS_PER_S, .killed_ns = 5 * NS_PER_S, .unknown_ns = 60 * NS_PER_S};

void batch_life_begin(struct batch_life *life, int64_t limit_s)
{
    *life = (struct batch_life){.state = BATCH_NEW,
                                .limit_s = limit_s,
                                .error = {.status = ESP_PENDING},
                                .exited_ns = CLOCK_NEVER,
                                .ended_ns = CLOCK_NEVER,
                                .unknown_ns = CLOCK_NEVER,
                                .silent_ns = CLOCK_NEVER};
}

void batch_life_resume(struct batch_life *life, enum batch_state state, bool cancel_wanted, int64_t limit_s,
                       const struct esp_error *error)
{
    batch_life_begin(life, limit_s);
    life->state = state;
    life->cancel_wanted = cancel_wanted;
    /* The earlier process may have died between the submission and its record. */
    life->perhaps_submitted = state == BATCH_NEW;
    if (state == BATCH_COMPLETED)
        life->error.status = ESP_OK;
    else if (batch_state_is_final(state) && error)
        life->error = *error;
}

static void keep_said(struct batch_life *life, const char *text)
{
    snprintf(life->said, sizeof life->said, "%s", text ? text : "");
}

/* ---- verdicts: each ends the life ---- */

static void complete(struct batch_life *life)
{
    life->state = BATCH_COMPLETED;
    life->error = (struct esp_error){.status = ESP_OK};
}

static void cancelled(struct batch_life *life)
{
    life->state = BATCH_CANCELED;
    if (life->cancel_wanted)
        error_set(&life->error, ESP_CANCELLED, "the batch job was cancelled");
    else
        error_set(&life->error, ESP_CANCELLED,
                  "the batch job was cancelled in the batch system, and not by Espalier: it says \"%.200s\"",
                  life->latest.said);
}

static void fail_by_code(struct batch_life *life)
{
    life->state = BATCH_FAILED;
    if (life->exit_code > SIGNAL_CODE)
        error_set(&life->error, ESP_CRASHED, "the batch job was ended by signal %d",
                  life->exit_code - SIGNAL_CODE);
    else
        error_set(&life->error, ESP_FAILED, "the batch job ended with exit code %d", life->exit_code);
}

static void fail_by_time(struct batch_life *life)
{
    char limit[40] = "";
    if (life->limit_s > 0)
        snprintf(limit, sizeof limit, " of %" PRId64 " s", life->limit_s);
    error_set(&life->error, ESP_TIMEOUT,
              "the batch job was killed at its time limit%s: the batch system says \"%.200s\"", limit,
              life->latest.said);
}

/* The script ended, and its last act, the exit-code file, is not visible here. */
static void fail_without_code(struct batch_life *life)
{
    const struct batch_sighting *latest = &life->latest;
    error_set(
        &life->error, ESP_CRASHED,
        "the batch job has ended%s%.100s, and its exit code is not in its folder: expected a folder that "
        "the nodes share with the server, or the script was killed; the batch system says \"%.160s\"",
        *latest->nodes ? " on " : "", latest->nodes, latest->said);
}

static void fail_by_hint(struct batch_life *life)
{
    static const char *const why[BATCH_N_HINTS] = {
        [BATCH_HINT_NODE_FAILED] = "a node of the batch job has failed",
        [BATCH_HINT_OUT_OF_MEMORY] = "the batch job was killed because it used more memory than it asked for",
        [BATCH_HINT_PREEMPTED] = "the batch job was killed in favour of another job",
        [BATCH_HINT_NOT_STARTED] = "the batch system could not start the batch job",
    };
    const enum batch_hint hint = life->latest.hint;
    life->state = BATCH_FAILED;
    if (hint == BATCH_HINT_TIME_LIMIT)
        fail_by_time(life);
    else if (hint == BATCH_HINT_ENDED)
        fail_without_code(life);
    else
        error_set(&life->error, ESP_CRASHED, "%s%s%.100s: the batch system says \"%.200s\"", why[hint],
                  *life->latest.nodes ? ", " : "", life->latest.nodes, life->latest.said);
}

static void fail_as_lost(struct batch_life *life)
{
    life->state = BATCH_FAILED;
    error_set(&life->error, ESP_CRASHED,
              "the batch system does not know the batch job any more, and the job has left no exit code");
}

/* ---- judging ---- */

/* Whether the queue explains an end that the exit code does not: a kill by the batch system. */
static bool hint_is_kill(enum batch_hint hint)
{
    return hint > BATCH_HINT_ENDED;
}

static void verdict_by_hint(struct batch_life *life)
{
    const enum batch_hint hint = life->latest.hint;
    if (hint == BATCH_HINT_CANCELED || (hint == BATCH_HINT_ENDED && life->cancel_wanted))
        cancelled(life);
    else
        fail_by_hint(life);
}

static int64_t later(int64_t since_ns, int64_t patience_ns)
{
    return since_ns == CLOCK_NEVER ? CLOCK_NEVER : since_ns + patience_ns;
}

static int64_t end_patience_ns(const struct batch_life *life, const struct batch_patience *patience)
{
    /* A cancelled job mostly leaves no exit code either. */
    return hint_is_kill(life->latest.hint) || life->cancel_wanted ? patience->killed_ns : patience->ended_ns;
}

/* How long the reason of a signal is waited for: longer while the batch system does not answer. */
static int64_t signal_due_ns(const struct batch_life *life, const struct batch_patience *patience)
{
    return later(life->exited_ns, life->answered_since ? patience->killed_ns : patience->ended_ns);
}

/* The exit code of a signal: the batch system may say in a moment why it sent the signal, or requeue the job.
 */
static void judge_signal(struct batch_life *life, const struct batch_patience *patience, int64_t now_ns)
{
    if (hint_is_kill(life->latest.hint))
        verdict_by_hint(life);
    else if (life->ended_ns != CLOCK_NEVER || life->n_unknown > 0 ||
             now_ns >= signal_due_ns(life, patience)) {
        if (life->cancel_wanted)
            cancelled(life);
        else
            fail_by_code(life);
    }
}

static void judge(struct batch_life *life, const struct batch_patience *patience, int64_t now_ns)
{
    if (life->exit_known && life->exit_code == 0)
        complete(life);
    else if (life->exit_known && life->exit_code <= SIGNAL_CODE)
        fail_by_code(life);
    else if (life->exit_known)
        judge_signal(life, patience, now_ns);
    else if (now_ns >= later(life->ended_ns, end_patience_ns(life, patience)))
        verdict_by_hint(life);
    else if (life->n_unknown >= BATCH_UNKNOWN_ANSWERS &&
             now_ns >= later(life->unknown_ns, patience->unknown_ns)) {
        if (life->cancel_wanted)
            cancelled(life);
        else
            fail_as_lost(life);
    }
}

/* ---- what each kind of news does, before the life is judged ---- */

struct step {
    struct batch_life *life;
    const struct batch_news *news;
    int64_t now_ns;
};

static void answered(struct batch_life *life)
{
    life->silent_ns = CLOCK_NEVER;
    life->answered_since = true;
}

static void advance(struct batch_life *life, enum batch_state state)
{
    if (state > life->state)
        life->state = state;
}

static void ignore(const struct step *step)
{
    (void)step;
}

static void submitted(const struct step *step)
{
    answered(step->life);
    advance(step->life, BATCH_QUEUED);
}

static void refused(const struct step *step)
{
    struct batch_life *life = step->life;
    keep_said(life, step->news->text);
    life->state = BATCH_FAILED;
    error_set(&life->error, ESP_REFUSED, "the batch system refuses the job: %s", life->said);
}

/* A requeued job runs again: what its earlier run left behind says nothing about this one. */
static void forget_earlier_run(struct batch_life *life)
{
    life->ended_ns = CLOCK_NEVER;
    life->exit_known = false;
    life->exited_ns = CLOCK_NEVER;
}

static void seen(const struct step *step)
{
    struct batch_life *life = step->life;
    const struct batch_sighting *sighting = step->news->sighting;
    const enum batch_hint before = life->latest.hint;
    const bool requeued = sighting->restarts > life->latest.restarts && before != BATCH_HINT_NONE;
    answered(life);
    life->unknown_ns = CLOCK_NEVER;
    life->n_unknown = 0;
    life->latest = *sighting;
    keep_said(life, sighting->said);
    advance(life, sighting->hint == BATCH_HINT_WAITING ? BATCH_QUEUED : life->state);
    if (sighting->hint == BATCH_HINT_RUNNING || sighting->restarts > 0)
        advance(life, BATCH_ACTIVE);
    if (batch_hint_is_end(sighting->hint)) {
        advance(life, BATCH_QUEUED);
        /* A batch system may first say why it killed the job, and then only that the job has ended. */
        if (sighting->hint == BATCH_HINT_ENDED && hint_is_kill(before))
            life->latest.hint = before;
        if (life->ended_ns == CLOCK_NEVER)
            life->ended_ns = step->now_ns;
    } else if (requeued || sighting->hint == BATCH_HINT_WAITING) {
        forget_earlier_run(life);
    } else {
        life->ended_ns = CLOCK_NEVER;
    }
}

static void unknown(const struct step *step)
{
    struct batch_life *life = step->life;
    answered(life);
    if (life->n_unknown++ == 0)
        life->unknown_ns = step->now_ns;
}

/* The batch system does not have the job, so there is nothing to cancel. */
static void unknown_new(const struct step *step)
{
    struct batch_life *life = step->life;
    answered(life);
    life->perhaps_submitted = false;
    if (life->cancel_wanted)
        cancelled(life);
}

static void no_answer(const struct step *step)
{
    struct batch_life *life = step->life;
    keep_said(life, step->news->text);
    if (life->silent_ns == CLOCK_NEVER)
        life->silent_ns = step->now_ns;
}

static void no_answer_new(const struct step *step)
{
    no_answer(step);
    step->life->perhaps_submitted = true;
}

static void started(const struct step *step)
{
    advance(step->life, BATCH_ACTIVE);
}

static void exited(const struct step *step)
{
    struct batch_life *life = step->life;
    if (!life->exit_known) {
        life->exited_ns = step->now_ns;
        life->answered_since = false;
    }
    life->exit_known = true;
    life->exit_code = step->news->exit_code;
}

static void cancel(const struct step *step)
{
    step->life->cancel_wanted = true;
}

static void cancel_new(const struct step *step)
{
    cancel(step);
    if (!step->life->perhaps_submitted)
        cancelled(step->life);
}

typedef void step_function(const struct step *step);

/* Rows of final states are empty: nothing changes them. */
static step_function *const table[BATCH_COMPLETED][BATCH_N_EVENTS] = {
    [BATCH_NEW] = {[BATCH_EVENT_SUBMITTED] = submitted,
                   [BATCH_EVENT_REFUSED] = refused,
                   [BATCH_EVENT_SEEN] = seen,
                   [BATCH_EVENT_UNKNOWN] = unknown_new,
                   [BATCH_EVENT_NO_ANSWER] = no_answer_new,
                   [BATCH_EVENT_STARTED] = started,
                   [BATCH_EVENT_EXITED] = exited,
                   [BATCH_EVENT_CANCEL] = cancel_new,
                   [BATCH_EVENT_TIME] = ignore},
    [BATCH_QUEUED] = {[BATCH_EVENT_SUBMITTED] = submitted,
                      [BATCH_EVENT_REFUSED] = ignore,
                      [BATCH_EVENT_SEEN] = seen,
                      [BATCH_EVENT_UNKNOWN] = unknown,
                      [BATCH_EVENT_NO_ANSWER] = no_answer,
                      [BATCH_EVENT_STARTED] = started,
                      [BATCH_EVENT_EXITED] = exited,
                      [BATCH_EVENT_CANCEL] = cancel,
                      [BATCH_EVENT_TIME] = ignore},
    [BATCH_ACTIVE] = {[BATCH_EVENT_SUBMITTED] = submitted,
                      [BATCH_EVENT_REFUSED] = ignore,
                      [BATCH_EVENT_SEEN] = seen,
                      [BATCH_EVENT_UNKNOWN] = unknown,
                      [BATCH_EVENT_NO_ANSWER] = no_answer,
                      [BATCH_EVENT_STARTED] = started,
                      [BATCH_EVENT_EXITED] = exited,
                      [BATCH_EVENT_CANCEL] = cancel,
                      [BATCH_EVENT_TIME] = ignore},
};

bool batch_life_step(struct batch_life *life, const struct batch_news *news,
                     const struct batch_patience *patience, int64_t now_ns)
{
    const enum batch_state before = life->state;
    if (batch_state_is_final(before))
        return false;
    table[before][news->event](&(struct step){life, news, now_ns});
    if (!batch_state_is_final(life->state))
        judge(life, patience, now_ns);
    return life->state != before;
}

int64_t batch_life_due_ns(const struct batch_life *life, const struct batch_patience *patience)
{
    int64_t due_ns = CLOCK_NEVER;
    if (batch_state_is_final(life->state))
        return CLOCK_NEVER;
    if (life->exit_known)
        return signal_due_ns(life, patience);
    due_ns = later(life->ended_ns, end_patience_ns(life, patience));
    if (life->n_unknown >= BATCH_UNKNOWN_ANSWERS && later(life->unknown_ns, patience->unknown_ns) < due_ns)
        due_ns = later(life->unknown_ns, patience->unknown_ns);
    return due_ns;
}

void batch_life_describe(const struct batch_life *life, int64_t now_ns, char *text, size_t size)
{
    const struct batch_sighting *latest = &life->latest;
    *text = 0;
    if (batch_state_is_final(life->state))
        return;
    if (life->silent_ns != CLOCK_NEVER)
        snprintf(text, size, "the batch system has not answered for %" PRId64 " s: %.300s",
                 (now_ns - life->silent_ns) / NS_PER_S, life->said);
    else if (latest->hint == BATCH_HINT_WAITING && latest->restarts > 0)
        snprintf(text, size, "was requeued (%u) and waits again: %s", latest->restarts,
                 *latest->note ? latest->note : latest->said);
    else if (latest->hint == BATCH_HINT_WAITING)
        snprintf(text, size, "waits: %s", *latest->note ? latest->note : latest->said);
    else if (latest->hint == BATCH_HINT_RUNNING)
        snprintf(text, size, "runs%s%s", *latest->nodes ? " on " : "", latest->nodes);
    else if (batch_hint_is_end(latest->hint))
        snprintf(text, size, "has ended, and its exit code is not there yet");
}
