/* SPDX-License-Identifier: Apache-2.0
 *
 * data_steps: data in programs: grpc_data.h, and sequences of calls.
 *
 *     data_steps grid     data of grpc_data.h in calls of all kinds
 *     data_steps sequence the same program with and without a sequence
 *     data_steps lost     a sequence, one of whose servers is killed: creates the file "made" when it is
 *                         time, and waits for the file "killed"
 *     data_steps save FILE, data_steps load FILE
 *     data_steps save-all FILE, data_steps load-all FILE    the same with a container
 */
#include "espalier.h"
#include "tests/e2e/data_arrays.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int32_t pivots[N];

static double d[N * N];

/* Bytes of all data that servers have got: from clients and from their own workers, not from each other. */
static unsigned long long received(void)
{
    struct esp_data_info *infos;
    size_t n;
    unsigned long long bytes = 0;
    if (esp_data_list(NULL, &infos, &n) != ESP_OK)
        return ~0ull;
    for (size_t i = 0; i < n; i++)
        bytes += infos[i].replica ? 0 : infos[i].bytes_in;
    esp_data_free(infos);
    return bytes;
}

/* ---- grpc_data.h ---- */

static int blocking(grpc_function_handle_t *mul, grpc_data_t *da, grpc_data_t *db, grpc_data_t *dc)
{
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_data_memory_mapping_set("b", b));
    MUST(grpc_data_memory_mapping_set("c", c));
    MUST(array(da, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(array(db, "memory://localhost/b", NULL, GRPC_VOLATILE));
    MUST(array(dc, NULL, NULL, GRPC_PERSISTENT));
    HOLDS(says(da, GRPC_INFO_STATUS, "empty") && says(dc, GRPC_INFO_DIMENSIONS, "120 120"));
    MUST(grpc_call(mul, N, da, db, dc));
    HOLDS(says(dc, GRPC_INFO_STATUS, "ready") && says(dc, GRPC_INFO_MODE, "GRPC_PERSISTENT"));
    char *identity;
    MUST(grpc_data_getinfo(da, GRPC_INFO_IDENTITY, NULL, &identity));
    HOLDS(strchr(identity, ':')); /* what is persistent stayed where it was sent */
    unsigned long long before = received();
    HOLDS(before == 2 * sizeof a); /* and so did the result */
    multiply(a, b, expected);
    /* The result goes into the next call where it is; a is not sent again. */
    grpc_data_t de;
    MUST(array(&de, NULL, "memory:c", GRPC_VOLATILE));
    MUST(grpc_call(mul, N, da, dc, &de));
    HOLDS(received() == before);
    multiply(a, expected, d);
    HOLDS(near(c, d));
    free(identity);
    MUST(grpc_data_unbind(&de));
    HOLDS(grpc_call(mul, N, &de, dc, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "freed or unbound"));
    return 0;
}

static int asynchronous(grpc_function_handle_t *mul, grpc_data_t *da, grpc_data_t *db)
{
    grpc_data_t results[3], *first = NULL;
    grpc_sessionid_t ids[3];
    const grpc_data_t *list[] = {&results[0], &results[1], &results[2], NULL};
    for (int i = 0; i < 3; i++) {
        MUST(array(&results[i], NULL, "file:result", GRPC_VOLATILE));
        MUST(grpc_call_async(mul, &ids[i], N, da, db, &results[i]));
    }
    MUST(grpc_data_wait(list, GRPC_WAIT_ANY, &first));
    HOLDS(first >= results && first < results + 3);
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    MUST(grpc_wait_all());
    FILE *file = fopen("result", "rb");
    HOLDS(file && fread(c, 1, sizeof c, file) == sizeof c && fgetc(file) == EOF);
    fclose(file);
    multiply(a, b, expected);
    HOLDS(near(c, expected));
    for (int i = 0; i < 3; i++)
        MUST(grpc_data_free(&results[i], NULL));
    return 0;
}

static int stacks_and_jobs(grpc_function_handle_t *mul, grpc_data_t *da, grpc_data_t *db)
{
    int n = N;
    grpc_data_t out;
    struct esp_job *job;
    grpc_sessionid_t id;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(4);
    memset(c, 0, sizeof c);
    multiply(a, b, expected);
    MUST(array(&out, NULL, "memory:c", GRPC_VOLATILE));
    MUST(grpc_arg_stack_push_arg(stack, &n));
    MUST(grpc_arg_stack_push_arg(stack, da));
    MUST(grpc_arg_stack_push_arg(stack, db));
    MUST(grpc_arg_stack_push_arg(stack, &out));
    MUST(grpc_call_arg_stack(mul, stack));
    HOLDS(near(c, expected));
    grpc_arg_stack_destruct(stack);

    grpc_data_t kept;
    MUST(array(&kept, NULL, NULL, GRPC_PERSISTENT));
    const struct esp_argument arguments[] = {{.data = &n}, {.data = da}, {.data = db}, {.data = &kept}};
    memset(c, 0, sizeof c);
    MUST(esp_job_submit(mul, arguments, 4, NULL, 0, &job));
    const struct esp_argument results[] = {{0}, {0}, {0}, {.data = &kept}};
    MUST(esp_job_attach(job, results, 4, NULL, &id));
    MUST(grpc_wait(id));
    MUST(esp_job_forget(job));
    esp_job_free(job);
    const char *to_memory[] = {"memory:c", NULL};
    MUST(grpc_data_transfer(&kept, NULL, to_memory, NULL));
    const grpc_data_t *list[] = {&kept, NULL};
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    HOLDS(near(c, expected));
    MUST(grpc_data_free(&kept, NULL));
    return 0;
}

static int returned_too(grpc_function_handle_t *mul, const char *on)
{
    int n = N;
    char *identity = NULL, *id_b = NULL;
    const struct esp_argument given = {.data = b, .type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, N}};
    MUST(esp_data_put(on, &given, ESP_DATA_VOLATILE, NULL, NULL, &id_b));
    const struct esp_argument arguments[] = {
        {.data = &n},
        {.data = a},
        {.datum = id_b},
        {.data = c, .kept = &identity, .kept_mode = ESP_DATA_PERSISTENT_RETURN}};
    memset(c, 0, sizeof c);
    multiply(a, b, expected);
    MUST(esp_call(mul, arguments, 4, NULL, NULL));
    HOLDS(identity && near(c, expected)); /* it stayed, and a copy came */
    memset(d, 0, sizeof d);
    MUST(esp_data_get(identity, d, sizeof d, NULL, NULL));
    HOLDS(memcmp(c, d, sizeof c) == 0);
    MUST(esp_data_drop(identity));
    MUST(esp_data_drop(id_b));
    free(identity);
    free(id_b);
    return 0;
}

