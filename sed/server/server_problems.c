/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/server_state.h"

#include "core/choice/terms.h"
#include "util/escape.h"
#include "util/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What agents hear of problems that cannot be called here. */
struct problems_told {
    bool disabled_told; /* the parent has the present list of disabled problems */
    bool disabled_ever; /* some were disabled since the start */
    char *uncallable;   /* owned: value of EXTENSION_UNCALLABLE; NULL: never set */
    uint32_t uncallable_length;
};

/* Descriptions that travel in one message: well below its cap. */
#define MOST_TEXT_BYTES (1u << 20)

/* ---- shelves ---- */

static uint64_t catalog_digest(const struct shelf *shelf)
{
    uint64_t digest = 0;
    for (uint32_t i = 0; i < shelf->n_entries; i++) {
        char line[PROBLEM_MAX_NAME + 64];
        int length = snprintf(line, sizeof line, "%016" PRIx64 " %s %016" PRIx64, digest,
                              shelf->entries[i].problem, shelf->entries[i].digest);
        digest = digest_text(line, (size_t)length);
    }
    return digest ? digest : 1; /* 0 means no catalogue */
}

struct shelf *shelf_create(struct problem_set *set, struct esp_error *error)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    if (!shelf || !(shelf->entries = calloc(set->n_problems ? set->n_problems : 1, sizeof *shelf->entries))) {
        free(shelf);
        error_no_memory(error, "the list of problems");
        return NULL;
    }
    for (size_t i = 0; i < set->n_problems && i < CAP_RECORDS; i++)
        shelf->entries[shelf->n_entries++] =
            (struct catalog_entry){.problem = set->problems[i]->name, .digest = set->problems[i]->digest};
    shelf->set = set;
    shelf->digest = catalog_digest(shelf);
    shelf->users = 1;
    return shelf;
}

void shelf_release(struct shelf *shelf)
{
    if (!shelf || --shelf->users > 0)
        return;
    problem_set_destroy(shelf->set);
    free(shelf->entries);
    free(shelf);
}

enum esp_status server_set_problems(struct server *server, struct problem_set *problems,
                                    struct esp_error *error)
{
    struct shelf *shelf = shelf_create(problems, error);
    if (!shelf) {
        problem_set_destroy(problems);
        return error->status;
    }
    endpoint_enter(server->endpoint);
    bool same = shelf->digest == server->shelf->digest;
    shelf_release(server->shelf);
    server->shelf = shelf;
    server->problems->disabled_told = false;
    log_notice("%zu problems%s", problems->n_problems, same ? ", the same signatures as before" : "");
    membership_touch(server->membership, 0);
    endpoint_leave(server->endpoint);
    return ESP_OK;
}

void server_set_uncallable(struct server *server, const char *texts, uint32_t length)
{
    char *copy = calloc(length + 1, 1);
    if (server->endpoint)
        endpoint_enter(server->endpoint);
    if (copy && (length > 0 || server->problems->uncallable)) { /* an empty text withdraws an earlier one */
        char *before = server->problems->uncallable;
        memcpy(copy, texts, length);
        server->problems->uncallable = copy;
        server->problems->uncallable_length = length > 0 ? length : 1;
        server->problems->disabled_told = false;
        if (server->membership)
            membership_touch(server->membership, 0);
        copy = before;
    }
    if (server->endpoint)
        endpoint_leave(server->endpoint);
    free(copy);
}

/* ---- finding ---- */

enum esp_status server_takes_sessions(const struct server *server, struct esp_error *error)
{
    if (!server->stage.draining)
        return ESP_OK;
    if ((server->duty.place.draining || server->duty.retires) && !server->stage.leaving)
        return error_set(error, ESP_NO_SERVER, "server %s is draining: it takes no new sessions",
                         server->name);
    return error_set(error, ESP_UNREACHABLE, "server %s is shutting down", server->name);
}

