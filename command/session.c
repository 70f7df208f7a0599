/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/session.h"

#include "command/constraints.h"
#include "command/platform_state.h"
#include "command/table.h"
#include "core/message/session_ranks.h"
#include "services/settings.h"
#include "util/clock.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the client file is, as far as the command itself decides: NULL leaves it to the library. */
static enum esp_status choose_config(const struct command_line *command, char *path, size_t size,
                                     const char **config, struct esp_error *error)
{
    const char *platform = command_option_value(command, "platform");
    *config = command_option_value(command, "config");
    if (*config && platform)
        return error_set(error, ESP_INVALID, "--config and --platform say both where the platform is");
    if (*config || (!platform && getenv("ESPALIER_CONFIG")))
        return ESP_OK;
    if (platform && strchr(platform, '/'))
        return error_set(error, ESP_INVALID, "--platform: expected a platform's name, found '%.100s'",
                         platform);
    struct platform_state state;
    enum esp_status status =
        platform_state_locate(platform ? platform : PLATFORM_DEFAULT_NAME, &state, error);
    if (status == ESP_OK) {
        snprintf(path, size, "%s/client.conf", state.dir);
        if (access(path, R_OK) == 0) {
            *config = path;
            return ESP_OK;
        }
    }
    if (platform)
        return status == ESP_OK ? error_set(error, ESP_UNREACHABLE,
                                            "no platform '%s' runs here: 'espalier up' starts one", platform)
                                : status;
    return ESP_OK;
}

/* Nothing says where a platform is: tell how to get one, not which key a file lacks. */
static bool nothing_names_a_platform(const struct esp_options *options)
{
    char path[PATH_MAX];
    if (options->config || options->redirector || options->agent || getenv("ESPALIER_CONFIG"))
        return false;
    settings_client_path(path, sizeof path);
    return access(path, F_OK) != 0;
}

static void no_platform(struct esp_error *error)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    char started[128], own[128], last[PATH_MAX];
    platform_state_names(started, sizeof started);
    snprintf(own, sizeof own, "%.90s/espalier/client.conf", folder && *folder ? folder : "~/.config");
    settings_client_path(last, sizeof last);
    if (*started)
        error_set(error, ESP_UNREACHABLE,
                  "no platform is known: name one that was started here with --platform (%s), or another "
                  "one with --redirector, --config or $ESPALIER_CONFIG (looked for %s and %.100s)",
                  started, own, last);
    else
        error_set(error, ESP_UNREACHABLE,
                  "no platform is known: start one here with 'espalier up', or name one with --redirector, "
                  "--config or $ESPALIER_CONFIG (looked for %s and %.100s)",
                  own, last);
}

enum manner {
    USUAL,
    SERVERS_ONLY, /* where no platform is known, servers are asked that are known by their addresses */
    PATIENT,      /* --timeout is what an answer may take, also where the file says less */
};

