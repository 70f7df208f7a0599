/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier problems check: whether descriptions would be accepted, and what they publish.
 */
#include "config.h"

#include "command/verbs.h"
#include "command/libraries.h"
#include "command/table.h"
#include "core/forecast/parallel_alike.h"
#include "core/problem/abstract.h"
#include "util/own_problems.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_MAX_KNOWN 16 /* folders */

struct findings {
    json_t *list;  /* of texts, with --json; else NULL */
    json_t *hints; /* likewise, of what is no mistake */
    unsigned n;
    unsigned n_unseen; /* steps of rules that name problems which could not be looked up */
    enum exit_code code;
};

static void tell(struct findings *findings, const char *text)
{
    findings->n++;
    if (findings->list)
        json_array_append_new(findings->list, command_json_text(text));
    else
        fprintf(stderr, "%s\n", text);
}

static void on_wrong(void *arg, const struct esp_error *error)
{
    struct findings *findings = arg;
    findings->code = EXIT_INPUT;
    tell(findings, error->text);
}

static void on_missing(void *arg, const char *text)
{
    struct findings *findings = arg;
    if (findings->code == EXIT_DONE)
        findings->code = EXIT_FAILED;
    tell(findings, text);
}

static void on_unseen(void *arg, const char *text)
{
    struct findings *findings = arg;
    (void)text; /* it would say that nobody has such a problem */
    findings->n_unseen++;
}

/* Servers tell agents how long ranks take for so much work: of none declared, agents know nothing. */
static void hint_at_work(const struct problem *problem, struct findings *findings)
{
    struct parallel_alike alike;
    char text[400];
    for (uint32_t i = 0; i < problem->n_implementations && !problem->work; i++) {
        const struct implementation *implementation = &problem->implementations[i];
        if (!implementation_is_parallel(implementation) || !parallel_alike(implementation->symbol, &alike))
            continue;
        snprintf(text, sizeof text,
                 "%s:%u: %s declares no work (as 'work 2*m*n*k'): servers forecast %s by its model, agents "
                 "cannot, and choose as if it took no time",
                 problem->file, problem->line, problem->name, implementation->symbol);
        if (findings->hints)
            json_array_append_new(findings->hints, command_json_text(text));
        else
            fprintf(stderr, "%s\n", text);
        return;
    }
}

/* "lapack: dgesv_ in liblapack.so.3" for each, or "a signature only". */
static const char *implementations_text(const struct problem *problem, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "a signature only");
    for (uint32_t i = 0; i < problem->n_implementations && used < size; i++) {
        const struct implementation *implementation = &problem->implementations[i];
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s%s%s", i ? ", " : "",
                                 implementation->name, implementation->symbol,
                                 implementation->library && implementation->library[0] ? " in " : "",
                                 implementation->library ? implementation->library : "");
    }
    return text;
}

/* "picks dposv, dgesv" */
static const char *rules_text(const struct abstract *abstract, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "picks");
    for (uint32_t i = 0; i < abstract->n_rules && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s %s", i ? "," : "",
                                 abstract->rules[i].steps[0].problem);
    return text;
}

static void print_set(const struct problem_set *set)
{
    static const char *const headings[] = {"problem", "GAMS", "what it does", "implementations"};
    struct table table;
    char text[400];
    table_init(&table, 4, headings);
    for (size_t i = 0; i < set->n_problems; i++) {
        const struct problem *problem = set->problems[i];
        table_cell(&table, "%s", problem->name);
        table_cell(&table, "%s", problem->gams);
        table_cell(&table, "%s", problem->title);
        table_cell(&table, "%s",
                   problem->abstract ? rules_text(problem->abstract, text, sizeof text)
                                     : implementations_text(problem, text, sizeof text));
    }
    table_print(&table, 0, stdout);
    printf("%zu problem%s\n", set->n_problems, set->n_problems == 1 ? "" : "s");
}

