/* SPDX-License-Identifier: Apache-2.0
 *
 * What a store loses when its life ends at 1,000 random points: over a disk that loses what was not synced,
 * and as a process that is killed while four clients put, get and delete. Nothing, of what was acknowledged.
 */
#include "bench/bench.h"
#include "tests/unit/store_trials.h"

#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { ENDS = 1000 };

static void show(const char *how, const struct trial *trial)
{
    static const char *const what[] = {"acknowledged data lost", "data with wrong bytes",
                                       "deleted data that came back", "starts that failed or found damage"};
    const uint64_t counted[] = {trial->lost, trial->wrong, trial->risen, trial->strange};
    char name[96];
    printf("%s: %llu ends, %llu acknowledged data looked at after them\n", how,
           (unsigned long long)trial->ends, (unsigned long long)trial->kept);
    for (unsigned i = 0; i < sizeof what / sizeof *what; i++) {
        snprintf(name, sizeof name, "%s, %s", how, what[i]);
        bench_row(&(struct bench_case){"store", name, "data", BENCH_GROWS_AT_MOST, 0}, (double)counted[i], 0);
    }
}

int main(void)
{
    char folder[] = "/tmp/espalier-bench-XXXXXX", command[64];
    struct log_options quiet = {.node = "bench", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    struct trial cuts = {0}, kills = {0};
    log_open(&quiet, NULL);
    for (uint64_t seed = 101; seed <= 110; seed++)
        trial_power_cuts(seed, ENDS / 10, seed % 2 ? 0 : 20, &cuts);
    show("1000 power cuts", &cuts);
    if (!mkdtemp(folder))
        bench_fail("cannot make a folder in /tmp");
    trial_kills(folder, 1, ENDS, &kills);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        bench_fail("cannot remove %s", folder);
    show("1000 kills", &kills);
    return 0;
}
