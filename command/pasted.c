/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/pasted.h"
#include "command/opener.h"
#include "core/problem/problem_help.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

#define MOST_BYTES 16384 /* of what is pasted */

static bool is_plain(const char *word)
{
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/@%") ==
                        strlen(word);
}

/* As a shell reads it again. */
static void put_word(struct text *text, const char *word)
{
    if (is_plain(word)) {
        text_put(text, word);
        return;
    }
    text_put(text, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_put(text, "'\\''");
        else
            text_put_bytes(text, word, 1);
    text_put(text, "'");
}

/* " --platform lab": what this command was told of the platform, a call has to be told, too. */
static void platform_words(const struct command_line *command, char *words, size_t size)
{
    struct text text;
    text_open(&text, words, size);
    for (const struct command_option *option = platform_options; option->name; option++) {
        const char *value = command_option_value(command, option->name);
        if (!value || strcmp(option->name, "timeout") == 0)
            continue;
        text_put(&text, " --");
        text_put(&text, option->name);
        text_put(&text, " ");
        put_word(&text, value);
    }
}

static void print_lines(const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        printf("  %.*s\n", (int)length, lines);
        lines += length + (lines[length] != 0);
    }
}

/* The call that opens the state which this problem takes; *lines is what the shell is told for that. */
static void print_opener(const struct problem *problem, const char *options, char *lines, size_t size)
{
    const char *name = problem->arguments[problem_state_index(problem)].name;
    struct problem_set *opener = opener_find(problem);
    char text[MOST_BYTES];
    if (!opener) {
        printf("\nIts state '%s' comes from a call of a problem that leaves one: give what that call has "
               "shown.\n",
               name);
        return;
    }
    problem_example(opener->problems[0], options, text, sizeof text);
    printf("\nIts state '%s' comes from %s: give what that call has shown.\n  %s\n", name,
           opener->problems[0]->name, text);
    size_t length = opener_command(opener->problems[0], problem, options, lines, size);
    if (length == 0 || length >= size)
        *lines = 0;
    problem_set_destroy(opener);
}

static void print_trial(const struct problem *problem, const char *options, const char *opener)
{
    char text[MOST_BYTES];
    struct esp_error why = {0};
    size_t length = problem_trial(problem, options, text, sizeof text, &why);
    if (length == 0) {
        printf(
            "\nNo example with simple numbers was found: a call has to fulfil what stands in the way, %s\n",
            why.text);
        return;
    }
    if (length >= sizeof text)
        return;
    puts("\nTry it:");
    print_lines(opener);
    print_lines(text);
}

void pasted_print(const struct command_line *command, const struct esp_problem *described)
{
    struct problem_set *set;
    char text[MOST_BYTES], options[4096], opener[MOST_BYTES + 256] = "";
    if (problem_parse(described->source, strlen(described->source), described->name, &set, NULL) != ESP_OK)
        return;
    const struct problem *problem = set->problems[0];
    platform_words(command, options, sizeof options);
    problem_example(problem, options, text, sizeof text);
    printf("\nCall it with files:\n  %s\n", text);
    if (problem_prototype(problem, text, sizeof text) < sizeof text)
        printf("\nCall it in C:\n  %s;\n", text);
    int kept = problem_state_index(problem);
    bool wants_state = kept >= 0 && argument_is_input(&problem->arguments[kept]);
    if (wants_state)
        print_opener(problem, options, opener, sizeof opener);
    if (*opener || !wants_state)
        print_trial(problem, options, opener);
    problem_set_destroy(set);
}
