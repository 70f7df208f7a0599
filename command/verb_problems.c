/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier problems: what the platform can solve, and how one problem is called.
 */
#include "config.h"

#include "command/implementations.h"
#include "command/pasted.h"
#include "command/session.h"
#include "core/values/signature.h"
#include "command/table.h"
#include "command/verbs.h"
#include "core/problem/abstract.h"
#include "core/problem/problem_help.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Every word of `words` stands in the name, the title or the GAMS class, whatever its case. */
static bool has_words(const struct esp_problem_entry *entry, const char *words)
{
    char word[128];
    while (*(words += strspn(words, " \t"))) {
        size_t length = strcspn(words, " \t");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (!strcasestr(entry->name, word) && !strcasestr(entry->title, word) &&
            !strcasestr(entry->gams, word))
            return false;
        words += length;
    }
    return true;
}

/* What --search and --gams leave; each may be repeated: then all have to hold. */
static bool is_wanted(const struct command_line *command, const struct esp_problem_entry *entry)
{
    for (int i = 0; i < command->n_options; i++) {
        const struct option_value *option = &command->options[i];
        if (strcmp(option->name, "search") == 0 && !has_words(entry, option->value))
            return false;
        if (strcmp(option->name, "gams") == 0 &&
            strncasecmp(entry->gams, option->value, strlen(option->value)) != 0)
            return false;
    }
    return true;
}

static enum exit_code list_problems(const struct command_line *command)
{
    static const char *const headings[] = {"problem", "GAMS", ">servers", "what it does"};
    struct esp_problem_entry *entries = NULL;
    size_t n = 0;
    if (esp_problem_list(&entries, &n) != ESP_OK)
        return session_fail(command);
    struct table table;
    size_t shown = 0;
    table_init(&table, 4, headings);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct esp_problem_entry *entry = &entries[i];
        if (!is_wanted(command, entry))
            continue;
        shown++;
        if (command->json) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i}", "name", entry->name, "title",
                                                  entry->title, "gams", entry->gams, "servers",
                                                  (int)entry->servers));
            continue;
        }
        table_cell(&table, "%s", entry->name);
        table_cell(&table, "%s", entry->gams);
        table_cell(&table, "%u", entry->servers);
        table_cell(&table, "%s", entry->title);
    }
    if (*entries[n].title)
        fprintf(stderr, "espalier problems: not the whole list: %s\n", entries[n].title);
    esp_problem_list_free(entries);
    if (command->json)
        return command_json(list);
    json_decref(list);
    if (shown == 0 && n > 0) {
        struct esp_error error = {0};
        error_set(&error, ESP_FAILED, "none of the %zu problems of the platform is like that", n);
        return command_fail(command, &error);
    }
    table_print(&table, 0, stdout);
    return command_flush();
}

static void property_words(unsigned properties, char *text, size_t size)
{
    static const char *const words[] = {"upper triangle", "lower triangle", "symmetric", "positive definite",
                                        "row-major",      "unit diagonal",  "",          "Hermitian",
                                        "finite"};
    *text = 0;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (properties & (1u << i))
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", words[i]);
}

/* ", packed(uplo)", ", m of them", ", index(n)", ", not read when beta == 0" */
static void storage_words(const struct esp_problem_argument *argument, char *text, size_t size)
{
    if (*argument->storage)
        snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", argument->storage);
    if (argument->count)
        snprintf(text + strlen(text), size - strlen(text), "%s%s of them", *text ? ", " : "",
                 argument->count);
    if (argument->index)
        snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", argument->index);
    if (argument->unread)
        snprintf(text + strlen(text), size - strlen(text), "%snot read when %s", *text ? ", " : "",
                 argument->unread);
}

static void print_arguments(const struct esp_problem *problem)
{
    static const char *const headings[] = {"mode", "type", "argument", "default", ""};
    struct table table;
    table_init(&table, 5, headings);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *argument = &problem->arguments[i];
        char shape[256], properties[400];
        property_words(argument->properties, properties, sizeof properties);
        storage_words(argument, properties, sizeof properties);
        table_cell(&table, "%s", mode_name(argument->mode));
        table_cell(&table, "%s", esp_type_name(argument->type));
        table_cell(&table, "%s", signature_shape(argument, shape, sizeof shape));
        table_cell(&table, "%s", argument->initial ? argument->initial : "");
        table_cell(&table, "%s%s%s", argument->text, *argument->text && *properties ? "; " : "", properties);
    }
    table_print(&table, 2, stdout);
}

