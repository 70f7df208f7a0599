/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/access.h"

#include "client/session/link.h"
#include "client/session/link_sound.h"
#include "core/choice/aggregate.h"
#include "core/forecast/path.h"
#include "core/forecast/told_links.h"
#include "services/nws/host_rate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Below this size, the rate of the way makes no difference if the agent is near. */
#define FEW_BYTES (32 << 10)

/* Called with the links' lock. Makes `address` the agent whose way is known, and takes over what an
 * earlier process has measured of that way. */
static void turn_to(struct engine *engine, const char *address)
{
    if (strcmp(engine->access.address, address) == 0)
        return;
    const struct remembered_link *remembered = link_memory_find(links_memory(engine), address);
    snprintf(engine->access.address, sizeof engine->access.address, "%s", address);
    engine->access.rate_bps = remembered ? remembered->path.bandwidth_bps : 0;
    engine->access.sounded_s = remembered ? remembered->used_s : 0;
}

struct path access_path(struct engine *engine)
{
    const double trip_s = route_trip_s(engine->route);
    char address[CAP_ADDRESS + 1];
    if (trip_s <= 0 || !route_first(engine->route, address))
        return (struct path){0};
    pthread_mutex_lock(&engine->links_lock);
    turn_to(engine, address);
    const struct path path = {true, trip_s / 2, engine->access.rate_bps, 0};
    pthread_mutex_unlock(&engine->links_lock);
    return path;
}

bool access_tell(struct engine *engine, struct request *request, bool compared, struct arena *arena)
{
    const struct request_bytes bytes = request_client_bytes(request);
    if (!compared && bytes.in + bytes.out < FEW_BYTES && route_trip_s(engine->route) < ACCESS_WORTH_S)
        return true;
    const struct path path = access_path(engine);
    if (!path.known ||
        (!compared && path_seconds(&path, bytes.in) + path_seconds(&path, bytes.out) < ACCESS_WORTH_S))
        return true;
    return told_access_add(&request->extensions, &path, arena);
}

/* Whether the way should be measured now. Returns true in only one thread at a time. */
static bool is_due(struct engine *engine, const char *address)
{
    pthread_mutex_lock(&engine->links_lock);
    turn_to(engine, address);
    const int64_t now_s = time(NULL), age_s = now_s - engine->access.sounded_s;
    const bool due = engine->access.sounded_s == 0 || age_s < 0 ||
                     age_s > (engine->access.rate_bps > 0 ? LINK_MEMORY_SOUNDED_S : ACCESS_SOUND_AGAIN_S);
    if (due)
        engine->access.sounded_s = now_s;
    pthread_mutex_unlock(&engine->links_lock);
    return due;
}

void access_sound(struct engine *engine)
{
    char address[CAP_ADDRESS + 1];
    double trip_s, rate_bps;
    if (!route_first(engine->route, address) || !is_due(engine, address))
        return;
    if (link_is_loopback(address))
        rate_bps = host_rate_measure();
    else if (!link_glance(engine, address, ACCESS_SOUND_MOST_S, &trip_s, &rate_bps))
        return;
    pthread_mutex_lock(&engine->links_lock);
    if (strcmp(engine->access.address, address) == 0)
        engine->access.rate_bps = rate_bps;
    pthread_mutex_unlock(&engine->links_lock);
}
