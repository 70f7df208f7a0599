/* SPDX-License-Identifier: Apache-2.0
 *
 * stay_steps: how long data of grpc_data.h stay on servers, and where.
 *
 *     stay_steps overwritten  own values that calls write over
 *     stay_steps unique       data that may be on one server only, in calls that any server could take
 *     stay_steps strict       strictly volatile data, used on another server
 *     stay_steps dropped      volatile data that a server has dropped
 *     stay_steps both         one struct is an input and the result of the same call
 *     stay_steps together     calls of several threads whose inputs are each other's results
 *     stay_steps second       first on A, then on B
 *     stay_steps somewhere    on a server that is not named
 *     stay_steps twice        durable on A and B, with the identity in the file twice.id
 *     stay_steps wrong        wrong uses, which change nothing; makes a pipe
 *     stay_steps containers   several data, waited for together
 *     stay_steps shorter      memory that is not there
 *     stay_steps misdescribed data on servers, taken for others of as many bytes
 *     stay_steps misspelt     durable on A, and to be so on a server that there is not
 *     stay_steps several      to A, to a server that there is not, to B and to memory
 *     stay_steps result       of calls on A, to be on B
 *     stay_steps behind       freed right behind calls that take them
 *     stay_steps noted        one that is durable on B, and saved in the file noted
 *     stay_steps unseen       where that one is, while nobody knows
 *     stay_steps freed        deletes that one
 *     stay_steps durable      on a second server; leaves one on B, whose identity is in the file durable.id
 */
#include "tests/e2e/data_arrays.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int32_t pivots[N];

static int wait_for(grpc_data_t *data)
{
    const grpc_data_t *list[] = {data, NULL};
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    return 0;
}

/* Data on all servers; -1: nobody knows. */
static int count(void)
{
    struct esp_data_info *infos;
    size_t n;
    if (esp_data_list(NULL, &infos, &n) != ESP_OK)
        return -1;
    esp_data_free(infos);
    return (int)n;
}

