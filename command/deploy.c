/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/deploy.h"
#include "command/remote.h"
#include "services/node_name.h"
#include "util/clock.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS (20 * NS_PER_MS)
#define HEADING "Written by 'espalier' for the platform '%s'."

const char *deploy_program(enum settings_kind kind)
{
    return kind == SETTINGS_SED     ? "espalier-sed"
           : kind == SETTINGS_AGENT ? "espalier-agent"
                                    : "espalier-redirector";
}

/* FOLDER/NAME.SUFFIX, unless the daemon's own section says where; NULL without memory. */
static char *path_of(const struct deploy *deploy, const struct deploy_daemon *daemon, const char *suffix,
                     char *said)
{
    char path[PATH_MAX];
    if (said)
        return said;
    snprintf(path, sizeof path, "%s/%s%s", deploy->files, daemon->node->name, suffix);
    return arena_strdup(daemon->arena, path);
}

/* Where the daemon's files are to be; what its section says of them itself stays. Makes nothing. */
static enum esp_status place_files(const struct deploy *deploy, struct deploy_daemon *daemon,
                                   struct launch *launch, struct esp_error *error)
{
    struct settings_node *node = daemon->node;
    const enum esp_status status = node_name_check_file(node->name, error);
    if (status != ESP_OK)
        return status;
    node->address_file = path_of(deploy, daemon, ".address", node->address_file);
    node->log_file = path_of(deploy, daemon, ".log", node->log_file);
    node->state_dir = path_of(deploy, daemon, "", node->state_dir);
    if (!node->http)
        node->http = arena_strdup(daemon->arena, "127.0.0.1:0");
    if (!node->address_file || !node->log_file || !node->state_dir || !node->http)
        return error_no_memory(error, "a daemon's files");
    snprintf(launch->config, sizeof launch->config, "%s/%s.conf", deploy->files, node->name);
    snprintf(launch->address_file, sizeof launch->address_file, "%s", node->address_file);
    snprintf(launch->log, sizeof launch->log, "%s", node->log_file);
    return ESP_OK;
}

static void describe(const struct deploy_daemon *daemon, struct launch *launch)
{
    *launch = (struct launch){.kind = daemon->role,
                              .program = deploy_program(daemon->kind),
                              .name = daemon->node->name,
                              .cpu_quota = daemon->cpu_quota};
}

enum esp_status deploy_write(const struct deploy *deploy, struct deploy_daemon *daemon, struct launch *launch,
                             struct esp_error *error)
{
    char heading[256];
    const char *said = daemon->node->state_dir; /* which the daemon makes itself */
    describe(daemon, launch);
    enum esp_status status = place_files(deploy, daemon, launch, error);
    if (status != ESP_OK)
        return status;
    if (!said && mkdir(daemon->node->state_dir, 0700) != 0 && errno != EEXIST)
        return error_errno(error, "cannot create %s", daemon->node->state_dir);
    snprintf(heading, sizeof heading, HEADING, deploy->state.name);
    return settings_save(daemon->kind, daemon->settings, heading, launch->config, error);
}

enum esp_status deploy_here(const struct deploy *deploy, struct deploy_daemon *daemon, struct launch *launch,
                            struct esp_error *error)
{
    enum esp_status status = deploy_write(deploy, daemon, launch, error);
    launch->together = daemon->together;
    return status == ESP_OK ? launch_start(&deploy->state, launch, error) : status;
}

enum esp_status deploy_wait(struct launch *launch, int64_t patience_ns, struct esp_error *error)
{
    const struct timespec pause = {0, POLL_NS};
    const int64_t until_ns = clock_now_ns(&clock_system) + patience_ns;
    while (!launch_ready(launch)) {
        if (launch_died(launch, error))
            return ESP_SYSTEM;
        if (clock_now_ns(&clock_system) >= until_ns)
            return error_set(error, ESP_TIMEOUT, "%s %s did not tell its address within %.3g s; its log: %s",
                             launch->kind, launch->name, (double)patience_ns / 1e9, launch->log);
        nanosleep(&pause, NULL);
    }
    return ESP_OK;
}

/* ---- on another machine ---- */

/* The daemon's file as a text, to be freed; NULL with the error. */
static char *text_of(const struct deploy *deploy, const struct deploy_daemon *daemon, struct esp_error *error)
{
    char heading[256], *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    snprintf(heading, sizeof heading, HEADING, deploy->state.name);
    if (stream)
        config_write(settings_schema(daemon->kind), daemon->settings, heading, stream);
    if (stream && fclose(stream) == 0)
        return text;
    error_no_memory(error, "a daemon's file");
    return NULL;
}

/* The next line of a daemon's file that says how it is to work; NULL: there is none. */
static char *next_setting(FILE *stream, char *line, size_t size)
{
    static const char *const places[] = {"#", "parent ", "parents ", "redirector ", "redirectors "};
    while (fgets(line, (int)size, stream)) {
        bool place = *line == '\n';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            place = place || strncmp(line, places[i], strlen(places[i])) == 0;
        if (!place)
            return line;
    }
    return NULL;
}

