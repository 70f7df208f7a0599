/* SPDX-License-Identifier: Apache-2.0
 *
 * data_steps: data in programs, with grpc_data.h.
 *
 *     data_steps grid     data of grpc_data.h in calls of all kinds
 *     data_steps save FILE, data_steps load FILE
 *     data_steps save-all FILE, data_steps load-all FILE    the same with a container
 */
#include "espalier.h"
#include "tests/e2e/data_arrays.h"

#include <unistd.h>

static double d[N * N];

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
    /* The container lists its values by rank. */
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
    HOLDS(strstr(esp_last_error()->text, "expected an array of double[120, 120], found data of double[3]"));
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
    /* Values to which the program has handles stay without the container; the others go with it. */
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

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *with = argc > 2 ? argv[2] : "";
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    int failed = strcmp(what, "grid") == 0       ? grid(with)
                 : strcmp(what, "save") == 0     ? save(with)
                 : strcmp(what, "load") == 0     ? load(with)
                 : strcmp(what, "save-all") == 0 ? save_all(with)
                 : strcmp(what, "load-all") == 0 ? load_all(with)
                                                 : 2;
    grpc_finalize();
    return failed;
}
