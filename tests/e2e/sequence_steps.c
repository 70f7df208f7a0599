/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_steps: sequences of calls; the programs between their beginning and their end know nothing of
 * them.
 *
 *     sequence_steps same       the same program with and without a sequence
 *     sequence_steps stays      intermediate results never come, and results that are looked at come once
 *     sequence_steps looks      programs that look, write, overlap and free between the calls
 *     sequence_steps threads    several that look at once, and calls of other threads
 *     sequence_steps lost       a server of it is killed: creates the file "made" when it is time, and
 *                               waits for the file "killed"
 *     sequence_steps tight      servers without the memory for what would stay there
 *     sequence_steps finalized  looks at what was passed on, after grpc_finalize()
 */
#include "espalier.h"
#include "tests/e2e/data_arrays.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIDDLE (N * N / 2 + 7)

static int32_t pivots[N];
static double d[N * N], lu[N * N], x[N * N], t[N * N];

static void set_up(void)
{
    fill(a, 1);
    for (int i = 0; i < N; i++)
        a[i * N + i] += 20;
    fill(b, 2);
}

/* Data that are deleted without the program's knowledge go soon. */
static int nothing_is_left(void)
{
    for (int i = 0; i < 600 && received() != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    if (received() == 0)
        return 1;
    fprintf(stderr, "%llu bytes are left\n", received());
    return 0;
}

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

static int same(void)
{
    static double kept[4][N * N];
    double *const results[] = {c, d, x, lu};
    set_up();
    if (program())
        return 1;
    HOLDS(near(t, b));
    for (int i = 0; i < 4; i++) {
        memcpy(kept[i], results[i], sizeof c);
        memset(results[i], 0, sizeof c);
    }
    memset(t, 0, sizeof c);
    HOLDS(esp_sequence_end() == ESP_INVALID);
    MUST(esp_sequence_begin());
    HOLDS(esp_sequence_begin() == ESP_INVALID);
    if (program())
        return 1;
    /* a, b and the copies of them that were written over, each once; five results. */
    HOLDS(received() == 9 * sizeof a);
    HOLDS(esp_sequence_passed_on(a) == ESP_NOT_FOUND);
    MUST(esp_sequence_end());
    HOLDS(received() == 3 * sizeof a); /* c, lu and x, at which nobody has looked */
    HOLDS(near(d, kept[1]) && near(t, b) && received() == 3 * sizeof a);
    HOLDS(near(x, kept[2]) && near(lu, kept[3]) && near(c, kept[0])); /* they come when a program looks */
    HOLDS(nothing_is_left());

    /* Nobody takes it, but the program does not want it: it may say so. */
    grpc_function_handle_t mul, replace;
    grpc_sessionid_t ids[2];
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_function_handle_default(&replace, (char *)"replace"));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(esp_sequence_passed_on(c));
    MUST(esp_sequence_end());
    HOLDS(received() == sizeof a);
    HOLDS(near(c, kept[0]) && nothing_is_left());

    /* The library notices writes of the program. */
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

    /* An array that is a result and an input of the same call, whichever its description has first. */
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
    multiply(a, b, t);
    multiply(b, a, expected);
    HOLDS(near(c, t) && near(d, expected));
    multiply(c, d, expected);
    HOLDS(near(x, expected));
    return nothing_is_left() ? 0 : 1;
}

/* ---- what stays ---- */

