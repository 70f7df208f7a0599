/* SPDX-License-Identifier: Apache-2.0
 *
 * From the command line to a verb, and the help that the same tables give.
 */
#include "config.h"

#include "command/verbs.h"
#include "util/names.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64 /* of one verb, all groups */

/* All options of a verb in one row. */
static unsigned collect(const struct verb *verb, const struct command_option **options)
{
    unsigned n = 0;
    const struct command_option *option;
    for (unsigned i = 0; (option = command_options(verb, i)); i++)
        for (; option->name && n < MAX_OPTIONS; option++)
            options[n++] = option;
    return n;
}

static void print_options(const struct command_option *const *options, unsigned n)
{
    int width = 0;
    char heads[MAX_OPTIONS][64];
    for (unsigned i = 0; i < n; i++) {
        char letter[8] = "    ";
        if (options[i]->letter)
            snprintf(letter, sizeof letter, "-%c, ", options[i]->letter);
        int length =
            snprintf(heads[i], sizeof heads[i], "%s--%s%s%s", letter, options[i]->name,
                     options[i]->argument ? " " : "", options[i]->argument ? options[i]->argument : "");
        width = length > width ? length : width;
    }
    puts("\nOptions:");
    for (unsigned i = 0; i < n; i++)
        printf("  %-*s  %s\n", width, heads[i], options[i]->text);
}

static void print_exit_codes(void)
{
    puts("\nExit codes:\n"
         "  0  done\n"
         "  1  the computation, or what was asked for, failed\n"
         "  2  the command line is wrong: a verb, an option, an argument's name, type or shape\n"
         "  3  the platform, or a server that could, is not reached, or the time is over\n"
         "  4  an input file (matrix, configuration, description) is missing or wrong\n"
         "  5  a state, a datum or a job that is named is not there (any more)");
}

static void print_verb_help(const struct verb *verb)
{
    const struct command_option *options[MAX_OPTIONS];
    unsigned n = collect(verb, options);
    printf("Usage: espalier %s%s%s [OPTION]...\n%s.\n", verb->name, *verb->operands ? " " : "",
           verb->operands, verb->title);
    printf("\n%s\n", verb->text);
    print_options(options, n);
    print_exit_codes();
}

/* Whether the verb is one of `data put`, `data get` and so on; NULL: every verb is. */
static bool is_of_group(const struct verb *verb, const char *group)
{
    const size_t length = group ? strlen(group) : 0;
    return !group || (strncmp(verb->name, group, length) == 0 && verb->name[length] == ' ');
}

static void print_verbs(const char *group)
{
    int width = 0;
    for (const struct verb *verb = command_verbs; verb->name; verb++) {
        int length = (int)(strlen(verb->name) + 1 + strlen(verb->operands));
        width = length > width && is_of_group(verb, group) ? length : width;
    }
    for (const struct verb *verb = command_verbs; verb->name; verb++) {
        char head[128];
        if (!is_of_group(verb, group))
            continue;
        snprintf(head, sizeof head, "%s %s", verb->name, verb->operands);
        printf("  %-*s  %s\n", width, head, verb->title);
    }
}

static void print_group_help(const char *group)
{
    printf("Usage: espalier %s VERB [ARGUMENT]... [OPTION]...\n\nVerbs:\n", group);
    print_verbs(group);
    printf("\n'espalier %s VERB --help' tells more about one.\n", group);
}

static void print_help(void)
{
    puts("Usage: espalier VERB [ARGUMENT]... [OPTION]...\n"
         "Call numerical solvers on the servers of a hierarchy, and run such a hierarchy on this machine.\n\n"
         "Verbs:");
    print_verbs(NULL);
    puts("\n'espalier VERB --help' tells more about one; 'espalier --version' which release this is.");
    print_exit_codes();
}

