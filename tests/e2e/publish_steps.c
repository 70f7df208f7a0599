/* SPDX-License-Identifier: Apache-2.0
 *
 * publish_steps STEP: calls the published routines of t0506. 0: as expected.
 */
#include "tests/e2e/steps.h"

#include <string.h>

static int write_file(const char *path, size_t bytes, int letter)
{
    FILE *file = fopen(path, "wb");
    for (size_t i = 0; file && i < bytes; i++)
        putc(letter + (int)(i % 23), file);
    return file && fclose(file) == 0;
}

static int is_file(const char *path, size_t from, size_t bytes, int letter)
{
    FILE *file = fopen(path, "rb");
    int good = file && fseek(file, (long)from, SEEK_SET) == 0;
    for (size_t i = 0; good && i < bytes; i++)
        good = getc(file) == letter + (int)(i % 23);
    if (file)
        fclose(file);
    return good;
}

static size_t size_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    const long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    if (file)
        fclose(file);
    return (size_t)size;
}

/* Small files, and such that travel in pieces. */
static int files(void)
{
    static const size_t sizes[] = {10, 3 << 20, 0};
    grpc_function_handle_t join = handle("join"), split = handle("split");
    for (int k = 0; k < 3; k++) {
        char *parts[] = {(char *)"a.part", (char *)"b.part"},
             *pieces[] = {(char *)"c.part", (char *)"d.part"};
        int64_t bytes = -1;
        EXPECT(write_file("a.part", sizes[k], 'A') && write_file("b.part", 7, 'a') &&
               write_file("journal", 5, '0'));
        EXPECT(grpc_call(&join, 2, parts, "whole", "journal", &bytes) == GRPC_NO_ERROR);
        EXPECT((size_t)bytes == sizes[k] + 7 && size_of("whole") == sizes[k] + 7);
        EXPECT(is_file("whole", 0, sizes[k], 'A') && is_file("whole", sizes[k], 7, 'a'));
        EXPECT(is_file("journal", 0, 5, '0') && is_file("journal", 5, sizes[k], 'A') &&
               size_of("journal") == sizes[k] + 12);
        EXPECT(grpc_call(&split, "whole", 2, (int)sizes[k], pieces) == GRPC_NO_ERROR);
        EXPECT(size_of("c.part") == sizes[k] && is_file("c.part", 0, sizes[k], 'A'));
        EXPECT(size_of("d.part") == (sizes[k] < 7 ? sizes[k] : 7));
    }
    return 0;
}

static int wrong(void)
{
    grpc_function_handle_t bad = handle("bad"), join = handle("join");
    char *parts[] = {(char *)"a.part", (char *)"nowhere"};
    int64_t bytes;
    EXPECT(grpc_call(&bad, 0, "result") != GRPC_NO_ERROR && esp_last_error()->status == ESP_FAILED);
    EXPECT(strstr(esp_last_error()->text, "write_badly: it did not write its output file 'result'"));
    EXPECT(grpc_call(&bad, 1, "result") != GRPC_NO_ERROR && esp_last_error()->status == ESP_FAILED);
    EXPECT(strstr(esp_last_error()->text, "'result' has 3000 bytes: at most 2048 are allowed (limit)"));
    EXPECT(grpc_call(&join, 2, parts, "whole", "journal", &bytes) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "nowhere"));
    return 0;
}

/* ---- strings of callbacks ---- */

static char name_text[16], remark_text[40], long_text[70001];
static int n_named;

static const char *name_of(int step)
{
    n_named++;
    snprintf(name_text, sizeof name_text, "step %d", step);
    return step == 2 ? "" : name_text;
}

static void say(const char *what, double at, char **state, char **remark)
{
    snprintf(remark_text, sizeof remark_text, "%s at %.1f, %s", what, at, *state);
    *remark = remark_text;
    if (at > 0)
        *state = (char *)"ended";
}

static void say_nothing(const char *what, double at, char **state, char **remark)
{
    (void)what;
    (void)at;
    (void)state;
    *remark = NULL;
}

static void say_too_much(const char *what, double at, char **state, char **remark)
{
    (void)what;
    (void)at;
    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    *remark = long_text;
}

static void fail_at_once(const char *what, double at, char **state, char **remark)
{
    (void)at;
    (void)state;
    (void)remark;
    char why[60];
    snprintf(why, sizeof why, "no more of '%s'", what);
    esp_callback_fail(why);
}

static void hear(const char *what)
{
    (void)what;
}

static int strings(void)
{
    grpc_function_handle_t visit = handle("visit"), nonsense = handle("nonsense");
    char *remarks[3] = {NULL};
    int characters = 0;
    EXPECT(grpc_call(&visit, name_of, say, 3, remarks, &characters) == GRPC_NO_ERROR);
    EXPECT(n_named == 3 && characters == 12);
    EXPECT(strcmp(remarks[0], "step 0 at 0.0, begun") == 0 &&
           strcmp(remarks[1], "step 1 at 0.5, begun") == 0 && strcmp(remarks[2], " at 1.0, ended") == 0);
    for (int i = 0; i < 3; i++)
        free(remarks[i]);
    EXPECT(grpc_call(&visit, name_of, say_nothing, 1, remarks, &characters) == GRPC_NO_ERROR);
    EXPECT(strcmp(remarks[0], "") == 0);
    free(remarks[0]);
    EXPECT(grpc_call(&visit, name_of, fail_at_once, 1, remarks, &characters) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "callback say failed in the client: no more of 'step 0'"));
    EXPECT(grpc_call(&visit, name_of, say_too_much, 1, remarks, &characters) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "with remark its arguments take more than the 65536 bytes"));
    for (int how = 0; how < 2; how++) {
        EXPECT(grpc_call(&nonsense, hear, how) != GRPC_NO_ERROR && esp_last_error()->status == ESP_FAILED);
        EXPECT(strstr(esp_last_error()->text, "bytes that a call may have, no 0 ends the string what"));
    }
    return 0;
}

/* ---- sizes of the problem ---- */

static void squares(const double *x, double *y)
{
    y[0] = x[0] * x[0] + x[2];
    y[1] = x[1];
}

static int sizes(void)
{
    grpc_function_handle_t jacobian = handle("jacobian");
    double x[3] = {1, 2, 3}, J[6] = {0};
    static double large[9000], none[1];
    const double expected[6] = {3, 0, 0, 1, 1, 0};
    EXPECT(grpc_call(&jacobian, squares, 2, 3, x, J) == GRPC_NO_ERROR);
    EXPECT(memcmp(J, expected, sizeof J) == 0);
    EXPECT(grpc_call(&jacobian, squares, 0, 9000, large, none) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "callback f: with x its arguments take more than the 65536 bytes"));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } steps[] = {{"files", files}, {"wrong", wrong}, {"strings", strings}, {"sizes", sizes}};
    EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
    for (size_t i = 0; argc > 1 && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, argv[1]) == 0)
            return steps[i].run() != 0 || grpc_finalize() != GRPC_NO_ERROR;
    return 2;
}
