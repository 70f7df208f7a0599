/* SPDX-License-Identifier: Apache-2.0
 *
 * What monitoring costs while nobody asks for anything: the processor time of each daemon of a platform with
 * all sensors and probes on, in percent of a core, over $BENCH_MONITORING_S seconds (60), and the same of a
 * platform without them, which tells how much of it is the sensors'. Two servers are brothers, so that their
 * link is probed too. Other programs on the machine do not change what is counted, but for their traffic in
 * caches; a competitor on the processor adds the short active tests.
 */
#include "bench/bench.h"
#include "bench/platform.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOUND 0.5 /* percent of a core */
/* The first probes, and the speed of the server, come at the start. */
#define SETTLE_S 5

struct daemon {
    const char *name;
    pid_t pid;
    double began_s, percent;
};

enum { DAEMONS = 4 };

/* User and system time of all its threads so far. */
static double cpu_s(pid_t pid)
{
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    const char *rest = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    if (!rest ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        bench_fail("a daemon is gone: %s cannot be read", path);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static unsigned files_in(const struct platform *platform, const char *name)
{
    char path[512];
    unsigned n = 0;
    snprintf(path, sizeof path, "%s/%s", platform->folder, name);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return n;
}

/* Figures of a platform that measures nothing would be worth nothing. */
static void check_measures(const struct platform *platform)
{
    char path[512];
    snprintf(path, sizeof path, "%s/server/processor.ring", platform->folder);
    if (access(path, F_OK) != 0 || files_in(platform, "server/links") < 2 ||
        files_in(platform, "leader/links") < 1)
        bench_fail("expected series of the processor and of the links to the parent and a brother, found "
                   "%u of links in %s/server/links",
                   files_in(platform, "server/links"), platform->folder);
}

static void observe(const struct platform_options *options, bool measures, double seconds,
                    struct daemon daemons[DAEMONS])
{
    struct platform platform;
    platform_start(&platform, options);
    const struct daemon all[DAEMONS] = {{"server", platform.server, 0, 0},
                                        {"another server", platform.second, 0, 0},
                                        {"leader agent", platform.leader, 0, 0},
                                        {"master agent", platform.master, 0, 0}};
    memcpy(daemons, all, sizeof all);
    sleep(SETTLE_S);
    const double begin = bench_now();
    for (int i = 0; i < DAEMONS; i++)
        daemons[i].began_s = cpu_s(daemons[i].pid);
    while (bench_now() < begin + seconds)
        sleep(1);
    const double elapsed = bench_now() - begin;
    for (int i = 0; i < DAEMONS; i++)
        daemons[i].percent = 100 * (cpu_s(daemons[i].pid) - daemons[i].began_s) / elapsed;
    if (measures)
        check_measures(&platform);
    platform_stop(&platform);
}

int main(void)
{
    char probe[128];
    struct daemon with[DAEMONS], without[DAEMONS];
    const char *text = getenv("BENCH_MONITORING_S"), *host = bench_own_address();
    const double seconds = text && atof(text) >= 1 ? atof(text) : 60;
    snprintf(probe, sizeof probe, "probe = \"%s:0\"\n", host); /* on loopback it has to be asked for */
    const struct platform_options measuring = {
        .host = host, .agent = probe, .server = probe, .second_server = true};
    const struct platform_options silent = {.host = host,
                                            .agent = "probe = \"none\"\n",
                                            .server = "probe = \"none\"\nsensors = no\n",
                                            .second_server = true};
    observe(&measuring, true, seconds, with);
    observe(&silent, false, seconds, without);
    for (int i = 0; i < DAEMONS; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s, all sensors and probes on", with[i].name);
        const struct bench_case whole = {"monitoring", name, "% of a core", BENCH_AT_MOST, 1};
        bench_row(&whole, with[i].percent, BOUND);
    }
    for (int i = 0; i < DAEMONS; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s, with and without them", with[i].name);
        const struct bench_case part = {"monitoring", name, "% of a core", BENCH_SHOWN, 0};
        bench_row(&part, with[i].percent, without[i].percent);
    }
    return 0;
}