/* The verb that the first words name, and how many words that took; NULL: none. */
static const struct verb *find_verb(int argc, char **argv, int *words)
{
    const struct verb *found = NULL;
    for (const struct verb *verb = command_verbs; verb->name; verb++) {
        const char *space = strchr(verb->name, ' ');
        size_t first = space ? (size_t)(space - verb->name) : strlen(verb->name);
        if (strlen(argv[1]) != first || strncmp(argv[1], verb->name, first) != 0)
            continue;
        if (space && (argc < 3 || strcmp(argv[2], space + 1) != 0))
            continue;
        if (!found || space) /* `problems check` says more than `problems` */
            found = verb;
    }
    *words = found && strchr(found->name, ' ') ? 2 : 1;
    return found;
}

/* No verb says which options there are: --json is known all the same. */
static enum exit_code fail_without_verb(int argc, char **argv, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum exit_code fail_without_verb(int argc, char **argv, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    command_complain("", text);
    fputs("Try 'espalier --help'.\n", stderr);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0) {
            command_error_json(ESP_INVALID, text);
            break;
        }
    return EXIT_USAGE;
}

/* `data frob`, or `data` alone. */
static enum exit_code unknown_in_group(int argc, char **argv, const struct verb *first)
{
    char others[256] = "";
    size_t used = 0;
    if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        print_group_help(argv[1]);
        return EXIT_DONE;
    }
    for (const struct verb *verb = first + 1; verb->name && used < sizeof others; verb++)
        if (is_of_group(verb, argv[1]))
            used += (size_t)snprintf(others + used, sizeof others - used, "%s%s", used ? ", " : ", or ",
                                     strchr(verb->name, ' ') + 1);
    return fail_without_verb(argc, argv, "expected 'espalier %s ...'%s, found '%s%s%.80s'", first->name,
                             others, argv[1], argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
}

static enum exit_code unknown_verb(int argc, char **argv)
{
    const char *names[64];
    size_t n = 0;
    char given[128];
    for (const struct verb *verb = command_verbs; verb->name && n < 64; verb++) {
        if (is_of_group(verb, argv[1]))
            return unknown_in_group(argc, argv, verb);
        names[n++] = verb->name;
    }
    snprintf(given, sizeof given, "%s", argv[1]);
    const char *closest = names_closest(given, names, n);
    return closest
               ? fail_without_verb(argc, argv, "there is no verb '%s': did you mean '%s'?", given, closest)
               : fail_without_verb(argc, argv, "there is no verb '%s'", given);
}

/* getopt's view of the options. */
static void fill_getopt(const struct command_option *const *options, unsigned n, struct option *longs,
                        char *shorts)
{
    *shorts++ = ':'; /* a missing value is told apart from an unknown option */
    for (unsigned i = 0; i < n; i++) {
        longs[i] = (struct option){options[i]->name, options[i]->argument ? required_argument : no_argument,
                                   NULL, 256 + (int)i};
        if (!options[i]->letter)
            continue;
        *shorts++ = options[i]->letter;
        if (options[i]->argument)
            *shorts++ = ':';
    }
    longs[n] = (struct option){0};
    *shorts = 0;
}

static const struct command_option *option_found(const struct command_option *const *options, unsigned n,
                                                 int found)
{
    if (found >= 256)
        return options[found - 256];
    for (unsigned i = 0; i < n; i++)
        if (options[i]->letter == found)
            return options[i];
    return NULL;
}

