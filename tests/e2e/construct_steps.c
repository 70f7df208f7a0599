/* SPDX-License-Identifier: Apache-2.0
 *
 * Every type of number, in every mode and shape, by both conventions, through a server: arrays that the
 * routine copies or turns over bit by bit, so that nothing on the way may take them for something else.
 * Prints what is not so; the exit code tells.
 */
#include "espalier.h"

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 4096 /* of one argument here */

/* One argument: what it was given, what it was before, and what the call has to make of it. */
struct slot {
    unsigned char data[MOST_BYTES], before[MOST_BYTES];
};

static struct slot slots[ESP_MAX_ARGUMENTS];
static struct esp_argument arguments[ESP_MAX_ARGUMENTS];
static struct esp_problem *problem;
static size_t size; /* of an element */
static int failures, checks;

static int find(const char *argument)
{
    for (size_t i = 0; i < problem->n_arguments; i++)
        if (strcmp(problem->arguments[i].name, argument) == 0)
            return (int)i;
    return -1;
}

/* The seven in memory that defaults have. */
static void store_seven(enum esp_type type, void *to)
{
    const char c = 7;
    const short s = 7;
    const int i = 7;
    const int64_t l = 7;
    const float f = 7;
    const double d = 7;
    const float complex fc = 7;
    const double complex dc = 7;
    const void *const sevens[] = {
        [ESP_TYPE_CHAR] = &c,   [ESP_TYPE_SHORT] = &s,    [ESP_TYPE_INT] = &i,
        [ESP_TYPE_LONG] = &l,   [ESP_TYPE_INT64] = &l,    [ESP_TYPE_FLOAT] = &f,
        [ESP_TYPE_DOUBLE] = &d, [ESP_TYPE_COMPLEX] = &fc, [ESP_TYPE_DOUBLE_COMPLEX] = &dc};
    memcpy(to, sevens[type], size);
}

static void expect(const char *argument, bool good, const char *what)
{
    checks++;
    if (good)
        return;
    printf("%s: %s %s\n", problem->name, argument, what);
    failures++;
}

/* An input came back under another name. */
static void copied(const char *in, const char *out, size_t count)
{
    expect(out, memcmp(slots[find(out)].data, slots[find(in)].before, count * size) == 0,
           "is not what went in");
}

/* Elements from `first` on, `skip` apart, have all bits turned over; those between them have not. */
static void turned(const char *name, size_t count, size_t first, size_t skip)
{
    const struct slot *slot = &slots[find(name)];
    bool good = true;
    for (size_t k = 0; k < count * size; k++) {
        size_t element = k / size;
        bool travels = element >= first && (element - first) % skip == 0;
        good = good && slot->data[k] == (unsigned char)(travels ? ~slot->before[k] : slot->before[k]);
    }
    expect(name, good, "is not turned over");
}

static void are_sevens(const char *name, size_t count)
{
    unsigned char seven[16];
    bool good = true;
    store_seven(problem->arguments[find(name)].type, seven);
    for (size_t k = 0; k < count; k++)
        good = good && memcmp(slots[find(name)].data + k * size, seven, size) == 0;
    expect(name, good, "is not the default");
}

static void fill(int *m, int *n)
{
    unsigned state = 12345;
    memset(arguments, 0, sizeof arguments);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        for (size_t k = 0; k < MOST_BYTES; k++)
            slots[i].data[k] = (unsigned char)((state = state * 1103515245 + 12345) >> 16);
        memcpy(slots[i].before, slots[i].data, MOST_BYTES);
        arguments[i].data = slots[i].data;
    }
    arguments[find("m")].data = m;
    arguments[find("n")].data = n;
    arguments[find("w")].data = NULL; /* takes its default */
    if (find("t") >= 0)
        arguments[find("t")].data = NULL;
}

static void look(size_t m, size_t n)
{
    copied("v", "v3", n);
    copied("A", "A3", m * n);
    copied("T", "T3", 2 * m * n);
    copied("R", "R3", m * n);
    for (size_t k = 0; k < n; k++) /* the elements between them have not travelled */
        expect("S3",
               memcmp(slots[find("S3")].data + k * size, slots[find("S")].before + (2 * k + 1) * size,
                      size) == 0,
               "has not the elements of the section");
    are_sevens("w3", n);
    turned("v2", n, 0, 1);
    turned("A2", m * n, 0, 1);
    turned("T2", 2 * m * n, 0, 1);
    turned("S2", 2 * n, 1, 2);
    turned("P2", n * (n + 1) / 2, 0, 1);
    if (find("s") < 0)
        return;
    copied("s", "x", 1);
    are_sevens("t3", 1);
    turned("u", 1, 0, 1);
}

static void attempt(const char *name, int m, int n)
{
    grpc_function_handle_t handle;
    if (esp_problem_describe(name, &problem) != ESP_OK ||
        grpc_function_handle_default(&handle, (char *)(uintptr_t)name) != GRPC_NO_ERROR) {
        printf("%s: %s\n", name, esp_last_error()->text);
        exit(1);
    }
    size = esp_type_size(problem->arguments[find("v")].type);
    fill(&m, &n);
    if (esp_call(&handle, arguments, problem->n_arguments, NULL, NULL) == ESP_OK) {
        look((size_t)m, (size_t)n);
    } else {
        printf("%s: %s\n", name, esp_last_error()->text);
        failures++;
    }
    grpc_function_handle_destruct(&handle);
    esp_problem_free(problem);
}

int main(void)
{
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return fprintf(stderr, "construct_steps: %s\n", esp_last_error()->text), 2;
    for (const char *letter = "abilqsdcz"; *letter; letter++)
        for (int fortran = 0; fortran < 2; fortran++) {
            char name[32];
            snprintf(name, sizeof name, "%ckept_%s", *letter, fortran ? "fortran" : "c");
            attempt(name, 3, 4);
            attempt(name, 1, 1);
        }
    printf("%d constructs, %d wrong\n", checks, failures);
    grpc_finalize();
    return failures > 0;
}
