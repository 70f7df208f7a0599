/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/program_tree.h"
#include "core/problem/expr.h"
#include "core/problem/lexer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"flow",   "param", "let",   "threads", "operation", "time",   "work",
                                    "memory", "bytes", "state", "each",    "for",       "if",     "else",
                                    "end",    "in",    "to",    "on",      "of",        "window", "collect",
                                    "result", "input", "kill",  "take"};
#define N_WORDS (sizeof words / sizeof *words)

struct parser {
    struct lexer lexer;
    struct flow_program *program;
    unsigned nesting;
    uint32_t operation; /* whose values expressions may name; PROGRAM_NONE: none */
};

static bool read_statements(struct parser *parser, struct statement **first);

static struct place here(const struct parser *parser)
{
    return (struct place){parser->lexer.token.line, lexer_column(&parser->lexer, parser->lexer.token.offset)};
}

static bool is_word(const char *name)
{
    for (size_t i = 0; i < N_WORDS; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return expr_reserves(name);
}

/* ---- names ---- */

static bool read_name(struct parser *parser, const char *what, const char **name)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer->token.kind != TOKEN_NAME)
        return lexer_expected(lexer, what, NULL);
    if (lexer->token.length > FLOW_MAX_NAME)
        return lexer_fail(lexer, lexer->token.offset, "a name has at most %d characters, this one has %u",
                          FLOW_MAX_NAME, lexer->token.length);
    *name = lexer_token_text(lexer, &parser->program->arena);
    if (!*name)
        return false;
    if (is_word(*name))
        return lexer_expected(lexer, what, "this word has a meaning of its own");
    return lexer_advance(lexer);
}

static uint32_t find_value(const struct parser *parser, const char *name)
{
    const struct flow_program *program = parser->program;
    for (uint32_t i = program->n_values; i-- > 0;) {
        const struct program_value *value = &program->values[i];
        bool ours = value->operation == PROGRAM_NONE ? value->open : value->operation == parser->operation;
        if (ours && strcmp(value->name, name) == 0)
            return i;
    }
    return PROGRAM_NONE;
}

static uint32_t find_threads(const struct flow_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->n_threads; i++)
        if (strcmp(program->threads[i].name, name) == 0)
            return i;
    return PROGRAM_NONE;
}

static uint32_t find_operation(const struct flow_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->n_operations; i++)
        if (strcmp(program->operations[i]->name, name) == 0)
            return i;
    return PROGRAM_NONE;
}

static uint32_t find_data(const struct flow_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->n_names; i++)
        if (strcmp(program->names[i], name) == 0)
            return i;
    return PROGRAM_NONE;
}

/* A name has one meaning in a text. */
static bool check_new(struct parser *parser, const char *name, uint32_t offset, bool may_be_data)
{
    const struct flow_program *program = parser->program;
    const char *meaning = find_value(parser, name) != PROGRAM_NONE                   ? "a number"
                          : find_threads(program, name) != PROGRAM_NONE              ? "a set of threads"
                          : find_operation(program, name) != PROGRAM_NONE            ? "an operation"
                          : find_data(program, name) != PROGRAM_NONE && !may_be_data ? "data"
                                                                                     : NULL;
    return !meaning || lexer_fail(&parser->lexer, offset, "'%s' is already the name of %s", name, meaning);
}

static bool add_value(struct parser *parser, const char *name, uint32_t operation, uint32_t *index)
{
    struct flow_program *program = parser->program;
    if (program->n_values == PROGRAM_MAX_VALUES)
        return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                          "there are more than %d parameters, constants, loop variables and arguments",
                          PROGRAM_MAX_VALUES);
    *index = program->n_values++;
    program->values[*index] = (struct program_value){.name = name, .operation = operation, .open = true};
    return true;
}

static bool add_data(struct parser *parser, const char *name, uint32_t offset, uint32_t *index)
{
    struct flow_program *program = parser->program;
    *index = find_data(program, name);
    if (*index != PROGRAM_NONE)
        return true;
    if (!check_new(parser, name, offset, true))
        return false;
    if (program->n_names == PROGRAM_MAX_NAMES)
        return lexer_fail(&parser->lexer, offset, "there are more than %d names of data", PROGRAM_MAX_NAMES);
    *index = program->n_names++;
    program->names[*index] = name;
    return true;
}

/* ---- expressions ---- */