/* LU, two solves, the residual, on one server. */
static int chain(int look)
{
    static double x2[N * N], rest[N * N];
    grpc_function_handle_t getrf, getrs, mul;
    MUST(grpc_function_handle_init(&getrf, (char *)"A", (char *)"dgetrf"));
    MUST(grpc_function_handle_init(&getrs, (char *)"A", (char *)"dgetrs"));
    MUST(grpc_function_handle_init(&mul, (char *)"A", (char *)"product"));
    memcpy(lu, a, sizeof a);
    memcpy(x, b, sizeof b);
    multiply(b, b, x2);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&getrf, N, N, lu, pivots));
    HOLDS(!look || fabs(lu[MIDDLE]) >= 0);
    MUST(grpc_call(&getrs, 'N', N, N, lu, pivots, x));
    MUST(grpc_call(&getrs, 'N', N, N, lu, pivots, x2));
    MUST(grpc_call(&mul, N, a, x, t));
    MUST(grpc_call(&mul, N, a, x2, rest));
    HOLDS(received() == 9 * sizeof a);             /* a and its copy, two right-hand sides; five results */
    HOLDS(handed_out() == (look ? sizeof lu : 0)); /* what lies at their ends comes with the calls */
    MUST(esp_sequence_end());
    HOLDS(near(t, b));
    multiply(b, b, expected);
    HOLDS(near(rest, expected));
    HOLDS(received() == (look ? 2 : 3) * sizeof a && handed_out() == 0); /* lu, x, x2 have not come */
    multiply(a, x, t);
    HOLDS(near(t, b)); /* x has */
    return 0;
}

static int stays(void)
{
    set_up();
    if (chain(0) || chain(1)) /* the second one makes its results where those of the first one belong */
        return 1;
    HOLDS(lu[MIDDLE] == lu[MIDDLE]);
    memset(lu, 0, sizeof lu);

    /* An intermediate result goes from the servers with its memory, when the library looks next. */
    grpc_function_handle_t mul;
    void *const page = mmap(NULL, sizeof a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(grpc_function_handle_init(&mul, (char *)"A", (char *)"product"));
    HOLDS(page != MAP_FAILED);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, page));
    MUST(grpc_call(&mul, N, a, page, d));
    MUST(esp_sequence_end());
    munmap(page, sizeof a);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(esp_sequence_end());
    return chain(0) || chain(1);
}

/* ---- looks ---- */

/* Arrays that come and go, as those of functions do. */
static int allocated(grpc_function_handle_t *mul)
{
    enum { M = 160 };
    const size_t bytes = M * M * sizeof(double);
    for (int round = 0; round < 4; round++) {
        double *p = malloc(bytes), *q = malloc(bytes), *r = calloc(M * M, sizeof *r), *gone;
        HOLDS(p && q && r);
        for (int i = 0; i < M * M; i++) {
            p[i] = i % (M + 1) == 0 ? 2 : 0;
            q[i] = i + round;
        }
        MUST(esp_sequence_begin());
        MUST(grpc_call(mul, M, p, q, r)); /* r = 2 q */
        HOLDS((gone = malloc(bytes)) != NULL);
        MUST(grpc_call(mul, M, p, r, gone));
        if (round % 2 == 0) { /* one that nobody looks at goes, and another block comes */
            free(gone);
            HOLDS((gone = calloc(1, bytes)) && gone[M * M / 2] == 0);
        } else { /* one is moved */
            HOLDS((gone = realloc(gone, 2 * bytes)) && gone[M * M / 2] == 4 * (M * M / 2 + round));
        }
        free(gone);
        MUST(grpc_call(mul, M, p, r, q));
        MUST(esp_sequence_end());
        for (int i = 0; i < M * M; i++)
            HOLDS(q[i] == 4 * (i + round) && r[i] == 2 * (i + round));
        free(p);
        free(q);
        free(r);
    }
    return 0;
}

/* Parts of arrays, and other shapes of them. */
static int overlapping(grpc_function_handle_t *mul)
{
    enum { M = 100 };
    static double plain[N * N], other[N * N];
    double here[M * M]; /* a stack cannot be guarded: the same comes out */
    for (int in_sequence = 0; in_sequence < 2; in_sequence++) {
        double *const to = in_sequence ? x : plain;
        set_up();
        memset(to, 0, sizeof x);
        if (in_sequence)
            MUST(esp_sequence_begin());
        MUST(grpc_call(mul, N, a, b, c));
        MUST(grpc_call(mul, M, c + 3, b, d));             /* a part of what is on a server goes in, */
        MUST(grpc_call(mul, M, d, b, c + N * N - M * M)); /* and the end of it is written over, */
        MUST(grpc_call(mul, N, c, b, to));                /* and all of it goes in */
        MUST(grpc_call(mul, M, to, to, here));
        MUST(grpc_call(mul, M, here, here, to)); /* the rest of it is as it was */
        if (in_sequence)
            MUST(esp_sequence_end());
        memcpy(other, c, sizeof c);
        HOLDS(isfinite(here[MIDDLE / 2]) && isfinite(d[MIDDLE / 2]));
    }
    HOLDS(memcmp(other, c, sizeof c) == 0 && memcmp(plain, x, sizeof x) == 0);
    return 0;
}

