/* SPDX-License-Identifier: Apache-2.0
 *
 * `espalier call` of a tiny problem, from the start of the process to its end, against the whole life of a
 * minimal client of the ORB that makes one call.
 */
#include "bench/bench.h"
#include "bench/platform.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
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

static void list_problems(void *context)
{
    const struct platform *platform = context;
    const char *arguments[] = {platform->program, "problems", "--config", platform->client_conf, NULL};
    run(arguments);
}

/* A platform with so many problems that can be called. */
static void start_with_problems(struct platform *platform, int n)
{
    char *text = malloc((size_t)n * 200 + 1);
    size_t used = 0;
    if (!text)
        bench_fail("no memory");
    text[0] = 0;
    for (int i = 0; i < n; i++)
        used +=
            (size_t)sprintf(text + used,
                            "problem listed%d \"Euclidean norm, variant %d\"\n in int n\n in double x[n]\n"
                            " out double norm\nimplementation blas\n fortran norm = dnrm2_(n, x, 1) in "
                            "libblas.so.3\n",
                            i, i);
    platform_start(platform, &(struct platform_options){.descriptions = text});
    free(text);
}

static void bench_listing(void)
{
    const struct bench_case which = {"command", "espalier problems, 1000 of them, against 10", "us",
                                     BENCH_AT_MOST, 5};
    struct platform few, many;
    start_with_problems(&few, 5); /* and five that each platform has */
    start_with_problems(&many, 995);
    bench_latency(&which, list_problems, &many, list_problems, &few, 20, 5);
    platform_stop(&many);
    platform_stop(&few);
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
    bench_listing();
    reference_stop(&reference);
    return 0;
}
