/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_life.h"
#include "sed/batch/batch_pace.h"
#include "tests/unit/unit.h"
#include "util/clock.h"
#include "util/random.h"

#include <stdio.h>
#include <string.h>

/* A life with the clock that the test owns, and what it was told so far. */
struct trial {
    struct batch_life life;
    int64_t now_ns;
    bool told_zero;      /* exit code 0 */
    bool told_code;      /* any exit code */
    bool told_cancelled; /* by Espalier, or by the batch system */
    bool told_refused;
};

static void begin(struct trial *trial)
{
    *trial = (struct trial){.now_ns = 1000 * NS_PER_S};
    batch_life_begin(&trial->life, 600);
}

static bool step(struct trial *trial, const struct batch_news *news)
{
    if (!batch_state_is_final(trial->life.state)) {
        trial->told_zero |= news->event == BATCH_EVENT_EXITED && news->exit_code == 0;
        trial->told_code |= news->event == BATCH_EVENT_EXITED;
        trial->told_cancelled |=
            news->event == BATCH_EVENT_CANCEL ||
            (news->event == BATCH_EVENT_SEEN && news->sighting->hint == BATCH_HINT_CANCELED);
        trial->told_refused |= news->event == BATCH_EVENT_REFUSED;
    }
    return batch_life_step(&trial->life, news, &batch_patience_default, trial->now_ns);
}

static bool happens(struct trial *trial, enum batch_event event, const char *text)
{
    return step(trial, &(struct batch_news){.event = event, .text = text});
}

static bool is_seen(struct trial *trial, enum batch_hint hint, uint32_t restarts, const char *said)
{
    struct batch_sighting sighting = {.hint = hint, .restarts = restarts};
    snprintf(sighting.said, sizeof sighting.said, "%s", said);
    snprintf(sighting.nodes, sizeof sighting.nodes, "n7");
    return step(trial, &(struct batch_news){.event = BATCH_EVENT_SEEN, .sighting = &sighting});
}

static bool exits(struct trial *trial, int32_t code)
{
    return step(trial, &(struct batch_news){.event = BATCH_EVENT_EXITED, .exit_code = code});
}

static void wait_s(struct trial *trial, int64_t seconds)
{
    trial->now_ns += seconds * NS_PER_S;
    happens(trial, BATCH_EVENT_TIME, NULL);
}

static void ends(const struct trial *trial, enum batch_state state, enum esp_status status, const char *text)
{
    assert_int_equal(trial->life.state, state);
    assert_int_equal(trial->life.error.status, status);
    if (!strstr(trial->life.error.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, trial->life.error.text);
}

/* ---- stories ---- */

static void a_job_runs_to_its_end(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    assert_true(happens(&trial, BATCH_EVENT_SUBMITTED, NULL));
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    assert_false(is_seen(&trial, BATCH_HINT_WAITING, 0, "PENDING (Priority)"));
    assert_true(is_seen(&trial, BATCH_HINT_RUNNING, 0, "RUNNING"));
    assert_int_equal(trial.life.state, BATCH_ACTIVE);
    assert_true(exits(&trial, 0));
    ends(&trial, BATCH_COMPLETED, ESP_OK, "");
}

static void an_exit_code_is_the_truth_whatever_the_queue_says(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_NODE_FAILED, 0, "NODE_FAIL");
    exits(&trial, 0);
    ends(&trial, BATCH_COMPLETED, ESP_OK, "");
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_WAITING, 0, "PENDING");
    exits(&trial, 3);
    ends(&trial, BATCH_FAILED, ESP_FAILED, "exit code 3");
}

static void a_refusal_has_the_words_of_the_site(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_REFUSED, "sbatch: error: invalid partition specified: nope");
    ends(&trial, BATCH_FAILED, ESP_REFUSED, "sbatch: error: invalid partition specified: nope");
}

static void a_kill_at_the_time_limit_is_told_as_one(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_TIME_LIMIT, 0, "TIMEOUT (TimeLimit)");
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    wait_s(&trial, 6);
    ends(&trial, BATCH_FAILED, ESP_TIMEOUT, "killed at its time limit of 600 s");
}

static void a_signal_in_the_exit_code_waits_for_its_reason(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_RUNNING, 0, "RUNNING");
    assert_false(exits(&trial, 143));
    is_seen(&trial, BATCH_HINT_TIME_LIMIT, 0, "TIMEOUT");
    ends(&trial, BATCH_FAILED, ESP_TIMEOUT, "TIMEOUT");
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    exits(&trial, 139);
    is_seen(&trial, BATCH_HINT_ENDED, 0, "FAILED");
    ends(&trial, BATCH_FAILED, ESP_CRASHED, "signal 11");
}

