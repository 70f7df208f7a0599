/* SPDX-License-Identifier: Apache-2.0
 *
 * The options: the tables that several verbs share, and the values that one run of a verb was given.
 */
#include "config.h"

#include "command/command.h"

#include <string.h>

static const struct command_option common_options[] = {
    {'h', "help", NULL, "show this text"},
    {'j', "json", NULL, "write one JSON value for programs instead of tables for people"},
    {0, NULL, NULL, NULL},
};

const struct command_option platform_options[] = {
    {'c', "config", "FILE", "client configuration file; says where the platform is"},
    {0, "redirector", "ADDRESS", "the platform's redirector, HOST[:PORT] (port 4780)"},
    {0, "agent", "ADDRESS", "a master agent, HOST[:PORT], instead of a redirector"},
    {0, "platform", "NAME", "the platform that 'espalier up' started under that name"},
    {0, "timeout", "TIME", "give up after so long, such as '30 s'"},
    {0, NULL, NULL, NULL},
};

/* Which servers a call may go to. */
const struct command_option constraint_options[] = {
    {'s', "server", "NAME", "only on this server"},
    {0, "property", "WORD", "only on servers that have this word among their properties; may be repeated"},
    {0, "deadline", "TIME",
     "only on servers where the results are expected within this time; fails at once if there is none"},
    {0, "memory", "SIZE", "only on servers where the call takes at most so much memory"},
    {0, NULL, NULL, NULL},
};

const struct command_option input_options[] = {
    {0, "max-input", "SIZE",
     "maximum size of a file, and of the array in it (default: 8 GiB, or the memory of the largest server)"},
    {0, "sum-duplicates", NULL, "add up entries that a matrix file gives for one place (default: an error)"},
    {0, NULL, NULL, NULL},
};

const struct command_option *command_options(const struct verb *verb, unsigned index)
{
    const struct command_option *tables[6];
    unsigned n = 0;
    if (verb->options)
        tables[n++] = verb->options;
    if (verb->shared & WITH_INPUT)
        tables[n++] = input_options;
    if (verb->shared & WITH_CONSTRAINTS)
        tables[n++] = constraint_options;
    if (verb->shared & WITH_PLATFORM)
        tables[n++] = platform_options;
    tables[n++] = common_options;
    return index < n ? tables[index] : NULL;
}

const char *command_option_value(const struct command_line *command, const char *name)
{
    for (int i = command->n_options; i-- > 0;)
        if (strcmp(command->options[i].name, name) == 0)
            return command->options[i].value;
    return NULL;
}
