/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier __complete WORD...: what could stand in the place of the last word, one candidate a line, for the
 * completion scripts of shells (etc/completion). "files:PREFIX" stands for the names of files, with the
 * prefix in front; a candidate that ends in '=' goes on. What the platform has to tell is left out when it
 * does not answer.
 */
#include "config.h"

#include "command/complete.h"
#include "command/verbs.h"
#include "core/forecast/outlook.h"
#include "core/matrix/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *word, const char *beginning)
{
    return strncmp(word, beginning, strlen(beginning)) == 0;
}

static void offer_words(const struct completion *completion, const char *words)
{
    char word[64];
    while (*words) {
        size_t n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        completion_offer(completion, word);
        words += n + (words[n] == ' ');
    }
}

static const struct command_option *find_option(const struct verb *verb, const char *word)
{
    const struct command_option *option;
    for (unsigned i = 0; (option = command_options(verb, i)); i++)
        for (; option->name; option++)
            if ((begins(word, "--") && strcmp(word + 2, option->name) == 0) ||
                (word[0] == '-' && option->letter && word[1] == option->letter && !word[2]))
                return option;
    return NULL;
}

static void offer_options(const struct completion *completion)
{
    const struct command_option *option;
    for (unsigned i = 0; (option = command_options(completion->verb, i)); i++)
        for (; option->name; option++) {
            char word[64];
            snprintf(word, sizeof word, "--%s", option->name);
            completion_offer(completion, word);
        }
}

/* The words that can follow those before the last in the names of verbs ("matrix" -> "info"). */
static void offer_verbs(const struct completion *completion)
{
    for (const struct verb *verb = command_verbs; verb->name; verb++) {
        char word[64];
        const char *space = strchr(verb->name, ' ');
        if (completion->n == 1) {
            snprintf(word, sizeof word, "%.*s", (int)(space ? space - verb->name : 63), verb->name);
            if (!space || verb == command_verbs || !begins(verb[-1].name, word)) /* "matrix" once */
                completion_offer(completion, word);
        } else if (space && strlen(completion->words[0]) == (size_t)(space - verb->name) &&
                   begins(verb->name, completion->words[0])) {
            completion_offer(completion, space + 1);
        }
    }
    if (completion->n == 1)
        offer_words(completion, "--help --version");
}

static void offer_formats(const struct completion *completion)
{
    for (unsigned i = 0; matrix_format_at(i); i++)
        completion_offer(completion, matrix_format_word(matrix_format_at(i)));
}

static void offer_resources(const struct completion *completion)
{
    for (unsigned i = 0; outlook_resource(i); i++)
        completion_offer(completion, outlook_resource(i));
}

static void offer_option_value(const struct completion *completion, const struct command_option *option)
{
    if (strcmp(option->name, "format") == 0)
        offer_formats(completion);
    else if (strcmp(option->name, "layout") == 0)
        offer_words(completion, "sparse dense");
    else if (strcmp(option->name, "mode") == 0)
        offer_words(completion, "volatile persistent persistent-return sticky sticky-return");
    else if (strcmp(option->name, "as") == 0)
        offer_words(completion, "client redirector agent sed platform");
    else if (strcmp(option->name, "problem") == 0)
        completion_offer_problems(completion);
    else if (strcmp(option->name, "gams") == 0)
        completion_offer_classes(completion);
    else if (strcmp(option->name, "type") == 0)
        offer_words(completion, "char short int long int64 float double complex");
    else if (strcmp(option->name, "resource") == 0)
        offer_resources(completion);
    else if (strcmp(option->argument, "NODE") == 0)
        completion_offer_nodes(completion, COMPLETION_NODES);
    else if (strcmp(option->argument, "PARENT") == 0)
        completion_offer_nodes(completion, COMPLETION_AGENTS);
    else if (strcmp(option->name, "server") == 0 || strcmp(option->argument, "SERVER") == 0)
        completion_offer_nodes(completion, COMPLETION_SERVERS);
    else if (strcmp(option->name, "platform") == 0 && strcmp(option->argument, "FILE") != 0)
        completion_offer_platforms(completion);
    else if (strcmp(option->name, "output") == 0 && strchr(option->argument, '='))
        completion_offer_arguments(completion, true);
    else if (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "PATH") == 0 ||
             strcmp(option->argument, "FOLDER") == 0)
        completion_offer_files(completion, 0);
}