static void a_reason_is_not_waited_for_without_end(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    exits(&trial, 137);
    happens(&trial, BATCH_EVENT_NO_ANSWER, "connect failure");
    wait_s(&trial, 59);
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    assert_int_equal(batch_life_due_ns(&trial.life, &batch_patience_default), trial.now_ns + NS_PER_S);
    wait_s(&trial, 1);
    ends(&trial, BATCH_FAILED, ESP_CRASHED, "signal 9");
}

static void a_requeued_job_stays_active_and_may_complete(void **state)
{
    struct trial trial;
    char text[200];
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_RUNNING, 0, "RUNNING");
    exits(&trial, 143); /* its node went down */
    is_seen(&trial, BATCH_HINT_WAITING, 1, "PENDING (BeginTime)");
    assert_int_equal(trial.life.state, BATCH_ACTIVE);
    batch_life_describe(&trial.life, trial.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "was requeued (1) and waits again"));
    wait_s(&trial, 3600);
    assert_int_equal(trial.life.state, BATCH_ACTIVE);
    is_seen(&trial, BATCH_HINT_RUNNING, 1, "RUNNING");
    exits(&trial, 0);
    ends(&trial, BATCH_COMPLETED, ESP_OK, "");
}

static void a_folder_that_is_not_shared_is_told(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_ENDED, 0, "COMPLETED");
    wait_s(&trial, 59);
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    wait_s(&trial, 1);
    ends(&trial, BATCH_FAILED, ESP_CRASHED, "expected a folder that the nodes share with the server");
}

static void a_silent_batch_system_changes_nothing(void **state)
{
    struct trial trial;
    char text[400];
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_RUNNING, 0, "RUNNING");
    for (int i = 0; i < 1000; i++) {
        assert_false(happens(&trial, BATCH_EVENT_NO_ANSWER, "Unable to contact slurm controller"));
        wait_s(&trial, 30);
    }
    assert_int_equal(trial.life.state, BATCH_ACTIVE);
    batch_life_describe(&trial.life, trial.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "has not answered for 30000 s: Unable to contact slurm controller"));
}

static void a_job_that_nobody_knows_is_lost_after_some_answers(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    happens(&trial, BATCH_EVENT_UNKNOWN, NULL);
    wait_s(&trial, 600);
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    happens(&trial, BATCH_EVENT_UNKNOWN, NULL);
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    happens(&trial, BATCH_EVENT_UNKNOWN, NULL);
    ends(&trial, BATCH_FAILED, ESP_CRASHED, "does not know the batch job any more");
}

static void a_cancelled_job_says_who_cancelled_it(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_CANCEL, NULL);
    ends(&trial, BATCH_CANCELED, ESP_CANCELLED, "was cancelled");
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    happens(&trial, BATCH_EVENT_CANCEL, NULL);
    is_seen(&trial, BATCH_HINT_ENDED, 0, "ended");
    wait_s(&trial, 5);
    ends(&trial, BATCH_CANCELED, ESP_CANCELLED, "was cancelled");
    begin(&trial);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL);
    is_seen(&trial, BATCH_HINT_CANCELED, 0, "CANCELLED by 1000");
    wait_s(&trial, 5);
    ends(&trial, BATCH_CANCELED, ESP_CANCELLED, "not by Espalier: it says \"CANCELLED by 1000\"");
}

static void a_job_that_is_perhaps_submitted_is_not_cancelled_blindly(void **state)
{
    struct trial trial;
    (void)state;
    begin(&trial);
    happens(&trial, BATCH_EVENT_NO_ANSWER, "timed out");
    happens(&trial, BATCH_EVENT_CANCEL, NULL);
    assert_int_equal(trial.life.state, BATCH_NEW);
    happens(&trial, BATCH_EVENT_SUBMITTED, NULL); /* found by its name */
    assert_int_equal(trial.life.state, BATCH_QUEUED);
    begin(&trial);
    happens(&trial, BATCH_EVENT_NO_ANSWER, "timed out");
    happens(&trial, BATCH_EVENT_CANCEL, NULL);
    happens(&trial, BATCH_EVENT_UNKNOWN, NULL);
    ends(&trial, BATCH_CANCELED, ESP_CANCELLED, "");
}

/* ---- enumeration ---- */

#define DEPTH 4

/* Every piece of news: each hint with and without a restart, three exit codes, three spans of time. */
static struct batch_sighting sightings[2 * BATCH_N_HINTS];
static struct {
    struct batch_news news;
    int64_t wait_s;
} alphabet[64];
static size_t n_letters;