static bool resolve(struct parser *parser, struct expr *name)
{
    name->index = find_value(parser, name->spelling);
    if (name->index != PROGRAM_NONE)
        return true;
    const struct flow_program *program = parser->program;
    const char *known[PROGRAM_MAX_VALUES];
    size_t n = 0;
    for (uint32_t i = 0; i < program->n_values; i++)
        if (program->values[i].operation == PROGRAM_NONE ? program->values[i].open
                                                         : program->values[i].operation == parser->operation)
            known[n++] = program->values[i].name;
    const char *near = lexer_nearest(name->spelling, known, n);
    if (find_data(program, name->spelling) != PROGRAM_NONE)
        return lexer_fail(&parser->lexer, name->offset, "'%s' is the name of data, expected a number",
                          name->spelling);
    return lexer_fail(&parser->lexer, name->offset, "unknown name '%s'%s%s%s", name->spelling,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool read_expr(struct parser *parser, struct expr **expr)
{
    struct name_list names = {.last = &names.first};
    if (!expr_read(&parser->lexer, &parser->program->arena, &names, expr))
        return false;
    for (struct expr *name = names.first; name; name = name->next_name) {
        if (name->names_matrix)
            return lexer_fail(&parser->lexer, name->offset,
                              "functions of matrices have no meaning in a flow");
        if (!resolve(parser, name))
            return false;
    }
    return true;
}

static bool end_line(struct parser *parser)
{
    if (parser->lexer.token.kind == TOKEN_END)
        return true;
    if (parser->lexer.token.kind != TOKEN_NEWLINE)
        return lexer_expected(&parser->lexer, "the end of the line", NULL);
    return lexer_advance(&parser->lexer);
}

/* ---- declarations ---- */

/* param NAME = EXPRESSION, let NAME = EXPRESSION at the top */
static bool read_constant(struct parser *parser, bool is_parameter)
{
    struct lexer *lexer = &parser->lexer;
    const char *name;
    uint32_t index;
    struct expr *initial;
    if (!lexer_advance(lexer))
        return false;
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, is_parameter ? "the name of a parameter" : "the name of a constant", &name) ||
        !check_new(parser, name, offset, false) || !lexer_take_symbol(lexer, '=', "'='") ||
        !read_expr(parser, &initial) || !add_value(parser, name, PROGRAM_NONE, &index))
        return false;
    parser->program->values[index].initial = initial;
    parser->program->values[index].is_parameter = is_parameter;
    return end_line(parser);
}

/* threads NAME[EXPRESSION] [on EXPRESSION] [state EXPRESSION] */
static bool read_threads(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct flow_program *program = parser->program;
    struct program_threads threads = {.place = here(parser)};
    if (!lexer_advance(lexer))
        return false;
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, "the name of threads", &threads.name) ||
        !check_new(parser, threads.name, offset, false) || !lexer_take_symbol(lexer, '[', "'['") ||
        !read_expr(parser, &threads.n) || !lexer_take_symbol(lexer, ']', "an operator or ']'"))
        return false;
    if (strcmp(threads.name, "client") == 0)
        return lexer_fail(lexer, offset, "'client' is the thread that starts the flow");
    if (program->n_threads == PROGRAM_MAX_NAMES)
        return lexer_fail(lexer, offset, "there are more than %d sets of threads", PROGRAM_MAX_NAMES);
    program->values[program->thread].open = true;
    bool read = !lexer_at_name(lexer, "on") || (lexer_advance(lexer) && read_expr(parser, &threads.node));
    program->values[program->thread].open = false;
    if (!read ||
        (lexer_at_name(lexer, "state") && (!lexer_advance(lexer) || !read_expr(parser, &threads.state))))
        return false;
    if (!lexer_at_line_end(lexer))
        return lexer_expected(lexer, "'on', 'state' or the end of the line", NULL);
    program->threads[program->n_threads++] = threads;
    return end_line(parser);
}

/* A parameter of an operation: an input, or a scalar with its default after '='. */
static bool read_parameter(struct parser *parser, struct program_operation *operation, uint32_t index)
{
    struct lexer *lexer = &parser->lexer;
    const char *name;
    uint32_t offset = lexer->token.offset, value;
    if (!read_name(parser, "the name of an input or argument", &name))
        return false;
    parser->operation = index;
    bool is_new = check_new(parser, name, offset, true);
    parser->operation = PROGRAM_NONE;
    if (!is_new || !add_value(parser, name, index, &value))
        return false;
    if (!lexer_at_symbol(lexer, '=')) {
        if (operation->n_scalars)
            return lexer_fail(lexer, offset, "the input '%s' comes behind an argument, expected inputs first",
                              name);
        if (operation->n_inputs == PROGRAM_MAX_INPUTS)
            return lexer_fail(lexer, offset, "an operation has at most %d inputs", PROGRAM_MAX_INPUTS);
        operation->input_values[operation->n_inputs] = value;
        operation->inputs[operation->n_inputs++] = name;
        return true;
    }
    if (operation->n_scalars == PROGRAM_MAX_SCALARS)
        return lexer_fail(lexer, offset, "an operation has at most %d arguments", PROGRAM_MAX_SCALARS);
    operation->scalars[operation->n_scalars] = value;
    return lexer_advance(lexer) && read_expr(parser, &operation->defaults[operation->n_scalars++]);
}

static bool read_outputs(struct parser *parser, struct program_operation *operation)
{
    struct lexer *lexer = &parser->lexer;
    do {
        uint32_t offset = lexer->token.offset;
        if (operation->n_outputs == PROGRAM_MAX_OUTPUTS)
            return lexer_fail(lexer, offset, "an operation has at most %d outputs", PROGRAM_MAX_OUTPUTS);
        if (operation->n_outputs && !lexer_advance(lexer))
            return false;
        if (!read_name(parser, "the name of an output", &operation->outputs[operation->n_outputs]))
            return false;
        for (unsigned i = 0; i < operation->n_outputs; i++)
            if (strcmp(operation->outputs[i], operation->outputs[operation->n_outputs]) == 0)
                return lexer_fail(lexer, offset, "there are two outputs '%s'", operation->outputs[i]);
        operation->n_outputs++;
    } while (lexer_at_symbol(lexer, ','));
    return true;
}

