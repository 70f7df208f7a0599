/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem_help.h"
#include "core/problem/problem_trial.h"
#include "core/problem/section.h"
#include "util/text.h"

#include <string.h>

#define INDENT       "    "
#define WIDEST_NAMES 40 /* columns; a longer declaration gets its text on a line of its own */

static bool is_integer_input(const struct argument *argument)
{
    return argument_is_input(argument) && argument->n_dims == 0 && argument->type >= TYPE_SHORT &&
           argument->type <= TYPE_INT64;
}

/* Whether a file with the array's elements determines its dimensions: for three and more dimensions a file
 * is just a sequence. */
static bool has_extents(const struct argument *argument)
{
    return argument_is_input(argument) && argument->n_dims <= 2;
}

/* Computes one more scalar, as problem_infer() would; false when none is left. */
static bool learn(const struct problem *problem, struct number *values)
{
    const struct scope scope = {values, problem->n_arguments};
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        for (uint32_t d = 0; has_extents(&problem->arguments[i]) && d < problem->arguments[i].n_dims; d++) {
            uint32_t name;
            int64_t slope, offset;
            if (!expr_is_linear(problem->arguments[i].dims[d], &scope, &name, &slope, &offset) ||
                !is_integer_input(&problem->arguments[name]))
                continue;
            values[name] = (struct number){.kind = NUMBER_INTEGER, .integer = 1};
            return true;
        }
    return false;
}

/* Whether the command computes the argument from a matrix: the width of its band, the arrays of its
 * compression. */
static bool follows_from_storage(const struct problem *problem, uint32_t index)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        uint32_t name;
        bool both;
        if (!argument_is_input(argument))
            continue;
        for (unsigned side = 0; side < 2; side++)
            if (problem_band_width(argument, side, &name, &both) && name == index)
                return is_integer_input(&problem->arguments[index]);
        if ((argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR) &&
            (argument->pointers == index || argument->indices == index))
            return true;
    }
    return false;
}

bool problem_argument_follows(const struct problem *problem, uint32_t index)
{
    struct number values[PROBLEM_MAX_ARGUMENTS] = {{0}};
    if (problem->arguments[index].initial)
        return argument_is_input(&problem->arguments[index]);
    if (follows_from_storage(problem, index))
        return true;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        unsigned char raw[16];
        const struct argument *argument = &problem->arguments[i];
        if (argument->initial && argument_is_input(argument) &&
            problem_default(problem, i, values, raw, NULL) == ESP_OK)
            values[i] = number_load(argument->type, raw);
    }
    while (values[index].kind == NUMBER_UNKNOWN && learn(problem, values))
        ;
    return values[index].kind != NUMBER_UNKNOWN;
}

/* Writes an example like "f='x^2 - 2'", with sizes that are still unknown. */
static void write_function(struct text *text, const struct problem *problem, const struct argument *argument)
{
    const struct number unknown[PROBLEM_MAX_ARGUMENTS] = {{0}};
    text_printf(text, " %s='", argument->name);
    if (!trial_write_function(text, problem, unknown, argument))
        text_put(text, "EXPRESSION");
    text_put(text, "'");
}

/* Writes an input of the example: files for arrays, a plausible value for a scalar. */
static void write_input(struct text *text, const struct problem *problem, const struct argument *argument)
{
    static const char *const values[] = {
        [TYPE_CHAR] = "N",      [TYPE_SHORT] = "1",     [TYPE_INT] = "1",
        [TYPE_LONG] = "1",      [TYPE_INT64] = "1",     [TYPE_FLOAT] = "1.5",
        [TYPE_DOUBLE] = "1.5",  [TYPE_COMPLEX] = "1.5", [TYPE_DOUBLE_COMPLEX] = "1.5",
        [TYPE_STRING] = "text", [TYPE_FILE] = "",       [TYPE_STATE] = "state:ID",
    };
    if (argument->type == TYPE_CALLBACK)
        write_function(text, problem, argument);
    else if (argument_is_texts(argument) && argument->type == TYPE_FILE)
        text_printf(text, " %s=@%s.1,@%s.2", argument->name, argument->name, argument->name);
    else if (argument_is_texts(argument))
        text_printf(text, " %s=@%s.txt", argument->name, argument->name);
    else if (argument->n_dims)
        text_printf(text, " %s=@%s.mtx", argument->name, argument->name);
    else if (argument->type == TYPE_FILE)
        text_printf(text, " %s=@%s", argument->name, argument->name);
    else
        text_printf(text, " %s=%s", argument->name, values[argument->type]);
}