static void add_letter(struct batch_news news, int64_t wait_s)
{
    alphabet[n_letters].news = news;
    alphabet[n_letters++].wait_s = wait_s;
}

static void fill_alphabet(void)
{
    n_letters = 0;
    for (size_t i = 0; i < 2 * BATCH_N_HINTS; i++) {
        sightings[i].hint = (enum batch_hint)(i / 2);
        sightings[i].restarts = i % 2;
        add_letter((struct batch_news){.event = BATCH_EVENT_SEEN, .sighting = &sightings[i]}, 0);
    }
    static const int32_t codes[] = {0, 1, 143};
    for (size_t i = 0; i < 3; i++)
        add_letter((struct batch_news){.event = BATCH_EVENT_EXITED, .exit_code = codes[i]}, 0);
    static const enum batch_event plain[] = {BATCH_EVENT_SUBMITTED, BATCH_EVENT_REFUSED, BATCH_EVENT_UNKNOWN,
                                             BATCH_EVENT_NO_ANSWER, BATCH_EVENT_STARTED, BATCH_EVENT_CANCEL};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        add_letter((struct batch_news){.event = plain[i], .text = "words"}, 0);
    static const int64_t waits[] = {1, 10, 100};
    for (size_t i = 0; i < 3; i++)
        add_letter((struct batch_news){.event = BATCH_EVENT_TIME}, waits[i]);
}

/* The rules that hold after every step. */
static void check_step(const struct trial *before, const struct trial *after, const struct batch_news *news,
                       bool changed)
{
    const enum batch_state was = before->life.state, is = after->life.state;
    assert_true(is >= was);
    assert_int_equal(changed, is != was);
    if (batch_state_is_final(was)) {
        assert_int_equal(is, was);
        assert_memory_equal(&before->life.error, &after->life.error, sizeof after->life.error);
    }
    if (news->event == BATCH_EVENT_NO_ANSWER && !before->life.exit_known &&
        before->life.ended_ns == CLOCK_NEVER && before->life.n_unknown == 0)
        assert_int_equal(is, was);
    if (news->event == BATCH_EVENT_EXITED && news->exit_code == 0 && !batch_state_is_final(was))
        assert_int_equal(is, BATCH_COMPLETED);
    if (is == BATCH_COMPLETED)
        assert_true(after->told_zero);
    if (is == BATCH_CANCELED)
        assert_true(after->told_cancelled);
    if (batch_state_is_final(is)) {
        assert_int_equal(is == BATCH_COMPLETED, after->life.error.status == ESP_OK);
        assert_int_equal(is == BATCH_CANCELED, after->life.error.status == ESP_CANCELLED);
        assert_int_not_equal(after->life.error.status, ESP_PENDING);
        assert_true(is == BATCH_COMPLETED || *after->life.error.text);
        assert_true(batch_life_due_ns(&after->life, &batch_patience_default) == CLOCK_NEVER);
    } else {
        assert_int_equal(after->life.error.status, ESP_PENDING);
        /* Time alone does what is due, so what is due lies ahead. */
        assert_true(batch_life_due_ns(&after->life, &batch_patience_default) > after->now_ns);
    }
}

static uint64_t n_checked;

static void try_letter(const struct trial *before, size_t letter, struct trial *after)
{
    *after = *before;
    after->now_ns += alphabet[letter].wait_s * NS_PER_S;
    const bool changed = step(after, &alphabet[letter].news);
    check_step(before, after, &alphabet[letter].news, changed);
    n_checked++;
}

static void try_all(const struct trial *before, unsigned depth)
{
    for (size_t i = 0; i < n_letters; i++) {
        struct trial after;
        try_letter(before, i, &after);
        if (depth > 1 && !batch_state_is_final(after.life.state))
            try_all(&after, depth - 1);
    }
}

static void every_sequence_of_news_keeps_the_rules(void **state)
{
    struct trial trial;
    (void)state;
    fill_alphabet();
    n_checked = 0;
    begin(&trial);
    try_all(&trial, DEPTH);
    assert_true(n_checked > 100000);
}

static void long_lives_keep_the_rules(void **state)
{
    struct random random;
    (void)state;
    fill_alphabet();
    random_seed(&random, 34);
    for (int life = 0; life < 20000; life++) {
        struct trial trial, next;
        begin(&trial);
        for (int i = 0; i < 40; i++) {
            try_letter(&trial, random_below(&random, n_letters), &next);
            trial = next;
        }
    }
}