static bool read_bytes(struct parser *parser, struct program_operation *operation)
{
    struct lexer *lexer = &parser->lexer;
    unsigned i = 0;
    while (i < operation->n_outputs && !lexer_at_name(lexer, operation->outputs[i]))
        i++;
    if (i == operation->n_outputs)
        return lexer_expected_word(lexer, "the name of an output", operation->outputs, operation->n_outputs);
    if (operation->bytes[i])
        return lexer_fail(lexer, lexer->token.offset, "the bytes of '%s' are given twice",
                          operation->outputs[i]);
    return lexer_advance(lexer) && lexer_take_symbol(lexer, '=', "'='") &&
           read_expr(parser, &operation->bytes[i]);
}

/* The lines behind an operation; *found is false at any other line. */
static bool read_property(struct parser *parser, struct program_operation *operation, bool *found)
{
    struct lexer *lexer = &parser->lexer;
    struct expr **expr = lexer_at_name(lexer, "time")     ? &operation->time
                         : lexer_at_name(lexer, "work")   ? &operation->work
                         : lexer_at_name(lexer, "memory") ? &operation->memory
                                                          : NULL;
    *found = expr || lexer_at_name(lexer, "bytes");
    if (!*found)
        return true;
    if (expr && *expr)
        return lexer_fail(lexer, lexer->token.offset, "this is given twice for '%s'", operation->name);
    if (expr == &operation->work ? operation->time != NULL : expr == &operation->time && operation->work)
        return lexer_fail(lexer, lexer->token.offset, "'%s' has time and work, expected one of them",
                          operation->name);
    return lexer_advance(lexer) && (expr ? read_expr(parser, expr) : read_bytes(parser, operation)) &&
           end_line(parser);
}

/* operation NAME(INPUT, ..., ARGUMENT = DEFAULT, ...) -> OUTPUT, ... and its properties */
static bool read_operation(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct flow_program *program = parser->program;
    struct program_operation *operation = arena_alloc(&program->arena, sizeof *operation);
    uint32_t index = program->n_operations;
    if (!operation)
        return lexer_no_memory(lexer);
    operation->place = here(parser);
    if (!lexer_advance(lexer))
        return false;
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, "the name of an operation", &operation->name) ||
        !check_new(parser, operation->name, offset, false) || !lexer_take_symbol(lexer, '(', "'('"))
        return false;
    if (index == PROGRAM_MAX_NAMES)
        return lexer_fail(lexer, offset, "there are more than %d operations", PROGRAM_MAX_NAMES);
    while (!lexer_at_symbol(lexer, ')')) {
        if (!read_parameter(parser, operation, index))
            return false;
        if (!lexer_at_symbol(lexer, ',') && !lexer_at_symbol(lexer, ')'))
            return lexer_expected(lexer, "',' or ')'", NULL);
        if (lexer_at_symbol(lexer, ',') && !lexer_advance(lexer))
            return false;
    }
    if (!lexer_advance(lexer))
        return false;
    if (lexer_at_symbol(lexer, '-') &&
        (!lexer_advance(lexer) || !lexer_take_symbol(lexer, '>', "'->'") || !read_outputs(parser, operation)))
        return false;
    if (!end_line(parser))
        return false;
    program->operations[program->n_operations++] = operation;
    parser->operation = index;
    bool found = true, read = true;
    while (read && found)
        read = read_property(parser, operation, &found);
    parser->operation = PROGRAM_NONE;
    return read;
}

/* ---- problems ---- */

/* One argument of a problem as inputs, outputs and arguments of the operation. */
static bool take_argument(struct parser *parser, struct program_operation *operation, uint32_t index,
                          uint32_t argument_index, uint32_t offset)
{
    const struct argument *argument = &operation->problem->arguments[argument_index];
    bool is_array = argument->n_dims > 0, reads = argument_is_input(argument);
    uint32_t value;
    if (base_type_is_variable(argument->type))
        return lexer_fail(&parser->lexer, offset,
                          "the problem '%s' cannot be an operation: its argument '%s' is a %s",
                          operation->name, argument->name, base_type_name(argument->type));
    if ((is_array && reads && operation->n_inputs == PROGRAM_MAX_INPUTS) ||
        (!is_array && reads && operation->n_scalars == PROGRAM_MAX_SCALARS) ||
        (argument_is_output(argument) && operation->n_outputs == PROGRAM_MAX_OUTPUTS))
        return lexer_fail(
            &parser->lexer, offset,
            "the problem '%s' cannot be an operation: it has more than %d inputs, %d outputs or %d "
            "scalars",
            operation->name, PROGRAM_MAX_INPUTS, PROGRAM_MAX_OUTPUTS, PROGRAM_MAX_SCALARS);
    if (reads && !add_value(parser, argument->name, index, &value))
        return false;
    if (reads && is_array) {
        operation->input_values[operation->n_inputs] = value;
        operation->input_arguments[operation->n_inputs] = argument_index;
        operation->inputs[operation->n_inputs++] = argument->name;
    } else if (reads) {
        operation->scalar_arguments[operation->n_scalars] = argument_index;
        operation->scalars[operation->n_scalars++] = value;
    }
    if (argument_is_output(argument)) {
        operation->output_arguments[operation->n_outputs] = argument_index;
        operation->outputs[operation->n_outputs++] = argument->name;
    }
    return true;
}