static int becomes(int expected_count)
{
    for (int i = 0; i < 200 && count() != expected_count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return count() == expected_count;
}

static int overwritten(void)
{
    grpc_function_handle_t getrf;
    grpc_data_t da;
    char *identity = NULL;
    int before = count();
    fill(a, 1);
    for (int i = 0; i < N; i++)
        a[i * N + i] += 20;
    MUST(grpc_function_handle_default(&getrf, (char *)"dgetrf"));
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(grpc_call(&getrf, N, N, &da, pivots));
    HOLDS(becomes(before + 1)); /* the factors; what went in is gone */
    MUST(grpc_call(&getrf, N, N, &da, pivots));
    HOLDS(becomes(before + 1));
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(grpc_call(&getrf, N, N, &da, pivots));
    MUST(grpc_data_free(&da, NULL));
    HOLDS(becomes(before + 1)); /* the program has a name for it */
    MUST(esp_data_drop(identity));
    free(identity);
    return 0;
}

static int strict(void)
{
    grpc_function_handle_t mul;
    grpc_data_t da;
    int before = count();
    fill(a, 1);
    fill(b, 2);
    MUST(grpc_function_handle_init(&mul, (char *)"B", (char *)"product"));
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", "server:A", GRPC_STRICTLY_VOLATILE));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    HOLDS(wait_for(&da) == 0);
    HOLDS(count() == before + 1 && says(&da, GRPC_INFO_PLACES, "A"));
    MUST(grpc_call(&mul, N, &da, b, c));
    multiply(a, b, expected);
    HOLDS(near(c, expected));
    HOLDS(becomes(before)); /* B has told A */
    memset(c, 0, sizeof c);
    MUST(grpc_call(&mul, N, &da, b, c)); /* the program's memory has it still */
    HOLDS(near(c, expected));
    HOLDS(becomes(before));
    MUST(grpc_data_free(&da, NULL));
    return 0;
}

static int lose(const grpc_data_t *data)
{
    char *identity = NULL;
    MUST(grpc_data_getinfo(data, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(esp_data_drop(identity));
    free(identity);
    return 0;
}

/* Acts as a server does that drops the datum because memory is short. */
static int dropped(void)
{
    grpc_function_handle_t mul;
    grpc_data_t da;
    const char *from[] = {"memory:a", NULL};
    int before = count();
    fill(a, 1);
    fill(b, 2);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", "server:A", GRPC_VOLATILE));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    HOLDS(wait_for(&da) == 0 && lose(&da) == 0);
    MUST(grpc_call(&mul, N, &da, b, c));
    multiply(a, b, expected);
    HOLDS(near(c, expected));
    MUST(grpc_data_transfer(&da, from, NULL, NULL));
    HOLDS(wait_for(&da) == 0 && lose(&da) == 0);
    a[0] += 1;
    HOLDS(grpc_call(&mul, N, &da, b, c) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "has written over the memory that it was sent from") != NULL);
    MUST(grpc_data_transfer(&da, from, NULL, NULL));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_call(&mul, N, &da, b, c));
    multiply(a, b, expected);
    HOLDS(near(c, expected));
    MUST(grpc_data_free(&da, NULL));
    HOLDS(becomes(before));
    return 0;
}

/* The input is the value before the call, the output the next one. */
static int both(void)
{
    grpc_function_handle_t mul;
    grpc_data_t da, ds;
    char *identity = NULL;
    fill(a, 1);
    fill(b, 2);
    MUST(grpc_function_handle_init(&mul, (char *)"A", (char *)"product"));
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", "memory:a", GRPC_VOLATILE));
    MUST(array(&ds, "memory:a", NULL, GRPC_PERSISTENT));
    multiply(a, b, expected);
    MUST(grpc_call(&mul, N, &ds, b, &ds));
    MUST(grpc_call(&mul, N, &da, b, &da));
    HOLDS(near(a, expected));
    multiply(a, b, expected);
    memcpy(a, expected, sizeof a);
    multiply(a, a, c);
    memset(a, 0, sizeof a);
    MUST(grpc_call(&mul, N, &ds, b, &ds)); /* from where the last one left it */
    MUST(grpc_call(&mul, N, &ds, &ds, &ds));
    MUST(grpc_data_getinfo(&ds, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(esp_data_get(identity, a, sizeof a, NULL, NULL));
    free(identity);
    HOLDS(near(a, c));
    MUST(grpc_data_free(&da, NULL));
    MUST(grpc_data_free(&ds, NULL));
    return 0;
}

#define ROUNDS 8

/* Two threads; each takes what the other one makes, and then both the same. */
struct together {
    grpc_function_handle_t mul;
    grpc_data_t *in, *out;
    pthread_barrier_t *begin;
    int failed;
};

static void *take_turns(void *arg)
{
    struct together *together = arg;
    for (int i = 0; i < ROUNDS && !together->failed; i++) {
        pthread_barrier_wait(together->begin);
        together->failed = grpc_call(&together->mul, N, together->in, b, together->out) != GRPC_NO_ERROR &&
                           told("grpc_call");
    }
    return NULL;
}

static int take_turns_on(grpc_data_t *x, grpc_data_t *y)
{
    pthread_t thread;
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, NULL, 2);
    struct together one = {.in = x, .out = y, .begin = &begin}, other = {.in = y, .out = x, .begin = &begin};
    MUST(grpc_function_handle_init(&one.mul, (char *)"A", (char *)"product"));
    other.mul = one.mul;
    HOLDS(pthread_create(&thread, NULL, take_turns, &other) == 0);
    take_turns(&one);
    HOLDS(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&begin);
    HOLDS(!one.failed && !other.failed);
    return 0;
}

static int together(void)
{
    grpc_data_t dx, dy;
    char *identity = NULL;
    fill(a, 1);
    memset(b, 0, sizeof b);
    for (int i = 0; i < N; i++)
        b[i * N + i] = 2;
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&dx, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(array(&dy, "memory:a", NULL, GRPC_PERSISTENT));
    HOLDS(take_turns_on(&dx, &dy) == 0);
    MUST(grpc_data_free(&dx, NULL));
    MUST(array(&dx, "memory:a", NULL, GRPC_PERSISTENT));
    HOLDS(take_turns_on(&dx, &dx) == 0);
    MUST(grpc_data_getinfo(&dx, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(esp_data_get(identity, c, sizeof c, NULL, NULL));
    free(identity);
    for (int i = 0; i < N * N; i++)
        a[i] *= 1 << 2 * ROUNDS; /* each call has doubled what the one before it left */
    HOLDS(near(c, a));
    MUST(grpc_data_free(&dx, NULL));
    MUST(grpc_data_free(&dy, NULL));
    return 0;
}

static int durable(void)
{
    grpc_data_t da;
    char *identity = NULL;
    const char *to_b[] = {"server:B", NULL}, *on_a[] = {"server:A", NULL};
    const grpc_data_mode_t sticky[] = {GRPC_STICKY, GRPC_END_LIST};
    fill(a, 3);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", "server:A", GRPC_VOLATILE));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &identity));
    const char *same[] = {NULL, NULL};
    char uri[400];
    snprintf(uri, sizeof uri, "data:%s", identity);
    same[0] = uri;
    MUST(grpc_data_transfer(&da, same, to_b, sticky));
    HOLDS(wait_for(&da) == 0);
    HOLDS(says(&da, GRPC_INFO_PLACES, "A B"));
    MUST(grpc_data_free(&da, on_a));
    FILE *file = fopen("durable.id", "w");
    HOLDS(file && fputs(identity, file) >= 0 && fclose(file) == 0);
    free(identity);
    return 0;
}

static int twice(void)
{
    grpc_data_t da;
    char *identity = NULL;
    const char *from[] = {"memory:a", NULL}, *to[] = {"server:A", "server:B", NULL};
    const grpc_data_mode_t modes[] = {GRPC_PERSISTENT, GRPC_PERSISTENT, GRPC_END_LIST};
    fill(a, 4);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(grpc_data_transfer(&da, from, to, modes));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &identity));
    FILE *file = fopen("twice.id", "w");
    HOLDS(file && fputs(identity, file) >= 0 && fclose(file) == 0);
    free(identity);
    return 0;
}

/* A single server is to have it: it moves there from all others, a copy for a call included. */
static int alone(void)
{
    grpc_function_handle_t mul;
    grpc_data_t da;
    const char *to_a[] = {"server:A", NULL}, *to_b[] = {"server:B", NULL};
    const char *to_both[] = {"server:A", "server:B", NULL};
    const grpc_data_mode_t lists[][3] = {{GRPC_VOLATILE, GRPC_VOLATILE, GRPC_END_LIST},
                                         {GRPC_PERSISTENT, GRPC_PERSISTENT, GRPC_END_LIST}};
    const int before = count();
    fill(a, 5);
    fill(b, 6);
    multiply(a, b, expected);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_function_handle_init(&mul, (char *)"B", (char *)"product"));
    for (int i = 0; i < 2; i++) {
        const grpc_data_mode_t *modes = lists[i];
        MUST(array(&da, "memory:a", NULL, modes[0]));
        MUST(grpc_data_transfer(&da, NULL, to_a, modes));
        HOLDS(wait_for(&da) == 0 && says(&da, GRPC_INFO_PLACES, "A"));
        MUST(grpc_data_transfer(&da, NULL, to_b, modes));
        HOLDS(wait_for(&da) == 0 && says(&da, GRPC_INFO_PLACES, "B"));
        MUST(grpc_data_transfer(&da, NULL, to_both, modes));
        HOLDS(wait_for(&da) == 0 && says(&da, GRPC_INFO_PLACES, "A B"));
        MUST(grpc_data_transfer(&da, NULL, to_a, modes));
        HOLDS(wait_for(&da) == 0 && says(&da, GRPC_INFO_PLACES, "A"));
        MUST(grpc_call(&mul, N, &da, b, c));
        HOLDS(near(c, expected));
        MUST(grpc_data_transfer(&da, NULL, to_a, modes));
        HOLDS(wait_for(&da) == 0 && says(&da, GRPC_INFO_PLACES, "A"));
        MUST(grpc_data_free(&da, NULL));
        HOLDS(becomes(before));
    }
    return 0;
}

/* A datum that is to be sticky on another server, too, comes there from the first one, and all of it goes. */
static int second(void)
{
    grpc_data_t da;
    const char *to_a[] = {"server:A", NULL}, *to_b[] = {"server:B", NULL};
    const grpc_data_mode_t sticky[] = {GRPC_STICKY, GRPC_END_LIST};
    char *first = NULL, *after = NULL;
    const int before = count();
    fill(a, 5);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", NULL, GRPC_STICKY));
    MUST(grpc_data_transfer(&da, NULL, to_a, sticky));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &first));
    MUST(grpc_data_transfer(&da, NULL, to_b, sticky));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &after));
    HOLDS(strcmp(first, after) == 0);
    HOLDS(says(&da, GRPC_INFO_PLACES, "A B"));
    MUST(grpc_data_free(&da, NULL));
    HOLDS(becomes(before));
    free(first);
    free(after);
    return 0;
}