static enum exit_code open_session(const struct command_line *command, enum manner manner)
{
    struct esp_error error = {0};
    char path[PATH_MAX];
    struct esp_options options = {.redirector = command_option_value(command, "redirector"),
                                  .agent = command_option_value(command, "agent"),
                                  .call_timeout_wins = manner == PATIENT};
    if (session_timeout(command, &options.call_timeout_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (options.redirector && options.agent)
        return command_usage(command, "--redirector and --agent say both where the platform is");
    if (options.redirector || options.agent)
        options.config = command_option_value(command, "config");
    else if (choose_config(command, path, sizeof path, &options.config, &error) != ESP_OK)
        return command_fail(command, &error);
    const bool nothing = nothing_names_a_platform(&options);
    options.servers_only = nothing && manner == SERVERS_ONLY;
    if (nothing && manner != SERVERS_ONLY) {
        if (esp_network_check() != ESP_OK)
            return command_fail(command, esp_last_error());
        no_platform(&error);
        return command_fail(command, &error);
    }
    if (esp_initialize(&options) == ESP_OK)
        return EXIT_DONE;
    error = *esp_last_error();
    return command_fail(command, &error);
}

enum exit_code session_open(const struct command_line *command)
{
    return open_session(command, USUAL);
}

enum exit_code session_open_for_jobs(const struct command_line *command)
{
    return open_session(command, SERVERS_ONLY);
}

/* Until the process ends, which it does behind its verb. */
enum exit_code session_within(const struct command_line *command, enum exit_code opened)
{
    double all_s;
    struct esp_error unread;
    if (opened == EXIT_DONE && session_timeout(command, &all_s, &unread) == ESP_OK && all_s > 0)
        esp_deadline_begin(all_s);
    return opened;
}

enum exit_code session_open_for_data(const struct command_line *command)
{
    return open_session(command, PATIENT);
}

enum exit_code session_fail_with(const struct command_line *command, const struct esp_error *error)
{
    const enum exit_code code = command_fail(command, error);
    return error->status == ESP_NOT_FOUND ? EXIT_UNREACHABLE : code;
}

enum exit_code session_fail(const struct command_line *command)
{
    const struct esp_error error = *esp_last_error();
    return session_fail_with(command, &error);
}

enum esp_status session_told(enum esp_status status, struct esp_error *error)
{
    if (status != ESP_OK && error)
        *error = *esp_last_error();
    return status;
}

enum exit_code session_fail_kept(const struct command_line *command)
{
    const bool gone = esp_last_error()->status == ESP_NOT_FOUND;
    enum exit_code code = session_fail(command);
    return gone ? EXIT_GONE : code;
}

enum esp_status session_timeout(const struct command_line *command, double *seconds, struct esp_error *error)
{
    const char *text = command_option_value(command, "timeout");
    int64_t ns = 0;
    *seconds = 0;
    if (!text)
        return ESP_OK;
    if (config_read_duration(text, &ns, error) != ESP_OK || ns <= 0)
        return error_set(error, ESP_INVALID, "--timeout: expected a time such as '30 s', found '%s'", text);
    *seconds = (double)ns / 1e9;
    return ESP_OK;
}

static int64_t used_ns; /* of --timeout: what is between look-ups and calls (reading files) does not count */

void session_called(int64_t since_ns)
{
    used_ns += clock_now_ns(&clock_system) - since_ns;
}

enum esp_status session_time_left(const struct command_line *command, double *seconds,
                                  struct esp_error *error)
{
    double all_s;
    enum esp_status status = session_timeout(command, &all_s, error);
    *seconds = all_s > 0 ? all_s - (double)used_ns / NS_PER_S : 0;
    if (status == ESP_OK && all_s > 0 && *seconds <= 0)
        status = error_set(error, ESP_TIMEOUT,
                           "the %.3g s of --timeout are over: finding the problem, its data and servers, and "
                           "calls, took %.3g s",
                           all_s, (double)used_ns / NS_PER_S);
    return status;
}

/* ---- look-ups ---- */

struct look_up {
    int64_t begun_ns, before;
};

static enum esp_status look_up_begin(const struct command_line *command, struct look_up *look_up,
                                     struct esp_error *error)
{
    double left_s;
    enum esp_status status = session_time_left(command, &left_s, error);
    look_up->begun_ns = clock_now_ns(&clock_system);
    look_up->before = esp_deadline_begin(left_s);
    return status;
}

/* `found`: by the library. */
static enum esp_status look_up_end(const struct look_up *look_up, enum esp_status status, bool found,
                                   struct esp_error *error)
{
    esp_deadline_end(look_up->before);
    session_called(look_up->begun_ns);
    if (status != ESP_OK || found)
        return status;
    *error = *esp_last_error();
    return error->status;
}

enum esp_status session_describe(const struct command_line *command, const char *name,
                                 struct esp_problem **problem, struct esp_error *error)
{
    struct look_up look_up;
    const enum esp_status status = look_up_begin(command, &look_up, error);
    const bool found = status == ESP_OK && esp_problem_describe(name, problem) == ESP_OK;
    return look_up_end(&look_up, status, found, error);
}

enum esp_status session_find(const struct command_line *command, const char *problem, const char *server,
                             grpc_function_handle_t *handle, struct esp_error *error)
{
    struct look_up look_up;
    const enum esp_status status = look_up_begin(command, &look_up, error);
    const bool found =
        status == ESP_OK && (server ? grpc_function_handle_init(handle, (char *)server, (char *)problem)
                                    : grpc_function_handle_default(handle, (char *)problem)) == GRPC_NO_ERROR;
    return look_up_end(&look_up, status, found, error);
}

static int64_t look_given_ns; /* to those of data */

enum esp_status session_look_begin(const struct command_line *command, int64_t *look_ns,
                                   struct esp_error *error)
{
    double left_s;
    const enum esp_status status = session_time_left(command, &left_s, error);
    *look_ns = look_given_ns = status == ESP_OK ? (int64_t)(fmin(left_s, 1e9) * NS_PER_S) : 0;
    return status;
}

void session_look_end(int64_t look_ns)
{
    used_ns += look_given_ns - look_ns;
    look_given_ns = look_ns;
}

enum exit_code session_handle(const struct command_line *command, const char *problem,
                              grpc_function_handle_t *handle)
{
    struct esp_error error;
    return session_find(command, problem, constraints_bound(command), handle, &error) == ESP_OK
               ? EXIT_DONE
               : session_fail_with(command, &error);
}

static const char *candidate_note(const struct esp_session_info *info, const struct esp_candidate *candidate)
{
    if (!candidate->tried)
        return "";
    if (candidate->status != ESP_OK)
        return esp_status_string(candidate->status);
    return strcmp(candidate->server, info->server) == 0 ? "<- chosen" : "";
}

/* A session that was bound to a server has nobody to compare. */
static bool is_compared(const struct esp_session_info *info)
{
    for (size_t i = 0; i < info->n_candidates; i++)
        if (info->candidates[i].compute_s > 0 || info->candidates[i].queue_s > 0 ||
            info->candidates[i].transfer_s > 0)
            return true;
    return info->n_candidates > 1;
}

/* What no other part names: opening connections, and what the client itself does between the steps. */
static double session_rest(const struct esp_session_info *info)
{
    double rest = info->total_s - info->compute_s - info->queue_s - info->wait_s - info->transfer_s -
                  info->fetch_s - info->submit_s;
    return rest > 0 ? rest : 0;
}

static void print_candidates(const struct esp_session_info *info, FILE *stream)
{
    static const char *const headings[] = {"server", ">computation", ">queue", ">transfer",
                                           ">total", ">+-",          ""};
    struct table table;
    char text[5][QUANTITY_TEXT];
    table_init(&table, 7, headings);
    for (size_t i = 0; i < info->n_candidates; i++) {
        const struct esp_candidate *candidate = &info->candidates[i];
        double total = candidate->compute_s + candidate->queue_s + candidate->transfer_s;
        table_cell(&table, "%s", candidate->server);
        table_cell(&table, "%s", quantity_seconds(candidate->compute_s, text[0]));
        table_cell(&table, "%s", quantity_seconds(candidate->queue_s, text[1]));
        table_cell(&table, "%s", quantity_seconds(candidate->transfer_s, text[2]));
        table_cell(&table, "%s", quantity_seconds(total, text[3]));
        table_cell(&table, "%s", quantity_seconds(candidate->error_s, text[4]));
        table_cell(&table, "%s", candidate_note(info, candidate));
    }
    fprintf(stream, "Candidates for %s, of %u server%s that can, with their forecasts (%s):\n", info->problem,
            info->capable, info->capable == 1 ? "" : "s",
            info->asked ? "the tree was asked" : "the agents answered from memory");
    table_print(&table, 2, stream);
}

static struct session_ranks ranks_of(const struct esp_session_info *info)
{
    return (struct session_ranks){info->first_rank, info->grid_rows, info->grid_cols, info->grid_block};
}

void session_print(const struct esp_session_info *info, FILE *stream)
{
    const struct session_ranks ranks = ranks_of(info);
    char text[6][QUANTITY_TEXT], ranks_text[SESSION_RANKS_TEXT], fetched[QUANTITY_TEXT + 32] = "";
    const bool compared = is_compared(info);
    if (compared)
        print_candidates(info, stream);
    fprintf(stream, "Server    %s, session %s\n", *info->server ? info->server : "none", info->id);
    if (compared || info->forecast_s > 0)
        fprintf(stream, "Forecast  %s: computation %s, queue and transfer %s\n",
                quantity_seconds(info->forecast_s, text[0]),
                quantity_seconds(info->forecast_compute_s, text[1]),
                quantity_seconds(info->forecast_s - info->forecast_compute_s, text[2]));
    if (info->compute_s > 0)
        fprintf(stream, "Computed  by %s\n", session_ranks_text(&ranks, ranks_text));
    if (info->fetch_s > 0)
        snprintf(fetched, sizeof fetched, "fetching its data %s, ", quantity_seconds(info->fetch_s, text[0]));
    fprintf(
        stream,
        "Took      %s: computation %s, queue %s, transfer %s, %schoosing %s, connections and the client's "
        "own work %s\n",
        quantity_seconds(info->total_s, text[0]), quantity_seconds(info->compute_s, text[1]),
        quantity_seconds(info->queue_s + info->wait_s, text[2]), quantity_seconds(info->transfer_s, text[3]),
        fetched, quantity_seconds(info->submit_s, text[4]), quantity_seconds(session_rest(info), text[5]));
}

static json_t *candidate_json(const struct esp_candidate *candidate)
{
    json_t *value = json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:b}", "server", candidate->server, "address",
                              candidate->address, "compute_s", candidate->compute_s, "queue_s",
                              candidate->queue_s, "transfer_s", candidate->transfer_s, "error_s",
                              candidate->error_s, "tried", candidate->tried);
    if (value && candidate->tried)
        json_object_set_new(value, "outcome", status_json(candidate->status));
    return value;
}