/* An operation that the text does not declare: a problem of that name. *index stays PROGRAM_NONE where there
 * is none. */
static bool use_problem(struct parser *parser, const char *name, uint32_t offset, uint32_t *index)
{
    struct flow_program *program = parser->program;
    struct esp_error why = {.status = ESP_OK};
    const struct problem *problem = program->problems.find(program->problems.self, name, &why);
    if (!problem && why.status != ESP_OK) {
        lexer_fail(&parser->lexer, offset, "%s", why.text);
        parser->lexer.error->status = why.status;
        return false;
    }
    if (!problem)
        return true;
    if (problem->abstract)
        return lexer_fail(
            &parser->lexer, offset,
            "the problem '%s' cannot be an operation: it is abstract, expected one that it leads to", name);
    if (program->n_operations == PROGRAM_MAX_NAMES)
        return lexer_fail(&parser->lexer, offset, "there are more than %d operations", PROGRAM_MAX_NAMES);
    struct program_operation *operation = arena_alloc(&program->arena, sizeof *operation);
    if (!operation)
        return lexer_no_memory(&parser->lexer);
    operation->name = problem->name;
    operation->problem = problem;
    operation->place = here(parser);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].mode != MODE_WORK &&
            !take_argument(parser, operation, program->n_operations, i, offset))
            return false;
    *index = program->n_operations;
    program->operations[program->n_operations++] = operation;
    return true;
}

/* ---- statements ---- */

static struct statement *new_statement(struct parser *parser, enum statement_kind kind)
{
    struct lexer *lexer = &parser->lexer;
    if (parser->program->n_statements++ == PROGRAM_MAX_STATEMENTS) {
        lexer_fail(lexer, lexer->token.offset, "a flow has at most %d statements", PROGRAM_MAX_STATEMENTS);
        return NULL;
    }
    struct statement *statement = arena_alloc(&parser->program->arena, sizeof *statement);
    if (!statement) {
        lexer_no_memory(lexer);
        return NULL;
    }
    statement->kind = kind;
    statement->place = here(parser);
    statement->threads = PROGRAM_NONE;
    return statement;
}

/* NAME[SUBSCRIPT, ...]; patterns of collect may have ranges and '*'. */
static bool read_subscripts(struct parser *parser, struct reference *reference)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_at_symbol(lexer, '['))
        return true;
    do {
        struct subscript *subscript = &reference->subscripts[reference->n_subscripts];
        if (reference->n_subscripts == PROGRAM_MAX_SUBSCRIPTS)
            return lexer_fail(lexer, lexer->token.offset, "a name has at most %d subscripts",
                              PROGRAM_MAX_SUBSCRIPTS);
        if (!lexer_advance(lexer))
            return false;
        reference->n_subscripts++;
        if (reference->collects && lexer_at_symbol(lexer, '*')) {
            if (!lexer_advance(lexer))
                return false;
            continue;
        }
        if (!read_expr(parser, &subscript->from))
            return false;
        if (reference->collects && lexer_at_name(lexer, "to") &&
            (!lexer_advance(lexer) || !read_expr(parser, &subscript->to)))
            return false;
    } while (lexer_at_symbol(lexer, ','));
    return lexer_take_symbol(
        lexer, ']', reference->collects ? "an operator, 'to', ',' or ']'" : "an operator, ',' or ']'");
}

