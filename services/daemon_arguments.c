/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of a daemon.
 */
#include "config.h"
#include "services/daemon.h"

#include <getopt.h>
#include <stdio.h>

static void print_usage(const struct daemon_arguments *arguments, FILE *file)
{
    fprintf(file,
            "Usage: %s [OPTION]... [FILE]\n"
            "%s\n\n"
            "Reads its configuration from FILE (else: %s).\n\n"
            "Options:\n"
            "  -f, --foreground  stay in the foreground\n"
            "  -h, --help        show this text\n"
            "  -V, --version     show which release this is\n",
            arguments->program, arguments->text, arguments->path);
}

/* As the `espalier` command has them: its manual page tells what they mean. */
enum { EXIT_USAGE = 2 };

bool daemon_parse_arguments(int argc, char **argv, struct daemon_arguments *arguments, int *exit_code)
{
    static const struct option options[] = {
        {"foreground", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *exit_code = 0;
    while ((option = getopt_long(argc, argv, "fhV", options, NULL)) >= 0) {
        switch (option) {
        case 'f':
            arguments->foreground = true;
            break;
        case 'h':
            print_usage(arguments, stdout);
            return false;
        case 'V':
            printf("%s (Espalier) %s\n", arguments->program, PACKAGE_VERSION);
            return false;
        default: /* getopt_long() has said what is wrong */
            fprintf(stderr, "Try '%s --help'.\n", arguments->program);
            *exit_code = EXIT_USAGE;
            return false;
        }
    }
    if (argc - optind > 1) {
        fprintf(stderr, "%s: expected one configuration file, found %d\n", arguments->program, argc - optind);
        *exit_code = EXIT_USAGE;
        return false;
    }
    if (optind < argc)
        arguments->path = argv[optind];
    return true;
}