static json_t *set_json(const struct problem_set *set)
{
    json_t *list = json_array();
    char text[400];
    for (size_t i = 0; i < set->n_problems; i++) {
        const struct problem *problem = set->problems[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o, s:i, s:s, s:o}", "name", problem->name, "title",
                                        problem->title, "gams", problem->gams, "file",
                                        command_json_text(problem->file), "line", (int)problem->line,
                                        "implementations", implementations_text(problem, text, sizeof text),
                                        "source", command_json_text(problem->source)));
    }
    return list;
}

static void on_wrong_elsewhere(void *arg, const struct esp_error *error)
{
    (void)arg, (void)error; /* in files that nobody asked about */
}

/* The steps of abstract problems against these files and the problems that are known besides: those of
 * --known, else those that are installed. */
static enum esp_status check_steps(const struct command_line *command, const struct problem_set *set,
                                   struct findings *findings, struct esp_error *error)
{
    const char *paths[COMMAND_MAX_KNOWN] = {own_problems()};
    size_t n = 0;
    struct problem_set *known = NULL;
    for (int i = 0; i < command->n_options && n < COMMAND_MAX_KNOWN; i++)
        if (strcmp(command->options[i].name, "known") == 0)
            paths[n++] = command->options[i].value;
    bool asked = n > 0;
    enum esp_status status = problem_load_good(paths, asked ? n : 1, asked ? on_wrong : on_wrong_elsewhere,
                                               findings, &known, error);
    if (status != ESP_OK)
        return status;
    /* Where nothing is installed, nothing is known. */
    const bool has_known = asked || known->n_problems > 0;
    abstract_check(set, known, on_wrong, has_known ? on_missing : on_unseen, findings);
    if (findings->n_unseen > 0)
        fprintf(
            stderr,
            "%u step%s of rules name%s problems that are not in these files, and none are installed in %s: "
            "--known PATH tells where to look them up\n",
            findings->n_unseen, findings->n_unseen == 1 ? "" : "s", findings->n_unseen == 1 ? "s" : "",
            own_problems());
    problem_set_destroy(known);
    return ESP_OK;
}

enum exit_code verb_problems_check(const struct command_line *command)
{
    struct findings findings = {.list = command->json ? json_array() : NULL,
                                .hints = command->json ? json_array() : NULL};
    struct problem_set *set;
    struct esp_error error;
    enum esp_status status =
        problem_load_good((const char *const *)command->operands, (size_t)command->n_operands, on_wrong,
                          &findings, &set, &error);
    if (status != ESP_OK) {
        json_decref(findings.list);
        json_decref(findings.hints);
        return command_fail(command, &error);
    }
    status = check_steps(command, set, &findings, &error);
    if (status != ESP_OK) {
        json_decref(findings.list);
        json_decref(findings.hints);
        problem_set_destroy(set);
        return command_fail(command, &error);
    }
    for (size_t i = 0; i < set->n_problems; i++)
        hint_at_work(set->problems[i], &findings);
    if (command_option_value(command, "libraries")) {
        command_progress(command, "Looking up the symbols of %zu problem%s.", set->n_problems,
                         set->n_problems == 1 ? "" : "s");
        status = libraries_check(set, on_missing, &findings, &error);
        if (status != ESP_OK) {
            findings.code = EXIT_FAILED;
            tell(&findings, error.text);
        }
    }
    enum exit_code written;
    if (findings.list) {
        written = command_json(json_pack("{s:b, s:o, s:o, s:o, s:i}", "good", findings.n == 0, "problems",
                                         set_json(set), "mistakes", findings.list, "hints", findings.hints,
                                         "steps_not_looked_up", (int)findings.n_unseen));
    } else {
        if (set->n_problems)
            print_set(set);
        written = command_flush();
    }
    problem_set_destroy(set);
    return findings.code != EXIT_DONE ? findings.code : written;
}
