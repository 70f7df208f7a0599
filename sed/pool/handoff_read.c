/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a worker's answer: checks it, and copies results out. */
#include "sed/pool/handoff_judge.h"

#include "core/problem/problem_solves.h"
#include "util/bytes.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void append_last_words(struct job_end *end, const char *last_words)
{
    size_t length = strlen(end->error.text);
    if (last_words && last_words[0])
        snprintf(end->error.text + length, sizeof end->error.text - length, "; it last printed \"%s\"",
                 last_words);
}

/* Makes the scope of the error clauses and notes: the original inputs, scalar outputs and results. */
static void gather_results(const struct ring *ring, const struct handoff *handoff, struct number *values)
{
    const struct problem *problem = handoff->job.problem;
    const struct implementation *implementation = handoff->job.implementation;
    memcpy(values, handoff->job.scope, problem->n_arguments * sizeof *values);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->n_dims == 0 && argument_is_output(argument) && handoff->argument_values[i] >= 0)
            values[i] = number_load(argument->type,
                                    ring->arena + handoff->values[handoff->argument_values[i]].offset);
    }
    for (uint32_t i = 0; i < implementation->n_parameters; i++)
        if (handoff->parameter_values[i] >= 0)
            values[implementation->parameters[i].result_index] =
                number_load(implementation->parameters[i].type,
                            ring->arena + handoff->values[handoff->parameter_values[i]].offset);
    if (implementation->command)
        values[problem->n_arguments] = (struct number){.kind = NUMBER_INTEGER, .integer = ring->answer.code};
    if (handoff->result_value < 0)
        return;
    const void *returned = ring->arena + handoff->values[handoff->result_value].offset;
    if (implementation->result.kind == PARAMETER_RESULT)
        values[implementation->result.result_index] = number_load(implementation->result.type, returned);
    else
        values[implementation->result.argument] =
            number_load(problem->arguments[implementation->result.argument].type, returned);
}

/* Checks counts: one larger than its array would make the code that cuts the result read beyond its end. */
static void judge_counts(const struct handoff *handoff, const struct number *values, struct job_end *end)
{
    const struct problem *problem = handoff->job.problem;
    const struct scope inputs = {.values = handoff->job.scope, .n_values = problem->n_arguments};
    for (uint32_t i = 0; i < problem->n_arguments && end->error.status == ESP_OK; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct shape shape = {.n_dims = argument->n_dims};
        enum esp_status status = ESP_OK;
        if (!argument->count || !argument_is_output(argument))
            continue;
        for (uint32_t d = 0; d < argument->n_dims && status == ESP_OK; d++)
            status = expr_eval_size(argument->dims[d], &inputs, &shape.dims[d], &end->error);
        if (status == ESP_OK)
            status = problem_cut(problem, i, values, &shape, &end->error);
        if (status != ESP_OK)
            end->error.status = ESP_FAILED; /* not the caller's fault */
    }
}

static bool has_counts(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].count)
            return true;
    return false;
}

/* A successful call has its note as the text of `error`, whose status is ESP_OK. */
static void note_results(const struct implementation *implementation, const struct scope *scope,
                         struct job_end *end)
{
    const struct error_clause *note;
    if (problem_call_note(implementation, scope, &note, &end->error) != ESP_OK)
        end->error.status = ESP_OK; /* its text says what could not be evaluated */
    else if (note)
        problem_failure_text(&note->message, scope, end->error.text, sizeof end->error.text);
}

/* *succeeds: a clause says so, whatever the exit status is. */
static void judge_results(const struct ring *ring, const struct handoff *handoff, struct job_end *end,
                          bool *succeeds)
{
    const struct implementation *implementation = handoff->job.implementation;
    bool counts = has_counts(handoff->job.problem);
    *succeeds = false;
    if (implementation->n_errors == 0 && !counts)
        return;
    struct number values[PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_RESULTS] = {0};
    gather_results(ring, handoff, values);
    struct scope scope = {.values = values,
                          .n_values = handoff->job.problem->n_arguments + implementation->n_results};
    const struct error_clause *clause = NULL;
    enum esp_status status = problem_call_failure(implementation, &scope, &clause, &end->error);
    *succeeds = clause && clause->verdict == VERDICT_DONE;
    if (status == ESP_OK && (!clause || *succeeds)) {
        if (counts)
            judge_counts(handoff, values, end);
        if (end->error.status == ESP_OK)
            note_results(implementation, &scope, end);
        return;
    }
    end->error.status =
        ESP_FAILED; /* also when a clause cannot be evaluated, which is not the caller's fault */
    if (status != ESP_OK)
        return;
    problem_failure_text(&clause->message, &scope, end->error.text, sizeof end->error.text);
}

