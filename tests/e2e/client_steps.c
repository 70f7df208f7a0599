/* SPDX-License-Identifier: Apache-2.0
 *
 * A GridRPC program for end-to-end tests: client_steps STEP [FILE]. Prints what it found; 0: as expected.
 * Where the test is to do something in the middle, FILE appears first.
 */
#include "tests/e2e/steps.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned threads(void)
{
    char line[128];
    unsigned n = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "Threads: %u", &n) != 1)
        ;
    if (file)
        fclose(file);
    return n;
}

static void say(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file)
        fclose(file);
}

/* Small and large values, in and out, through every path that values can take. */
static int values(const char *path)
{
    (void)path;
    grpc_function_handle_t add = handle("plus"), twice = handle("twice");
    double c = 0;
    EXPECT(grpc_call(&add, 1.5, 2.5, &c) == GRPC_NO_ERROR && c == 4);
    EXPECT(grpc_call(&add, 1.5, 2.5, NULL) == GRPC_NO_ERROR);
    const int sizes[] = {0, 1, 100, 10000, 100000, 3000000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int n = sizes[k];
        double *x = malloc(sizeof *x * (size_t)(n + 1)), *y = calloc((size_t)n + 1, sizeof *y), sum = -1;
        for (int i = 0; i < n; i++)
            x[i] = i % 97;
        y[n] = 7;
        EXPECT(grpc_call(&twice, n, x, y, &sum) == GRPC_NO_ERROR);
        double expected = 0;
        for (int i = 0; i < n; i++) {
            EXPECT(x[i] == 2 * (i % 97) && y[i] == i % 97);
            expected += i % 97;
        }
        EXPECT(sum == expected && y[n] == 7);
        free(x);
        free(y);
    }
    return 0;
}

static int farm(const char *path)
{
    enum { N = 120 };
    (void)path;
    grpc_function_handle_t nap = handle("nap"), add = handle("plus");
    grpc_sessionid_t ids[N], found;
    double c[N];
    int ms[N];
    for (int i = 0; i < N; i++)
        EXPECT((i % 2 ? grpc_call_async(&nap, &ids[i], 10, &ms[i])
                      : grpc_call_async(&add, &ids[i], (double)i, 1.0, &c[i])) == GRPC_NO_ERROR);
    for (int i = 0; i < N; i++) {
        EXPECT(grpc_wait_any(&found) == GRPC_NO_ERROR);
        int k = 0;
        while (k < N && ids[k] != found)
            k++;
        EXPECT(k < N && (k % 2 ? ms[k] == 10 : c[k] == k + 1));
        ids[k] = 0;
    }
    EXPECT(grpc_wait_any(&found) == GRPC_NO_ERROR && found == GRPC_SESSIONID_VOID);
    printf("threads: %u\n", threads());
    return 0;
}

/* Far more than a server takes of one client: by a handle that is bound to it, and by one that is not. */
static int large_farm(const char *path)
{
    enum { N = 3000 };
    (void)path;
    static grpc_sessionid_t ids[N];
    static double c[N];
    grpc_function_handle_t handles[2] = {handle("plus")};
    EXPECT(grpc_function_handle_init(&handles[1], "s1", "plus") == GRPC_NO_ERROR);
    EXPECT(grpc_function_handle_init(&handles[0], "la", "plus") == GRPC_SERVER_NOT_FOUND);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++)
            EXPECT(grpc_call_async(&handles[round], &ids[i], (double)i, 0.5, &c[i]) == GRPC_NO_ERROR);
        EXPECT(grpc_wait_and(ids, N) == GRPC_NO_ERROR);
        for (int i = 0; i < N; i++)
            EXPECT(c[i] == i + 0.5 && grpc_get_error(ids[i]) == GRPC_NO_ERROR);
    }
    return 0;
}

/* Sessions whose reports are as short as any: only that they are over comes back. */
static int without_outputs(const char *path)
{
    enum { N = 100 };
    (void)path;
    grpc_function_handle_t rest = handle("rest");
    grpc_sessionid_t ids[N];
    for (int i = 0; i < N; i++)
        EXPECT(grpc_call_async(&rest, &ids[i], 60) == GRPC_NO_ERROR);
    EXPECT(grpc_wait_all() == GRPC_NO_ERROR);
    for (int i = 0; i < N; i++)
        EXPECT(grpc_get_error(ids[i]) == GRPC_NO_ERROR);
    return 0;
}