/* Data that are read: the name must have been met before. */
static bool read_reference(struct parser *parser, struct reference *reference)
{
    struct lexer *lexer = &parser->lexer;
    const struct flow_program *program = parser->program;
    const char *name;
    *reference = (struct reference){.collects = lexer_at_name(lexer, "collect")};
    if (reference->collects && !lexer_advance(lexer))
        return false;
    reference->place = here(parser);
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, "the name of data", &name))
        return false;
    reference->name = find_data(program, name);
    if (reference->name == PROGRAM_NONE) {
        const char *near = lexer_nearest(name, program->names, program->n_names);
        return lexer_fail(lexer, offset, "'%s' is used before it is defined%s%s%s", name,
                          near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return read_subscripts(parser, reference);
}

/* on THREADS[EXPRESSION], if it is there */
static bool read_on(struct parser *parser, struct statement *statement)
{
    struct lexer *lexer = &parser->lexer;
    const struct flow_program *program = parser->program;
    if (!lexer_at_name(lexer, "on"))
        return true;
    if (!lexer_advance(lexer))
        return false;
    const char *names[PROGRAM_MAX_NAMES];
    for (uint32_t i = 0; i < program->n_threads; i++)
        if (lexer_at_name(lexer, names[i] = program->threads[i].name))
            statement->threads = i;
    if (statement->threads == PROGRAM_NONE)
        return lexer_expected_word(lexer, "the name of threads", names, program->n_threads);
    return lexer_advance(lexer) && lexer_take_symbol(lexer, '[', "'['") &&
           read_expr(parser, &statement->thread) && lexer_take_symbol(lexer, ']', "an operator or ']'");
}

static bool read_scalar(struct parser *parser, struct statement *statement,
                        const struct program_operation *operation, const char *name, uint32_t offset)
{
    const struct flow_program *program = parser->program;
    const char *names[PROGRAM_MAX_SCALARS];
    for (unsigned i = 0; i < operation->n_scalars; i++) {
        names[i] = program->values[operation->scalars[i]].name;
        if (strcmp(name, names[i]) != 0)
            continue;
        if (statement->scalars[i])
            return lexer_fail(&parser->lexer, offset, "the argument '%s' is given twice", name);
        return lexer_advance(&parser->lexer) && read_expr(parser, &statement->scalars[i]);
    }
    const char *near = lexer_nearest(name, names, operation->n_scalars);
    return lexer_fail(&parser->lexer, offset, "'%s' has no argument '%s'%s%s%s", operation->name, name,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Whether NAME = follows: the lexer is put back by reading the text alone. */
static bool at_scalar(const struct lexer *lexer)
{
    if (lexer->token.kind != TOKEN_NAME)
        return false;
    struct lexer ahead = *lexer;
    struct esp_error ignored;
    ahead.error = &ignored;
    return lexer_advance(&ahead) && lexer_at_symbol(&ahead, '=');
}

static bool read_arguments(struct parser *parser, struct statement *statement,
                           const struct program_operation *operation)
{
    struct lexer *lexer = &parser->lexer;
    struct reference inputs[PROGRAM_MAX_INPUTS];
    while (!lexer_at_symbol(lexer, ')')) {
        uint32_t offset = lexer->token.offset;
        if (at_scalar(lexer)) {
            const char *name = lexer_token_text(lexer, &parser->program->arena);
            if (!name || !lexer_advance(lexer) || !read_scalar(parser, statement, operation, name, offset))
                return false;
        } else {
            if (statement->n_inputs == operation->n_inputs)
                return lexer_fail(lexer, offset, "'%s' has %u input%s, expected no more", operation->name,
                                  operation->n_inputs, operation->n_inputs == 1 ? "" : "s");
            if (!read_reference(parser, &inputs[statement->n_inputs++]))
                return false;
        }
        if (!lexer_at_symbol(lexer, ',') && !lexer_at_symbol(lexer, ')'))
            return lexer_expected(lexer, "',' or ')'", NULL);
        if (lexer_at_symbol(lexer, ',') && !lexer_advance(lexer))
            return false;
    }
    if (statement->n_inputs < operation->n_inputs)
        return lexer_fail(lexer, lexer->token.offset, "'%s' has %u inputs, found %u: '%s' is missing",
                          operation->name, operation->n_inputs, statement->n_inputs,
                          operation->inputs[statement->n_inputs]);
    statement->inputs = arena_memdup(&parser->program->arena, inputs, statement->n_inputs * sizeof *inputs);
    return statement->inputs ? lexer_advance(lexer) : lexer_no_memory(lexer);
}

/* TARGET, ... = OPERATION(...) [on THREADS[EXPRESSION]]; an operation without outputs has no targets */
static bool read_call(struct parser *parser, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    struct flow_program *program = parser->program;
    struct statement *statement = new_statement(parser, STATEMENT_CALL);
    struct reference targets[PROGRAM_MAX_OUTPUTS];
    const char *target_names[PROGRAM_MAX_OUTPUTS];
    uint32_t offsets[PROGRAM_MAX_OUTPUTS];
    unsigned n = 0;
    const char *name = NULL;
    if (!statement)
        return false;
    uint32_t offset = lexer->token.offset;
    do {
        if (n == PROGRAM_MAX_OUTPUTS)
            return lexer_fail(lexer, lexer->token.offset, "an operation has at most %d outputs",
                              PROGRAM_MAX_OUTPUTS);
        if (n && !lexer_advance(lexer))
            return false;
        targets[n] = (struct reference){.place = here(parser)};
        offsets[n] = lexer->token.offset;
        if (!read_name(parser, "a statement", &target_names[n]) || !read_subscripts(parser, &targets[n]))
            return false;
        n++;
    } while (lexer_at_symbol(lexer, ','));
    if (n == 1 && lexer_at_symbol(lexer, '(') && targets[0].n_subscripts == 0) {
        name = target_names[0];
        n = 0;
    } else {
        if (!lexer_take_symbol(lexer, '=', "'='"))
            return false;
        offset = lexer->token.offset;
        if (!read_name(parser, "the name of an operation", &name))
            return false;
    }
    statement->operation = find_operation(program, name);
    if (statement->operation == PROGRAM_NONE && !use_problem(parser, name, offset, &statement->operation))
        return false;
    if (statement->operation == PROGRAM_NONE) {
        const char *names[PROGRAM_MAX_NAMES];
        for (uint32_t i = 0; i < program->n_operations; i++)
            names[i] = program->operations[i]->name;
        const char *near = lexer_nearest(name, names, program->n_operations);
        return lexer_fail(lexer, offset, "unknown operation '%s'%s%s%s", name, near ? ": did you mean '" : "",
                          near ? near : "", near ? "'?" : "");
    }
    const struct program_operation *operation = program->operations[statement->operation];
    if (n != operation->n_outputs)
        return lexer_fail(lexer, offset, "'%s' has %u output%s, found %u name%s before '='", operation->name,
                          operation->n_outputs, operation->n_outputs == 1 ? "" : "s", n, n == 1 ? "" : "s");
    if (!lexer_take_symbol(lexer, '(', "'('") || !read_arguments(parser, statement, operation) ||
        !read_on(parser, statement))
        return false;
    /* After the inputs: x = f(x) is an error where x is new. */
    for (unsigned i = 0; i < n; i++)
        if (strcmp(target_names[i], "_") == 0)
            targets[i].name = PROGRAM_NONE; /* an output that nothing reads */
        else if (!add_data(parser, target_names[i], offsets[i], &targets[i].name))
            return false;
    statement->n_targets = n;
    statement->targets = arena_memdup(&program->arena, targets, n * sizeof *targets);
    *result = statement;
    if (!statement->targets)
        return lexer_no_memory(lexer);
    if (!lexer_at_line_end(lexer))
        return lexer_expected(
            lexer, statement->thread ? "the end of the line" : "'on' or the end of the line", NULL);
    return end_line(parser);
}

/* input NAME bytes EXPRESSION [on THREADS[EXPRESSION]] */
static bool read_input(struct parser *parser, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    struct statement *statement = new_statement(parser, STATEMENT_INPUT);
    struct reference target = {0};
    const char *name;
    if (!statement || !lexer_advance(lexer))
        return false;
    target.place = here(parser);
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, "the name of data", &name) || !add_data(parser, name, offset, &target.name))
        return false;
    if (!lexer_at_name(lexer, "bytes"))
        return lexer_expected(lexer, "'bytes'", NULL);
    if (!lexer_advance(lexer) || !read_expr(parser, &statement->value) || !read_on(parser, statement))
        return false;
    statement->n_targets = 1;
    statement->targets = arena_memdup(&parser->program->arena, &target, sizeof target);
    *result = statement;
    return statement->targets ? end_line(parser) : lexer_no_memory(lexer);
}

/* result REFERENCE */
static bool read_result(struct parser *parser, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    struct statement *statement = new_statement(parser, STATEMENT_RESULT);
    struct reference input;
    if (!statement || !lexer_advance(lexer) || !read_reference(parser, &input))
        return false;
    statement->n_inputs = 1;
    statement->inputs = arena_memdup(&parser->program->arena, &input, sizeof input);
    *result = statement;
    return statement->inputs ? end_line(parser) : lexer_no_memory(lexer);
}

/* kill EXPRESSION of THREADS, take EXPRESSION of THREADS */
static bool read_change(struct parser *parser, enum statement_kind kind, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    const struct flow_program *program = parser->program;
    struct statement *statement = new_statement(parser, kind);
    const char *names[PROGRAM_MAX_NAMES];
    if (!statement || !lexer_advance(lexer) || !read_expr(parser, &statement->value))
        return false;
    if (!lexer_at_name(lexer, "of"))
        return lexer_expected(lexer, "an operator or 'of'", NULL);
    if (!lexer_advance(lexer))
        return false;
    for (uint32_t i = 0; i < program->n_threads; i++)
        if (lexer_at_name(lexer, names[i] = program->threads[i].name))
            statement->threads = i;
    if (statement->threads == PROGRAM_NONE)
        return lexer_expected_word(lexer, "the name of threads", names, program->n_threads);
    *result = statement;
    return lexer_advance(lexer) && end_line(parser);
}

static bool end_block(struct parser *parser)
{
    if (!lexer_at_name(&parser->lexer, "end"))
        return lexer_expected(&parser->lexer, "a statement or 'end'", NULL);
    return lexer_advance(&parser->lexer) && end_line(parser);
}

static bool nest(struct parser *parser)
{
    if (parser->nesting++ == PROGRAM_MAX_NESTING)
        return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                          "blocks are nested more than %d levels deep", PROGRAM_MAX_NESTING);
    return true;
}

