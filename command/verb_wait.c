/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier wait: until jobs have ended, with a bar over all of them.
 */
#include "config.h"

#include "command/bar.h"
#include "command/jobs.h"
#include "command/printing.h"
#include "command/session.h"
#include "command/verbs.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define PATIENCE_S 0.5 /* for news of one, while others may have some */

struct waited {
    struct esp_job *job;
    struct esp_job_state state;
    uint64_t position; /* of its output, */
    const char *token; /* where it was at that time */
    bool over, failed;
    struct job_absence absence;
    struct printing printing;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void show_output(struct bar *bar, struct waited *waited)
{
    static char text[65536];
    size_t length;
    if (waited->token && waited->token != waited->job->token) {
        bar_clear(bar);
        fprintf(stderr, "[%s was lost with its server, and is called again by %s]\n", waited->job->id,
                waited->job->server);
        waited->position = 0;
    }
    waited->token = waited->job->token;
    do {
        uint64_t before = waited->position;
        if (esp_job_output(waited->job, 0, &waited->position, text, sizeof text, &length) != ESP_OK)
            return;
        if (length > 0)
            bar_clear(bar);
        if (waited->position - before > length)
            fprintf(stderr, "[%" PRIu64 " bytes of output are lost]\n", waited->position - before - length);
        printing_put(&waited->printing, text, length);
    } while (length > 0);
}

static void tell_end(const struct command_line *command, struct bar *bar, struct waited *waited,
                     enum exit_code *code)
{
    bar_clear(bar);
    printing_end(&waited->printing);
    if (waited->failed)
        fprintf(stderr, "espalier wait: %s %s: %s\n", waited->job->id, waited->state.state,
                waited->state.error.text);
    else
        command_progress(command, "%s is done", waited->job->id);
    if (waited->failed && *code == EXIT_DONE)
        *code = EXIT_FAILED;
}

static void look(const struct command_line *command, struct bar *bar, struct waited *waited,
                 double patience_s, enum exit_code *code)
{
    bool follow = command_option_value(command, "follow") != NULL;
    if (esp_job_look(waited->job, patience_s, &waited->state) != ESP_OK) {
        /* One that is cancelled ends in no other way, whenever its server answers. */
        const bool called_off = waited->state.state && strcmp(waited->state.state, "cancelled") == 0;
        if (!called_off && jobs_may_come_back(&waited->absence, patience_s))
            return;
        bar_clear(bar);
        waited->over = waited->failed = true;
        waited->state.state = called_off ? "cancelled" : "lost";
        waited->state.error = *esp_last_error();
        const enum exit_code failed = jobs_exit_code(waited->state.error.status);
        fprintf(stderr, "espalier wait: %s\n", waited->state.error.text);
        *code = *code == EXIT_DONE ? failed : *code;
        return;
    }
    waited->absence = (struct job_absence){0};
    if (follow)
        show_output(bar, waited);
    if (!job_has_ended(&waited->state))
        return;
    waited->over = true;
    waited->failed = waited->state.error.status != ESP_OK;
    tell_end(command, bar, waited, code);
}

static void draw(struct bar *bar, const struct waited *waited, size_t n)
{
    double sum = 0;
    size_t over = 0;
    for (size_t i = 0; i < n; i++) {
        over += waited[i].over;
        sum += waited[i].over ? 1 : waited[i].state.progress > 0 ? waited[i].state.progress : 0;
    }
    if (n == 1)
        bar_draw(bar, sum, "%s", waited[0].state.state ? waited[0].state.state : "");
    else
        bar_draw(bar, sum / (double)n, "%zu of %zu jobs", over, n);
}

/* One round: asks all that are left, and waits at the first of them. Returns how many are left. */
static size_t look_at_all(const struct command_line *command, struct bar *bar, struct waited *waited,
                          size_t n, double patience_s, enum exit_code *code)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (waited[i].over)
            continue;
        look(command, bar, &waited[i], left == 0 ? patience_s : 0, code);
        left += !waited[i].over;
        draw(bar, waited, n);
    }
    return left;
}

static enum exit_code wait_for_all(const struct command_line *command, struct waited *waited, size_t n)
{
    struct esp_error error = {0};
    double timeout_s;
    enum exit_code code = EXIT_DONE;
    struct bar bar;
    if (session_timeout(command, &timeout_s, &error) != ESP_OK)
        return command_fail(command, &error);
    double until_s = timeout_s > 0 ? now_s() + timeout_s : 0;
    bar_init(&bar);
    const double patience_s = timeout_s > 0 && timeout_s / 4 < PATIENCE_S ? timeout_s / 4 : PATIENCE_S;
    while (look_at_all(command, &bar, waited, n, patience_s, &code) > 0) {
        if (timeout_s == 0 || now_s() < until_s)
            continue;
        bar_clear(&bar);
        error_set(&error, ESP_TIMEOUT, "not all jobs ended within %.3g s; they go on", timeout_s);
        return command_fail(command, &error);
    }
    bar_clear(&bar);
    if (!command->json)
        return code;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "id", waited[i].job->id, "state",
                                              waited[i].state.state, "outcome",
                                              status_json(waited[i].state.error.status)));
    enum exit_code written = command_json(list);
    return code == EXIT_DONE ? written : code;
}

enum exit_code verb_wait(const struct command_line *command)
{
    size_t n = (size_t)command->n_operands;
    struct waited *waited = calloc(n, sizeof *waited);
    enum exit_code code = waited ? session_open_for_jobs(command) : EXIT_FAILED;
    if (code != EXIT_DONE) {
        free(waited);
        return code;
    }
    for (size_t i = 0; i < n && code == EXIT_DONE; i++)
        if (esp_job_find(command->operands[i], &waited[i].job) != ESP_OK)
            code = jobs_fail(command);
    if (code == EXIT_DONE)
        code = wait_for_all(command, waited, n);
    for (size_t i = 0; i < n; i++)
        esp_job_free(waited[i].job);
    free(waited);
    grpc_finalize();
    return code;
}