static int abstract(void)
{
    grpc_function_handle_t solve;
    grpc_data_t da, dx;
    static double identity[N * N];
    for (int i = 0; i < N; i++)
        identity[i * N + i] = 1;
    MUST(grpc_data_memory_mapping_set("identity", identity));
    MUST(array(&da, "memory:identity", "server:A", GRPC_PERSISTENT));
    MUST(array(&dx, NULL, NULL, GRPC_PERSISTENT));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    const grpc_data_t *list[] = {&da, NULL};
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    HOLDS(says(&da, GRPC_INFO_PLACES, "A"));
    MUST(grpc_function_handle_default(&solve, (char *)"solve"));
    MUST(grpc_call(&solve, N, N, N, &da, b, &dx));
    HOLDS(says(&dx, GRPC_INFO_STATUS, "ready"));
    const char *to_memory[] = {"memory:c", NULL};
    MUST(grpc_data_transfer(&dx, NULL, to_memory, NULL));
    const grpc_data_t *solution[] = {&dx, NULL};
    MUST(grpc_data_wait(solution, GRPC_WAIT_ALL, NULL));
    HOLDS(near(c, b));
    MUST(grpc_data_free(&da, NULL));
    MUST(grpc_data_free(&dx, NULL));
    return 0;
}

static int containers(grpc_data_t *da, grpc_data_t *db)
{
    grpc_data_t container, found;
    const size_t two[] = {2, 0};
    MUST(grpc_data_init(&container, NULL, NULL, GRPC_CONTAINER_OF_GRPC_DATA, two, NULL));
    MUST(grpc_data_container_set(&container, 0, da));
    HOLDS(grpc_data_container_get(&container, 1, &found) == GRPC_OTHER_ERROR_CODE);
    MUST(grpc_data_container_set(&container, 1, db));
    MUST(grpc_data_container_get(&container, 1, &found));
    HOLDS(says(&found, GRPC_INFO_INPUTS, "memory:b"));
    HOLDS(grpc_data_container_set(&container, 2, da) == GRPC_OTHER_ERROR_CODE);
    /* It tells of all that is in it, by rank. */
    char *identity, text[400];
    MUST(grpc_data_getinfo(da, GRPC_INFO_IDENTITY, NULL, &identity));
    snprintf(text, sizeof text, "%s -", identity);
    HOLDS(says(&container, GRPC_INFO_IDENTITY, text));
    HOLDS(says(&container, GRPC_INFO_MODE, "GRPC_PERSISTENT GRPC_VOLATILE"));
    HOLDS(says(&container, GRPC_INFO_STATUS, "ready") && says(&container, GRPC_INFO_TYPE, "container"));
    char *places, *of_all;
    MUST(grpc_data_getinfo(da, GRPC_INFO_PLACES, NULL, &places));
    MUST(grpc_data_getinfo(&container, GRPC_INFO_PLACES, NULL, &of_all));
    HOLDS(*places && strcmp(places, of_all) == 0);
    HOLDS(grpc_data_save(&container, "file:container") == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "the value at rank 1 is on no server"));
    HOLDS(access("container", F_OK) != 0);
    free(identity);
    free(places);
    free(of_all);
    MUST(grpc_data_unbind(&container));
    return 0;
}

