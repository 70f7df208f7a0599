/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/calibrate_command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_seconds(const char *text, double *seconds)
{
    char *end;
    *seconds = strtod(text, &end);
    while (*end == ' ')
        end++;
    if (strcmp(end, "ms") == 0)
        *seconds /= 1000;
    else if (strcmp(end, "min") == 0)
        *seconds *= 60;
    else if (strcmp(end, "h") == 0)
        *seconds *= 3600;
    else if (*end && strcmp(end, "s") != 0)
        return false;
    return *seconds > 0 && *seconds <= 86400;
}

int calibrate_usage(const char *text, const char *word)
{
    fprintf(stderr, "espalier calibrate: %s '%s'; see 'espalier calibrate --help'\n", text, word);
    return EXIT_USAGE;
}

int calibrate_parse(int argc, char **argv, struct calibrating *command)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"models", required_argument, NULL, 'm'},
        {"budget", required_argument, NULL, 'b'},
        {"longest", required_argument, NULL, 'l'},
        {"again", no_argument, NULL, 'a'},
        {"all", no_argument, NULL, 'A'},
        {"json", no_argument, NULL, 'j'},
        {"background", no_argument, NULL, 'B'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "c:m:b:l:a", options, NULL)) != -1) {
        if (option == 'c')
            command->config = optarg;
        else if (option == 'm')
            command->models = optarg;
        else if (option == 'a')
            command->again = true;
        else if (option == 'A')
            command->all = true;
        else if (option == 'j')
            command->json = true;
        else if (option == 'B')
            command->background = true;
        else if (option == '?')
            return EXIT_USAGE;
        else if (!read_seconds(optarg, option == 'b' ? &command->budget_s : &command->longest_s))
            return calibrate_usage(option == 'b' ? "--budget: expected a time up to 24 h, such as 30s, found"
                                                 : "--longest: expected a time up to 24 h, such as 1s, found",
                                   optarg);
    }
    return EXIT_DONE;
}