static int looks(void)
{
    grpc_function_handle_t mul, replace;
    grpc_data_t in_memory;
    char *identity;
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_function_handle_default(&replace, (char *)"replace"));
    set_up();
    double *const lent = esp_alloc(sizeof a), *const before = esp_alloc(sizeof a);
    HOLDS(lent && before);
    multiply(a, b, expected);
    fill(c, 5);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    HOLDS(fabs(c[MIDDLE] - expected[MIDDLE]) < 1e-9);
    HOLDS(near(c, expected));
    fill(c, 5); /* the same bytes as before the call */
    MUST(grpc_call(&mul, N, c, b, x));
    MUST(grpc_call(&mul, N, a, b, t));
    t[3] = 0.25; /* the rest of it is the result's */
    t[MIDDLE] = 0.5;
    MUST(grpc_call(&mul, N, t, b, d));
    MUST(grpc_call(&mul, N, a, b, lent));
    MUST(grpc_call(&mul, N, a, b, before));
    MUST(grpc_call(&mul, N, before, b, c));
    MUST(esp_free(lent));
    memcpy(lu, c, sizeof c); /* a copy of what is on a server is one */
    MUST(grpc_call(&mul, N, lu, b, c));
    MUST(esp_sequence_end());
    HOLDS(near(before, expected));
    MUST(esp_free(before));
    HOLDS(t[3] == 0.25 && t[MIDDLE] == 0.5);
    expected[3] = 0.25;
    expected[MIDDLE] = 0.5;
    HOLDS(near(t, expected));
    multiply(t, b, expected);
    HOLDS(near(d, expected));
    fill(t, 5);
    multiply(t, b, expected);
    HOLDS(near(x, expected));
    multiply(a, b, t);
    multiply(t, b, x);
    HOLDS(near(lu, x));
    multiply(x, b, t);
    HOLDS(near(c, t));

    /* The result of a call that fails leaves what was there, on a server or not. */
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    HOLDS(grpc_call(&mul, -1, a, b, c) != GRPC_NO_ERROR);
    MUST(esp_sequence_end());
    multiply(a, b, t);
    HOLDS(near(c, t));

    /* Data whose value is in such memory, and such memory that is put as data. */
    MUST(grpc_data_memory_mapping_set("due", c));
    MUST(array(&in_memory, "memory:due", NULL, GRPC_VOLATILE));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, &in_memory, b, x));
    MUST(grpc_call(&mul, N, a, b, d));
    MUST(grpc_call(&mul, N, d, b, lu));
    MUST(esp_sequence_end());
    MUST(grpc_data_free(&in_memory, NULL));
    multiply(t, b, expected);
    HOLDS(near(x, expected) && near(lu, expected));
    const struct esp_argument whole = {.data = d, .type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, N}};
    MUST(esp_data_put("A", &whole, ESP_DATA_VOLATILE, NULL, NULL, &identity));
    memset(x, 0, sizeof x);
    MUST(esp_data_get(identity, x, sizeof x, NULL, NULL));
    MUST(esp_data_drop(identity));
    free(identity);
    HOLDS(near(x, t) && near(d, t));

    /* Written over again and again, as loops do. */
    MUST(esp_sequence_begin());
    for (int i = 0; i < 5; i++) {
        memcpy(c, a, sizeof a);
        MUST(grpc_call(&replace, N, c, c, b)); /* c = c b */
        MUST(grpc_call(&mul, N, c, b, d));
    }
    MUST(esp_sequence_end());
    HOLDS(near(c, t) && near(d, expected));
    if (overlapping(&mul) || allocated(&mul))
        return 1;
    return nothing_is_left() ? 0 : 1;
}

