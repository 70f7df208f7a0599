/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data: rm, cp, mv.
 */
#include "config.h"

#include "command/admin.h"
#include "command/layout.h"
#include "command/moving.h"
#include "command/session.h"
#include "command/verb_data.h"
#include "command/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --force: with whom cannot be reached one is done, which is told. */
static enum esp_status remove_one(const struct command_line *command, const char *id)
{
    char *left = NULL, text[1536];
    if (!command_option_value(command, "force"))
        return esp_data_drop(id);
    const enum esp_status status = esp_data_give_up(id, &left);
    if (status == ESP_OK && *left) {
        snprintf(text, sizeof text,
                 "%s is given up on %s, which cannot be reached: it goes there when that is back", id, left);
        command_complain(command->verb->name, text);
    }
    free(left);
    return status;
}

/* What of a session was there before it stays. What could not be deleted can be named by the session still.
 */
static enum exit_code remove_meant(const struct command_line *command, const struct meant *meant)
{
    enum exit_code worst = EXIT_DONE;
    bool all = true;
    size_t n_wanted = 0;
    for (size_t i = 0; i < meant->n; i++) {
        const bool wanted = !meant->is_session || meant->data[i].own;
        n_wanted += wanted;
        const enum esp_status status = wanted ? remove_one(command, meant->data[i].id) : ESP_OK;
        all = all && (status == ESP_OK || status == ESP_NOT_FOUND);
        if (status == ESP_NOT_FOUND && meant->is_session)
            continue; /* what went before need not go */
        if (status != ESP_OK)
            worst = session_fail_kept(command); /* the others go all the same */
    }
    if (meant->is_session && meant->n > n_wanted)
        fprintf(stderr, "espalier %s: %zu data of session %s were there before it, and stay\n",
                command->verb->name, meant->n - n_wanted, meant->session);
    if (meant->is_all && all)
        left_note_remove(meant->session);
    return worst;
}

/* Files that were set aside: those that are named, or all of a server. What cannot go is told, and the others
 * go all the same. */
static enum exit_code remove_damaged(const struct command_line *command)
{
    const char *server = command_option_value(command, "server");
    struct esp_data_info *infos = NULL;
    size_t n = 0;
    enum exit_code worst = EXIT_DONE;
    for (int i = 0; i < command->n_operands; i++) {
        const char *id = command->operands[i];
        if (esp_data_remove_damaged(strncmp(id, "data:", 5) == 0 ? id + 5 : id, server) != ESP_OK)
            worst = session_fail_kept(command);
    }
    if (command->n_operands == 0 && esp_data_list_damaged(server, &infos, &n) != ESP_OK)
        worst = session_fail(command);
    else if (command->n_operands == 0 && n == 0)
        command_progress(command, "%s has set aside no damaged data of yours", server);
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || strcmp(infos[i].id, infos[i - 1].id) != 0) &&
            esp_data_remove_damaged(infos[i].id, server) != ESP_OK)
            worst = session_fail_kept(command);
    esp_data_free(infos);
    return worst;
}

static enum exit_code check_rm(const struct command_line *command)
{
    const bool damaged = command_option_value(command, "damaged"),
               server = command_option_value(command, "server");
    if (server && !damaged)
        return command_usage(command, "expected --server with --damaged only: data go from all servers");
    if (damaged && command_option_value(command, "force"))
        return command_usage(command, "expected --damaged or --force, found both");
    if (command->n_operands == 0 && !(damaged && server))
        return command_usage(command, damaged
                                          ? "expected IDs, or --server NAME for all damaged files of a server"
                                          : "expected the IDs of the data");
    return EXIT_DONE;
}

enum exit_code verb_data_rm(const struct command_line *command)
{
    if (check_rm(command) != EXIT_DONE)
        return EXIT_USAGE;
    enum exit_code code = session_open_for_data(command), worst = code;
    if (code == EXIT_DONE && command_option_value(command, "damaged")) {
        worst = remove_damaged(command);
        grpc_finalize();
        return worst;
    }
    for (int i = 0; code == EXIT_DONE && i < command->n_operands; i++) {
        struct meant meant;
        enum exit_code one = data_meant(command, command->operands[i], &meant);
        if (one == EXIT_DONE) {
            one = remove_meant(command, &meant);
            free(meant.data);
        }
        worst = one != EXIT_DONE ? one : worst;
    }
    if (code == EXIT_DONE)
        grpc_finalize();
    return worst;
}