json_t *session_data_json(const struct esp_session_datum *data, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "argument", data[i].argument, "side",
                                              data[i].side == ESP_SESSION_INPUTS ? "input" : "output", "id",
                                              data[i].id));
    return list;
}

/* null: nobody has computed it. */
static json_t *computed_by_json(const struct esp_session_info *info)
{
    if (!(info->compute_s > 0))
        return json_null();
    if (info->grid_rows == 0)
        return json_pack("{s:s}", "kind", "worker");
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "kind", "ranks", "first", (int)info->first_rank,
                     "last", (int)(info->first_rank + info->grid_rows * info->grid_cols - 1), "rows",
                     (int)info->grid_rows, "cols", (int)info->grid_cols, "block", (int)info->grid_block);
}

const char *session_note(const struct esp_session_info *info)
{
    return info->error.status == ESP_OK ? info->error.text : "";
}

void session_print_note(const struct esp_session_info *info, const char *problem)
{
    const char *note = session_note(info);
    if (*note)
        fprintf(stderr, "%s: note: %s\n", problem, note);
}

json_t *session_json(const struct esp_session_info *info)
{
    json_t *candidates = json_array();
    for (size_t i = 0; i < info->n_candidates; i++)
        json_array_append_new(candidates, candidate_json(&info->candidates[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:b, "
                     "s:o, s:o, s:o}",
                     "id", info->id, "note", session_note(info), "problem", info->problem, "server",
                     info->server, "submit_s", info->submit_s, "wait_s", info->wait_s, "transfer_s",
                     info->transfer_s, "fetch_s", info->fetch_s, "queue_s", info->queue_s, "compute_s",
                     info->compute_s, "other_s", session_rest(info), "total_s", info->total_s, "forecast_s",
                     info->forecast_s, "forecast_compute_s", info->forecast_compute_s, "forecast_error_s",
                     info->forecast_error_s, "capable", (int)info->capable, "asked", info->asked,
                     "candidates", candidates, "data", session_data_json(info->data, info->n_data),
                     "computed_by", computed_by_json(info));
}