/* ---- threads ---- */

static void *add_up(void *array)
{
    static _Thread_local double sum;
    sum = 0;
    for (int i = 0; i < N * N; i++)
        sum += ((double *)array)[i];
    double *result = malloc(sizeof *result);
    if (result)
        *result = sum;
    return result;
}

static double sum_of(const double *array)
{
    double sum = 0;
    for (int i = 0; i < N * N; i++)
        sum += array[i];
    return sum;
}

/* Another thread, which is in no sequence, takes what is on a server because of this one's. */
static void *foreign(void *handle)
{
    static double own[N * N];
    return grpc_call(handle, N, c, b, own) == GRPC_NO_ERROR ? own : NULL;
}

static int threads(void)
{
    enum { THREADS = 6 };
    grpc_function_handle_t mul;
    pthread_t ids[THREADS];
    void *result;
    set_up();
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    multiply(a, b, expected);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, a, b, d));
    for (int i = 0; i < THREADS; i++)
        HOLDS(pthread_create(&ids[i], NULL, add_up, i % 2 ? c : d) == 0);
    for (int i = 0; i < THREADS; i++) {
        HOLDS(pthread_join(ids[i], &result) == 0 && result);
        HOLDS(fabs(*(double *)result - sum_of(expected)) < 1e-6);
        free(result);
    }
    MUST(grpc_call(&mul, N, a, b, c));
    HOLDS(pthread_create(&ids[0], NULL, foreign, &mul) == 0 && pthread_join(ids[0], &result) == 0 && result);
    multiply(expected, b, t);
    HOLDS(near(result, t));
    MUST(esp_sequence_end());
    HOLDS(near(c, expected) && near(d, expected));
    return nothing_is_left() ? 0 : 1;
}

/* ---- what is lost ---- */

/* All results are lost with their server; the program still has what the first was made of. */
static int lost(void)
{
    grpc_function_handle_t mul, solve;
    set_up();
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(grpc_function_handle_default(&solve, (char *)"solve"));
    multiply(a, b, expected);
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, lu));
    MUST(grpc_call(&mul, N, a, lu, t));
    MUST(esp_sequence_end());
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, a, c, d));
    MUST(grpc_call(&solve, N, N, N, a, c, t)); /* b again */
    FILE *made = fopen("made", "w");
    HOLDS(made && fclose(made) == 0);
    for (int i = 0; i < 600 && access("killed", F_OK) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    HOLDS(fabs(c[MIDDLE] - expected[MIDDLE]) < 1e-9); /* computed again for a read, */
    MUST(grpc_call(&mul, N, d, t, x));                /* and for a call that takes it, */
    MUST(esp_sequence_end());
    HOLDS(near(lu, expected)); /* also behind the end */
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
    set_up();
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

static int finalized(void)
{
    grpc_function_handle_t mul;
    set_up();
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    MUST(grpc_call(&mul, N, a, c, d));
    MUST(esp_sequence_end());
    HOLDS(received() == sizeof a);
    grpc_finalize();
    multiply(a, b, expected);
    multiply(a, expected, t);
    HOLDS(near(d, t));
    MUST(grpc_initialize(NULL));
    HOLDS(received() == 0); /* it went, and is no value */
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    HOLDS(grpc_call(&mul, N, c, b, x) == GRPC_SESSION_FAILED &&
          strstr(esp_last_error()->text, "grpc_finalize"));
    return c[MIDDLE] < 1e300; /* the process ends here */
}

int main(int argc, char **argv)
{
    static const struct step steps[] = {{"same", same},          {"stays", stays}, {"looks", looks},
                                        {"threads", threads},    {"lost", lost},   {"tight", tight},
                                        {"finalized", finalized}};
    return run_step(steps, sizeof steps / sizeof *steps, argc > 1 ? argv[1] : "");
}