/* No server is named: it is durable on one all the same, */
static int somewhere(void)
{
    grpc_data_t da;
    const char *from[] = {"memory:a", NULL}, *to[] = {"server:", NULL};
    const grpc_data_mode_t modes[] = {GRPC_PERSISTENT, GRPC_END_LIST};
    struct esp_data_info *infos;
    char *identity = NULL;
    size_t n;
    fill(a, 6);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(grpc_data_transfer(&da, from, to, modes));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &identity));
    HOLDS(strlen(identity) > 0);
    MUST(esp_data_look(identity, &infos, &n));
    HOLDS(n == 1 && infos[0].on_disk);
    esp_data_free(infos);
    free(identity);
    MUST(grpc_data_free(&da, NULL));
    return 0;
}

/* ---- data that may be on one server only ---- */

static int unique(void)
{
    grpc_function_handle_t mul;
    grpc_data_t da, db;
    const char *places[] = {"server:A", "server:B"};
    const grpc_data_t *list[] = {&da, &db, NULL};
    grpc_data_t *const data[] = {&da, &db};
    fill(a, 5);
    fill(b, 6);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    for (int i = 0; i < 2; i++) {
        MUST(array(data[i], "memory:a", places[i], GRPC_UNIQUE_STICKY));
        MUST(grpc_data_transfer(data[i], NULL, NULL, NULL));
    }
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    multiply(a, b, expected);
    for (int i = 0; i < 12; i++) {
        memset(c, 0, sizeof c);
        MUST(grpc_call(&mul, N, data[i % 2], b, c));
        HOLDS(near(c, expected));
    }
    HOLDS(grpc_call(&mul, N, &da, &db, c) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "unique and on server B") != NULL);
    HOLDS(strstr(esp_last_error()->text, "cannot leave server A") != NULL);
    char *identity = NULL;
    struct esp_data_info *infos;
    size_t n;
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(esp_data_look(identity, &infos, &n));
    HOLDS(n == 1 && infos[0].unique);
    esp_data_free(infos);
    HOLDS(esp_data_copy(identity, "B", 1, NULL, NULL) == ESP_REFUSED);
    HOLDS(strstr(esp_last_error()->text, "sticky and unique: it stays on its server") != NULL);
    free(identity);
    MUST(grpc_data_free(&da, NULL));
    MUST(grpc_data_free(&db, NULL));
    return 0;
}

