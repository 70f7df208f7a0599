/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking symbols up as a worker does, for who asks before there is a server (`espalier problems check`).
 */
#include "sed/crd/crd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A library that does not come to an end while it is loaded: SIGALRM ends this process. */
#define LOADING_S 30

static void check_one(const char *folder, const char *library, const char *symbol, FILE *out)
{
    struct esp_error error;
    void (*routine)(void);
    if (strlen(symbol) >= SIGNATURE_MAX_SYMBOL) {
        fprintf(out, "expected a symbol of at most %d characters, found %zu\n", SIGNATURE_MAX_SYMBOL - 1,
                strlen(symbol));
        return;
    }
    if (library_symbol(folder, library, symbol, &routine, &error) == ESP_OK) {
        fputs(".\n", out);
        return;
    }
    for (char *end = strpbrk(error.text, "\r\n"); end; end = strpbrk(end, "\r\n"))
        *end = ' ';
    fprintf(out, "%s\n", error.text);
}

int check_symbols(const char *folder, const char *library)
{
    char *symbol = NULL;
    size_t size = 0;
    /* What a library prints when it is loaded is no answer. */
    FILE *out = fdopen(dup(STDOUT_FILENO), "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        perror("espalier-crd: standard output");
        return 1;
    }
    alarm(LOADING_S);
    while (getline(&symbol, &size, stdin) > 0) {
        symbol[strcspn(symbol, "\n")] = 0;
        check_one(folder, library, symbol, out);
    }
    free(symbol);
    return fclose(out) == 0 ? 0 : 1;
}
