/* SPDX-License-Identifier: Apache-2.0
 *
 * replay FOLDER: each file of tests/fuzz/corpus/FOLDER, whole and cut at some places, as TAP.
 */
#include "tests/fuzz/replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1 << 20)
#define CUTS      64

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    unsigned char *data = malloc(MAX_BYTES);
    size_t size = data ? fread(data, 1, MAX_BYTES, file) : 0;
    fclose(file);
    for (size_t cut = 0; cut <= CUTS; cut++) {
        /* From memory that ends with the input, so that a sanitizer sees a read behind it. */
        size_t n = size * cut / CUTS;
        unsigned char *exact = malloc(n ? n : 1);
        if (exact) {
            memcpy(exact, data, n);
            LLVMFuzzerTestOneInput(exact, n);
        }
        free(exact);
    }
    free(data);
    return size > 0;
}

int main(int argc, char **argv)
{
    const char *top = getenv("top_srcdir");
    const char *name = strrchr(argv[0], '/');
    char folder[2048], path[4096];
    /* The program fuzz_problem replays the corpus "problem". */
    name = name && strncmp(name, "/fuzz_", 6) == 0 ? name + 6 : "";
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : "..", name);
    DIR *corpus = opendir(argc > 1 ? argv[1] : folder);
    int n = 0;
    if (!corpus) {
        printf("Bail out! cannot open %s\n", argc > 1 ? argv[1] : folder);
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(corpus));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argc > 1 ? argv[1] : folder, entry->d_name);
        printf("%s %d - %s\n", replay_file(path) ? "ok" : "not ok", ++n, entry->d_name);
    }
    closedir(corpus);
    printf("1..%d\n", n);
    return n > 0 ? 0 : 1;
}
