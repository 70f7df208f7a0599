/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/keepers.h"
#include "client/session/excluded.h"
#include "core/choice/estimate.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS      1000                   /* limit for a master agent's answer */
#define REMEMBER_NS (30 * NS_PER_S)        /* an answer is stored for the next calls of the problem */
#define ENOUGH      (KEEPERS_MOST / 2 + 1) /* servers beside the called one; one may be lost, too */

/* ---- the list: "NAME ADDRESS NAME ADDRESS " ---- */

static bool has(const char *keepers, const char *address)
{
    const char *at = strstr(keepers, address);
    return at && at > keepers && at[-1] == ' ' && at[strlen(address)] == ' ';
}

static void add(char *keepers, const char *server, const char *address)
{
    const size_t used = strlen(keepers);
    if (!*address || has(keepers, address) || strchr(server, ' ') ||
        used + strlen(server) + strlen(address) + 3 > KEEPERS_BYTES)
        return;
    sprintf(keepers + used, "%s %s ", server, address);
}

static unsigned count(const char *keepers)
{
    unsigned blanks = 0;
    for (; *keepers; keepers++)
        blanks += *keepers == ' ';
    return blanks / 2;
}

static void add_all(const struct session *session, char *keepers, const char *others)
{
    char text[KEEPERS_BYTES], *rest = text, *server, *address;
    strcpy(text, others);
    while ((server = strsep(&rest, " ")) && *server && (address = strsep(&rest, " ")))
        if (!excluded_has(session, server))
            add(keepers, server, address);
}

/* ---- servers below other master agents ---- */

static bool recall(struct session *session, char *others)
{
    struct engine *engine = session->engine;
    pthread_mutex_lock(&engine->marks_lock);
    const bool known = engine->keepers.text && strcmp(engine->keepers.problem, session->problem) == 0 &&
                       clock_now_ns(engine->clock) < engine->keepers.until_ns;
    if (known)
        strcpy(others, engine->keepers.text);
    pthread_mutex_unlock(&engine->marks_lock);
    return known;
}

static void remember(struct session *session, const char *others)
{
    struct engine *engine = session->engine;
    char *copy = strdup(others);
    pthread_mutex_lock(&engine->marks_lock);
    free(engine->keepers.text);
    engine->keepers.text = copy;
    strcpy(engine->keepers.problem, session->problem);
    engine->keepers.until_ns = clock_now_ns(engine->clock) + REMEMBER_NS;
    pthread_mutex_unlock(&engine->marks_lock);
}

static bool take(void *arg, const struct message *reply)
{
    char *others = arg;
    for (uint32_t i = 0; i < reply->submit_reply.n_candidates; i++)
        add(others, reply->submit_reply.candidates[i].server, reply->submit_reply.candidates[i].address);
    return count(others) < ENOUGH;
}

/* Asks for a forecast, so that nothing is placed. */
static void ask(struct session *session, char *others)
{
    struct message request = {.kind = MESSAGE_SUBMIT};
    struct esp_error unread;
    const int64_t left_ms = session_left_ms(session), most_ms = left_ms < ASK_MS ? left_ms : ASK_MS;
    request.submit.time_left_ms = (uint64_t)most_ms;
    request.submit.request = (struct request){.session = session->id, .server = ""};
    if (invocation_request(&session->invocation, &request, &unread) == ESP_OK &&
        extension_add(&request.submit.request.extensions, EXTENSION_FORECAST, "", 0, &request.arena))
        route_ask_others(session->engine->route, &request, most_ms, take, others);
    message_clear(&request);
}

static void look_elsewhere(struct session *session)
{
    char others[KEEPERS_BYTES] = "";
    session->sought_keepers = true;
    if (!recall(session, others)) {
        ask(session, others);
        remember(session, others);
    }
    add_all(session, session->keepers, others);
}

void keepers_note(struct session *session)
{
    if (!session->keepers && !(session->keepers = calloc(1, KEEPERS_BYTES)))
        return;
    for (uint32_t i = 0; i < session->n_candidates; i++) {
        const struct session_candidate *candidate =
            &session->candidates[(session->next_candidate + i) % session->n_candidates];
        add(session->keepers, candidate->server, candidate->address);
    }
    const bool chosen = session->wishes.server || session->invocation.home[0];
    if (count(session->keepers) < 2 && !chosen && !session->sought_keepers)
        look_elsewhere(session);
}