static bool same_settings(FILE *a, FILE *b)
{
    char line_a[4096], line_b[4096];
    for (;;) {
        const char *x = next_setting(a, line_a, sizeof line_a), *y = next_setting(b, line_b, sizeof line_b);
        if (!x || !y)
            return !x && !y;
        if (strcmp(x, y) != 0)
            return false;
    }
}

enum esp_status deploy_differs(const struct deploy *deploy, struct deploy_daemon *daemon, bool *differs,
                               struct esp_error *error)
{
    struct launch launch;
    *differs = false;
    describe(daemon, &launch);
    enum esp_status status = place_files(deploy, daemon, &launch, error);
    FILE *there = status == ESP_OK ? fopen(launch.config, "re") : NULL;
    if (!there)
        return status;
    char *text = text_of(deploy, daemon, error);
    FILE *wanted = text ? fmemopen(text, strlen(text), "r") : NULL;
    if (wanted)
        *differs = !same_settings(there, wanted);
    else
        status = error_no_memory(error, "a daemon's file");
    if (wanted)
        fclose(wanted);
    free(text);
    fclose(there);
    return status;
}

static const char *remote_command(const struct deploy *deploy)
{
    return deploy->command ? deploy->command : "espalier";
}

static enum esp_status read_answer(const char *host, const char *answer, struct launch *launch,
                                   struct esp_error *error)
{
    json_error_t why;
    json_t *root = json_loads(answer, 0, &why);
    const char *address = json_string_value(json_object_get(root, "address"));
    enum esp_status status = ESP_OK;
    if (address)
        snprintf(launch->address, sizeof launch->address, "%s", address);
    else
        status =
            error_set(error, ESP_FAILED,
                      "%s: expected the daemon's address from 'espalier admin add' there, found \"%.80s\"",
                      host, answer);
    json_decref(root);
    return status;
}

static struct platform_record host_record(const struct deploy *deploy, const char *host)
{
    struct platform_record row = {.kind = "host"};
    snprintf(row.name, sizeof row.name, "%s%s%s", host, deploy->command ? " " : "",
             deploy->command ? deploy->command : "");
    return row;
}

const char *deploy_noted_command(const char *name)
{
    const char *blank = strchr(name, ' ');
    return blank ? blank + 1 : NULL;
}

static bool is_host(const struct platform_record *record, const char *host)
{
    const size_t n = strlen(host);
    return strcmp(record->kind, "host") == 0 && strncmp(record->name, host, n) == 0 &&
           (record->name[n] == ' ' || !record->name[n]);
}

/* Once for each machine; whose daemons are started one after the other (command/machines.h). */
enum esp_status deploy_note_host(const struct deploy *deploy, const char *host, bool *noted,
                                 struct esp_error *error)
{
    const struct platform_record row = host_record(deploy, host);
    struct platform_record *records = NULL;
    size_t n = 0;
    enum esp_status status = platform_record_list(&deploy->state, &records, &n, error);
    *noted = status == ESP_OK;
    for (size_t i = 0; i < n; i++)
        *noted = *noted && !is_host(&records[i], host);
    free(records);
    return *noted ? platform_record_add(&deploy->state, &row, error) : status;
}

enum esp_status deploy_there(const struct deploy *deploy, const char *host, struct deploy_daemon *daemon,
                             double timeout_s, struct launch *launch, struct esp_error *error)
{
    const char *const words[] = {remote_command(deploy),
                                 "admin",
                                 "add",
                                 "-",
                                 "--as",
                                 settings_kind_name(daemon->kind),
                                 "--no-wait",
                                 "--json",
                                 "--platform",
                                 deploy->state.name,
                                 NULL};
    if (settings_is_loopback(daemon->node->listen))
        return error_set(error, ESP_CONFIG,
                         "\"%s\" is to run on %s: expected listen = \"ADDRESS:0\" of an address by which it "
                         "is reached from here, found \"%s\"",
                         daemon->node->name, host, daemon->node->listen);
    char *answer = NULL, *text = text_of(deploy, daemon, error);
    describe(daemon, launch);
    if (!text)
        return error->status;
    /* Before: where ssh gets there something may run, whatever becomes of it, or of this process. */
    bool noted;
    enum esp_status status = deploy_note_host(deploy, host, &noted, error);
    if (status == ESP_OK)
        status = remote_run(host, words, text, (int64_t)(timeout_s * 1e9), &answer, error);
    if (noted && (status == ESP_UNREACHABLE || status == ESP_NOT_FOUND)) {
        const struct platform_record row = host_record(deploy, host);
        struct esp_error unread;
        platform_record_remove(&deploy->state, &row, &unread); /* else 'down' looks there in vain */
    }
    if (status == ESP_OK)
        status = read_answer(host, answer, launch, error);
    free(answer);
    free(text);
    return status;
}

enum esp_status deploy_down(const struct deploy *deploy, const char *host, double timeout_s,
                            struct esp_error *error)
{
    const char *const words[] = {remote_command(deploy), "down", deploy->state.name, NULL};
    char *answer = NULL;
    enum esp_status status = remote_run(host, words, "", (int64_t)(timeout_s * 1e9), &answer, error);
    free(answer);
    return status;
}
