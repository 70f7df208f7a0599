/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has a datum that is to come here, and asking them.
 */
#include "sed/server/server_pull.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static struct transport *transport_of(const struct pull *pull)
{
    return pull->server->endpoint->transport;
}

void pull_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PULL_BUSY_MS * NS_PER_MS}, NULL);
}

static int64_t at_most(int64_t ns, int64_t most_ms)
{
    const int64_t ms = ns / NS_PER_MS;
    return ms > most_ms ? most_ms : ms < PULL_LEAST_MS ? PULL_LEAST_MS : ms;
}

/* Half of what there is, so that there is time for another one. */
int64_t pull_ask_ms(const struct pull *pull)
{
    return at_most(atomic_load(&pull->patience_ns) / 2, PULL_ASK_MS);
}

int64_t pull_chunk_ms(const struct pull *pull)
{
    return at_most(atomic_load(&pull->patience_ns), PULL_CHUNK_MS);
}

int64_t pull_silence_ms(const struct pull *pull)
{
    const int64_t answers_ms = PULL_SILENCE_ANSWERS * pull->answer_ms;
    const int64_t left_ns =
        atomic_load(&pull->since_ns) + atomic_load(&pull->patience_ns) - clock_now_ns(&clock_system);
    return at_most(left_ns, pull->silence_ms > answers_ms ? pull->silence_ms : answers_ms);
}

void pull_note_life(struct pull *pull)
{
    atomic_store(&pull->since_ns, clock_now_ns(&clock_system));
}

bool pull_is_over(const struct pull *pull)
{
    return atomic_load(&pull->stop) ||
           clock_now_ns(&clock_system) - atomic_load(&pull->since_ns) > atomic_load(&pull->patience_ns);
}

/* Who asks, and for what. */
static struct extensions introduce(const struct pull *pull, struct extension extensions[2], char *who)
{
    const char *name = pull->server->name;
    uint32_t length = (uint32_t)strlen(name), n = 0;
    if (pull->laid) {
        const uint32_t sealed = pull->server->options.porters_seal; /* it wants a key */
        extensions[n++] = (struct extension){EXTENSION_PORTERS, (const uint8_t *)"s", sealed};
        return (struct extensions){extensions, n};
    }
    memcpy(who, name, length + 1);
    memcpy(who + length + 1, pull->here, strlen(pull->here) + 1);
    extensions[n++] = (struct extension){EXTENSION_COPIES, (const uint8_t *)who,
                                         length + 1 + (uint32_t)strlen(pull->here) + 1};
    if (pull->kind == PULL_MOVED)
        extensions[n++] = (struct extension){EXTENSION_MOVES, (const uint8_t *)name, length};
    else if (!pull->begun && !pull->counted && pull->kind == PULL_REPLICA) /* once for each that wants it */
        extensions[n++] = (struct extension){EXTENSION_FETCHER, (const uint8_t *)name, length};
    return (struct extensions){extensions, n};
}

enum esp_status pull_open(struct pull *pull, const char *address, struct message *reply,
                          struct esp_error *error)
{
    char text[DATUM_TEXT];
    char who[CAP_NAME + CAP_ADDRESS + 2];
    struct extension extensions[2];
    struct message request = {.kind = MESSAGE_OPEN};
    request.open.datum = datum_id_text(&pull->id, text);
    request.open.extensions = introduce(pull, extensions, who);
    for (;;) {
        const int64_t begun_ns = clock_now_ns(&clock_system), ask_ms = pull_ask_ms(pull);
        /* Porters take their time; and where a move ends nobody else can be asked. */
        const bool minds_silence = !pull->laid && pull->silence_ms > 0;
        const int64_t most_ms = minds_silence ? pull_silence_ms(pull) : ask_ms;
        enum esp_status status = transport_call(transport_of(pull), address, &request, most_ms, reply, error);
        const int64_t took_ms = (clock_now_ns(&clock_system) - begun_ns) / NS_PER_MS;
        if (status == ESP_OK && took_ms > pull->answer_ms)
            pull->answer_ms = took_ms;
        if (status != ESP_BUSY || pull_is_over(pull))
            return status;
        message_clear(reply);
        pull_nap();
    }
}

void pull_close(struct pull *pull, const char *address, uint64_t ticket)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_FINISH}, reply;
    request.finish = (struct finish){.datum = datum_id_text(&pull->id, text), .ticket = ticket};
    transport_call(transport_of(pull), address, &request, pull_ask_ms(pull), &reply, NULL);
    message_clear(&reply);
}

bool pull_add_address(struct pull *pull, const char *address)
{
    for (uint32_t i = 0; i < pull->n_addresses; i++)
        if (!strcmp(pull->addresses[i], address))
            return false;
    if (!pull->laid && strcmp(address, pull->here) == 0) /* who wants it need not ask himself */
        return false;
    if (pull->n_addresses == CAP_SOURCES || !address[0] || strlen(address) > CAP_ADDRESS)
        return false;
    snprintf(pull->addresses[pull->n_addresses++], CAP_ADDRESS + 1, "%s", address);
    return true;
}

bool pull_add_named(struct pull *pull)
{
    bool found = false;
    for (uint32_t i = 0; i < pull->known.n; i++)
        if (!pull->known.items[i].is_agent)
            found |= pull_add_address(pull, pull->known.items[i].address);
    return found;
}

bool pull_look_up(struct pull *pull)
{
    bool found = pull_add_named(pull);
    while (!found && pull->n_asked < pull->known.n && !atomic_load(&pull->stop)) {
        const struct holder *next = &pull->known.items[pull->n_asked++];
        struct message reply = {0};
        if (!next->is_agent) /* is asked for the datum itself */
            continue;
        holders_ask_at(&pull->known, next->address, pull_ask_ms(pull), &reply, NULL);
        message_clear(&reply);
        found = pull_add_named(pull);
    }
    return found;
}

void pull_look_behind(struct pull *pull, const char *address)
{
    struct message reply = {0};
    holders_ask_at(&pull->known, address, pull_ask_ms(pull), &reply, NULL);
    message_clear(&reply);
    pull_add_named(pull);
}
