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
               write_file("log", 5, '0'));
        EXPECT(grpc_call(&join, 2, parts, "whole", "log", &bytes) == GRPC_NO_ERROR);
        EXPECT((size_t)bytes == sizes[k] + 7 && size_of("whole") == sizes[k] + 7);
        EXPECT(is_file("whole", 0, sizes[k], 'A') && is_file("whole", sizes[k], 7, 'a'));
        EXPECT(is_file("log", 0, 5, '0') && is_file("log", 5, sizes[k], 'A') &&
               size_of("log") == sizes[k] + 12);
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
    EXPECT(grpc_call(&join, 2, parts, "whole", "log", &bytes) != GRPC_NO_ERROR);
    EXPECT(strstr(esp_last_error()->text, "nowhere"));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } steps[] = {{"files", files}, {"wrong", wrong}};
    EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
    for (size_t i = 0; argc > 1 && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, argv[1]) == 0)
            return steps[i].run() != 0 || grpc_finalize() != GRPC_NO_ERROR;
    return 2;
}