/* The datum is not there (any more), or the server is not. */
static enum exit_code fail_copying(const struct command_line *command, const char *id)
{
    struct esp_error error = *esp_last_error();
    struct esp_data_info *infos;
    size_t n;
    if (error.status != ESP_NOT_FOUND)
        return session_fail(command);
    const bool is_there = esp_data_look(id, &infos, &n) == ESP_OK;
    const bool is_gone = !is_there && esp_last_error()->status == ESP_NOT_FOUND;
    if (is_there)
        esp_data_free(infos);
    command_fail(command, &error);
    return is_gone ? EXIT_GONE : EXIT_UNREACHABLE;
}

static enum exit_code copy_one(const struct command_line *command, const char *id, const char *to, bool move)
{
    struct moving moving;
    moving_begin(&moving);
    enum esp_status status = move && command_option_value(command, "force")
                                 ? esp_data_adopt(id, to, moving_told, &moving)
                                 : esp_data_copy(id, to, move, moving_told, &moving);
    moving_end(&moving);
    return status == ESP_OK ? EXIT_DONE : fail_copying(command, id);
}

/* How many data a server keeps for good, whoever owns them. False: the server does not tell that, as the user
 * is no administrator. */
static bool count_originals(const char *server, unsigned long long *n)
{
    struct view view = {0};
    char *text = NULL;
    const struct esp_node *node =
        esp_tree(NULL, &view.nodes, &view.n) == ESP_OK ? view_there(&view, server) : NULL;
    const bool is_known = node && admin_send(&view, node, "originals", NULL, 0, NULL, &text) == ESP_OK &&
                          text && sscanf(text, "%*x %llu", n) == 1;
    free(text);
    view_close(&view);
    return is_known;
}

/* Says which data of a server were not copied or moved: replicas, and what belongs to others. */
static enum exit_code tell_left(const struct command_line *command, const char *from, bool move,
                                const struct esp_data_info *infos, size_t n)
{
    size_t replicas = 0, own = 0;
    struct esp_error error;
    for (size_t i = 0; i < n; i++) {
        replicas += infos[i].replica != 0;
        own += !infos[i].replica && infos[i].mode != ESP_DATA_VOLATILE;
    }
    unsigned long long originals = 0;
    const bool is_known = count_originals(from, &originals);
    if (move && replicas > 0)
        fprintf(stderr, "espalier %s: %zu replica%s of data of other servers stay%s on %s\n",
                command->verb->name, replicas, replicas == 1 ? "" : "s", replicas == 1 ? "s" : "", from);
    if (is_known && originals > own)
        error_set(&error, ESP_REFUSED,
                  "%llu data on '%s' belong to others and were not %s: only their owners may do that",
                  originals - own, from, move ? "moved" : "copied");
    else if (n == 0 && !is_known)
        error_set(&error, ESP_REFUSED,
                  "nothing was %s: '%s' has no data of yours, and tells only administrators whether it has "
                  "data of others",
                  move ? "moved" : "copied", from);
    else
        return EXIT_DONE;
    return command_fail(command, &error);
}

/* Whether a server is there. Where nothing is copied, nobody else notices that it is not. */
static bool is_there(const char *server)
{
    struct esp_data_info *infos;
    size_t n;
    if (esp_data_list(server, &infos, &n) != ESP_OK)
        return esp_last_error()->status != ESP_NOT_FOUND && esp_last_error()->status != ESP_NO_SERVER;
    esp_data_free(infos);
    return true;
}

