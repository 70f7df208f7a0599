/* SPDX-License-Identifier: Apache-2.0
 *
 * `espalier call` of a tiny problem, from the start of the process to its end, against the whole life of a
 * minimal client of the ORB that makes one call.
 */
#include "bench/bench.h"
#include "bench/platform.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static void run(const char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int status;
    if (posix_spawn(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ) != 0)
        bench_fail("cannot run %s", arguments[0]);
    waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0)
        bench_fail("%s failed", arguments[0]);
}

static void our_command(void *context)
{
    const struct platform *platform = context;
    const char *arguments[] = {platform->program, "call", "bench_add", "a=1", "b=2", NULL};
    run(arguments);
}

static void their_command(void *context)
{
    const struct reference *reference = context;
    const char *arguments[] = {reference->program, "once", reference->address, NULL};
    run(arguments);
}

int main(void)
{
    struct reference reference;
    struct platform platform;
    const struct bench_case which = {"command", "espalier call, whole process", "us", BENCH_AT_MOST, 3};
    reference_start(&reference);
    platform_start(&platform, NULL);
    setenv("ESPALIER_CONFIG", platform.client_conf, 1);
    bench_latency(&which, our_command, &platform, their_command, &reference, 20, 5);
    platform_stop(&platform);
    reference_stop(&reference);
    return 0;
}