/* ---- wrong uses ---- */

static int wrong(void)
{
    grpc_data_t da;
    const grpc_data_t *list[] = {&da, NULL};
    const char *other[] = {"memory:b", NULL}, *nowhere[] = {"http://x", NULL};
    fill(a, 7);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", "server:A", GRPC_PERSISTENT));
    HOLDS(grpc_data_transfer(&da, other, nowhere, NULL) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "http://x") != NULL);
    HOLDS(says(&da, GRPC_INFO_INPUTS, "memory:a") && says(&da, GRPC_INFO_OUTPUTS, "server:A"));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    HOLDS(grpc_data_wait(list, (grpc_completion_mode_t)2, NULL) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "GRPC_WAIT_ANY, found 2") != NULL);
    HOLDS(wait_for(&da) == 0);
    const char *misspelt[] = {"server:AA", NULL}, *without[] = {"server:B", NULL};
    HOLDS(grpc_data_free(&da, misspelt) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "AA") != NULL && says(&da, GRPC_INFO_PLACES, "A"));
    MUST(grpc_data_save(&da, "file:kept"));
    MUST(grpc_data_free(&da, without)); /* which has none: the value stays on A */
    MUST(grpc_data_load(&da, "file:kept"));
    HOLDS(says(&da, GRPC_INFO_PLACES, "A"));
    MUST(grpc_data_free(&da, NULL));
    /* A pipe that nobody writes to is not waited for. */
    const char *pipe[] = {"file:pipe", NULL};
    HOLDS(mkfifo("pipe", 0600) == 0);
    MUST(grpc_data_init(&da, pipe, NULL, GRPC_DOUBLE, (const size_t[]){N, N, 0}, NULL));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    HOLDS(grpc_data_wait(list, GRPC_WAIT_ALL, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "pipe: expected a regular file") != NULL);
    MUST(grpc_data_unbind(&da));
    HOLDS(grpc_data_load(&da, "file:pipe") == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "pipe: expected a regular file") != NULL);
    return 0;
}