/* An exit code, or the end in the queue, leads to a final state in a bounded time. */
static void every_end_is_noticed(void **state)
{
    struct random random;
    (void)state;
    fill_alphabet();
    random_seed(&random, 35);
    for (int life = 0; life < 20000; life++) {
        struct trial trial, next;
        begin(&trial);
        for (int i = 0; i < 10; i++) {
            try_letter(&trial, random_below(&random, n_letters), &next);
            trial = next;
        }
        if (life % 2)
            is_seen(&trial, BATCH_HINT_ENDED, 5, "FAILED");
        else
            exits(&trial, 143);
        wait_s(&trial, 60);
        assert_true(batch_state_is_final(trial.life.state));
    }
}

static void a_life_goes_on_after_a_restart(void **state)
{
    struct trial trial;
    const struct esp_error error = {.status = ESP_FAILED, .text = "exit code 3"};
    (void)state;
    begin(&trial);
    batch_life_resume(&trial.life, BATCH_ACTIVE, true, 60, NULL);
    assert_false(is_seen(&trial, BATCH_HINT_WAITING, 0, "PENDING"));
    assert_int_equal(trial.life.state, BATCH_ACTIVE);
    is_seen(&trial, BATCH_HINT_CANCELED, 0, "CANCELLED");
    wait_s(&trial, 5);
    ends(&trial, BATCH_CANCELED, ESP_CANCELLED, "");
    batch_life_resume(&trial.life, BATCH_FAILED, false, 60, &error);
    assert_false(exits(&trial, 0));
    ends(&trial, BATCH_FAILED, ESP_FAILED, "exit code 3");
}

/* ---- pace ---- */

static void questions_come_after_two_seconds_and_then_more_seldom(void **state)
{
    struct batch_pace pace;
    int64_t now_ns = 7 * NS_PER_S, before_ns = 0;
    (void)state;
    batch_pace_begin(&pace);
    assert_true(pace.due_ns == CLOCK_NEVER);
    batch_pace_hurry(&pace, now_ns);
    assert_int_equal(pace.due_ns, now_ns + 2 * NS_PER_S);
    for (int i = 0; i < 20; i++) {
        now_ns = pace.due_ns;
        batch_pace_asked(&pace, now_ns);
        const int64_t interval_ns = pace.due_ns - now_ns;
        assert_true(interval_ns >= 2 * NS_PER_S && interval_ns <= 30 * NS_PER_S && interval_ns >= before_ns);
        before_ns = interval_ns;
    }
    assert_int_equal(before_ns, 30 * NS_PER_S);
    batch_pace_hurry(&pace, now_ns);
    assert_int_equal(pace.due_ns, now_ns + 2 * NS_PER_S);
    batch_pace_hurry(&pace, now_ns + NS_PER_S); /* one change after the other does not put the question off */
    assert_int_equal(pace.due_ns, now_ns + 2 * NS_PER_S);
}

static void ends_are_noticed_late_by_a_twentieth(void **state)
{
    (void)state;
    assert_int_equal(batch_pace_look_ns(0), 50 * NS_PER_MS);
    assert_int_equal(batch_pace_look_ns(20 * NS_PER_S), NS_PER_S);
    assert_int_equal(batch_pace_look_ns(3600 * NS_PER_S), 2 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs_to_its_end),
        cmocka_unit_test(an_exit_code_is_the_truth_whatever_the_queue_says),
        cmocka_unit_test(a_refusal_has_the_words_of_the_site),
        cmocka_unit_test(a_kill_at_the_time_limit_is_told_as_one),
        cmocka_unit_test(a_signal_in_the_exit_code_waits_for_its_reason),
        cmocka_unit_test(a_reason_is_not_waited_for_without_end),
        cmocka_unit_test(a_requeued_job_stays_active_and_may_complete),
        cmocka_unit_test(a_folder_that_is_not_shared_is_told),
        cmocka_unit_test(a_silent_batch_system_changes_nothing),
        cmocka_unit_test(a_job_that_nobody_knows_is_lost_after_some_answers),
        cmocka_unit_test(a_cancelled_job_says_who_cancelled_it),
        cmocka_unit_test(a_job_that_is_perhaps_submitted_is_not_cancelled_blindly),
        cmocka_unit_test(every_sequence_of_news_keeps_the_rules),
        cmocka_unit_test(long_lives_keep_the_rules),
        cmocka_unit_test(every_end_is_noticed),
        cmocka_unit_test(a_life_goes_on_after_a_restart),
        cmocka_unit_test(questions_come_after_two_seconds_and_then_more_seldom),
        cmocka_unit_test(ends_are_noticed_late_by_a_twentieth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