/* Copies or moves what it can. Replicas are not moved: their originals are on other servers. */
static enum exit_code copy_all(const struct command_line *command, const char *from, const char *to,
                               bool move)
{
    struct esp_data_info *infos;
    size_t n = 0, copied = 0;
    if (!is_there(to))
        return session_fail(command);
    const bool listed = esp_data_list(from, &infos, &n) == ESP_OK;
    enum exit_code worst = listed ? EXIT_DONE : session_fail(command);
    const enum exit_code left = listed ? tell_left(command, from, move, infos, n) : EXIT_DONE;
    for (size_t i = 0; i < n; i++) {
        if (infos[i].replica && move)
            continue;
        const enum exit_code code = copy_one(command, infos[i].id, to, move);
        worst = code != EXIT_DONE ? code : worst;
        copied += code == EXIT_DONE;
    }
    if (listed)
        command_progress(command, "%zu data %s from %s to %s", copied, move ? "moved" : "copied", from, to);
    esp_data_free(infos);
    return worst != EXIT_DONE ? worst : left;
}

static enum exit_code copy_each(const struct command_line *command, const char *to, bool move)
{
    enum exit_code worst = EXIT_DONE;
    for (int i = 0; i < command->n_operands - 1; i++) {
        struct meant meant;
        enum exit_code code = data_meant(command, command->operands[i], &meant);
        worst = code != EXIT_DONE ? code : worst; /* the others go all the same */
        for (size_t k = 0; code == EXIT_DONE && k < meant.n; k++) {
            enum exit_code one = copy_one(command, meant.data[k].id, to, move);
            worst = one != EXIT_DONE ? one : worst;
        }
        if (code == EXIT_DONE)
            free(meant.data);
    }
    return worst;
}

static enum exit_code print_identity(const struct command_line *command, const char *id)
{
    if (command->json)
        return command_json(json_pack("{s:s}", "id", id));
    puts(id);
    return command_flush();
}

/* Another datum of the same value, that lies otherwise. */
static enum exit_code redistribute(const struct command_line *command, const char *id, const char *to,
                                   const struct esp_data_layout *layout, bool move)
{
    char *made = NULL;
    struct moving moving;
    moving_begin(&moving);
    enum esp_status status = esp_data_redistribute(id, to, layout, moving_told, &moving, &made);
    moving_end(&moving);
    if (status != ESP_OK)
        return fail_copying(command, id);
    enum exit_code code = print_identity(command, made);
    if (code != EXIT_DONE) /* nobody knows it */
        esp_data_drop(made);
    else if (move && esp_data_drop(id) != ESP_OK)
        code = session_fail_kept(command);
    free(made);
    return code;
}

static enum exit_code redistribute_meant(const struct command_line *command, const char *to,
                                         const struct esp_data_layout *layout, bool move)
{
    struct meant meant;
    enum exit_code code = data_meant(command, command->operands[0], &meant);
    if (code != EXIT_DONE)
        return code;
    code = meant.n == 1
               ? redistribute(command, meant.data[0].id, to, layout, move)
               : command_usage(command, "expected one datum with --grid and --block, found %zu", meant.n);
    free(meant.data);
    return code;
}

static enum exit_code copy(const struct command_line *command, bool move)
{
    struct esp_error error = {0};
    struct esp_data_layout layout;
    bool in_pieces;
    const char *from = command_option_value(command, "from");
    if (from && command->n_operands > 1)
        return command_usage(command, "expected an ID, or --from for all data of a server, found both");
    if (!from && command->n_operands == 1)
        return command_usage(command, "expected the IDs of data and a server, or --from SERVER and a server");
    if (layout_option(command, &in_pieces, &layout, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (move && (in_pieces || from) && command_option_value(command, "force"))
        return command_usage(command, "expected IDs and a server with --force");
    if (in_pieces && (from || command->n_operands != 2))
        return command_usage(command, "expected one ID and a server with --grid and --block");
    enum exit_code code = session_open_for_data(command);
    if (code != EXIT_DONE)
        return code;
    const char *to = command->operands[command->n_operands - 1];
    if (in_pieces) {
        code = redistribute_meant(command, to, &layout, move);
        if (code == EXIT_DONE) /* who does not answer is told by the order itself, and not asked twice */
            layout_remark(command, &layout, to);
    } else {
        code = from ? copy_all(command, from, to, move) : copy_each(command, to, move);
    }
    grpc_finalize();
    return code;
}

enum exit_code verb_data_cp(const struct command_line *command)
{
    return copy(command, false);
}

enum exit_code verb_data_mv(const struct command_line *command)
{
    return copy(command, true);
}