static int wrong_uses(grpc_function_handle_t *mul, grpc_data_t *da, grpc_data_t *db)
{
    grpc_data_t none = {0}, small, unset;
    const size_t small_dims[] = {3, 0};
    const char *inputs[] = {"memory:nothing", NULL}, *nonsense[] = {"ftp://x/y", NULL};
    HOLDS(grpc_data_unbind(&none) == GRPC_INVALID_DATA);
    HOLDS(grpc_data_init(&small, nonsense, NULL, GRPC_DOUBLE, small_dims, NULL) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "expected memory:KEY"));
    MUST(grpc_data_init(&small, NULL, NULL, GRPC_DOUBLE, small_dims, NULL));
    HOLDS(grpc_call(mul, N, &small, db, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "expected an array of 115200 bytes, found data of double[3]"));
    MUST(grpc_data_unbind(&small));
    MUST(grpc_data_init(&small, NULL, NULL, GRPC_INT, dims, NULL));
    HOLDS(grpc_call(mul, N, da, &small, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "expected data of double, found int"));
    MUST(grpc_data_init(&unset, inputs, NULL, GRPC_DOUBLE, dims, NULL));
    HOLDS(grpc_call(mul, N, da, &unset, NULL) == GRPC_SESSION_FAILED);
    HOLDS(strstr(esp_last_error()->text, "memory:nothing"));
    HOLDS(grpc_data_save(&unset, "file:there") == GRPC_OTHER_ERROR_CODE);
    return 0;
}

static int grid(const char *on)
{
    grpc_function_handle_t mul;
    grpc_data_t da, db, dc;
    fill(a, 1);
    fill(b, 2);
    MUST(grpc_function_handle_init(&mul, (char *)on, (char *)"product"));
    if (blocking(&mul, &da, &db, &dc) || asynchronous(&mul, &da, &db) || stacks_and_jobs(&mul, &da, &db) ||
        returned_too(&mul, on) || abstract() || containers(&da, &db) || wrong_uses(&mul, &da, &db))
        return 1;
    MUST(grpc_data_free(&da, NULL));
    HOLDS(grpc_data_unbind(&da) == GRPC_INVALID_DATA);
    MUST(grpc_data_free(&dc, NULL));
    return 0;
}

/* ---- in two programs ---- */

static int save(const char *uri)
{
    grpc_data_t da;
    const grpc_data_t *list[] = {&da, NULL};
    fill(a, 5);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(array(&da, "memory:a", "server:A", GRPC_STICKY));
    MUST(grpc_data_transfer(&da, NULL, NULL, NULL));
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    MUST(grpc_data_save(&da, uri));
    return 0;
}

static int load(const char *uri)
{
    grpc_data_t da;
    const char *to_memory[] = {"memory:c", NULL};
    const grpc_data_t *list[] = {&da, NULL};
    fill(a, 5);
    MUST(grpc_data_memory_mapping_set("c", c));
    MUST(grpc_data_load(&da, uri));
    MUST(grpc_data_transfer(&da, NULL, to_memory, NULL));
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    HOLDS(memcmp(a, c, sizeof a) == 0);
    MUST(grpc_data_free(&da, NULL));
    return 0;
}

