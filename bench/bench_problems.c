/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading 1,000 problem descriptions, against jansson reading as many bytes of the same things in JSON.
 */
#include "bench/bench.h"
#include "core/problem/problem.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PROBLEMS 1000
#define ROOM       (4 << 20)

struct text {
    char *data;
    size_t length;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    text->length += (size_t)vsnprintf(text->data + text->length, ROOM - text->length, format, list);
    va_end(list);
    if (text->length + 4096 > ROOM)
        bench_fail("the texts of the benchmark are too long");
}

/* A driver as LAPACK has many: nine arguments, conditions, cost and a call. */
static void add_description(struct text *text, int i)
{
    add(text,
        "problem solver%d \"Solve op(A) X = B, variant %d\"\n"
        "    text    \"B holds right-hand sides in its first rows, then solutions.\"\n"
        "    gams    D9a1\n"
        "    in      char    trans = 'N' \"N: A, T: its transpose\"\n"
        "    in      int     m \"rows of A\", n \"columns of A\"\n"
        "    in      int     nrhs \"right-hand sides, columns of B\"\n"
        "    inout   double  A[m, n] \"the matrix, then its factorisation\"\n"
        "    inout   double  B[max(m, n), nrhs] \"right-hand sides, then solutions\"\n"
        "    work    int     lwork = max(1, min(m, n) + max(1, m, n, nrhs)*32)\n"
        "    work    double  workspace[lwork]\n"
        "    require m >= 0, n >= 0, nrhs >= 0\n"
        "    work    2*max(m, n)*min(m, n)^2 - 2/3*min(m, n)^3 + 4*m*n*nrhs\n"
        "implementation lapack\n"
        "    fortran dgels_(trans, m, n, nrhs, A, max(1,m), B, max(1,m,n), workspace, lwork, out info) in "
        "liblapack.so.3\n"
        "    error   info < 0 \"argument {-info} is illegal\"\n",
        i, i);
}

static void add_argument(struct text *text, const char *mode, const char *type, const char *name,
                         const char *dims, const char *words)
{
    add(text, "{\"mode\": \"%s\", \"type\": \"%s\", \"name\": \"%s\", \"dims\": [%s], \"text\": \"%s\"},\n",
        mode, type, name, dims, words);
}

/* The same in JSON, up to so many bytes. */
static void add_json(struct text *text, int i)
{
    add(text,
        "%s{\"name\": \"solver%d\", \"title\": \"Solve op(A) X = B, variant %d\", \"gams\": \"D9a1\",\n",
        i ? ",\n" : "[", i, i);
    add(text,
        "\"text\": \"B holds right-hand sides in its first rows, then solutions.\", \"arguments\": [\n");
    add_argument(text, "in", "char", "trans", "", "N: A, T: its transpose");
    add_argument(text, "in", "int", "m", "", "rows of A");
    add_argument(text, "in", "int", "n", "", "columns of A");
    add_argument(text, "in", "int", "nrhs", "", "right-hand sides, columns of B");
    add_argument(text, "inout", "double", "A", "\"m\", \"n\"", "the matrix, then its factorisation");
    add_argument(text, "inout", "double", "B", "\"max(m, n)\", \"nrhs\"", "right-hand sides, then solutions");
    add(text, "{\"mode\": \"work\", \"type\": \"double\", \"name\": \"workspace\"}],\n");
    add(text, "\"require\": [\"m >= 0\", \"n >= 0\", \"nrhs >= 0\"], \"library\": \"liblapack.so.3\",\n");
    add(text, "\"work\": \"2*max(m, n)*min(m, n)^2 - 2/3*min(m, n)^3 + 4*m*n*nrhs\", \"idempotent\": true}");
}

static void load_descriptions(void *context)
{
    const struct text *text = context;
    struct problem_set *set;
    struct esp_error error;
    if (problem_parse(text->data, text->length, "bench", &set, &error) != ESP_OK)
        bench_fail("%s", error.text);
    problem_set_destroy(set);
}

static void load_json(void *context)
{
    const struct text *text = context;
    json_error_t error;
    json_t *value = json_loads(text->data, 0, &error);
    if (!value)
        bench_fail("line %d: %s", error.line, error.text);
    json_decref(value);
}

int main(void)
{
    struct text ours = {.data = malloc(ROOM)}, json = {.data = malloc(ROOM)};
    if (!ours.data || !json.data)
        bench_fail("no memory");
    for (int i = 0; i < N_PROBLEMS && ours.length < PROBLEM_MAX_FILE - 4096; i++)
        add_description(&ours, i);
    int n = 0;
    while (json.length < ours.length)
        add_json(&json, n++);
    add(&json, "]\n");
    const struct bench_case which = {"problems", "load 1000 descriptions", "us", BENCH_AT_MOST, 3};
    printf("%zu bytes of descriptions, %zu of JSON\n", ours.length, json.length);
    bench_latency(&which, load_descriptions, &ours, load_json, &json, 10, 9);
    free(ours.data);
    free(json.data);
    return 0;
}
