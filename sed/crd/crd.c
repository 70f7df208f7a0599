/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-crd, the computational resource daemon: started by a server daemon as its spawner of workers.
 */
#include "config.h"

#include "sed/crd/crd.h"

#include "sed/crd/spawner.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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
