/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is to complete a word with: problems, servers, data, arguments and their values, jobs,
 * platforms.
 */
#include "config.h"

#include "command/complete.h"
#include "command/platform_state.h"
#include "command/session.h"
#include "core/values/signature.h"
#include "core/problem/problem.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 3 /* somebody waits at a keyboard */

static bool begins(const char *word, const char *beginning)
{
    return strncmp(word, beginning, strlen(beginning)) == 0;
}

void completion_offer(const struct completion *completion, const char *candidate)
{
    if (begins(candidate, completion->current))
        puts(candidate);
}

void completion_offer_files(const struct completion *completion, size_t prefix)
{
    printf("files:%.*s\n", (int)prefix, completion->current);
}

static bool open_platform(const struct completion *completion)
{
    alarm(PATIENCE_S);
    return session_open(&completion->command) == EXIT_DONE;
}

void completion_offer_problems(const struct completion *completion)
{
    struct esp_problem_entry *entries = NULL;
    size_t n = 0;
    if (!open_platform(completion))
        return;
    if (esp_problem_list(&entries, &n) == ESP_OK)
        for (size_t i = 0; i < n; i++)
            completion_offer(completion, entries[i].name);
    esp_problem_list_free(entries);
    grpc_finalize();
}

void completion_offer_nodes(const struct completion *completion, unsigned roles)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    if (!open_platform(completion))
        return;
    if (esp_tree(NULL, &nodes, &n) == ESP_OK)
        for (size_t i = 0; i < n; i++)
            if (roles & COMPLETION_ROLE(nodes[i].role))
                completion_offer(completion, nodes[i].name);
    esp_tree_free(nodes);
    grpc_finalize();
}

void completion_offer_classes(const struct completion *completion)
{
    struct esp_problem_entry *entries = NULL;
    size_t n = 0;
    if (!open_platform(completion))
        return;
    if (esp_problem_list(&entries, &n) != ESP_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = !entries[i].gams[0];
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(entries[k].gams, entries[i].gams) == 0;
        if (!seen)
            completion_offer(completion, entries[i].gams);
    }
    esp_problem_list_free(entries);
    grpc_finalize();
}

static void offer_behind(const struct completion *completion, size_t prefix, const char *word)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%.*s%s", (int)prefix, completion->current, word);
    if (n > 0 && n < (int)sizeof text)
        completion_offer(completion, text);
}

void completion_offer_data(const struct completion *completion, size_t prefix)
{
    struct esp_data_info *infos = NULL;
    size_t n = 0;
    if (!open_platform(completion))
        return;
    esp_data_list(NULL, &infos, &n); /* of those that answer */
    for (size_t i = 0; i < n; i++)
        if (!infos[i].replica)
            offer_behind(completion, prefix, infos[i].id);
    esp_data_free(infos);
    grpc_finalize();
}

/* ---- arguments ---- */

/* The letters and digits that the preconditions allow; all: they say nothing about it. */
static size_t allowed_letters(const struct problem *problem, uint32_t index, char letters[64])
{
    static const char candidates[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    struct number scope[PROBLEM_MAX_ARGUMENTS] = {0};
    size_t n = 0;
    for (const char *at = candidates; *at; at++) {
        scope[index] = (struct number){.kind = NUMBER_INTEGER, .integer = *at};
        if (problem_check_known(problem, scope, NULL) == ESP_OK)
            letters[n++] = *at;
    }
    return n < sizeof candidates - 1 ? n : 0;
}

static void offer_letters(const struct completion *completion, const char *source, const char *name)
{
    struct problem_set *set = NULL;
    char letters[64], word[2] = "";
    if (problem_parse(source, strlen(source), "", &set, NULL) != ESP_OK)
        return;
    int index = problem_argument_index(set->problems[0], name);
    size_t n = index >= 0 ? allowed_letters(set->problems[0], (uint32_t)index, letters) : 0;
    for (size_t i = 0; i < n; i++) {
        word[0] = letters[i];
        offer_behind(completion, strlen(name) + 1, word);
    }
    problem_set_destroy(set);
}

static void offer_value(const struct completion *completion, const struct esp_problem *problem)
{
    char name[128];
    size_t length = strcspn(completion->current, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, completion->current);
    int index = signature_find(problem, name);
    const struct esp_problem_argument *argument = index >= 0 ? &problem->arguments[index] : NULL;
    if (argument && argument->type == ESP_TYPE_CHAR && argument->n_dims == 0)
        offer_letters(completion, problem->source, name);
}

static bool is_given(const struct completion *completion, const char *name)
{
    size_t length = strlen(name);
    for (int i = 1; i < completion->n_operands; i++)
        if (begins(completion->operands[i], name) && completion->operands[i][length] == '=')
            return true;
    return false;
}

static void offer_names(const struct completion *completion, const struct esp_problem *problem, bool outputs)
{
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *argument = &problem->arguments[i];
        char word[128];
        snprintf(word, sizeof word, "%s=", argument->name);
        if (outputs ? argument_out(argument) : argument_in(argument) && !is_given(completion, argument->name))
            completion_offer(completion, word);
    }
}

void completion_offer_arguments(const struct completion *completion, bool outputs)
{
    struct esp_problem *problem = NULL;
    const char *equal = strchr(completion->current, '=');
    size_t before = equal ? (size_t)(equal - completion->current) + 1 : 0;
    if (equal && (outputs || equal[1] == '@')) {
        completion_offer_files(completion, before + !outputs);
        return;
    }
    if (equal && begins(equal + 1, "data:")) {
        completion_offer_data(completion, before + strlen("data:"));
        return;
    }
    if (completion->n_operands == 0 || !open_platform(completion))
        return;
    if (esp_problem_describe(completion->operands[0], &problem) == ESP_OK) {
        if (equal)
            offer_value(completion, problem);
        else
            offer_names(completion, problem, outputs);
    }
    esp_problem_free(problem);
    grpc_finalize();
}

/* ---- this machine ---- */

void completion_offer_jobs(const struct completion *completion)
{
    const char *const *ids = NULL;
    size_t n = 0;
    if (esp_job_list(&ids, &n) != ESP_OK)
        return;
    for (size_t i = 0; i < n; i++)
        completion_offer(completion, ids[i]);
    esp_job_list_free(ids);
}

void completion_offer_platforms(const struct completion *completion)
{
    struct platform_state state;
    if (platform_state_locate(PLATFORM_DEFAULT_NAME, &state, NULL) != ESP_OK)
        return;
    *strrchr(state.dir, '/') = 0; /* the folder in which all of them are */
    DIR *folder = opendir(state.dir);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && entry->d_type == DT_DIR)
            completion_offer(completion, entry->d_name);
    if (folder)
        closedir(folder);
}