/* All that is in a container is waited for, also behind what fails; it fails as a transfer whatever is wrong.
 */
static int containers(void)
{
    enum { MUCH = 800 };
    grpc_function_handle_t mul;
    grpc_sessionid_t session;
    grpc_data_t slow, missing, ready, both_of, other, *told_of = NULL;
    const size_t extents[] = {MUCH, MUCH, 0}, two[] = {2, 0};
    const grpc_data_mode_t modes[] = {GRPC_VOLATILE, GRPC_END_LIST};
    const grpc_data_t *any[] = {&other, &both_of, NULL}, *all[] = {&other, &both_of, NULL};
    const char *lines[] = {"file:five", NULL};
    double *m = calloc(2, MUCH * MUCH * sizeof *m);
    HOLDS(m != NULL);
    fill(a, 16);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_data_init(&slow, NULL, NULL, GRPC_DOUBLE, extents, modes));
    MUST(array(&missing, "memory:a", "server:A", GRPC_VOLATILE));
    MUST(array(&ready, "memory:a", "server:A", GRPC_VOLATILE));
    MUST(grpc_data_init(&both_of, NULL, NULL, GRPC_CONTAINER_OF_GRPC_DATA, two, NULL));
    MUST(grpc_data_init(&other, NULL, NULL, GRPC_CONTAINER_OF_GRPC_DATA, two, NULL));
    MUST(grpc_data_container_set(&both_of, 0, &missing));
    MUST(grpc_data_container_set(&both_of, 1, &slow));
    MUST(grpc_data_container_set(&other, 1, &ready));
    FILE *file = fopen("five", "w"); /* no array of that size */
    HOLDS(file && fputs("short", file) >= 0 && fclose(file) == 0);
    MUST(grpc_data_transfer(&missing, lines, NULL, NULL));
    MUST(grpc_data_transfer(&ready, NULL, NULL, NULL));
    HOLDS(wait_for(&ready) == 0);
    MUST(grpc_call_async(&mul, &session, MUCH, m, m, &slow));
    MUST(grpc_data_wait(any, GRPC_WAIT_ANY, &told_of));
    HOLDS(told_of == &other);
    HOLDS(grpc_data_wait(all, GRPC_WAIT_ALL, &told_of) == GRPC_SESSION_FAILED);
    HOLDS(told_of == &both_of && strstr(esp_last_error()->text, "bytes of the array, found 5") != NULL);
    HOLDS(says(&slow, GRPC_INFO_STATUS, "ready"));
    MUST(grpc_wait(session));
    HOLDS(grpc_data_free(&ready, lines) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "found \"file:five\"") != NULL);
    MUST(grpc_data_free(&other, NULL));
    MUST(grpc_data_free(&both_of, NULL));
    MUST(grpc_data_free(&ready, NULL));
    MUST(grpc_data_free(&slow, NULL));
    free(m);
    return 0;
}

