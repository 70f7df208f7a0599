/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks symbols up as a worker does, before there is a server (`espalier problems check`). */
#include "sed/crd/crd.h"
#include "config.h"
#include "sed/crd/spawner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* If loading a library does not end, SIGALRM ends this process after this time. */
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

/* Reads symbols from standard input, one a line, and answers each with a line on standard output: "." when
 * it is in the library, else the reason. Returns the exit code of the program; SIGALRM ends it if the
 * library takes too long to load. */
static int check_symbols(const char *folder, const char *library)
{
    char *symbol = NULL;
    size_t size = 0;
    /* Output of a library while it is loaded must not be taken for an answer. */
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

/* espalier-crd, the computational resource daemon: a server daemon starts it as its spawner of workers. */

static bool is_our_socket(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("espalier-crd " PACKAGE_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--spawner") == 0 && is_our_socket(SPAWNER_SOCKET))
        return spawner_run(SPAWNER_SOCKET);
    if (argc == 4 && strcmp(argv[1], "--check") == 0)
        return check_symbols(argv[2], argv[3]);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        puts("Usage: espalier-crd --version\n"
             "       espalier-crd --check FOLDER LIBRARY <SYMBOLS\n"
             "Runs the numerical routines of a server. Servers start it by themselves; see espalier-sed(8).\n"
             "With --check it looks symbols up as it would there, one a line: 'espalier problems check "
             "--libraries' asks it.");
        return 0;
    }
    fputs("espalier-crd: only a server daemon can start this program (see espalier-sed(8))\n", stderr);
    return 2;
}
