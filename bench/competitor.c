/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/competitor.h"

#include "bench/bench.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

void competitor_confine(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    sched_setaffinity(0, sizeof one, &one);
}

pid_t competitor_start(void)
{
    int ends[2];
    pid_t pid = 0;
    if (pipe(ends) != 0)
        bench_fail("no pipe for a competitor");
    const pid_t bench = getpid(), between = fork();
    if (between == 0) {
        if ((pid = fork()) == 0)
            for (volatile unsigned long i = 0; i % 100000000 || kill(bench, 0) == 0; i++)
                ; /* it ends with the benchmark, however that ends */
        _exit(pid == 0 || write(ends[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
    }
    waitpid(between, NULL, 0);
    if (read(ends[0], &pid, sizeof pid) != sizeof pid || pid <= 0)
        bench_fail("no competitor");
    close(ends[0]);
    close(ends[1]);
    return pid;
}