/* An array that is shorter than the program says, in a call and as a datum. */
static int shorter(void)
{
    enum { MUCH = 512, BYTES = MUCH * MUCH * sizeof(double) };
    grpc_function_handle_t mul;
    grpc_data_t da;
    const size_t extents[] = {MUCH, MUCH, 0};
    const char *from[] = {"memory:short", NULL}, *to[] = {"server:A", NULL};
    const grpc_data_mode_t modes[] = {GRPC_VOLATILE, GRPC_END_LIST};
    double *whole = calloc(3, BYTES);
    char *half = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(whole && mprotect(half + BYTES / 2, BYTES / 2, PROT_NONE) == 0);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    HOLDS(grpc_call(&mul, MUCH, whole, half, whole + MUCH * MUCH) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "memory cannot be read: expected") != NULL);
    MUST(grpc_data_memory_mapping_set("short", half));
    MUST(grpc_data_init(&da, from, to, GRPC_DOUBLE, extents, modes));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    HOLDS(wait_for(&da) != 0);
    HOLDS(strstr(esp_last_error()->text, "memory cannot be read: expected") != NULL);
    MUST(grpc_data_free(&da, NULL));
    MUST(grpc_call(&mul, MUCH, whole, whole, whole + MUCH * MUCH));
    munmap(half, BYTES);
    free(whole);
    return 0;
}

/* Takes the datum for that array, into memory. */
static grpc_error_t take_for(const char *identity, grpc_data_type_t type, const size_t *extents)
{
    grpc_data_t taken;
    char uri[400];
    const char *from[] = {uri, NULL}, *to[] = {"memory:b", NULL};
    const grpc_data_mode_t modes[] = {GRPC_VOLATILE, GRPC_END_LIST};
    const grpc_data_t *list[] = {&taken, NULL};
    snprintf(uri, sizeof uri, "data:%s", identity);
    grpc_error_t code = grpc_data_init(&taken, from, to, type, extents, modes);
    if (code == GRPC_NO_ERROR)
        code = grpc_data_transfer(&taken, NULL, NULL, NULL);
    if (code == GRPC_NO_ERROR)
        code = grpc_data_wait(list, GRPC_WAIT_ALL, NULL);
    grpc_data_unbind(&taken);
    return code;
}

static int misdescribed(void)
{
    static const size_t wide[] = {N / 2, 2 * N, 0}, tall[] = {2 * N, N, 0}, line[] = {N * N, 0};
    const struct esp_argument array_a = {.data = a, .type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, N}};
    char *identity;
    fill(a, 9);
    fill(b, 1);
    memcpy(expected, b, sizeof b);
    MUST(esp_data_put("A", &array_a, ESP_DATA_VOLATILE, NULL, NULL, &identity));
    MUST(grpc_data_memory_mapping_set("b", b));
    HOLDS(take_for(identity, GRPC_INT64, dims) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "expected int64[120, 120], the datum is double[120, 120]") != NULL);
    HOLDS(take_for(identity, GRPC_DOUBLE, wide) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "expected double[60, 240], the datum is double[120, 120]") != NULL);
    HOLDS(take_for(identity, GRPC_FLOAT, tall) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "expected float[240, 120], the datum is double[120, 120]") != NULL);
    HOLDS(memcmp(b, expected, sizeof b) == 0);
    MUST(take_for(identity, GRPC_DOUBLE, line)); /* its elements one behind the other */
    HOLDS(memcmp(b, a, sizeof b) == 0);
    MUST(esp_data_drop(identity));
    free(identity);
    return 0;
}