/* each NAME in EXPRESSION to EXPRESSION [window EXPRESSION] ... end; for has no window */
static bool read_loop(struct parser *parser, enum statement_kind kind, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    struct statement *statement = new_statement(parser, kind);
    const char *name;
    if (!statement || !nest(parser) || !lexer_advance(lexer))
        return false;
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, "the name of a loop variable", &name) || !check_new(parser, name, offset, false))
        return false;
    if (!lexer_at_name(lexer, "in"))
        return lexer_expected(lexer, "'in'", NULL);
    if (!lexer_advance(lexer) || !read_expr(parser, &statement->value))
        return false;
    if (!lexer_at_name(lexer, "to"))
        return lexer_expected(lexer, "an operator or 'to'", NULL);
    if (!lexer_advance(lexer) || !read_expr(parser, &statement->last))
        return false;
    if (kind == STATEMENT_EACH && lexer_at_name(lexer, "window") &&
        (!lexer_advance(lexer) || !read_expr(parser, &statement->window)))
        return false;
    if (!add_value(parser, name, PROGRAM_NONE, &statement->variable) || !end_line(parser) ||
        !read_statements(parser, &statement->body))
        return false;
    parser->program->values[statement->variable].open = false;
    parser->nesting--;
    *result = statement;
    return end_block(parser);
}

