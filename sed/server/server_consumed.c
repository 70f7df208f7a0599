/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict data go with the first session that has used them: everywhere, wherever that session was.
 */
#include "sed/server/server_data.h"

#include "sed/server/server_holders.h"
#include "sed/server/server_state.h"

#include <stdlib.h>

#define ASK_MS 10000

struct forgetting {
    struct thread_job job;
    struct holders holders;
};

static void forget_at(struct holders *holders, uint32_t i)
{
    struct esp_error error;
    const struct holder *asked = &holders->items[i];
    struct message drop = {.kind = MESSAGE_DROP, .drop = {.datum = holders->id}}, reply = {0};
    if (!asked->is_agent) {
        enum esp_status status =
            transport_call(holders->transport, asked->address, &drop, ASK_MS, &reply, &error);
        message_clear(&reply);
        if (status != ESP_OK && status != ESP_NOT_FOUND)
            log_warning("a strictly volatile datum that has been used stays on %s: %s", asked->address,
                        error.text);
    }
    holders_ask(holders, i, &reply, NULL);
    message_clear(&reply);
}

static void forget_everywhere(void *arg)
{
    struct forgetting *forgetting = arg;
    for (uint32_t i = 0; i < forgetting->holders.n; i++)
        forget_at(&forgetting->holders, i);
    free(forgetting);
}

void server_data_consumed(struct server *server, const struct datum_id *id)
{
    struct errands *errands = server->data.errands;
    struct forgetting *forgetting = calloc(1, sizeof *forgetting);
    if (!forgetting)
        return;
    forgetting->job = (struct thread_job){.run = forget_everywhere, .arg = forgetting};
    holders_begin(&forgetting->holders, server, id);
    if (!errands || server->data.leaving || !errands->submit(errands, &forgetting->job))
        free(forgetting);
}