/* A name that no server has leaves nothing behind. */
static int misspelt(void)
{
    grpc_data_t da;
    const char *to_a[] = {"server:A", NULL}, *to_none[] = {"server:AO", NULL};
    const grpc_data_mode_t modes[] = {GRPC_PERSISTENT, GRPC_END_LIST};
    const grpc_data_t *list[] = {&da, NULL};
    char *identity = NULL;
    fill(a, 10);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(grpc_data_transfer(&da, NULL, to_a, modes));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_getinfo(&da, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(grpc_data_transfer(&da, NULL, to_none, modes));
    HOLDS(grpc_data_wait(list, GRPC_WAIT_ALL, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "AO") != NULL);
    MUST(esp_data_drop(identity));
    free(identity);
    return 0;
}

/* One that cannot be brought to a place is brought to the others. */
static int several(void)
{
    grpc_data_t da;
    const char *to[] = {"server:AO", "server:A", "server:B", "memory:c", NULL};
    const grpc_data_mode_t modes[] = {GRPC_VOLATILE, GRPC_END_LIST};
    const grpc_data_t *list[] = {&da, NULL};
    const int before = count();
    fill(a, 11);
    memset(c, 0, sizeof c);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_data_memory_mapping_set("c", c));
    MUST(array(&da, "memory:a", NULL, GRPC_VOLATILE));
    MUST(grpc_data_transfer(&da, NULL, to, modes));
    HOLDS(grpc_data_wait(list, GRPC_WAIT_ALL, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "to \"server:AO\": ") != NULL);
    HOLDS(says(&da, GRPC_INFO_PLACES, "A B"));
    HOLDS(memcmp(a, c, sizeof c) == 0);
    MUST(grpc_data_free(&da, NULL));
    HOLDS(becomes(before));
    return 0;
}

/* A result that is to be on another server is there alone, whatever its mode. */
static int result(void)
{
    static const grpc_data_mode_t modes[] = {GRPC_VOLATILE, GRPC_STICKY, GRPC_UNIQUE_STICKY, GRPC_PERSISTENT};
    static const enum esp_data_mode kept[] = {ESP_DATA_VOLATILE, ESP_DATA_STICKY, ESP_DATA_STICKY,
                                              ESP_DATA_PERSISTENT};
    grpc_function_handle_t on[2];
    fill(a, 12);
    fill(b, 13);
    multiply(a, b, expected);
    MUST(grpc_function_handle_init(&on[0], (char *)"A", (char *)"product"));
    MUST(grpc_function_handle_init(&on[1], (char *)"B", (char *)"product"));
    for (int i = 0; i < 8; i++) {
        grpc_data_t dc;
        struct esp_data_info *infos;
        char *identity = NULL;
        size_t n;
        MUST(array(&dc, NULL, "server:B", modes[i / 2]));
        MUST(grpc_call(&on[i % 2], N, a, b, &dc));
        HOLDS(says(&dc, GRPC_INFO_PLACES, "B"));
        MUST(grpc_data_getinfo(&dc, GRPC_INFO_IDENTITY, NULL, &identity));
        MUST(esp_data_look(identity, &infos, &n));
        HOLDS(n == 1 && infos[0].mode == kept[i / 2] && !infos[0].replica);
        esp_data_free(infos);
        memset(c, 0, sizeof c);
        MUST(esp_data_get(identity, c, sizeof c, NULL, NULL));
        HOLDS(near(c, expected));
        free(identity);
        MUST(grpc_data_free(&dc, NULL));
    }
    return 0;
}

