/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/awake.h"
#include "util/clock.h"

#include <string.h>

static const struct awake_peer *find(const struct awake *awake, const char *address)
{
    for (size_t i = 0; i < awake->n; i++)
        if (strcmp(awake->peers[i].address, address) == 0)
            return &awake->peers[i];
    return NULL;
}

/* NULL: the text is no address. */
static struct awake_peer *get(struct awake *awake, const char *address)
{
    struct awake_peer *peer = (struct awake_peer *)find(awake, address);
    if (peer || strlen(address) > CAP_ADDRESS)
        return peer;
    if (awake->n < MOST_REFUGES) {
        peer = &awake->peers[awake->n++];
    } else {
        peer = &awake->peers[awake->next];
        awake->next = (awake->next + 1) % MOST_REFUGES;
    }
    *peer = (struct awake_peer){.is_older = false};
    memcpy(peer->address, address, strlen(address) + 1);
    return peer;
}

void awake_heard(struct awake *awake, const char *address, bool tells)
{
    struct awake_peer *peer = get(awake, address);
    if (!peer)
        return;
    peer->is_older = !tells;
    peer->silent_until_ns = 0;
}

bool awake_silent(struct awake *awake, const char *address, int64_t now_ns)
{
    struct awake_peer *peer = get(awake, address);
    if (!peer)
        return false;
    const bool news = peer->silent_until_ns == 0;
    peer->silent_until_ns = now_ns + SILENT_MS * NS_PER_MS;
    return news;
}

void awake_forget(struct awake *awake, const char *address)
{
    if (find(awake, address))
        awake_heard(awake, address, true);
}

bool awake_is_silent(const struct awake *awake, const char *address, int64_t now_ns)
{
    const struct awake_peer *peer = find(awake, address);
    return peer && now_ns < peer->silent_until_ns;
}

bool awake_tells(const struct awake *awake, const char *address)
{
    const struct awake_peer *peer = find(awake, address);
    return !peer || !peer->is_older;
}