/* Two arrays and a rank without one. */
static int save_all(const char *uri)
{
    grpc_data_t da, db, container;
    const grpc_data_t *list[] = {&container, NULL};
    const size_t three[] = {3, 0};
    fill(a, 5);
    fill(b, 6);
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_data_memory_mapping_set("b", b));
    MUST(array(&da, "memory:a", "server:A", GRPC_STICKY));
    MUST(array(&db, "memory:b", "server:B", GRPC_PERSISTENT));
    MUST(grpc_data_init(&container, NULL, NULL, GRPC_CONTAINER_OF_GRPC_DATA, three, NULL));
    HOLDS(says(&container, GRPC_INFO_STATUS, "empty"));
    MUST(grpc_data_container_set(&container, 0, &da));
    MUST(grpc_data_container_set(&container, 2, &db));
    MUST(grpc_data_transfer(&container, NULL, NULL, NULL));
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    HOLDS(says(&container, GRPC_INFO_PLACES, "A B"));
    MUST(grpc_data_save(&container, uri));
    return 0;
}

static int load_all(const char *uri)
{
    grpc_data_t container, da, db, none;
    const char *to_c[] = {"memory:c", NULL};
    MUST(grpc_data_memory_mapping_set("c", c));
    MUST(grpc_data_load(&container, uri));
    HOLDS(says(&container, GRPC_INFO_DIMENSIONS, "3") && says(&container, GRPC_INFO_PLACES, "A B"));
    HOLDS(says(&container, GRPC_INFO_MODE, "GRPC_STICKY - GRPC_PERSISTENT"));
    MUST(grpc_data_container_get(&container, 0, &da));
    HOLDS(grpc_data_container_get(&container, 1, &none) == GRPC_OTHER_ERROR_CODE);
    MUST(grpc_data_container_get(&container, 2, &db));
    grpc_data_t *const each[] = {&da, &db};
    for (int i = 0; i < 2; i++) {
        const grpc_data_t *list[] = {each[i], NULL};
        fill(a, 5 + i);
        MUST(grpc_data_transfer(each[i], NULL, to_c, NULL));
        MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
        HOLDS(memcmp(a, c, sizeof a) == 0);
    }
    /* What the program has a name for is there without the container; what it has not goes with it. */
    grpc_data_t again, copy;
    MUST(grpc_data_load(&again, uri));
    MUST(grpc_data_container_get(&again, 0, &copy));
    MUST(grpc_data_unbind(&again));
    HOLDS(says(&copy, GRPC_INFO_TYPE, "double"));
    HOLDS(grpc_data_container_get(&again, 2, &none) == GRPC_INVALID_DATA);
    MUST(grpc_data_free(&container, NULL));
    HOLDS(says(&da, GRPC_INFO_PLACES, "") && says(&db, GRPC_INFO_PLACES, ""));
    return 0;
}

/* ---- sequences ---- */

static double lu[N * N], x[N * N], t[N * N];

/* A program that knows nothing of sequences: powers, a factorisation, two solves with it. */
static int program(void)
{
    grpc_function_handle_t mul, getrf, getrs;
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_function_handle_default(&getrf, (char *)"dgetrf"));
    MUST(grpc_function_handle_default(&getrs, (char *)"dgetrs"));
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, a, c, d));
    memcpy(lu, a, sizeof lu);
    MUST(grpc_call(&getrf, N, N, lu, pivots));
    memcpy(x, b, sizeof x);
    MUST(grpc_call(&getrs, 'N', N, N, lu, pivots, x));
    MUST(grpc_call(&mul, N, a, x, t)); /* b again */
    return 0;
}

/* All results are lost with their server; the program still has what the first was made of. */
static int lost(void)
{
    grpc_function_handle_t mul, solve;
    fill(a, 1);
    for (int i = 0; i < N; i++)
        a[i * N + i] += 20;
    fill(b, 2);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_function_handle_default(&solve, (char *)"solve"));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, a, c, d));
    MUST(grpc_call(&solve, N, N, N, a, c, t)); /* b again */
    FILE *made = fopen("made", "w");
    HOLDS(made && fclose(made) == 0);
    for (int i = 0; i < 600 && access("killed", F_OK) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    MUST(grpc_call(&mul, N, d, t, x));
    MUST(esp_sequence_end());
    multiply(a, b, expected);
    HOLDS(near(c, expected) && near(t, b));
    multiply(a, c, expected);
    HOLDS(near(d, expected));
    multiply(d, b, expected);
    HOLDS(near(x, expected));
    return 0;
}