/* An array that the routine overwrites, and whose new contents nobody wants, stays as it is here. */
static int unwanted(const char *path)
{
    enum { MANY = 200000 };
    static double x[MANY], y[MANY];
    int n = MANY;
    double sum = 0;
    (void)path;
    grpc_function_handle_t twice = handle("twice");
    struct esp_argument arguments[] = {{.data = &n}, {.data = x, .unwanted = 1}, {.data = y}, {.data = &sum}};
    for (int i = 0; i < MANY; i++)
        x[i] = 1;
    EXPECT(esp_call(&twice, arguments, 4, &(struct esp_call_options){0}, NULL) == ESP_OK);
    EXPECT(sum == MANY && y[0] == 1 && y[MANY - 1] == 1);
    EXPECT(x[0] == 1 && x[MANY - 1] == 1);
    arguments[1].unwanted = 0;
    EXPECT(esp_call(&twice, arguments, 4, &(struct esp_call_options){0}, NULL) == ESP_OK);
    EXPECT(x[0] == 2 && x[MANY - 1] == 2);
    return 0;
}

static void *call_many(void *arg)
{
    for (int i = 0; i < 200; i++) {
        double c = 0;
        if (grpc_call(arg, (double)i, 1.0, &c) != GRPC_NO_ERROR || c != i + 1)
            return (void *)1;
    }
    return NULL;
}

static int many_threads(const char *path)
{
    (void)path;
    pthread_t ids[8];
    grpc_function_handle_t add = handle("plus");
    void *result;
    for (int i = 0; i < 8; i++)
        pthread_create(&ids[i], NULL, call_many, &add);
    for (int i = 0; i < 8; i++)
        EXPECT(pthread_join(ids[i], &result) == 0 && result == NULL);
    return 0;
}

/* The library leaves signals as they were, and notices a fork. */
static int guest(const char *path)
{
    (void)path;
    struct sigaction pipe, terminate;
    unsigned before = threads();
    grpc_function_handle_t add = handle("plus");
    double c;
    EXPECT(grpc_call(&add, 1.0, 2.0, &c) == GRPC_NO_ERROR);
    unsigned after = threads();
    printf("threads before %u, after %u\n", before, after);
    sigaction(SIGPIPE, NULL, &pipe);
    sigaction(SIGTERM, NULL, &terminate);
    EXPECT(pipe.sa_handler == SIG_DFL && terminate.sa_handler == SIG_DFL);
    for (int i = 0; i < 3; i++) {
        EXPECT(grpc_finalize() == GRPC_NO_ERROR);
        EXPECT(grpc_call(&add, 1.0, 2.0, &c) == GRPC_NOT_INITIALIZED);
        EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
        EXPECT(grpc_call(&add, 1.0, 2.0, &c) == GRPC_INVALID_FUNCTION_HANDLE);
        add = handle("plus");
        EXPECT(grpc_call(&add, 1.0, 2.0, &c) == GRPC_NO_ERROR && c == 3);
    }
    return 0;
}

/* More short ones than a server keeps of one client. */
static int long_and_short(const char *path)
{
    (void)path;
    grpc_function_handle_t add = handle("plus"), nap = handle("nap");
    grpc_sessionid_t id;
    int slept;
    EXPECT(grpc_call_async(&nap, &id, 600000, &slept) == GRPC_NO_ERROR);
    for (int i = 0; i < 300; i++) {
        double c = 0;
        EXPECT(grpc_call(&add, 1.0, (double)i, &c) == GRPC_NO_ERROR && c == 1.0 + i);
    }
    EXPECT(grpc_probe(id) == GRPC_NOT_COMPLETED);
    EXPECT(grpc_cancel(id) == GRPC_NO_ERROR);
    EXPECT(grpc_wait(id) == GRPC_SESSION_FAILED);
    return 0;
}