static void copy_outputs(const struct ring *ring, const struct handoff *handoff)
{
    const struct job *job = &handoff->job;
    for (uint32_t i = 0; i < handoff->n_values; i++) {
        const struct handoff_value *value = &handoff->values[i];
        if (value->argument < 0)
            continue;
        const struct job_argument *argument = &job->arguments[value->argument];
        if (argument->writable && argument->data && argument->bytes <= value->bytes)
            memcpy(argument->data, ring_room_read(ring, value->offset), argument->bytes);
    }
    const struct call_parameter *result = &job->implementation->result;
    if (handoff->result_value >= 0 && result->kind == PARAMETER_ARGUMENT) {
        const struct job_argument *argument = &job->arguments[result->argument];
        uint64_t bytes = base_type_size(job->problem->arguments[result->argument].type);
        if (argument->data && argument->bytes >= bytes)
            memcpy(argument->data, ring->arena + handoff->values[handoff->result_value].offset, bytes);
    }
}

/* ---- commands ---- */

/* Room in an error's text for the words that server and client put before it. */
#define WORDS_BEFORE 60

/* Returns the end of a text with at most that many bytes, from the beginning of a line if possible. */
static const char *end_of(const char *text, size_t most)
{
    const size_t length = strlen(text);
    const char *cut = length > most ? text + length - most : text;
    const char *line = cut > text ? strchr(cut, '\n') : NULL;
    return line && line[1] ? line + 1 : cut;
}

/* Appends the end of standard error, with its line ends, as for a traceback. */
static void append_stderr(const struct ring_answer *answer, struct job_end *end)
{
    static const char cut[] = "[...]\n", lead[] = "; it said:\n";
    char said[sizeof answer->text];
    size_t n = 0, length = strlen(end->error.text);
    const size_t used = length + sizeof lead + sizeof cut + WORDS_BEFORE;
    for (; n + 1 < sizeof said && answer->text[n]; n++)
        said[n] = isprint((unsigned char)answer->text[n]) || answer->text[n] == '\n' ? answer->text[n] : ' ';
    while (n > 0 && isspace((unsigned char)said[n - 1]))
        n--;
    said[n] = '\0';
    if (n == 0 || used >= sizeof end->error.text)
        return;
    const int room = (int)(sizeof end->error.text - used);
    const char *shown = end_of(said, (size_t)room);
    char *to = end->error.text + length;
    if (strchr(shown, '\n') || shown > said)
        snprintf(to, sizeof end->error.text - length, "%s%s%.*s", lead, shown > said ? cut : "", room, shown);
    else
        snprintf(to, sizeof end->error.text - length, "; it said \"%.*s\"", room, shown);
}

bool handoff_is_from_outside(int signal_number)
{
    return signal_number == SIGKILL || signal_number == SIGTERM;
}

/* A failed command's outputs are ignored, because they may be incomplete. */
static void read_command(const struct ring *ring, const struct ring_answer *answer,
                         const struct handoff *handoff, struct job_end *end)
{
    const struct implementation *implementation = handoff->job.implementation;
    char trouble[sizeof answer->trouble];
    bool succeeds = false;
    handoff_take_text(trouble, sizeof trouble, answer->trouble);
    end->lost = answer->kind == ANSWER_KILLED && handoff_is_from_outside(answer->code);
    if (answer->kind == ANSWER_KILLED)
        error_set(&end->error, ESP_CRASHED, "%s was killed by signal %d (%s)", implementation->symbol,
                  answer->code, strsignal(answer->code));
    else if (answer->kind == ANSWER_STOPPED)
        error_set(&end->error, ESP_FAILED, "%s was stopped: %s", implementation->symbol, trouble);
    else
        judge_results(ring, handoff, end, &succeeds);
    if (end->error.status == ESP_OK && answer->code != 0 && !succeeds)
        error_set(&end->error, ESP_FAILED, "%s ended with exit status %d", implementation->symbol,
                  answer->code);
    if (end->error.status == ESP_OK && trouble[0])
        error_set(&end->error, ESP_FAILED, "%s: %s", implementation->symbol, trouble);
    if (end->error.status == ESP_OK)
        copy_outputs(ring, handoff);
    else
        append_stderr(answer, end);
}

