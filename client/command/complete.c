/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier __complete WORD...: what could stand in the place of the last word, one candidate a line, for the
 * completion scripts of shells (etc/completion). "files:PREFIX" stands for the names of files, with the
 * prefix in front; a candidate that ends in '=' goes on. What the platform has to tell is left out when it
 * does not answer.
 */
#include "config.h"

#include "client/command/command.h"
#include "client/command/session.h"
#include "client/signature.h"
#include "core/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 3 /* somebody waits at a keyboard */

struct completion {
    char **words;
    int n;               /* the last one is completed */
    const char *current; /* the last one */
    const struct verb *verb;
    int verb_words;
    const char *operands[64]; /* before the last word */
    int n_operands;
    struct command_line command; /* what the words say so far, for the platform's options */
};

static bool begins(const char *word, const char *beginning)
{
    return strncmp(word, beginning, strlen(beginning)) == 0;
}

static void offer(const struct completion *completion, const char *candidate)
{
    if (begins(candidate, completion->current))
        puts(candidate);
}

static void offer_words(const struct completion *completion, const char *words)
{
    char word[64];
    while (*words) {
        size_t n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        offer(completion, word);
        words += n + (words[n] == ' ');
    }
}

/* Names of files in place of the last word's part behind its first `prefix` bytes. */
static void offer_files(const struct completion *completion, size_t prefix)
{
    printf("files:%.*s\n", (int)prefix, completion->current);
}

static const struct command_option *find_option(const struct verb *verb, const char *word)
{
    const struct command_option *const *group = verb->options;
    const struct command_option *options = common_options;
    for (;;) {
        for (const struct command_option *option = options; option->name; option++)
            if ((begins(word, "--") && strcmp(word + 2, option->name) == 0) ||
                (word[0] == '-' && option->letter && word[1] == option->letter && !word[2]))
                return option;
        if (!(options = *group++))
            return NULL;
    }
}

static void offer_options(const struct completion *completion)
{
    const struct command_option *const *group = completion->verb->options;
    for (const struct command_option *options = common_options; options; options = *group++)
        for (const struct command_option *option = options; option->name; option++) {
            char word[64];
            snprintf(word, sizeof word, "--%s", option->name);
            offer(completion, word);
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
                offer(completion, word);
        } else if (space && strlen(completion->words[0]) == (size_t)(space - verb->name) &&
                   begins(verb->name, completion->words[0])) {
            offer(completion, space + 1);
        }
    }
    if (completion->n == 1)
        offer_words(completion, "--help --version");
}

static bool open_platform(const struct completion *completion)
{
    alarm(PATIENCE_S);
    return session_open(&completion->command) == EXIT_DONE;
}

static void offer_problems(const struct completion *completion)
{
    struct esp_problem_entry *entries = NULL;
    size_t n = 0;
    if (!open_platform(completion))
        return;
    if (esp_problem_list(&entries, &n) == ESP_OK)
        for (size_t i = 0; i < n; i++)
            offer(completion, entries[i].name);
    esp_problem_list_free(entries);
    grpc_finalize();
}

static void offer_servers(const struct completion *completion)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    if (!open_platform(completion))
        return;
    if (esp_tree(NULL, &nodes, &n) == ESP_OK)
        for (size_t i = 0; i < n; i++)
            if (nodes[i].role == ESP_ROLE_SERVER)
                offer(completion, nodes[i].name);
    esp_tree_free(nodes);
    grpc_finalize();
}

static bool is_given(const struct completion *completion, const char *name)
{
    size_t length = strlen(name);
    for (int i = 1; i < completion->n_operands; i++)
        if (begins(completion->operands[i], name) && completion->operands[i][length] == '=')
            return true;
    return false;
}

/* "NAME=" of the inputs that are not there yet, or of the outputs. */
static void offer_arguments(const struct completion *completion, bool outputs)
{
    struct esp_problem *problem = NULL;
    const char *equal = strchr(completion->current, '=');
    if (equal && (outputs || equal[1] == '@')) {
        offer_files(completion, (size_t)(equal - completion->current) + (outputs ? 1 : 2));
        return;
    }
    if (equal || completion->n_operands == 0 || !open_platform(completion))
        return;
    if (esp_problem_describe(completion->operands[0], &problem) == ESP_OK)
        for (size_t i = 0; i < problem->n_arguments; i++) {
            const struct esp_problem_argument *argument = &problem->arguments[i];
            char word[128];
            snprintf(word, sizeof word, "%s=", argument->name);
            if (outputs ? argument_out(argument)
                        : argument_in(argument) && !is_given(completion, argument->name))
                offer(completion, word);
        }
    esp_problem_free(problem);
    grpc_finalize();
}

static void offer_formats(const struct completion *completion)
{
    for (unsigned i = 0; matrix_format_at(i); i++)
        offer(completion, matrix_format_word(matrix_format_at(i)));
}

static void offer_option_value(const struct completion *completion, const struct command_option *option)
{
    if (strcmp(option->name, "format") == 0)
        offer_formats(completion);
    else if (strcmp(option->name, "layout") == 0)
        offer_words(completion, "sparse dense");
    else if (strcmp(option->name, "as") == 0)
        offer_words(completion, "client redirector agent sed platform");
    else if (strcmp(option->name, "problem") == 0)
        offer_problems(completion);
    else if (strcmp(option->name, "server") == 0)
        offer_servers(completion);
    else if (strcmp(option->name, "output") == 0 && strchr(option->argument, '='))
        offer_arguments(completion, true);
    else if (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "PATH") == 0)
        offer_files(completion, 0);
}

static void offer_operand(const struct completion *completion)
{
    const char *operands = completion->verb->operands;
    if (begins(operands, "PROBLEM") || strcmp(completion->verb->name, "problems") == 0) {
        if (completion->n_operands == 0)
            offer_problems(completion);
        else if (strstr(operands, "NAME=VALUE"))
            offer_arguments(completion, false);
    } else if (completion->verb->most != 0) {
        offer_files(completion, 0);
    }
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