/* if EXPRESSION ... [else ...] end */
static bool read_if(struct parser *parser, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    struct statement *statement = new_statement(parser, STATEMENT_IF);
    if (!statement || !nest(parser) || !lexer_advance(lexer) || !read_expr(parser, &statement->value) ||
        !end_line(parser) || !read_statements(parser, &statement->body))
        return false;
    if (lexer_at_name(lexer, "else") &&
        (!lexer_advance(lexer) || !end_line(parser) || !read_statements(parser, &statement->otherwise)))
        return false;
    parser->nesting--;
    *result = statement;
    return end_block(parser);
}

/* let NAME = EXPRESSION inside a block: NAME may have been set before, not be a parameter. */
static bool read_let(struct parser *parser, struct statement **result)
{
    struct lexer *lexer = &parser->lexer;
    struct statement *statement = new_statement(parser, STATEMENT_LET);
    const char *name;
    if (!statement || !lexer_advance(lexer))
        return false;
    uint32_t offset = lexer->token.offset;
    if (!read_name(parser, "the name of a number", &name) || !lexer_take_symbol(lexer, '=', "'='") ||
        !read_expr(parser, &statement->value))
        return false;
    statement->variable = find_value(parser, name);
    if (statement->variable != PROGRAM_NONE) {
        const struct program_value *value = &parser->program->values[statement->variable];
        if (value->is_parameter || value->initial || statement->variable == parser->program->nodes)
            return lexer_fail(lexer, offset, "'%s' cannot be changed here: it is the same everywhere", name);
    } else if (!check_new(parser, name, offset, false) ||
               !add_value(parser, name, PROGRAM_NONE, &statement->variable)) {
        return false;
    }
    *result = statement;
    return end_line(parser);
}

static bool read_statement(struct parser *parser, struct statement **statement)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer_at_name(lexer, "each"))
        return read_loop(parser, STATEMENT_EACH, statement);
    if (lexer_at_name(lexer, "for"))
        return read_loop(parser, STATEMENT_FOR, statement);
    if (lexer_at_name(lexer, "if"))
        return read_if(parser, statement);
    if (lexer_at_name(lexer, "let"))
        return read_let(parser, statement);
    if (lexer_at_name(lexer, "input"))
        return read_input(parser, statement);
    if (lexer_at_name(lexer, "result"))
        return read_result(parser, statement);
    if (lexer_at_name(lexer, "kill"))
        return read_change(parser, STATEMENT_KILL, statement);
    if (lexer_at_name(lexer, "take"))
        return read_change(parser, STATEMENT_TAKE, statement);
    return read_call(parser, statement);
}

/* Numbers that a block defines are unknown behind it. */
static void close_values(struct flow_program *program, uint32_t from)
{
    for (uint32_t i = from; i < program->n_values; i++)
        program->values[i].open = false;
}

static bool read_statements(struct parser *parser, struct statement **first)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t n_values = parser->program->n_values;
    while (lexer->token.kind != TOKEN_END && !lexer_at_name(lexer, "end") && !lexer_at_name(lexer, "else")) {
        if (lexer->token.kind == TOKEN_NEWLINE) {
            if (!lexer_advance(lexer))
                return false;
            continue;
        }
        if (!read_statement(parser, first))
            return false;
        first = &(*first)->next;
    }
    if (parser->nesting)
        close_values(parser->program, n_values);
    return true;
}

/* Declarations, up to the first statement. */
static bool read_declarations(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    for (;;) {
        bool read;
        if (lexer->token.kind == TOKEN_NEWLINE)
            read = lexer_advance(lexer);
        else if (lexer_at_name(lexer, "param"))
            read = read_constant(parser, true);
        else if (lexer_at_name(lexer, "let"))
            read = read_constant(parser, false);
        else if (lexer_at_name(lexer, "threads"))
            read = read_threads(parser);
        else if (lexer_at_name(lexer, "operation"))
            read = read_operation(parser);
        else
            return true;
        if (!read)
            return false;
    }
}

