/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client learns of its links to servers from its own transfers, and tells with its requests: the links
 * of the agents are others.
 */
#include "client/link.h"
#include "core/aggregate.h"
#include "core/client_links.h"
#include "core/path.h"

#include <stdlib.h>
#include <string.h>

/* What is shorter tells of schedulers and round trips. */
#define TELLING_BYTES (256 << 10)
/* Links are told with what is long on its way over one that is known, or may be over one that only the agents
 * know: an agent has to ask the tree then, which what is short should not wait for. */
#define LONG_S      0.02
#define GREAT_BYTES (4 << 20)

void link_learn(struct link *link, uint64_t bytes, double seconds)
{
    if (bytes < TELLING_BYTES || !(seconds > 0))
        return;
    pthread_mutex_lock(&link->lock);
    link->rates[link->n_rates++ % LINK_RATES] = (double)bytes / seconds;
    pthread_mutex_unlock(&link->lock);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the last transfers: one that shared the link with others does not count for more. */
static struct path path_of(struct link *link)
{
    double rates[LINK_RATES];
    pthread_mutex_lock(&link->lock);
    const unsigned n = link->n_rates < LINK_RATES ? link->n_rates : LINK_RATES;
    memcpy(rates, link->rates, sizeof rates);
    const double trip_s = link->trip_s;
    pthread_mutex_unlock(&link->lock);
    if (n == 0)
        return (struct path){0};
    qsort(rates, n, sizeof *rates, by_value);
    return (struct path){true, trip_s / 2, rates[n / 2]};
}

bool links_tell(struct engine *engine, struct request *request, struct arena *arena)
{
    struct client_link known[CAP_CLIENT_LINKS];
    const struct request_bytes bytes = request_client_bytes(request);
    double longest_s = 0;
    size_t n = 0;
    if (bytes.in + bytes.out < TELLING_BYTES)
        return true;
    pthread_mutex_lock(&engine->links_lock);
    for (struct link *link = engine->links; link && n < CAP_CLIENT_LINKS; link = link->hh.next) {
        known[n] = (struct client_link){link->address, path_of(link)}; /* links live as long as the engine */
        if (!known[n].path.known)
            continue;
        const double seconds =
            path_seconds(&known[n].path, bytes.in) + path_seconds(&known[n].path, bytes.out);
        longest_s = seconds > longest_s ? seconds : longest_s;
        n++;
    }
    pthread_mutex_unlock(&engine->links_lock);
    const bool matters = longest_s >= LONG_S || bytes.in + bytes.out >= GREAT_BYTES;
    return !matters || client_links_add(&request->extensions, known, n, arena);
}