/* Evaluated after the description's clauses, because the routine's own message is more precise. */
static void judge_solution(const struct ring_verdict *verdict, const struct handoff *handoff,
                           struct job_end *end)
{
    const struct problem *problem = handoff->job.problem;
    struct system_shape shape;
    if ((!verdict->is_wrong && !(verdict->condition > 0)) || !problem->solves ||
        !solves_shape(problem, handoff->job.scope, &shape))
        return;
    const char *solution = problem->arguments[problem->solves->solution].name;
    if (!verdict->is_wrong) {
        if (!end->error.text[0])
            snprintf(end->error.text, sizeof end->error.text,
                     "%s is close to singular (rcond <= %.2g): the solution %s may be inaccurate",
                     problem->arguments[problem->solves->matrix].name, 1 / verdict->condition, solution);
        return;
    }
    if (isnan(verdict->backward_error))
        error_set(
            &end->error, ESP_INACCURATE,
            "%s: the solution %s has elements that are not finite numbers, though all of the system are: "
            "it is too large for the type, or the matrix is singular",
            problem->name, solution);
    else
        error_set(
            &end->error, ESP_INACCURATE,
            "%s: the solution %s does not solve the system: its backward error is %.2g, expected at most "
            "%.2g",
            problem->name, solution, verdict->backward_error, shape.tolerance);
}

/* Reports an element of a solver's result that is not finite; called after the clauses are judged. */
static void judge_elements(const struct ring_verdict *verdict, const struct handoff *handoff,
                           struct job_end *end)
{
    const struct problem *problem = handoff->job.problem;
    if (!verdict->is_spoilt || verdict->spoilt_argument >= problem->n_arguments)
        return;
    const struct argument *argument = &problem->arguments[verdict->spoilt_argument];
    const struct scope scope = {.values = handoff->job.scope, .n_values = problem->n_arguments};
    char place[64];
    int64_t rows;
    if (argument->n_dims == 2 && expr_eval_size(argument->dims[0], &scope, &rows, NULL) == ESP_OK &&
        rows > 0 && argument->storage == STORAGE_FULL)
        snprintf(place, sizeof place, "%" PRIu64 ",%" PRIu64, verdict->spoilt_element % (uint64_t)rows + 1,
                 verdict->spoilt_element / (uint64_t)rows + 1);
    else
        snprintf(place, sizeof place, "%" PRIu64, verdict->spoilt_element + 1);
    error_set(
        &end->error, ESP_INACCURATE,
        "%s: %s(%s) is not a finite number, though all inputs are: it is too large for the type, or the "
        "matrix is singular",
        problem->name, argument->name, place);
}

/* Called after the clauses are judged, because a routine that reports a failure may write no file. */
static void judge_files(const struct ring_answer *answer, const struct handoff *handoff, struct job_end *end)
{
    char trouble[sizeof answer->trouble];
    handoff_take_text(trouble, sizeof trouble, answer->trouble);
    if (trouble[0])
        error_set(&end->error, ESP_FAILED, "%s: %s", handoff->job.implementation->symbol, trouble);
}

static void read_returned(const struct ring *ring, const struct handoff *handoff, struct job_end *end)
{
    bool succeeds;
    handoff_describe_overrun(ring, handoff, end);
    if (end->error.status == ESP_OK)
        judge_results(ring, handoff, end, &succeeds);
    if (end->error.status == ESP_OK)
        judge_solution(&ring->answer.verdict, handoff, end);
    if (end->error.status == ESP_OK)
        judge_elements(&ring->answer.verdict, handoff, end);
    if (end->error.status == ESP_OK && handoff->has_texts)
        judge_files(&ring->answer, handoff, end);
    /* LAPACK's routines return useful numbers even when they fail: a factor up to the zero pivot. */
    if (end->error.status == ESP_OK || end->error.status == ESP_FAILED || end->error.status == ESP_INACCURATE)
        copy_outputs(ring, handoff);
}

/* Whether threads of a crashed worker could still write to memory that the daemon is about to reuse. */
static bool must_wait(const struct ring_answer *answer, const struct handoff *handoff)
{
    return handoff->n_descriptors > 0 && !answer->alone &&
           (answer->kind == ANSWER_SIGNALLED || answer->kind == ANSWER_EXITED);
}

/* Appends the likely reason of the failure, because few routines report a failed allocation. */
static void append_refusal(const struct ring_answer *answer, const struct job *job, struct job_end *end)
{
    if (answer->refused_bytes > 0)
        handoff_append_refusal(implementation_is_parallel(job->implementation) ? "rank" : "worker",
                               answer->refused_bytes, answer->memory_bytes, end->error.text,
                               sizeof end->error.text);
}

