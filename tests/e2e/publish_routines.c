/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of the server in the test of published routines: files by their paths, functions of the caller
 * that take and give strings, or arrays whose sizes the problem computes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static long append(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "ab");
    long n = 0;
    for (int c; in && out && (c = getc(in)) != EOF; n++)
        putc(c, out);
    if (in)
        fclose(in);
    return in && out && fclose(out) == 0 ? n : -1;
}

/* All parts behind one another, and behind the log. */
SHOWN int join_files(int n, char **parts, const char *whole, const char *log, long *bytes)
{
    const char *ending = strrchr(whole, '.');
    *bytes = 0;
    if (!ending || strcmp(ending, ".txt") != 0)
        return 2;
    for (int i = 0; i < n; i++) {
        const long more = append(parts[i], whole);
        if (more < 0 || append(parts[i], log) < 0)
            return 1;
        *bytes += more;
    }
    return 0;
}

/* A mark behind each file. */
SHOWN int mark_files(int n, char **files)
{
    for (int i = 0; i < n; i++) {
        FILE *out = fopen(files[i], "ab");
        if (!out || fputs("marked\n", out) < 0 || fclose(out) != 0)
            return 1;
    }
    return 0;
}

/* Each piece of `size` bytes into a file of its own. */
SHOWN int split_file(const char *whole, int n, int size, char **pieces)
{
    FILE *in = fopen(whole, "rb");
    for (int i = 0; in && i < n; i++) {
        FILE *out = fopen(pieces[i], "wb");
        for (int k = 0, c; out && k < size && (c = getc(in)) != EOF; k++)
            putc(c, out);
        if (out)
            fclose(out);
    }
    if (in)
        fclose(in);
    return in == NULL;
}

/* A routine that forgets its result, or writes too much of it. */
SHOWN void write_badly(int how, char *result)
{
    FILE *out = how ? fopen(result, "wb") : NULL;
    for (int i = 0; out && i < 3000; i++)
        putc('x', out);
    if (out)
        fclose(out);
    memset(result, 'x', strlen(result));
}

/* Files that its folder, and those of earlier calls, still have. */
SHOWN int where_am_i(const char *data, char *folder)
{
    memset(folder, 0, 200);
    strncpy(folder, data, 199);
    return access(data, R_OK);
}

/* The text for each step, by its name; *characters is how many characters all names have. */
SHOWN int visit_steps(char *(*name)(int step),
                      void (*say)(const char *what, double at, char **state, char **remark), int steps,
                      char **remarks, int *characters)
{
    char *state = strdup("begun");
    *characters = 0;
    for (int i = 0; i < steps; i++) {
        char *what = name(i), *before = state;
        say(what, i / 2.0, &state, &remarks[i]);
        *characters += (int)strlen(what);
        free(what);
        free(before);
    }
    const int ended = strcmp(state, steps > 1 ? "ended" : "begun") == 0;
    free(state);
    return !ended;
}

/* A string that does not end where memory does. */
SHOWN void say_nonsense(void (*say)(const char *what), int how)
{
    char *large = malloc(200001);
    memset(large, 'x', 200000);
    large[200000] = 0;
    say(how ? large : (const char *)64);
    free(large);
}

/* Differences of f, which has m values of n numbers. */
SHOWN void differences(void (*f)(const double *x, double *y), int m, int n, double *x, double *J)
{
    double *before = malloc(((size_t)m + 1) * sizeof *before),
           *after = malloc(((size_t)m + 1) * sizeof *after);
    f(x, before);
    for (int j = 0; j < n; j++) {
        const double was = x[j];
        x[j] = was + 1;
        f(x, after);
        x[j] = was;
        for (int i = 0; i < m; i++)
            J[i + j * m] = after[i] - before[i];
    }
    free(before);
    free(after);
}
