/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the daemon can start threads. Each connection needs one: at a limit of processes and
 * threads, clients wait for a thread, and no other part of the daemon notices that. */
#include "config.h"
#include "services/daemon_internal.h"
#include "util/process_limits.h"

#include <stdio.h>
#include <string.h>

static void *do_nothing(void *arg)
{
    return arg;
}

void daemon_threads_look(struct daemon *daemon)
{
    pthread_t thread;
    char why[sizeof daemon->unthreaded] = "";
    const int error = pthread_create(&thread, NULL, do_nothing, NULL);
    if (error == 0)
        pthread_join(thread, NULL);
    else
        process_limits_why(error, why, sizeof why);
    pthread_mutex_lock(&daemon->lock);
    const bool before = daemon->unthreaded[0] != 0;
    memcpy(daemon->unthreaded, why, sizeof why);
    pthread_mutex_unlock(&daemon->lock);
    if (error != 0 && !before)
        log_warning("no thread can be started, and new connections wait for one: %s", why);
    else if (error == 0 && before)
        log_notice("threads can be started again");
}

bool daemon_threads_tell(const struct daemon *daemon, char *text, size_t size)
{
    const size_t n = strlen(text);
    if (!daemon->unthreaded[0])
        return false;
    snprintf(text + n, size - n, "; no thread can be started: %s", daemon->unthreaded);
    return true;
}
