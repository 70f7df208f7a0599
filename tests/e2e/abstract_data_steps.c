/* SPDX-License-Identifier: Apache-2.0
 *
 * abstract_data_steps: what abstract problems take and make stays on the servers.
 *
 *     abstract_data_steps data        data of grpc_data.h, and data that are named
 *     abstract_data_steps sequence    calls of a sequence
 */
#include "espalier.h"
#include "tests/e2e/data_arrays.h"

#include <stdbool.h>

static double d[N * N], x[N * N];

/* Far from singular, and not symmetric. */
static void fill_both(void)
{
    fill(a, 1);
    for (int i = 0; i < N; i++)
        a[i * N + i] += 20;
    fill(b, 2);
}

static grpc_function_handle_t named(const char *problem)
{
    grpc_function_handle_t made;
    if (grpc_function_handle_default(&made, (char *)problem) != GRPC_NO_ERROR) {
        told(problem);
        exit(1);
    }
    return made;
}

/* max |A X - B| is nothing. */
static bool solves(const double *solution, const double *right)
{
    multiply(a, solution, expected);
    return near(expected, right);
}

/* ---- data ---- */

static int in_memory(grpc_data_t *data, double *memory)
{
    const char *to_memory[] = {"memory:found", NULL};
    const grpc_data_t *list[] = {data, NULL};
    MUST(grpc_data_memory_mapping_set("found", memory));
    MUST(grpc_data_transfer(data, NULL, to_memory, NULL));
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    return 0;
}

static int of_grid(void)
{
    grpc_function_handle_t solve = named("solve"), mul = named("mul");
    grpc_data_t da, db, dx, dy;
    MUST(grpc_data_memory_mapping_set("a", a));
    MUST(grpc_data_memory_mapping_set("b", b));
    MUST(array(&da, "memory:a", NULL, GRPC_PERSISTENT));
    MUST(array(&db, "memory:a", "server:S", GRPC_STRICTLY_VOLATILE));
    MUST(array(&dx, NULL, NULL, GRPC_STICKY));
    MUST(array(&dy, NULL, NULL, GRPC_PERSISTENT));
    MUST(grpc_call(&solve, N, N, N, &da, b, &dx));
    HOLDS(received() == 2 * sizeof a); /* a was put by that call, x was made there */
    HOLDS(says(&dx, GRPC_INFO_MODE, "GRPC_STICKY"));
    MUST(grpc_call(&mul, N, N, N, &da, &dx, &dy));
    HOLDS(received() == 3 * sizeof a && handed_out() == 0);
    if (in_memory(&dx, x) || in_memory(&dy, d))
        return 1;
    HOLDS(solves(x, b) && near(d, b));
    /* Rules look at it before a step takes it, and it goes with its first use. */
    const grpc_data_t *list[] = {&db, NULL};
    MUST(grpc_data_transfer(&db, NULL, NULL, NULL));
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    MUST(grpc_call(&solve, N, N, N, &db, b, &dx));
    MUST(grpc_data_free(&da, NULL));
    MUST(grpc_data_free(&dx, NULL));
    MUST(grpc_data_free(&dy, NULL));
    MUST(grpc_data_free(&db, NULL));
    return 0;
}

