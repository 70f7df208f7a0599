/* SPDX-License-Identifier: Apache-2.0
 *
 * A client under espalier-chaos: calls without end, or as many as wished, and looks at every result.
 *
 *   client NUMBER SEED CALLS SECONDS PAUSE LEDGER
 *
 * Ends after CALLS calls (0: no limit) or after SECONDS; rests for PAUSE milliseconds after each. Every 25th
 * call is the first one of a new client, which knows nothing: it asks a redirector, and for descriptions and
 * servers. Writes a line for each call:
 *
 *   CALL PROBLEM OUTCOME MILLISECONDS TEXT
 *
 * CALL is a number that no other call has; PROBLEM is `once` (not idempotent), `again` or `named` (once, at a
 * server that is named); OUTCOME is `done`, `wrong` (the result is not the right one), `maybe` (the session
 * was lost, and may have been executed), `failed`, or `unmade`: its handle was not made; TEXT is the
 * library's.
 */
#include "espalier.h"
#include "util/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_N = 40000 }; /* beyond inline_bytes, so that some travel in chunks */
enum { CALLS_OF_A_CLIENT = 25 };

struct problem {
    const char *name, *routine;
    const char *server; /* or NULL */
    grpc_function_handle_t handle;
    bool there;
};

static struct problem problems[] = {{.name = "once", .routine = "once"},
                                    {.name = "again", .routine = "again"},
                                    {.name = "named", .routine = "once", .server = "S11"}};
static double x[MOST_N], y[MOST_N];

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The handle is made when it is first needed, and may fail as a call may. */
static grpc_error_t make(struct problem *problem)
{
    if (problem->there)
        return GRPC_NO_ERROR;
    grpc_error_t code =
        problem->server
            ? grpc_function_handle_init(&problem->handle, (char *)problem->server, (char *)problem->routine)
            : grpc_function_handle_default(&problem->handle, (char *)problem->routine);
    problem->there = code == GRPC_NO_ERROR;
    return code;
}

static void renew(void)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        if (problems[i].there)
            grpc_function_handle_destruct(&problems[i].handle);
        problems[i].there = false;
    }
    if (grpc_finalize() == GRPC_NO_ERROR && grpc_initialize(NULL) == GRPC_NO_ERROR)
        return;
    fprintf(stderr, "client: %s\n", esp_last_error()->text);
    exit(1);
}

static bool is_right(double call, int n)
{
    for (int i = 0; i < n; i++)
        if (y[i] != call - x[i])
            return false;
    return true;
}

static void rest(unsigned long ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

static void call_once(struct problem *problem, double call, int ms, int n, const char *ledger)
{
    int signed_it = 0;
    const double begun = seconds();
    for (int i = 0; i < n; i++) {
        x[i] = i;
        y[i] = -1;
    }
    const bool made = make(problem) == GRPC_NO_ERROR;
    const bool done =
        made && grpc_call(&problem->handle, ledger, call, ms, n, x, y, &signed_it) == GRPC_NO_ERROR;
    const struct esp_error *error = esp_last_error();
    const char *outcome = done                         ? (is_right(call, n) && signed_it ? "done" : "wrong")
                          : !made                      ? "unmade"
                          : error->status == ESP_MAYBE ? "maybe"
                                                       : "failed";
    printf("%.0f %s %s %.2f %s\n", call, problem->name, outcome, (seconds() - begun) * 1000,
           done ? "" : error->text);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: client NUMBER SEED CALLS SECONDS PAUSE LEDGER\n");
        return 2;
    }
    static const int sizes[] = {1, 1, 1, 100, 3000, MOST_N};
    const double number = strtod(argv[1], NULL), until = seconds() + strtod(argv[4], NULL);
    const unsigned long long calls = strtoull(argv[3], NULL, 10);
    const unsigned long pause_ms = strtoul(argv[5], NULL, 10);
    struct random random;
    random_seed(&random, strtoull(argv[2], NULL, 10) + (uint64_t)number);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (grpc_initialize(NULL) != GRPC_NO_ERROR) {
        fprintf(stderr, "client: %s\n", esp_last_error()->text);
        return 1;
    }
    for (unsigned long long i = 0; (calls == 0 || i < calls) && seconds() < until; i++) {
        struct problem *problem = &problems[random_below(&random, sizeof problems / sizeof *problems)];
        const int n = sizes[random_below(&random, sizeof sizes / sizeof *sizes)];
        const int ms = random_below(&random, 10) == 0 ? (int)random_below(&random, 300) : 0;
        if (i > 0 && i % CALLS_OF_A_CLIENT == 0)
            renew();
        call_once(problem, number * 1e9 + (double)i, ms, n, argv[6]);
        rest(pause_ms);
    }
    return grpc_finalize() != GRPC_NO_ERROR;
}