static void write_output(struct text *text, const struct argument *argument)
{
    bool both = argument->mode == MODE_INOUT; /* the example must not overwrite its input */
    if (argument_is_texts(argument) && argument->type == TYPE_STRING)
        text_printf(text, " -o %s=%s%s.txt", argument->name, argument->name, both ? "-out" : "");
    else if (argument->n_dims && !argument_is_texts(argument))
        text_printf(text, " -o %s=%s%s.%s", argument->name, argument->name, both ? "-out" : "",
                    argument->type == TYPE_CHAR ? "txt" : "mtx");
    else if (argument->type == TYPE_FILE)
        text_printf(text, " -o %s=%s%s", argument->name, argument->name, both ? "-out" : "");
}

static void write_example(struct text *text, const struct problem *problem, const char *options)
{
    text_printf(text, "espalier call%s %s", options, problem->name);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_input(&problem->arguments[i]) && !problem_argument_follows(problem, i))
            write_input(text, problem, &problem->arguments[i]);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_output(&problem->arguments[i]))
            write_output(text, &problem->arguments[i]);
}

size_t problem_example(const struct problem *problem, const char *options, char *buffer, size_t size)
{
    struct text text;
    text_open(&text, buffer, size);
    write_example(&text, problem, options);
    return text.length;
}

static void write_lines(struct text *text, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        text_put(text, INDENT);
        text_put_bytes(text, lines, n);
        text_put(text, "\n");
        lines += n + (lines[n] != 0);
    }
}

static void write_signature(struct text *text, const struct argument *argument)
{
    const struct problem *callback = argument->callback;
    uint32_t n = callback_n_parameters(argument);
    text_put(text, "(");
    for (uint32_t i = 0; i < n; i++) {
        const struct argument *parameter = &callback->arguments[i];
        text_printf(text, "%s%s %s %s", i ? ", " : "", argument_mode_name(parameter->mode),
                    base_type_name(parameter->type), parameter->name);
        for (uint32_t d = 0; d < parameter->n_dims; d++)
            text_printf(text, "%s%s", d ? ", " : "[", expr_text(parameter->dims[d]));
        text_put(text, parameter->n_dims ? "]" : "");
    }
    text_put(text, ")");
    if (argument->callback_returns)
        text_printf(text, ": %s", base_type_name(callback->arguments[n].type));
}

void problem_callback_text(const struct argument *argument, char *buffer, size_t size)
{
    struct text text;
    text_open(&text, buffer, size);
    write_signature(&text, argument);
}

static size_t write_declaration(struct text *text, const struct argument *argument)
{
    size_t before = text->length;
    text_put(text, argument->name);
    argument_write_dims(text, argument);
    if (argument->type == TYPE_CALLBACK)
        write_signature(text, argument);
    if (argument->initial) {
        text_put(text, " = ");
        text_put(text, expr_text(argument->initial));
    }
    return text->length - before;
}

static void write_remark(struct text *text, const char *remark, bool *first)
{
    if (!*remark)
        return;
    text_put(text, *first ? "" : "; ");
    text_put(text, remark);
    *first = false;
}

static void write_argument(struct text *text, const struct problem *problem, uint32_t index, size_t column)
{
    const struct argument *argument = &problem->arguments[index];
    const size_t names = sizeof INDENT - 1 + 7 + 16;
    text_put(text, INDENT);
    text_put(text, argument_mode_name(argument->mode));
    text_pad(text, sizeof INDENT - 1 + 7);
    text_put(text, base_type_name(argument->type));
    text_pad(text, names);
    size_t n = write_declaration(text, argument);
    bool follows = !argument->initial && problem_argument_follows(problem, index);
    if (*argument->text || argument->properties || follows) {
        if (n > column)
            text_put(text, "\n");
        text_pad(text, names + column + 2);
        bool first = true;
        write_remark(text, argument->text, &first);
        for (unsigned bit = 0; property_name(bit); bit++)
            if (argument->properties & (1U << bit))
                write_remark(text, property_name(bit), &first);
        write_remark(text, follows ? "follows from the arrays" : "", &first);
    }
    text_put(text, "\n");
}

static void write_arguments(struct text *text, const struct problem *problem)
{
    char scratch[256];
    size_t column = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct text measured;
        text_open(&measured, scratch, sizeof scratch);
        size_t n = write_declaration(&measured, &problem->arguments[i]);
        if (argument_is_passed(&problem->arguments[i]) && n <= WIDEST_NAMES && n > column)
            column = n;
    }
    text_put(text, "\nArguments\n");
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_passed(&problem->arguments[i]))
            write_argument(text, problem, i, column);
}