void handoff_append_refusal(const char *who, uint64_t refused, uint64_t may_have, char *text, size_t size)
{
    char bytes[BYTES_TEXT];
    size_t length = strlen(text);
    snprintf(text + length, size - length, "; it was refused %s of memory", bytes_text(refused, bytes));
    length = strlen(text);
    if (may_have > 0)
        snprintf(text + length, size - length,
                 " (a %s of this server may have %s beside its arguments: worker_memory)", who,
                 bytes_text(may_have, bytes));
}

static bool read_answer(const struct ring *ring, const struct ring_answer *answer,
                        const struct handoff *handoff, int64_t elapsed_ns, const char *last_words,
                        struct job_end *end, bool *wait_for_death)
{
    const char *symbol = handoff->job.implementation->symbol;
    end->error = (struct esp_error){.status = ESP_OK};
    end->keeps_state = end->lost = end->unbegun = end->intact = false;
    end->compute_s =
        (double)(answer->compute_ns <= (uint64_t)elapsed_ns ? answer->compute_ns : (uint64_t)elapsed_ns) /
        1e9;
    end->cpu_s = handoff->job.timed ? (double)answer->cpu_ns / 1e9 : 0;
    end->waited_s = fmin(end->cpu_s > 0 ? (double)answer->waited_ns / 1e9 : 0, end->cpu_s);
    end->peak_bytes = handoff->job.implementation->command ? answer->peak_bytes : 0;
    *wait_for_death = must_wait(answer, handoff);
    if (handoff->job.implementation->command && answer->kind != ANSWER_UNABLE) {
        read_command(ring, answer, handoff, end);
        return true;
    }
    switch (answer->kind) {
    case ANSWER_RETURNED:
        read_returned(ring, handoff, end);
        return end->error.status != ESP_CRASHED;
    case ANSWER_NO_TEXT:
        handoff_describe_overrun(ring, handoff, end);
        if (end->error.status == ESP_OK)
            handoff_describe_no_text(answer, handoff, end);
        return end->error.status != ESP_CRASHED;
    case ANSWER_ILLEGAL:
        handoff_describe_overrun(ring, handoff, end);
        if (end->error.status == ESP_OK)
            handoff_describe_illegal(answer, handoff, end);
        return end->error.status != ESP_CRASHED;
    case ANSWER_UNABLE:
        end->error.status = ESP_SYSTEM;
        handoff_take_text(end->error.text, sizeof end->error.text, answer->text);
        return true;
    case ANSWER_SIGNALLED:
        handoff_describe_signal(answer, handoff, end);
        if (answer->place == FAULT_ARENA)
            handoff_describe_overrun(ring, handoff, end);
        break;
    case ANSWER_CALLBACK:
        end->error.status = ESP_FAILED;
        handoff_take_text(end->error.text, sizeof end->error.text, answer->text);
        *wait_for_death = handoff->n_descriptors > 0;
        return false;
    case ANSWER_STRAYED:
        handoff_describe_stray(answer, handoff, end);
        return false;
    case ANSWER_EXITED:
        error_set(&end->error, ESP_CRASHED, "%s called exit(%d)", symbol, answer->code);
        break;
    default:
        error_set(&end->error, ESP_CRASHED, "%s left no valid answer: it wrote over the worker's memory",
                  symbol);
        *wait_for_death = handoff->n_descriptors > 0;
    }
    append_last_words(end, last_words);
    return false;
}

bool handoff_read(const struct ring *ring, const struct handoff *handoff, int64_t elapsed_ns,
                  const char *last_words, struct job_end *end, bool *wait_for_death)
{
    struct ring_answer answer;
    memcpy(&answer, &ring->answer, sizeof answer);
    answer.text[sizeof answer.text - 1] = 0;
    answer.trouble[sizeof answer.trouble - 1] = 0;
    bool usable = read_answer(ring, &answer, handoff, elapsed_ns, last_words, end, wait_for_death);
    if (end->error.status != ESP_OK)
        append_refusal(&answer, &handoff->job, end);
    return usable;
}

void handoff_lost(const struct handoff *handoff, int wait_status, const char *last_words, struct job_end *end)
{
    const char *symbol = handoff->job.implementation->symbol;
    *end = (struct job_end){.error = {.status = ESP_OK}};
    end->lost = WIFSIGNALED(wait_status) && handoff_is_from_outside(WTERMSIG(wait_status));
    if (WIFSIGNALED(wait_status))
        error_set(&end->error, ESP_CRASHED, "%s was killed by signal %d (%s)", symbol, WTERMSIG(wait_status),
                  strsignal(WTERMSIG(wait_status)));
    else
        error_set(&end->error, ESP_CRASHED, "%s ended its process with exit code %d", symbol,
                  WEXITSTATUS(wait_status));
    append_last_words(end, last_words);
}
