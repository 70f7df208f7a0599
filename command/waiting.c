/* SPDX-License-Identifier: Apache-2.0 */
#include "command/waiting.h"
#include "command/command.h"
#include "util/regular_file.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TOLD_S 2

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool running, done;
    const char *verb, *path, *kind;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static void *watch(void *nothing)
{
    struct timespec until;
    int ended = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TOLD_S;
    pthread_mutex_lock(&waiting.lock);
    while (!waiting.done && ended == 0)
        ended = pthread_cond_timedwait(&waiting.over, &waiting.lock, &until);
    if (!waiting.done) {
        char text[512];
        snprintf(text, sizeof text,
                 "still reading %.300s, %s: it ends when all that write into it have closed it", waiting.path,
                 waiting.kind);
        command_complain(waiting.verb, text);
    }
    pthread_mutex_unlock(&waiting.lock);
    return nothing;
}

void waiting_begin(const char *verb, const char *path)
{
    struct stat found;
    const bool is_input = strcmp(path, "-") == 0;
    if (waiting.running || (is_input ? fstat(STDIN_FILENO, &found) : stat(path, &found)) != 0)
        return;
    waiting.kind = regular_file_kind(found.st_mode);
    waiting.verb = verb;
    waiting.path = is_input ? "standard input" : path;
    waiting.done = false;
    if (waiting.kind && !S_ISDIR(found.st_mode))
        waiting.running = pthread_create(&waiting.thread, NULL, watch, NULL) == 0;
}

void waiting_begin_argument(const char *verb, const char *word)
{
    const char *value = strchr(word, '=');
    if (value && value[1] == '@')
        waiting_begin(verb, value + 2);
}

void waiting_end(void)
{
    if (!waiting.running)
        return;
    pthread_mutex_lock(&waiting.lock);
    waiting.done = true;
    pthread_cond_signal(&waiting.over);
    pthread_mutex_unlock(&waiting.lock);
    pthread_join(waiting.thread, NULL);
    waiting.running = false;
}
