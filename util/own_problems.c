/* SPDX-License-Identifier: Apache-2.0 */
#include "util/own_problems.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char problems[PATH_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The build creates this link to the descriptions in its source; libtool may keep the program in .libs. */
static void find_problems(void)
{
    static const char *const built[] = {"../built-problems", "../../built-problems"};
    char program[PATH_MAX], path[2 * PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *end = strrchr(program, '/');
    for (size_t i = 0; end && i < sizeof built / sizeof *built; i++)
        if (snprintf(path, sizeof path, "%.*s/%s", (int)(end - program), program, built[i]) <
                (int)sizeof path &&
            realpath(path, problems))
            return;
    snprintf(problems, sizeof problems, "%s", ESP_PROBLEMDIR);
}

const char *own_problems(void)
{
    pthread_once(&once, find_problems);
    return problems;
}