/* Servers have not the memory for all that would stay there: the same comes out. */
static int tight(void)
{
    static double kept[4][N * N], solution[N * N];
    grpc_function_handle_t solve;
    double *const results[] = {c, d, x, lu};
    MUST(grpc_function_handle_default(&solve, (char *)"solve"));
    fill(a, 1);
    for (int i = 0; i < N; i++)
        a[i * N + i] += 20;
    fill(b, 2);
    if (program())
        return 1;
    for (int i = 0; i < 4; i++) {
        memcpy(kept[i], results[i], sizeof c);
        memset(results[i], 0, sizeof c);
    }
    memset(t, 0, sizeof t);
    MUST(esp_sequence_begin());
    if (program())
        return 1;
    MUST(grpc_call(&solve, N, N, N, a, c, solution)); /* b again */
    MUST(esp_sequence_end());
    HOLDS(near(solution, b));
    for (int i = 0; i < 4; i++)
        HOLDS(near(results[i], kept[i]));
    HOLDS(near(t, b));
    return 0;
}

/* Another thread knows nothing of this one's sequence, and may not take what is not there yet. */
static void *foreign(void *handle)
{
    static double own[N * N];
    const bool refused = grpc_call(handle, N, c, b, own) == GRPC_SESSION_FAILED &&
                         strstr(esp_last_error()->text, "another thread's sequence");
    return refused && grpc_call(handle, N, a, b, own) == GRPC_NO_ERROR ? handle : NULL;
}

/* What a program may do with memory in which a result is due: write the same as before, some of it, all of
 * it, pass it as data, give it back. */
static int written_between(void)
{
    grpc_function_handle_t mul, replace;
    grpc_data_t in_memory;
    pthread_t thread;
    void *well;
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_function_handle_default(&replace, (char *)"replace"));
    double *const lent = esp_alloc(sizeof a), *const freed = malloc(sizeof a);
    HOLDS(lent && freed);
    fill(c, 5);
    memcpy(freed, b, sizeof b);
    multiply(a, b, expected);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, freed, c));
    HOLDS(pthread_create(&thread, NULL, foreign, &mul) == 0 && pthread_join(thread, &well) == 0 && well);
    fill(c, 5); /* the same bytes as before the call */
    MUST(grpc_call(&mul, N, c, b, x));
    MUST(grpc_call(&mul, N, a, freed, t));
    t[3] = 0.25; /* the rest of it is the result's */
    t[N] = 0.5;
    MUST(grpc_call(&mul, N, t, b, d));
    MUST(grpc_call(&mul, N, a, b, lent));
    MUST(esp_free(lent));
    memset(freed, 0, sizeof a);
    free(freed);
    MUST(esp_sequence_end());
    HOLDS(t[3] == 0.25 && t[N] == 0.5);
    expected[3] = 0.25;
    expected[N] = 0.5;
    HOLDS(near(t, expected));
    multiply(t, b, expected);
    HOLDS(near(d, expected));
    fill(t, 5);
    multiply(t, b, expected);
    HOLDS(near(c, t) && near(x, expected));

    /* A copy of it is no value, and memory that is gone (whole pages, here) takes none; the others come. */
    void *const page = mmap(NULL, sizeof a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(page != MAP_FAILED);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, page));
    MUST(grpc_call(&mul, N, a, b, c));
    memcpy(x, c, sizeof c);
    HOLDS(grpc_call(&mul, N, x, b, d) == GRPC_SESSION_FAILED &&
          strstr(esp_last_error()->text, "was copied from memory in which a result of a sequence is due"));
    munmap(page, sizeof a);
    HOLDS(esp_sequence_end() == ESP_INVALID && strstr(esp_last_error()->text, "which was freed"));
    multiply(a, b, t);
    HOLDS(near(c, t));

    /* Data whose value is in such memory. */
    MUST(grpc_data_memory_mapping_set("due", c));
    MUST(array(&in_memory, "memory:due", NULL, GRPC_VOLATILE));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, &in_memory, b, x));
    MUST(esp_sequence_end());
    MUST(grpc_data_free(&in_memory, NULL));
    multiply(a, b, t);
    multiply(t, b, expected);
    HOLDS(near(x, expected));

    /* Written over again and again, as loops do. */
    MUST(esp_sequence_begin());
    for (int i = 0; i < 5; i++) {
        memcpy(c, a, sizeof a);
        MUST(grpc_call(&replace, N, c, c, b)); /* c = c b */
        MUST(grpc_call(&mul, N, c, b, d));
    }
    MUST(esp_sequence_end());
    HOLDS(near(c, t) && near(d, expected));
    return 0;
}