static void write_preconditions(struct text *text, const struct problem *problem)
{
    if (problem->n_preconditions)
        text_put(text, "\nRequires\n");
    for (uint32_t i = 0; i < problem->n_preconditions; i++) {
        const struct precondition *precondition = &problem->preconditions[i];
        text_put(text, INDENT);
        char told[1024];
        problem_failure_text(&precondition->message, NULL, told, sizeof told);
        text_put(text, told[0] ? told : expr_text(precondition->condition));
        text_put(text, "\n");
    }
}

static void write_cost_line(struct text *text, const char *what, const struct expr *cost, const char *unit)
{
    text_put(text, INDENT);
    text_put(text, what);
    text_put(text, expr_text(cost));
    text_put(text, unit);
}

static void write_cost(struct text *text, const struct problem *problem)
{
    text_put(text, "\nCost\n");
    if (problem->work)
        write_cost_line(text, "work    ", problem->work, " floating point operations\n");
    else
        text_put(text, INDENT "work    not told\n");
    if (problem->memory)
        write_cost_line(text, "memory  ", problem->memory, " bytes beyond the arguments\n");
    if (!problem->idempotent)
        text_put(text, INDENT "a repetition is not harmless: a failed call is never tried again\n");
    if (problem->checkpoint)
        text_put(text, INDENT "saves its state: what a crash interrupts goes on from there\n");
    if (*problem->gams)
        text_printf(text, "\nGAMS class\n" INDENT "%s\n", problem->gams);
}

static void write_c_parameter(struct text *text, const struct argument *argument);

/* The types as grpc(3) lists them. */
static const char *const c_types[] = {
    [TYPE_CHAR] = "char ",
    [TYPE_SHORT] = "short ",
    [TYPE_INT] = "int ",
    [TYPE_LONG] = "long ",
    [TYPE_INT64] = "int64_t ",
    [TYPE_FLOAT] = "float ",
    [TYPE_DOUBLE] = "double ",
    [TYPE_COMPLEX] = "float complex ",
    [TYPE_DOUBLE_COMPLEX] = "double complex ",
    [TYPE_STRING] = "char *",
    [TYPE_FILE] = "char *",
    [TYPE_STATE] = "char *",
};

static void write_c_function(struct text *text, const struct argument *argument)
{
    const struct problem *callback = argument->callback;
    const uint32_t n = callback_n_parameters(argument);
    const char *returns = argument->callback_returns ? c_types[callback->arguments[n].type] : "void ";
    text_printf(text, "%s(*%s)(", returns, argument->name);
    for (uint32_t i = 0; i < n; i++) {
        text_put(text, i ? ", " : "");
        write_c_parameter(text, &callback->arguments[i]);
    }
    text_put(text, n ? ")" : "void)");
}

static void write_c_parameter(struct text *text, const struct argument *argument)
{
    const bool is_text = argument->type == TYPE_STRING || argument->type == TYPE_STATE;
    const bool by_address = argument->n_dims > 0 || (argument_is_output(argument) &&
                                                     (is_text || !base_type_is_variable(argument->type)));
    if (argument->type == TYPE_CALLBACK)
        write_c_function(text, argument);
    else
        text_printf(text, "%s%s%s%s", argument->mode == MODE_IN && argument->n_dims > 0 ? "const " : "",
                    c_types[argument->type], by_address ? "*" : "", argument->name);
}

static void write_prototype(struct text *text, const struct problem *problem)
{
    text_put(text, "grpc_error_t grpc_call(grpc_function_handle_t *handle");
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_passed(&problem->arguments[i])) {
            text_put(text, ", ");
            write_c_parameter(text, &problem->arguments[i]);
        }
    text_put(text, ")");
}

size_t problem_prototype(const struct problem *problem, char *buffer, size_t size)
{
    struct text text;
    text_open(&text, buffer, size);
    write_prototype(&text, problem);
    return text.length;
}

size_t problem_usage(const struct problem *problem, char *buffer, size_t size)
{
    struct text text;
    text_open(&text, buffer, size);
    text_printf(&text, "%s: %s\n", problem->name, problem->title);
    if (*problem->text) {
        text_put(&text, "\n");
        write_lines(&text, problem->text);
    }
    write_arguments(&text, problem);
    write_preconditions(&text, problem);
    write_cost(&text, problem);
    text_put(&text, "\nExample\n" INDENT);
    write_example(&text, problem, "");
    text_put(&text, "\n");
    text_put(&text, "\nIn C\n" INDENT);
    write_prototype(&text, problem);
    text_put(&text, ";\n");
    return text.length;
}