/* What an abstract problem resolves to, line by line as its description has it; NULL when it is not one. */
static json_t *rules_json(const struct esp_problem *problem)
{
    struct problem_set *set;
    char text[1024];
    json_t *list = NULL;
    if (problem_parse(problem->source, strlen(problem->source), problem->name, &set, NULL) != ESP_OK)
        return NULL;
    const struct problem *described = set->problems[0];
    if (described->abstract)
        list = json_array();
    for (uint32_t i = 0; list && i < described->abstract->n_rules; i++) {
        abstract_rule_text(described, i, text, sizeof text);
        json_array_append_new(list, command_json_text(text));
    }
    problem_set_destroy(set);
    return list;
}

static void print_rules(const struct esp_problem *problem)
{
    json_t *rules = rules_json(problem), *rule;
    size_t i;
    if (!rules)
        return;
    puts("\nAn abstract problem, done by the first of these that fits what is given:");
    json_array_foreach(rules, i, rule) printf("  %s\n", json_string_value(rule));
    json_decref(rules);
}

static void print_problem(const struct command_line *command, const struct esp_problem *problem)
{
    printf("%s: %s\n", problem->name, problem->title);
    if (*problem->text)
        printf("\n%s\n", problem->text);
    puts("\nArguments:");
    print_arguments(problem);
    if (problem->n_preconditions)
        puts("\nPreconditions:");
    for (size_t i = 0; i < problem->n_preconditions; i++)
        printf("  %s\n", problem->preconditions[i]);
    print_rules(problem);
    implementations_print(problem->name);
    puts("");
    if (*problem->gams)
        printf("GAMS     %s\n", problem->gams);
    if (problem->work)
        printf("Work     %s flop\n", problem->work);
    if (problem->memory)
        printf("Memory   %s bytes beyond the arguments\n", problem->memory);
    printf("Servers  %u\n", problem->servers);
    pasted_print(command, problem);
}

static json_t *text_or_null(const char *text)
{
    return text ? command_json_text(text) : json_null();
}

static json_t *argument_json(const struct esp_problem_argument *argument)
{
    char properties[128];
    json_t *dims = json_array();
    for (unsigned k = 0; k < argument->n_dims; k++)
        json_array_append_new(dims, command_json_text(argument->dims[k]));
    property_words(argument->properties, properties, sizeof properties);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "name", argument->name,
                     "text", argument->text, "mode", mode_name(argument->mode), "type",
                     esp_type_name(argument->type), "properties", properties, "dims", dims, "default",
                     text_or_null(argument->initial), "storage", argument->storage, "count",
                     text_or_null(argument->count), "unread", text_or_null(argument->unread), "index",
                     text_or_null(argument->index));
}

/* "": it takes more room. */
static const char *prototype_of(const struct esp_problem *problem, char *text, size_t size)
{
    struct problem_set *set;
    *text = '\0';
    if (problem_parse(problem->source, strlen(problem->source), problem->name, &set, NULL) != ESP_OK)
        return text;
    if (problem_prototype(set->problems[0], text, size) >= size)
        *text = '\0';
    problem_set_destroy(set);
    return text;
}

static json_t *problem_json(const struct esp_problem *problem)
{
    json_t *arguments = json_array(), *preconditions = json_array();
    for (size_t i = 0; i < problem->n_arguments; i++)
        json_array_append_new(arguments, argument_json(&problem->arguments[i]));
    for (size_t i = 0; i < problem->n_preconditions; i++)
        json_array_append_new(preconditions, command_json_text(problem->preconditions[i]));
    char prototype[8192];
    json_t *untold, *rules = rules_json(problem),
                    *implementations = implementations_find(problem->name, &untold);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:i, s:s, s:o, s:o, s:o, s:s}", "name",
                     problem->name, "title", problem->title, "text", problem->text, "gams", problem->gams,
                     "arguments", arguments, "preconditions", preconditions, "work",
                     text_or_null(problem->work), "memory", text_or_null(problem->memory), "idempotent",
                     problem->idempotent, "servers", (int)problem->servers, "source", problem->source,
                     "rules", rules ? rules : json_null(), "implementations", implementations, "untold",
                     untold, "prototype", prototype_of(problem, prototype, sizeof prototype));
}

static enum exit_code show_problem(const struct command_line *command, const char *name)
{
    struct esp_problem *problem = NULL;
    enum exit_code code;
    if (esp_problem_describe(name, &problem) != ESP_OK)
        return session_fail(command);
    if (command->json) {
        code = command_json(problem_json(problem));
    } else {
        print_problem(command, problem);
        code = command_flush();
    }
    esp_problem_free(problem);
    return code;
}

enum exit_code verb_problems(const struct command_line *command)
{
    if (command->n_operands &&
        (command_option_value(command, "search") || command_option_value(command, "gams")))
        return command_usage(command, "expected the name of a problem, or --search or --gams, found both");
    enum exit_code code = session_within(command, session_open(command));
    if (code != EXIT_DONE)
        return code;
    code = command->n_operands ? show_problem(command, command->operands[0]) : list_problems(command);
    grpc_finalize();
    return code;
}