/* Of the verbs on data: identities first, then where to; behind one of several, either. */
static void offer_data_operand(const struct completion *completion)
{
    const char *operands = completion->verb->operands;
    if (completion->n_operands == 0 || completion->verb->most < 0)
        completion_offer_data(completion, 0);
    if (completion->n_operands > 0 && strstr(operands, "SERVER"))
        completion_offer_nodes(completion, COMPLETION_SERVERS);
    else if (completion->n_operands > 0 && strstr(operands, "FILE"))
        completion_offer_files(completion, 0);
}

/* Behind the problem its arguments, or more problems where the verb takes any number of them. */
static void offer_problem_operand(const struct completion *completion)
{
    const char *operands = completion->verb->operands;
    if (strstr(operands, "NAME=VALUE") && completion->n_operands > 0)
        completion_offer_arguments(completion, false);
    else if (completion->n_operands == 0 || strstr(operands, "..."))
        completion_offer_problems(completion);
}

/* What a verb's text calls its operands tells what they are. */
static void offer_operand(const struct completion *completion)
{
    const char *operands = completion->verb->operands + strspn(completion->verb->operands, "[");
    if (begins(operands, "PROBLEM") || strcmp(completion->verb->name, "problems") == 0)
        offer_problem_operand(completion);
    else if (begins(operands, "JOB"))
        completion_offer_jobs(completion);
    else if (begins(operands, "ID"))
        offer_data_operand(completion);
    else if (begins(operands, "NODE"))
        completion_offer_nodes(completion, COMPLETION_NODES);
    else if (strcmp(completion->verb->name, "down") == 0)
        completion_offer_platforms(completion);
    else if (completion->verb->most != 0 && !begins(operands, "NAME") && !begins(operands, "SESSION"))
        completion_offer_files(completion, 0);
}

/* The verb that the words begin with, unless its last word is the one being typed. */
static bool find_verb(struct completion *completion)
{
    for (const struct verb *verb = command_verbs; verb->name; verb++) {
        const char *space = strchr(verb->name, ' ');
        int words = space ? 2 : 1;
        char name[128];
        if (completion->n <= words)
            continue;
        snprintf(name, sizeof name, "%s%s%s", completion->words[0], space ? " " : "",
                 space ? completion->words[1] : "");
        if (strcmp(name, verb->name) != 0)
            continue;
        if (words < completion->verb_words)
            continue; /* `problems check` says more than `problems` */
        completion->verb = completion->command.verb = verb;
        completion->verb_words = words;
    }
    return completion->verb != NULL;
}

/* Sorts the words before the last; returns the option whose value the last one is, or NULL. */
static const struct command_option *sort_words(struct completion *completion)
{
    const struct command_option *waiting = NULL;
    for (int i = completion->verb_words; i < completion->n - 1; i++) {
        const char *word = completion->words[i];
        struct option_value *values = completion->command.options;
        if (waiting) {
            values[completion->command.n_options++] = (struct option_value){waiting->name, word};
            waiting = NULL;
        } else if (word[0] == '-') {
            const struct command_option *option = find_option(completion->verb, word);
            waiting = option && option->argument ? option : NULL;
        } else if (completion->n_operands <
                   (int)(sizeof completion->operands / sizeof *completion->operands)) {
            completion->operands[completion->n_operands++] = word;
        }
    }
    return waiting;
}

enum exit_code command_complete(int n, char **words)
{
    struct completion completion = {.words = words, .n = n, .current = n ? words[n - 1] : ""};
    if (n == 0)
        return EXIT_DONE;
    if (!find_verb(&completion)) {
        if (n <= 2)
            offer_verbs(&completion);
        return command_flush();
    }
    completion.command.options = calloc((size_t)n, sizeof *completion.command.options);
    if (!completion.command.options)
        return EXIT_FAILED;
    if (n == 2) /* "problems" is a verb, and "problems check" another */
        offer_verbs(&completion);
    const struct command_option *option = sort_words(&completion);
    if (option)
        offer_option_value(&completion, option);
    else if (completion.current[0] == '-')
        offer_options(&completion);
    else
        offer_operand(&completion);
    free(completion.command.options);
    return command_flush();
}