static int sequence(void)
{
    static double kept[4][N * N];
    fill(a, 1);
    for (int i = 0; i < N; i++)
        a[i * N + i] += 20;
    fill(b, 2);
    if (program())
        return 1;
    HOLDS(near(t, b));
    memcpy(kept[0], c, sizeof c);
    memcpy(kept[1], d, sizeof c);
    memcpy(kept[2], x, sizeof c);
    memcpy(kept[3], lu, sizeof c);
    memset(c, 0, sizeof c);
    memset(d, 0, sizeof c);
    memset(x, 0, sizeof c);
    memset(t, 0, sizeof c);
    HOLDS(esp_sequence_end() == ESP_INVALID);
    MUST(esp_sequence_begin());
    HOLDS(esp_sequence_begin() == ESP_INVALID);
    if (program())
        return 1;
    /* a, b and the copies of them that were written over, each once; five results. */
    HOLDS(received() == 9 * sizeof a);
    HOLDS(isnan(c[0])); /* it is still where it was made, and who looks too early is told so */
    MUST(esp_sequence_passed_on(c));
    HOLDS(esp_sequence_passed_on(a) == ESP_NOT_FOUND);
    MUST(esp_sequence_end());
    HOLDS(isnan(c[0]));
    HOLDS(near(d, kept[1]) && near(x, kept[2]) && near(lu, kept[3]) && near(t, b));
    HOLDS(received() == 0); /* nothing is left on servers */

    /* What the program writes is noticed. */
    grpc_function_handle_t mul;
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    a[7] += 1;
    MUST(grpc_call(&mul, N, a, b, d));
    memset(c, 0, sizeof c);
    c[0] = 1; /* the result that belongs there is not wanted after all */
    MUST(grpc_call(&mul, N, c, b, x));
    MUST(esp_sequence_end());
    multiply(a, b, expected);
    HOLDS(near(d, expected) && c[0] == 1 && c[1] == 0);
    multiply(c, b, expected);
    HOLDS(near(x, expected));
    if (written_between())
        return 1;

    /* Asynchronous calls, and jobs beside them. */
    grpc_sessionid_t ids[2];
    /* An array that is a result and an input of the same call, whichever its description has first. */
    grpc_function_handle_t replace;
    MUST(grpc_function_handle_default(&replace, (char *)"replace"));
    multiply(a, b, c);
    multiply(c, b, expected);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&replace, N, c, c, b)); /* what goes in is on a server only */
    MUST(esp_sequence_end());
    HOLDS(near(c, expected));

    MUST(esp_sequence_begin());
    MUST(grpc_call_async(&mul, &ids[0], N, a, b, c));
    MUST(grpc_call_async(&mul, &ids[1], N, b, a, d));
    MUST(grpc_wait_all());
    MUST(grpc_call(&mul, N, c, d, x));
    HOLDS(received() == 5 * sizeof a); /* two sent, three made */
    MUST(esp_sequence_end());
    multiply(a, b, c);
    multiply(b, a, d);
    multiply(c, d, expected);
    HOLDS(near(x, expected));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *with = argc > 2 ? argv[2] : "";
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    int failed = strcmp(what, "grid") == 0       ? grid(with)
                 : strcmp(what, "sequence") == 0 ? sequence()
                 : strcmp(what, "tight") == 0    ? tight()
                 : strcmp(what, "lost") == 0     ? lost()
                 : strcmp(what, "save") == 0     ? save(with)
                 : strcmp(what, "load") == 0     ? load(with)
                 : strcmp(what, "save-all") == 0 ? save_all(with)
                 : strcmp(what, "load-all") == 0 ? load_all(with)
                                                 : 2;
    grpc_finalize();
    return failed;
}