static void unknown(const struct server *server, const char *name, struct esp_error *error)
{
    if (place_is_disabled(&server->duty.place, name)) {
        error_set(error, ESP_UNKNOWN_PROBLEM, "%s was disabled on server %s (espalier admin enable)", name,
                  server->name);
        return;
    }
    const struct problem_set *set = server->shelf->set;
    const char **names = malloc((set->n_problems ? set->n_problems : 1) * sizeof *names);
    for (size_t i = 0; names && i < set->n_problems; i++)
        names[i] = set->problems[i]->name;
    const char *closest = names ? names_closest(name, names, set->n_problems) : NULL;
    char shown[ESCAPED_TEXT];
    error_set(error, ESP_UNKNOWN_PROBLEM, "server %s does not solve \"%s\"%s%s%s", server->name,
              escape(name, shown), closest ? "; did you mean \"" : "", closest ? closest : "",
              closest ? "\"?" : "");
    free(names);
}

const struct problem *server_find_problem(const struct server *server, const char *name, uint64_t digest,
                                          struct esp_error *error)
{
    const struct problem *problem = problem_find(server->shelf->set, name);
    if (!problem) {
        if (error)
            unknown(server, name, error);
        return NULL;
    }
    if (problem->abstract) {
        error_set(error, ESP_UNKNOWN_PROBLEM,
                  "server %s: %s is an abstract problem: clients pick what does it, and call that",
                  server->name, name);
        return NULL;
    }
    if (digest == problem->digest)
        return problem;
    error_set(error, ESP_UNKNOWN_PROBLEM,
              "server %s has another %s: expected the signature %016" PRIx64 ", found %016" PRIx64,
              server->name, name, problem->digest, digest);
    return NULL;
}

bool server_solves(struct server *server, const char *problem, uint64_t digest)
{
    if (server->endpoint)
        endpoint_enter(server->endpoint);
    const struct problem *found = problem_find(server->shelf->set, problem);
    const bool solves = found && found->digest == digest;
    if (server->endpoint)
        endpoint_leave(server->endpoint);
    return solves;
}

/* ---- asked by the parent ---- */

static void post_parent(struct server *server, const struct membership *tie, const struct message *message)
{
    struct esp_error error;
    const char *address = membership_parent_address(tie);
    if (address && endpoint_post(server->endpoint, address, membership_parent_incarnation(tie), message,
                                 &error) != ESP_OK)
        log_warning("a %s for the parent: %s", message_name(message->kind), error.text);
}

static void post_catalog(struct server *server, const struct membership *tie)
{
    struct message message = {.kind = MESSAGE_CATALOG,
                              .catalog = {.digest = server->shelf->digest,
                                          .entries = server->shelf->entries,
                                          .n_entries = server->shelf->n_entries}};
    post_parent(server, tie, &message);
}

static const struct problem *by_digest(const struct server *server, uint64_t digest)
{
    const struct problem_set *set = server->shelf->set;
    for (size_t i = 0; i < set->n_problems; i++)
        if (set->problems[i]->digest == digest)
            return set->problems[i];
    return NULL;
}

static void post_texts(struct server *server, const struct membership *tie, const struct want *want)
{
    struct message message = {.kind = MESSAGE_TEXTS};
    size_t bytes = 0;
    message.texts.items = arena_alloc(&message.arena, want->n_texts * sizeof *message.texts.items);
    for (uint32_t i = 0; message.texts.items && i < want->n_texts; i++) {
        const struct problem *problem = by_digest(server, want->texts[i]);
        if (!problem)
            continue; /* the problems were read again meanwhile: the next report names the new list */
        message.texts.items[message.texts.n++] =
            (struct described){.digest = problem->digest, .text = problem->source};
        bytes += strlen(problem->source) + 16;
        if (bytes < MOST_TEXT_BYTES)
            continue;
        post_parent(server, tie, &message);
        message.texts.n = 0;
        bytes = 0;
    }
    if (message.texts.n > 0)
        post_parent(server, tie, &message);
    arena_clear(&message.arena);
}

void server_on_want(struct server *server, const struct membership *tie, const struct want *want)
{
    for (uint32_t i = 0; i < want->n_catalogs; i++)
        if (want->catalogs[i] == server->shelf->digest)
            post_catalog(server, tie);
    if (want->n_texts > 0)
        post_texts(server, tie, want);
}

/* ---- asked by clients ---- */

