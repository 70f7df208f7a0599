/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/site.h"
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char site_folder[64], site_build[4096];

bool site_is_possible(const char *benchmark)
{
    if (geteuid() == 0 && access("/dev/net/tun", R_OK | W_OK) == 0)
        return true;
    fprintf(stderr, "bench %s: network namespaces and /dev/net/tun are root's: nothing was measured\n",
            benchmark);
    return false;
}

static void clean_up(void)
{
    char command[128];
    snprintf(command, sizeof command, getenv("BENCH_KEEP") ? ": %s" : "rm -rf %s", site_folder);
    if (system(command) != 0)
        fprintf(stderr, "bench: %s is left\n", site_folder);
}

void site_begin(void)
{
    const char *top = getenv("top_builddir");
    strcpy(site_folder, "/tmp/espalier-bench.XXXXXX");
    if (!mkdtemp(site_folder) || !realpath(top ? top : ".", site_build))
        bench_fail("no folder: %s", strerror(errno));
    atexit(clean_up);
}

void site_run(const char *format, ...)
{
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (system(command) != 0)
        bench_fail("%s failed", command);
}

pid_t site_start(const char *name, const char *format, ...)
{
    char command[2048], whole[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "cd %s && exec >>%s.out 2>&1 && exec %s", site_folder, name, command);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execl("/bin/sh", "sh", "-c", whole, (char *)NULL);
        _exit(127);
    }
    return child;
}

void site_stop(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGTERM);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

FILE *site_create(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", site_folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail("%s cannot be written: %s", path, strerror(errno));
    return file;
}

void site_rest_ms(long ms)
{
    const struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

void site_await(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", site_folder, name);
    for (const double until = bench_now() + SITE_PATIENCE_S; access(path, R_OK) != 0; site_rest_ms(20))
        if (bench_now() > until)
            bench_fail("%s does not appear", path);
}

const char *site_address(const char *name)
{
    static char address[128];
    char path[128];
    site_await(name);
    snprintf(path, sizeof path, "%s/%s", site_folder, name);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%127s", address) != 1)
        bench_fail("%s holds no address", path);
    fclose(file);
    return address;
}

void site_enter(const char *space)
{
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", space);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        bench_fail("%s: %s", path, strerror(errno));
    close(fd);
}