static int of_names(void)
{
    grpc_function_handle_t solve = named("solve"), lsq = named("lsq"), lu = named("lu");
    char *id_a = NULL, *id_x = NULL, *id_l = NULL, *id_part = NULL;
    int n = N, tall = N, narrow = N / 2;
    const struct esp_argument given = {.data = a, .type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, N}};
    MUST(esp_data_put("S", &given, ESP_DATA_VOLATILE, NULL, NULL, &id_a));
    struct esp_argument solving[] = {{.data = &n},    {.data = &n}, {.data = &n},
                                     {.datum = id_a}, {.data = b},  {.kept = &id_x}};
    MUST(esp_call(&solve, solving, 6, NULL, NULL));
    HOLDS(received() == 2 * sizeof a && handed_out() == 0);
    MUST(esp_data_get(id_x, x, sizeof x, NULL, NULL));
    HOLDS(solves(x, b));
    MUST(esp_data_drop(id_x));
    free(id_x);
    /* It comes as well. */
    memset(x, 0, sizeof x);
    solving[5] = (struct esp_argument){.data = x, .kept = &id_x, .kept_mode = ESP_DATA_PERSISTENT_RETURN};
    MUST(esp_call(&solve, solving, 6, NULL, NULL));
    HOLDS(solves(x, b));
    MUST(esp_data_drop(id_x));
    free(id_x);
    /* Of least squares the routine gives more than the result; of an LU its factors lie in one matrix. */
    struct esp_argument least[] = {
        {.data = &tall}, {.data = &narrow},
        {.data = &n},    {.data = a},
        {.data = b},     {.data = x, .kept = &id_part, .kept_mode = ESP_DATA_PERSISTENT_RETURN}};
    MUST(esp_call(&lsq, least, 6, NULL, NULL));
    MUST(esp_data_get(id_part, d, sizeof d / 2, NULL, NULL));
    HOLDS(memcmp(x, d, sizeof d / 2) == 0);
    least[5] = (struct esp_argument){.data = c};
    MUST(esp_call(&lsq, least, 6, NULL, NULL));
    HOLDS(memcmp(x, c, sizeof c / 2) == 0);
    const struct esp_argument factors[] = {{.data = &n},    {.data = &n},   {.datum = id_a},
                                           {.kept = &id_l}, {.data = NULL}, {.data = NULL}};
    MUST(esp_call(&lu, factors, 6, NULL, NULL));
    MUST(esp_data_get(id_l, d, sizeof d, NULL, NULL));
    HOLDS(d[0] == 1 && d[N] == 0 && d[N + 1] == 1);
    MUST(esp_data_drop(id_part));
    MUST(esp_data_drop(id_l));
    MUST(esp_data_drop(id_a));
    free(id_part);
    free(id_l);
    free(id_a);
    return 0;
}

/* ---- sequences ---- */

static int chain(void)
{
    grpc_function_handle_t solve = named("solve"), mul = named("mul"), inv = named("inv");
    grpc_sessionid_t session;
    MUST(grpc_call(&solve, N, N, N, a, b, c));
    MUST(grpc_call(&mul, N, N, N, a, c, d)); /* b again */
    MUST(grpc_call_async(&solve, &session, N, N, N, a, d, x));
    MUST(grpc_wait(session));
    MUST(grpc_call(&inv, N, a, d));
    MUST(grpc_call(&mul, N, N, N, d, b, x)); /* the solution, once more */
    return 0;
}

static int sequence(void)
{
    grpc_function_handle_t solve = named("solve"), lu = named("lu"), add = named("add");
    static double u[N * N], kept[N * N];
    MUST(esp_sequence_begin());
    if (chain())
        return 1;
    HOLDS(received() == 7 * sizeof a); /* a and b, each once; five results */
    HOLDS(handed_out() < sizeof a);    /* none has come but for its edges */
    MUST(esp_sequence_end());
    HOLDS(handed_out() < sizeof a && received() == 2 * sizeof a); /* c and d, which calls have taken */
    HOLDS(solves(c, b) && solves(x, b));
    memcpy(kept, x, sizeof x);

    /* A value that is only on a server is inspected there, and the rules use the finding: here the identity.
     */
    memset(u, 0, sizeof u);
    for (int i = 0; i < N; i++)
        u[i * N + i] = 1;
    memset(d, 0, sizeof d);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&add, N, N, u, d, c));
    MUST(grpc_call(&solve, N, N, N, c, b, x));
    HOLDS(handed_out() < sizeof a);
    MUST(esp_sequence_end());
    HOLDS(near(x, b) && near(c, u));

    /* Factors are made here, of what the routine leaves, and are what the program has. */
    MUST(esp_sequence_begin());
    MUST(grpc_call(&lu, N, N, a, d, u, NULL));
    HOLDS(d[0] == 1 && d[N] == 0 && u[1] == 0 && !isnan(u[0]));
    MUST(grpc_call(&solve, N, N, N, u, b, x));
    MUST(esp_sequence_end());
    multiply(u, x, expected);
    HOLDS(near(expected, b));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    fill_both();
    const int failed = strcmp(what, "data") == 0       ? of_grid() || of_names()
                       : strcmp(what, "sequence") == 0 ? sequence()
                                                       : 2;
    grpc_finalize();
    return failed;
}