void server_on_describe(struct server *server, struct call *call, const struct describe *describe)
{
    const struct problem *problem = problem_find(server->shelf->set, describe->problem);
    if (!problem) {
        struct esp_error error;
        unknown(server, describe->problem, &error);
        call_reply(call, message_failure(MESSAGE_DESCRIBE_REPLY, error.status, "%s", error.text));
        return;
    }
    struct message *reply = message_create(MESSAGE_DESCRIBE_REPLY);
    if (reply) {
        reply->describe_reply.digest = problem->digest;
        reply->describe_reply.servers = 1;
        reply->describe_reply.text = arena_strdup(&reply->arena, problem->source);
    }
    call_reply(call, reply);
}

static bool add_listed(struct message *reply, const struct problem *problem)
{
    struct listed *listed = &reply->list_reply.items[reply->list_reply.n++];
    *listed = (struct listed){.problem = arena_strdup(&reply->arena, problem->name),
                              .title = arena_strdup(&reply->arena, problem->title),
                              .gams = arena_strdup(&reply->arena, problem->gams),
                              .digest = problem->digest,
                              .servers = 1};
    return listed->problem && listed->title && listed->gams;
}

static bool fill_list(const struct server *server, const struct list *list, struct message *reply)
{
    const struct problem_set *set = server->shelf->set;
    size_t first = 0;
    while (first < set->n_problems && list->after[0] && strcmp(set->problems[first]->name, list->after) <= 0)
        first++;
    size_t n = set->n_problems - first;
    size_t most = list->limit && list->limit < CAP_RECORDS ? list->limit : CAP_RECORDS;
    reply->list_reply.more = n > most;
    if (n > most)
        n = most;
    reply->list_reply.items = arena_alloc(&reply->arena, n * sizeof *reply->list_reply.items);
    if (!reply->list_reply.items)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!add_listed(reply, set->problems[first + i]))
            return false;
    return true;
}

void server_on_list(struct server *server, struct call *call, const struct list *list)
{
    struct message *reply = message_create(MESSAGE_LIST_REPLY);
    if (reply && !fill_list(server, list, reply)) {
        message_destroy(reply);
        reply = NULL;
    }
    call_reply(call, reply);
}

/* ---- told to agents ---- */

bool server_tell_disabled(struct server *server, bool complete, struct arena *arena,
                          struct node_record *record)
{
    const struct node_place *place = &server->duty.place;
    uint32_t length = 0;
    if (!complete && server->problems->disabled_told)
        return true;
    server->problems->disabled_told = true;
    const void *uncallable = server->problems->uncallable ? arena_memdup(arena, server->problems->uncallable,
                                                                         server->problems->uncallable_length)
                                                          : NULL;
    if (server->problems->uncallable &&
        !(uncallable && extension_add(&record->extensions, EXTENSION_UNCALLABLE, uncallable,
                                      server->problems->uncallable_length, arena)))
        return false;
    if (place->n_disabled == 0 && !server->problems->disabled_ever)
        return true;
    char *texts = arena_alloc(arena, DISABLED_BYTES);
    if (!texts)
        return false;
    for (size_t i = 0; i < place->n_disabled; i++) {
        const size_t bytes = strlen(place->disabled[i]) + 1;
        if (length + bytes > DISABLED_BYTES)
            break;
        memcpy(texts + length, place->disabled[i], bytes);
        length += (uint32_t)bytes;
    }
    if (length == 0)
        texts[length++] = '\0';
    server->problems->disabled_ever = true;
    return extension_add(&record->extensions, EXTENSION_DISABLED, texts, length, arena);
}

bool server_count_disabled(const struct server *server, struct arena *arena, struct node_record *record)
{
    const size_t n = server->duty.place.n_disabled;
    return n == 0 || terms_add_integer(&record->extensions, EXTENSION_DISABLED, n, arena);
}

bool server_problems_create(struct server *server)
{
    return (server->problems = calloc(1, sizeof *server->problems));
}

void server_problems_destroy(struct server *server)
{
    if (server->problems)
        free(server->problems->uncallable);
    free(server->problems);
}

void server_tell_disabled_again(struct server *server)
{
    server->problems->disabled_told = false;
}
