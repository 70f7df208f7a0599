/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may have a datum beside this server: those that it has given copies lately, and whom agents, and those
 * servers, name. A thread asks them one after the other.
 */
#ifndef SED_SERVER_HOLDERS_H
#define SED_SERVER_HOLDERS_H

#include "core/transport.h"
#include "core/data/datum.h"

#define HOLDERS_MOST 64

struct server;

struct holder {
    char address[CAP_ADDRESS + 1];
    bool is_agent;
};

struct holders {
    struct transport *transport;
    char id[DATUM_TEXT], own[CAP_ADDRESS + 1], name[CAP_NAME + 1]; /* this server's */
    struct holder items[HOLDERS_MOST];                             /* grows while they are asked */
    uint32_t n;
};

/* Those that are known here. With the lock. */
void holders_begin(struct holders *holders, struct server *server, const struct datum_id *id);
/* What who is at that address says of the datum, a data_reply, which the caller clears in every case; whom it
 * names is noted. Without the lock; waits for the answer. */
enum esp_status holders_ask_at(struct holders *holders, const char *address, int64_t timeout_ms,
                               struct message *reply, struct esp_error *error);
/* The same of number `i`, with ten seconds for it. */
enum esp_status holders_ask(struct holders *holders, uint32_t i, struct message *reply,
                            struct esp_error *error);

#endif
