/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals that end the command: they cancel its sessions first.
 */
#include "config.h"

#include "command/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define CLOSING_NS   5000000
#define CLOSING_MOST 2000 /* times: ten seconds */

static atomic_int caught;
static atomic_bool is_reading, is_closed; /* closed: sessions have been cancelled */
static sigset_t watched;

bool session_interrupted(void)
{
    return atomic_load(&caught) != 0;
}

bool session_explain(struct esp_error *error)
{
    const int number = atomic_load(&caught);
    if (number && error->status != ESP_CANCELLED)
        error_set(error, ESP_CANCELLED, "cancelled (%s)", strsignal(number));
    return number != 0;
}

void session_end_by_signal(void)
{
    int number = atomic_load(&caught);
    if (!number)
        return;
    for (unsigned i = 0; i < CLOSING_MOST && !atomic_load(&is_closed); i++)
        nanosleep(&(struct timespec){.tv_nsec = CLOSING_NS}, NULL); /* servers are being told */
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &watched, NULL);
    raise(number);
}

/* grpc_finalize() cancels what is under way and waits for the end of it; the main thread then comes back from
 * its call. When nothing is open, there is nothing to wait for. */
static void *watch(void *nothing)
{
    int number = 0;
    (void)nothing;
    if (sigwait(&watched, &number) != 0)
        return NULL;
    atomic_store(&caught, number);
    bool was_open = grpc_finalize() == GRPC_NO_ERROR;
    atomic_store(&is_closed, true);
    if (!was_open || atomic_load(&is_reading))
        session_end_by_signal();
    return NULL;
}

void session_reading(bool reading)
{
    atomic_store(&is_reading, reading);
}

void session_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    pthread_t thread;
    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* nohup */
            sigaddset(&watched, numbers[i]);
    }
    if (pthread_sigmask(SIG_BLOCK, &watched, NULL) != 0) /* the threads of the library inherit it */
        return;
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &watched, NULL);
}