static int cancelling(const char *path)
{
    (void)path;
    grpc_function_handle_t nap = handle("nap");
    grpc_sessionid_t ids[2];
    int ms[2];
    for (int i = 0; i < 2; i++)
        EXPECT(grpc_call_async(&nap, &ids[i], 3600000, &ms[i]) == GRPC_NO_ERROR);
    struct esp_session_info *info = NULL;
    do {
        esp_session_info_free(info);
        usleep(10000);
        EXPECT(esp_session_info_get(ids[0], &info) == ESP_OK);
    } while (strcmp(info->state, "running") != 0 && strcmp(info->state, "queued") != 0);
    esp_session_info_free(info);
    EXPECT(grpc_cancel(ids[0]) == GRPC_NO_ERROR);
    EXPECT(grpc_wait(ids[0]) == GRPC_SESSION_FAILED && esp_last_error()->status == ESP_CANCELLED);
    EXPECT(grpc_probe(ids[1]) == GRPC_NOT_COMPLETED);
    esp_handle_set_deadline(&nap, 0.3);
    EXPECT(grpc_call(&nap, 3600000, &ms[0]) == GRPC_SESSION_FAILED &&
           esp_last_error()->status == ESP_TIMEOUT);
    return 0; /* the other one is cancelled by finalize */
}

/* The test kills the server that computes once FILE is there, and then moves FILE to "go" beside it. */
static int killed(const char *path)
{
    grpc_function_handle_t hold = handle("hold"), once = handle("once");
    grpc_sessionid_t ids[2];
    int held[2] = {0};
    char go[4096];
    snprintf(go, sizeof go, "%.*s/go", (int)(strrchr(path, '/') - path), path);
    EXPECT(grpc_call_async(&hold, &ids[0], go, &held[0]) == GRPC_NO_ERROR);
    EXPECT(grpc_call_async(&once, &ids[1], go, &held[1]) == GRPC_NO_ERROR);
    for (int i = 0; i < 2; i++) {
        struct esp_session_info *info = NULL;
        do {
            esp_session_info_free(info);
            usleep(10000);
            EXPECT(esp_session_info_get(ids[i], &info) == ESP_OK);
        } while (strcmp(info->state, "running") != 0);
        esp_session_info_free(info);
    }
    say(path);
    EXPECT(grpc_wait(ids[0]) == GRPC_NO_ERROR && held[0] == 1);
    EXPECT(grpc_wait(ids[1]) == GRPC_SESSION_FAILED);
    EXPECT(grpc_get_error(ids[1]) == GRPC_COMMUNICATION_FAILED);
    printf("%s\n", esp_last_error()->text);
    return 0;
}

/* The test stops agent or redirector once FILE is there, and removes it. */
static int gone(const char *path)
{
    grpc_function_handle_t add = handle("plus");
    struct stat info;
    double c;
    EXPECT(grpc_call(&add, 1.0, 2.0, &c) == GRPC_NO_ERROR);
    say(path);
    while (stat(path, &info) == 0)
        usleep(20000);
    EXPECT(grpc_call(&add, 1.0, 2.0, &c) == GRPC_NO_ERROR && c == 3);
    return 0;
}

/* A problem whose servers cannot be reached is not reported as unknown. */
static int lost(const char *path)
{
    grpc_function_handle_t nap;
    (void)path;
    EXPECT(grpc_function_handle_default(&nap, "nap") == GRPC_SERVER_NOT_FOUND);
    EXPECT(strstr(esp_last_error()->text, "cannot be reached") != NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *path);
    } steps[] = {{"values", values},
                 {"farm", farm},
                 {"large-farm", large_farm},
                 {"threads", many_threads},
                 {"guest", guest},
                 {"long-and-short", long_and_short},
                 {"cancel", cancelling},
                 {"killed", killed},
                 {"gone", gone},
                 {"lost", lost},
                 {"unwanted", unwanted},
                 {"without-outputs", without_outputs}};
    if (grpc_initialize(NULL) != GRPC_NO_ERROR) {
        printf("%s\n", esp_last_error()->text);
        return 1;
    }
    for (size_t i = 0; argc > 1 && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(argv[1], steps[i].name) == 0) {
            int result = steps[i].run(argc > 2 ? argv[2] : "");
            return result ? result : grpc_finalize() != GRPC_NO_ERROR;
        }
    return 2;
}