static bool read_flow(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct flow_program *program = parser->program;
    if (lexer->token.kind == TOKEN_NEWLINE && !lexer_advance(lexer))
        return false;
    if (!lexer_at_name(lexer, "flow"))
        return lexer_expected(lexer, "'flow' and a name", NULL);
    if (!lexer_advance(lexer) || !read_name(parser, "the name of the flow", &program->name))
        return false;
    program->title = "";
    if (lexer->token.kind == TOKEN_STRING &&
        (!(program->title = lexer_token_text(lexer, &program->arena)) || !lexer_advance(lexer)))
        return false;
    if (!add_value(parser, "nodes", PROGRAM_NONE, &program->nodes) ||
        !add_value(parser, "thread", PROGRAM_NONE, &program->thread))
        return false;
    program->values[program->thread].open = false;
    if (!end_line(parser) || !read_declarations(parser) || !read_statements(parser, &program->statements))
        return false;
    if (lexer->token.kind != TOKEN_END)
        return lexer_expected(lexer, "a statement or the end of the text", NULL);
    if (!program->statements)
        return lexer_fail(lexer, lexer->token.offset, "expected statements, found none");
    return true;
}

static const struct problem *find_in_set(void *set, const char *name, struct esp_error *error)
{
    (void)error;
    return set ? problem_find(set, name) : NULL;
}

struct flow_problems flow_problems_of_set(const struct problem_set *set)
{
    return (struct flow_problems){.self = (void *)set, .find = find_in_set};
}

enum esp_status flow_program_parse(const char *text, size_t length, const char *file,
                                   struct flow_problems problems, struct flow_program **program,
                                   struct esp_error *error)
{
    struct esp_error own;
    struct esp_error *filled = error ? error : &own;
    *program = NULL;
    if (length > PROGRAM_MAX_BYTES)
        return error_set(error, ESP_LIMIT, "%s: a flow has at most %d bytes, found %zu", file,
                         PROGRAM_MAX_BYTES, length);
    struct flow_program *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "a flow");
    struct parser parser = {.program = made, .operation = PROGRAM_NONE};
    made->problems = problems;
    made->file = arena_strdup(&made->arena, file);
    bool has_file = made->file != NULL;
    if (!has_file || !lexer_open(&parser.lexer, text, length, made->file, filled) || !read_flow(&parser)) {
        flow_program_destroy(made);
        return has_file ? filled->status : error_no_memory(error, "a flow");
    }
    *program = made;
    return ESP_OK;
}

void flow_program_destroy(struct flow_program *program)
{
    if (!program)
        return;
    arena_clear(&program->arena);
    free(program);
}

const char *flow_program_name(const struct flow_program *program)
{
    return program->name;
}

const char *flow_program_title(const struct flow_program *program)
{
    return program->title;
}

unsigned flow_program_n_parameters(const struct flow_program *program)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < program->n_values; i++)
        n += program->values[i].is_parameter;
    return n;
}

const char *flow_program_parameter(const struct flow_program *program, unsigned index)
{
    for (uint32_t i = 0; i < program->n_values; i++)
        if (program->values[i].is_parameter && index-- == 0)
            return program->values[i].name;
    return NULL;
}

/* *number times what the parameter is. */
static enum esp_status multiply(const struct program_value *value, struct number *number,
                                struct esp_error *error)
{
    struct number before = value->set;
    enum esp_status status = ESP_OK;
    int64_t product;
    if (!value->is_set)
        status = expr_eval(value->initial, &(struct scope){0}, &before, error);
    if (status != ESP_OK)
        return status;
    bool whole = before.kind == NUMBER_INTEGER && number->kind == NUMBER_INTEGER;
    if (whole && !__builtin_mul_overflow(before.integer, number->integer, &product)) {
        *number = (struct number){.kind = NUMBER_INTEGER, .integer = product};
        return ESP_OK;
    }
    double real = (before.kind == NUMBER_INTEGER ? (double)before.integer : before.real) *
                  (number->kind == NUMBER_INTEGER ? (double)number->integer : number->real);
    *number = (struct number){.kind = NUMBER_REAL, .real = real};
    return ESP_OK;
}

enum esp_status flow_program_set(struct flow_program *program, const char *assignment,
                                 struct esp_error *error)
{
    const char *equals = strchr(assignment, '=');
    size_t length = equals ? (size_t)(equals - assignment) : 0;
    char name[FLOW_MAX_NAME + 1] = "";
    const char *names[PROGRAM_MAX_VALUES];
    size_t n = 0;
    if (length == 0 || length > FLOW_MAX_NAME)
        return error_set(error, ESP_INVALID, "expected name=value, found '%.60s'", assignment);
    memcpy(name, assignment, length);
    for (uint32_t i = 0; i < program->n_values; i++) {
        struct program_value *value = &program->values[i];
        if (!value->is_parameter)
            continue;
        names[n++] = value->name;
        if (strcmp(value->name, name) != 0)
            continue;
        struct expr *expr;
        bool is_factor = equals[1] == '*';
        struct number number;
        enum esp_status status = expr_parse(equals + 1 + is_factor, NULL, 0, &program->arena, &expr, error);
        if (status == ESP_OK)
            status = expr_eval(expr, &(struct scope){0}, &number, error);
        if (status == ESP_OK && is_factor)
            status = multiply(value, &number, error);
        if (status == ESP_OK) {
            value->set = number;
            value->is_set = true;
        }
        return status == ESP_OK ? ESP_OK : error_prefix(error, "%s", name);
    }
    const char *near = lexer_nearest(name, names, n);
    return error_set(error, ESP_INVALID, "the flow '%s' has no parameter '%s'%s%s%s", program->name, name,
                     near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}
