/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon reads its file again: what of it counts at once, and what when it is started again.
 */
#include "services/daemon_internal.h"
#include "services/notify.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_TEXT 600

enum settings_kind daemon_kind(const struct daemon_arguments *arguments)
{
    const char *dash = strrchr(arguments->program, '-'), *word = dash ? dash + 1 : arguments->program;
    if (strcmp(word, settings_kind_name(SETTINGS_SED)) == 0)
        return SETTINGS_SED;
    return strcmp(word, settings_kind_name(SETTINGS_AGENT)) == 0 ? SETTINGS_AGENT : SETTINGS_REDIRECTOR;
}

static const struct settings_node *node_of(enum settings_kind kind, const union settings_any *settings)
{
    return kind == SETTINGS_SED     ? &settings->sed.node
           : kind == SETTINGS_AGENT ? &settings->agent.node
                                    : &settings->redirector.node;
}

static void release(union settings_any *settings)
{
    if (settings)
        settings_destroy(&settings->arena);
    free(settings);
}

/* NULL with the error. */
static union settings_any *read_file(const struct daemon *daemon, struct esp_error *error)
{
    union settings_any *settings = calloc(1, sizeof *settings);
    if (!settings)
        error_no_memory(error, "the settings");
    else if (settings_load(daemon_kind(daemon->arguments), daemon->arguments->path, settings, error) ==
             ESP_OK)
        return settings;
    free(settings);
    return NULL;
}

/* As it is in the file: what the daemon uses may have been completed by what it found elsewhere. */
void daemon_note_begun(struct daemon *daemon)
{
    struct esp_error unread;
    daemon->begun = read_file(daemon, &unread);
}

void daemon_forget_read(struct daemon *daemon)
{
    release(daemon->begun);
    release(daemon->now);
}

/* What is wrong with the file is logged; the daemon goes on as it was. */
void daemon_read_again(struct daemon *daemon, daemon_reloader *reload, void *arg)
{
    const enum settings_kind kind = daemon_kind(daemon->arguments);
    struct esp_error error = {0}, log = {0};
    char pending[PENDING_TEXT] = "";
    notify_reloading();
    union settings_any *now = read_file(daemon, &error);
    if (!now)
        log_error("the configuration is not read again: %s", error.text);
    else if (daemon->begun)
        config_differences(settings_schema(kind), daemon->begun, now, pending, sizeof pending);
    if ((now ? daemon_open_log(daemon->settings, node_of(kind, now)->log_level, &log) : log_reopen(&log)) !=
        ESP_OK)
        log_error("%s", log.text);
    if (now)
        log_notice("configuration read again%s%s", *pending ? "; what counts at the next start only: " : "",
                   pending);
    const struct daemon_reload read = {now ? ESP_OK : error.status, &error, now, pending};
    const bool taken = reload && reload(arg, &read);
    release(taken ? daemon->now : now);
    if (taken)
        daemon->now = now;
    notify_systemd("READY=1");
}