static enum exit_code unknown_option(const struct command_line *command, const char *word, int letter,
                                     const struct command_option *const *options, unsigned n)
{
    if (letter > 0 && letter < 256)
        return command_usage(command, "there is no option '-%c'", letter);
    const char *names[MAX_OPTIONS];
    char given[64];
    for (unsigned i = 0; i < n; i++)
        names[i] = options[i]->name;
    snprintf(given, sizeof given, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *closest = names_closest(given, names, n);
    return closest ? command_usage(command, "there is no option '--%s': did you mean '--%s'?", given, closest)
                   : command_usage(command, "there is no option '--%s'", given);
}

/* In a copy of the words: getopt brings them into another order, in which an option at the end that lacks its
 * value would find one. Without memory: for people. */
static void find_json(struct command_line *command, int argc, char **argv,
                      const struct command_option *const *options, unsigned n, const char *shorts,
                      const struct option *longs)
{
    int found;
    char **words = malloc(((size_t)argc + 1) * sizeof *words);
    if (!words)
        return;
    memcpy(words, argv, ((size_t)argc + 1) * sizeof *words);
    optind = 0;
    while ((found = getopt_long(argc, words, shorts, longs, NULL)) != -1) {
        const struct command_option *option = option_found(options, n, found);
        if (option && strcmp(option->name, "json") == 0)
            command->json = true;
    }
    free(words);
}

/* Options that add one thing each time: all that have NAME=..., and these. */
static bool may_repeat(const struct command_option *option)
{
    static const char *const names[] = {"problems", "property", "known", "search", "gams"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option->name, names[i]) == 0)
            return true;
    return !option->argument || strchr(option->argument, '=');
}

/* Of two values one would be lost. */
static bool take_option(struct command_line *command, const struct command_option *option, const char *value,
                        enum exit_code *code)
{
    const char *before = command_option_value(command, option->name);
    if (before && !may_repeat(option)) {
        *code = command_usage(command, "expected option '--%s' once, found it with '%s' and with '%s'",
                              option->name, before, value);
        return false;
    }
    command->options[command->n_options++] = (struct option_value){option->name, value ? value : ""};
    return true;
}

/* Reads the words behind the verb. False, with the exit code, when the command ends here. */
static bool parse_words(struct command_line *command, int argc, char **argv, enum exit_code *code)
{
    const struct command_option *options[MAX_OPTIONS];
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 2];
    unsigned n = collect(command->verb, options);
    fill_getopt(options, n, longs, shorts);
    opterr = 0;
    int found;
    /* First whether the reader is a program: the fault may stand in front of --json. */
    find_json(command, argc, argv, options, n, shorts, longs);
    optind = 0;
    while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct command_option *option = option_found(options, n, found);
        if (!option) {
            const char *word = argv[optind - 1];
            *code = found == ':' ? command_usage(command, "option '%s' needs a value", word)
                                 : unknown_option(command, word, optopt, options, n);
            return false;
        }
        if (strcmp(option->name, "help") == 0) {
            print_verb_help(command->verb);
            *code = command_flush();
            return false;
        }
        if (!take_option(command, option, optarg, code))
            return false;
    }
    command->operands = argv + optind;
    command->n_operands = argc - optind;
    const struct verb *verb = command->verb;
    if (command->n_operands < verb->least)
        *code = command_usage(command, "expected %s, found %d argument%s", verb->operands,
                              command->n_operands, command->n_operands == 1 ? "" : "s");
    else if (verb->most >= 0 && command->n_operands > verb->most)
        *code =
            command_usage(command, "expected %s, found '%s' too",
                          *verb->operands ? verb->operands : "no arguments", command->operands[verb->most]);
    else
        return true;
    return false;
}

enum exit_code command_run(int argc, char **argv)
{
    if (argc < 2) {
        fputs("espalier: expected a verb\nTry 'espalier --help'.\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        return command_flush();
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("espalier " PACKAGE_VERSION);
        return command_flush();
    }
    if (strcmp(argv[1], "__complete") == 0)
        return command_complete(argc - 2, argv + 2);
    int words = 0;
    struct command_line command = {.verb = find_verb(argc, argv, &words)};
    if (!command.verb)
        return unknown_verb(argc, argv);
    command.options = calloc((size_t)argc + 1, sizeof *command.options);
    if (!command.options) {
        fputs("espalier: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    enum exit_code code;
    if (parse_words(&command, argc - words, argv + words, &code))
        code = command.verb->run(&command);
    free(command.options);
    return code;
}
