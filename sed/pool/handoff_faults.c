/* SPDX-License-Identifier: Apache-2.0
 *
 * Explains how a routine ended that did not return. */
#include "sed/pool/handoff_judge.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *handoff_argument_name(const struct job *job, int32_t argument)
{
    return argument >= 0 && (uint32_t)argument < job->problem->n_arguments
               ? job->problem->arguments[argument].name
               : "?";
}

/* Copies a text from shared memory: terminated, and without control characters. */
void handoff_take_text(char *to, size_t size, const char *from)
{
    size_t i = 0;
    for (; i + 1 < size && from[i]; i++)
        to[i] = isprint((unsigned char)from[i]) ? from[i] : ' ';
    to[i] = 0;
}

static const char *access_word(uint32_t access)
{
    return access == 2 ? "wrote" : access == 1 ? "read" : "reached";
}

static void describe_fault(const struct ring_answer *answer, const struct handoff *handoff,
                           struct job_end *end)
{
    const struct job *job = &handoff->job;
    const char *symbol = job->implementation->symbol;
    const char *name = handoff_argument_name(job, (int32_t)answer->argument);
    unsigned long long address = answer->address;
    switch (answer->place) {
    case FAULT_BEHIND:
        error_set(&end->error, ESP_CRASHED, "%s crashed: it %s behind the end of argument '%s'", symbol,
                  access_word(answer->access), name);
        break;
    case FAULT_BEFORE:
        error_set(&end->error, ESP_CRASHED, "%s crashed: it %s in front of argument '%s'", symbol,
                  access_word(answer->access), name);
        break;
    case FAULT_INSIDE:
        error_set(&end->error, ESP_CRASHED, "%s crashed: it %s argument '%s', which is an input", symbol,
                  answer->access == 2 ? "wrote into" : access_word(answer->access), name);
        break;
    case FAULT_ARENA:
        error_set(&end->error, ESP_CRASHED, "%s crashed: it %s far behind the end of its small arguments",
                  symbol, access_word(answer->access));
        break;
    case FAULT_STACK:
        error_set(&end->error, ESP_CRASHED, "%s crashed: it used up its stack (the limit is the server's)",
                  symbol);
        break;
    default:
        error_set(&end->error, ESP_CRASHED, "%s crashed with signal %d (%s) at address 0x%llx%s", symbol,
                  answer->code, strsignal(answer->code), address,
                  address < 4096 && answer->access ? ": it used a null pointer" : "");
    }
}

void handoff_describe_signal(const struct ring_answer *answer, const struct handoff *handoff,
                             struct job_end *end)
{
    const char *symbol = handoff->job.implementation->symbol;
    if (answer->code == SIGABRT)
        error_set(&end->error, ESP_CRASHED, "%s called abort()", symbol);
    else if (answer->code == SIGSEGV || answer->code == SIGBUS)
        describe_fault(answer, handoff, end);
    else
        error_set(&end->error, ESP_CRASHED, "%s crashed with signal %d (%s)", symbol, answer->code,
                  strsignal(answer->code));
}

/* Appends the parameter's name, if the message is about the called routine and not about one that it
 * called in turn. */
static void append_parameter(const struct job *job, const char *routine, int32_t number, struct job_end *end)
{
    const struct implementation *implementation = job->implementation;
    size_t length = strlen(routine);
    if (strncasecmp(routine, implementation->symbol, length) != 0 ||
        (implementation->symbol[length] && strcmp(implementation->symbol + length, "_") != 0) || number < 1 ||
        (uint32_t)number > implementation->n_parameters)
        return;
    const struct call_parameter *parameter = &implementation->parameters[number - 1];
    size_t used = strlen(end->error.text);
    if (parameter->kind == PARAMETER_ARGUMENT)
        snprintf(end->error.text + used, sizeof end->error.text - used, " (argument '%s')",
                 handoff_argument_name(job, (int32_t)parameter->argument));
    else if (parameter->kind == PARAMETER_VALUE)
        snprintf(end->error.text + used, sizeof end->error.text - used, " (%s)", expr_text(parameter->value));
    else if (parameter->kind == PARAMETER_LEADING)
        snprintf(end->error.text + used, sizeof end->error.text - used, " (leading(%s))",
                 handoff_argument_name(job, (int32_t)parameter->argument));
}

void handoff_describe_illegal(const struct ring_answer *answer, const struct handoff *handoff,
                              struct job_end *end)
{
    char routine[32];
    handoff_take_text(routine, sizeof routine, answer->text);
    size_t length = strlen(routine);
    while (length > 0 && routine[length - 1] == ' ')
        routine[--length] = 0;
    error_set(&end->error, ESP_FAILED, "argument %d of %s is illegal", answer->code, routine);
    append_parameter(&handoff->job, routine, answer->code, end);
}

void handoff_describe_no_text(const struct ring_answer *answer, const struct handoff *handoff,
                              struct job_end *end)
{
    char trouble[sizeof answer->trouble];
    handoff_take_text(trouble, sizeof trouble, answer->trouble);
    error_set(&end->error, ESP_FAILED, "%s gave back '%s': %s", handoff->job.implementation->symbol,
              handoff_argument_name(&handoff->job, (int32_t)answer->argument), trouble);
}