/* A datum that is freed while calls need it stays for them, and goes with the last one. */
static int behind(void)
{
    static const grpc_data_mode_t modes[] = {GRPC_VOLATILE, GRPC_STICKY, GRPC_PERSISTENT};
    enum { CALLS = 4 };
    static double results[CALLS][N * N];
    grpc_function_handle_t mul;
    grpc_sessionid_t sessions[CALLS];
    const int before = count();
    fill(a, 14);
    fill(b, 15);
    multiply(a, b, expected);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_data_memory_mapping_set("a", a));
    for (int i = 0; i < 6; i++) {
        grpc_data_t da;
        MUST(array(&da, "memory:a", i % 2 ? "server:A" : NULL, modes[i / 2]));
        if (i % 2) { /* else it is put by the calls, if it stays */
            MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
            HOLDS(wait_for(&da) == 0);
        }
        for (int k = 0; k < CALLS; k++) {
            memset(results[k], 0, sizeof results[k]);
            MUST(grpc_call_async(&mul, &sessions[k], N, &da, b, results[k]));
        }
        MUST(grpc_data_free(&da, NULL));
        HOLDS(grpc_call(&mul, N, &da, b, c) != GRPC_NO_ERROR); /* others do not get it any more */
        for (int k = 0; k < CALLS; k++) {
            MUST(grpc_wait(sessions[k]));
            HOLDS(near(results[k], expected));
        }
        HOLDS(becomes(before));
    }
    return 0;
}

/* The datum is volatile by its description, but persistent by its transfer. */
static int noted(void)
{
    grpc_data_t da;
    const char *to[] = {"server:B", NULL};
    const grpc_data_mode_t modes[] = {GRPC_PERSISTENT, GRPC_END_LIST};
    fill(a, 8);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", NULL, GRPC_VOLATILE));
    MUST(grpc_data_transfer(&da, NULL, to, modes));
    HOLDS(wait_for(&da) == 0);
    MUST(grpc_data_save(&da, "file:noted"));
    return 0;
}

static int freed(void)
{
    grpc_data_t da;
    MUST(grpc_data_load(&da, "file:noted"));
    HOLDS(says(&da, GRPC_INFO_MODE, "GRPC_PERSISTENT"));
    MUST(grpc_data_free(&da, NULL));
    return 0;
}

/* That nobody answers does not mean that it is nowhere. */
static int unseen(void)
{
    grpc_data_t alone, container;
    const size_t two[] = {2, 0};
    char *places = NULL;
    MUST(grpc_data_load(&alone, "file:noted"));
    HOLDS(grpc_data_getinfo(&alone, GRPC_INFO_PLACES, NULL, &places) == GRPC_OTHER_ERROR_CODE);
    HOLDS(!places && esp_last_error()->status == ESP_UNREACHABLE);
    MUST(grpc_data_init(&container, NULL, NULL, GRPC_CONTAINER_OF_GRPC_DATA, two, NULL));
    MUST(grpc_data_container_set(&container, 1, &alone));
    HOLDS(grpc_data_getinfo(&container, GRPC_INFO_PLACES, NULL, &places) == GRPC_OTHER_ERROR_CODE);
    HOLDS(!places && says(&container, GRPC_INFO_STATUS, "empty") && says(&alone, GRPC_INFO_STATUS, "ready"));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    int failed = strcmp(what, "overwritten") == 0    ? overwritten()
                 : strcmp(what, "unique") == 0       ? unique()
                 : strcmp(what, "strict") == 0       ? strict()
                 : strcmp(what, "dropped") == 0      ? dropped()
                 : strcmp(what, "both") == 0         ? both()
                 : strcmp(what, "together") == 0     ? together()
                 : strcmp(what, "twice") == 0        ? twice()
                 : strcmp(what, "second") == 0       ? second()
                 : strcmp(what, "alone") == 0        ? alone()
                 : strcmp(what, "somewhere") == 0    ? somewhere()
                 : strcmp(what, "durable") == 0      ? durable()
                 : strcmp(what, "wrong") == 0        ? wrong()
                 : strcmp(what, "containers") == 0   ? containers()
                 : strcmp(what, "shorter") == 0      ? shorter()
                 : strcmp(what, "misdescribed") == 0 ? misdescribed()
                 : strcmp(what, "misspelt") == 0     ? misspelt()
                 : strcmp(what, "several") == 0      ? several()
                 : strcmp(what, "result") == 0       ? result()
                 : strcmp(what, "behind") == 0       ? behind()
                 : strcmp(what, "noted") == 0        ? noted()
                 : strcmp(what, "unseen") == 0       ? unseen()
                 : strcmp(what, "freed") == 0        ? freed()
                                                     : 2;
    grpc_finalize();
    return failed;
}
