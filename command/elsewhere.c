/* SPDX-License-Identifier: Apache-2.0 */
#include "command/elsewhere.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the machines, and what came of it. */
struct there {
    struct deploy deploy; /* with the command there */
    double timeout_s;
    char host[256];
    enum esp_status status;
    struct esp_error error;
};

static void stop_there(void *arg)
{
    struct there *there = arg;
    there->status = deploy_down(&there->deploy, there->host, there->timeout_s, &there->error);
}

void elsewhere_stop(struct elsewhere *elsewhere, const struct platform_record *records, size_t n)
{
    elsewhere->work = calloc(n + 1, sizeof *elsewhere->work);
    elsewhere->there = calloc(n + 1, sizeof *elsewhere->there);
    for (size_t i = 0; elsewhere->work && elsewhere->there && i < n; i++) {
        if (strcmp(records[i].kind, "host") != 0)
            continue;
        struct there *there = &elsewhere->there[elsewhere->n];
        *there = (struct there){.deploy = elsewhere->deploy, .timeout_s = elsewhere->timeout_s};
        snprintf(there->host, sizeof there->host, "%.*s", (int)strcspn(records[i].name, " "),
                 records[i].name);
        if (!there->deploy.command)
            there->deploy.command = deploy_noted_command(records[i].name);
        elsewhere->work[elsewhere->n++] =
            (struct machine_work){.host = there->host, .run = stop_there, .arg = there};
    }
    machines_begin(&elsewhere->machines, elsewhere->work, elsewhere->n);
}

static void note_again(const struct elsewhere *elsewhere, const struct there *there,
                       const struct command_line *command)
{
    struct esp_error error;
    bool noted;
    if (deploy_note_host(&there->deploy, there->host, &noted, &error) != ESP_OK)
        command_fail(command, &error);
    else
        command_progress(command, "%s: 'espalier down %s' tries again", there->host,
                         elsewhere->deploy.state.name);
}

enum exit_code elsewhere_await(struct elsewhere *elsewhere, const struct command_line *command, bool *again)
{
    enum exit_code code = EXIT_DONE;
    struct esp_error memory;
    *again = false;
    machines_end(&elsewhere->machines);
    if (!elsewhere->work || !elsewhere->there) {
        error_no_memory(&memory, "the platform's other machines");
        code = command_fail(command, &memory);
    }
    for (size_t i = 0; i < elsewhere->n; i++) {
        const struct there *there = &elsewhere->there[i];
        if (there->status == ESP_OK)
            continue;
        code = command_fail(command, &there->error);
        if (there->status == ESP_FAILED)
            continue; /* it was reached, and says that there is nothing to stop, or why it does not */
        note_again(elsewhere, there, command);
        *again = true;
    }
    free(elsewhere->work);
    free(elsewhere->there);
    return code;
}
