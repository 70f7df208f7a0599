/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGUSR2: the program runs again as the same process, at the same addresses.
 */
#include "services/daemon_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct daemon_again daemon_again;

#define AGAIN_LISTEN "ESPALIER_AGAIN_LISTEN"
#define AGAIN_HTTP   "ESPALIER_AGAIN_HTTP"

/* The same host, and the file leaves the port open. */
static bool is_kept(const char *wanted, const char *before)
{
    const char *port = strrchr(wanted, ':');
    return port && strcmp(port, ":0") == 0 && strncmp(wanted, before, (size_t)(port - wanted) + 1) == 0;
}

/* All addresses of this machine, and the file leaves the port open: it was told with the machine's name. */
static bool is_any(const char *wanted)
{
    return strcmp(wanted, "*:0") == 0 || strcmp(wanted, "0.0.0.0:0") == 0 || strcmp(wanted, "[::]:0") == 0;
}

static void take_address(const char *variable, char **address, struct arena *arena)
{
    const char *before = getenv(variable);
    char any[32];
    if (before && *address && is_any(*address) && strrchr(before, ':')) {
        snprintf(any, sizeof any, "%.*s%.10s", (int)(strrchr(*address, ':') - *address), *address,
                 strrchr(before, ':'));
        before = any;
    }
    if (before && *address && is_kept(*address, before)) {
        char *copy = arena_strdup(arena, before);
        *address = copy ? copy : *address;
    }
    unsetenv(variable);
}

void daemon_take_addresses(struct settings_node *settings, struct arena *arena)
{
    take_address(AGAIN_LISTEN, &settings->listen, arena);
    take_address(AGAIN_HTTP, &settings->http, arena);
}

/* What is installed at this program's path now: a newer release, perhaps. */
static bool own_path(char *path, size_t size)
{
    static const char replaced[] = " (deleted)";
    const size_t length = sizeof replaced - 1;
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    if ((size_t)n > length && strcmp(path + n - length, replaced) == 0)
        path[(size_t)n - length] = '\0';
    return true;
}

int daemon_end(char **argv, int exit_code)
{
    char path[4096], *arguments[] = {argv[0], (char *)"--foreground", NULL, NULL};
    if (!daemon_again.wanted || exit_code != 0)
        return exit_code;
    if (!own_path(path, sizeof path)) {
        fprintf(stderr, "%s: cannot run again: it does not find its own file\n", argv[0]);
        return 1;
    }
    /* It stands where it is to stand: in the background, if it went there. The file is the last operand. */
    for (int i = 1; argv[i]; i++)
        if (argv[i][0] != '-')
            arguments[2] = argv[i];
    setenv(AGAIN_LISTEN, daemon_again.listen, 1);
    setenv(AGAIN_HTTP, daemon_again.http, 1);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execv(path, arguments);
    fprintf(stderr, "%s: cannot run %s again: %s\n", argv[0], path, strerror(errno));
    return 1;
}
