/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to the server daemon's parts (sed/service.h).
 */
#ifndef SED_SERVICE_INTERNAL_H
#define SED_SERVICE_INTERNAL_H

#include "sed/service.h"

#include "core/choice/terms.h"
#include "core/forecast/cost_files.h"
#include "core/problem/problem.h"
#include "sed/pool/workers.h"
#include "services/place.h"

#include <pthread.h>

/* Agents of the directory to try, at most. */
#define DIRECTORY_PARENTS 8

struct service {
    struct errands *errands;
    struct node_place place; /* what administrators have changed, as last read */
    struct memory_share *share;
    uint64_t memory_bytes; /* that are promised to calls */
    const struct settings_sed *settings;
    struct problem_set *problems;   /* until the server has them */
    char uncallable[400];           /* how many these are, and why the first one; "": none */
    char reasons[UNCALLABLE_BYTES]; /* of the first of them, as EXTENSION_UNCALLABLE has them */
    uint32_t reasons_length;
    _Atomic size_t n_uncallable;       /* problems of its files that cannot be called on this machine */
    struct workers *workers;           /* of these: */
    struct workers *processes, *ranks; /* ranks: NULL where there are none */
    char host[256];                    /* on which this server listens */
    struct porters *porters;           /* NULL: none, as they do not encrypt */
    struct server *server;
    _Atomic(struct server *) listener; /* the server, once it can be told of output */
    struct endpoint *endpoint;
    struct sensors *sensors;              /* NULL: none */
    struct directory_watch *directory;    /* NULL: none */
    struct links *links;                  /* NULL: none */
    struct idle_calibration *calibration; /* NULL: none */
    pthread_mutex_t loading;              /* of models: by the main thread and the calibration's */
    struct cost_files measured;           /* of state_dir, as last good; with `loading` */
    pthread_mutex_t learning;             /* of `links`, while data that are fetched tell of them */
};

/* ---- sed/service_problems.c ---- */

/* Reads the descriptions in `own`, which are the files and folders that the server's own file names, those of
 * the directory, and what administrators have changed; without what they have disabled. ESP_SYNTAX,
 * ESP_NOT_FOUND and so on; then nothing but the latter has changed. */
enum esp_status service_load_problems(struct service *service, const struct config_strings *own,
                                      struct problem_set **problems, struct esp_error *error);
/* Leaves out what cannot be called on this machine: a client must not be sent here to find that out.
 * ESP_INVALID when nothing is left; there need not be any while the directory that may have them is away.
 * ESP_SYSTEM, ESP_TIMEOUT, ESP_NO_MEMORY: it could not be found out, although it was tried again. The set is
 * then of no use but to be destroyed. */
enum esp_status service_keep_callable(struct service *service, struct problem_set *problems,
                                      struct esp_error *error);

/* ---- sed/service_models.c ---- */

/* Gives the server the cost models that the calibration, or the directory, has. What goes wrong is logged:
 * without models forecasts are work over speed. `service` is one; any thread. */
void service_load_models(void *service);

#endif
