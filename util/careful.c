/* SPDX-License-Identifier: Apache-2.0 */
#include "util/careful.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static _Thread_local sigjmp_buf *way_out;

/* An unexpected SIGBUS happens again when this handler has returned, and then reaches the handler
 * installed before. */
static void on_fault(int number)
{
    if (way_out)
        siglongjmp(*way_out, 1);
    sigaction(number, &before, NULL);
}

/* Installs the handler each time, because other libraries may have installed theirs meanwhile. */
static void install(void)
{
    struct sigaction action = {.sa_handler = on_fault}, now;
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&installing);
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler != on_fault) {
        before = now;
        sigaction(SIGBUS, &action, NULL);
    }
    pthread_mutex_unlock(&installing);
}

bool careful_read(void (*read)(void *arg), void *arg)
{
    sigjmp_buf here;
    install();
    if (sigsetjmp(here, 1)) {
        way_out = NULL;
        return false;
    }
    way_out = &here;
    read(arg);
    way_out = NULL;
    return true;
}
