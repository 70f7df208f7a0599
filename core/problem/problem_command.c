/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads implementations that are programs: their words, files and limits. */
#include "core/problem/problem_command.h"

#include "core/problem/problem_parser.h"
#include "util/clock.h"
#include "util/config.h"

#include <stdio.h>
#include <string.h>

static const char *const format_names[N_VALUE_FORMATS] = {"raw", "text", "matrix-market"};

const char *value_format_name(enum value_format format)
{
    return (unsigned)format < N_VALUE_FORMATS ? format_names[format] : "unknown";
}

const struct command_file *command_file_of(const struct command *command, uint32_t argument)
{
    for (uint32_t i = 0; i < command->n_files; i++)
        if (command->files[i].argument == argument && command->files[i].stream == STREAM_FILE)
            return &command->files[i];
    return NULL;
}

static bool has_variable_length(const struct argument *argument)
{
    return base_type_is_variable(argument->type);
}

/* ---- words ---- */

static bool add_part(struct parser *parser, uint32_t offset, const struct command_part *part)
{
    uint32_t n = parser->word_ends[parser->command.n_words];
    if (n == COMMAND_MAX_PARTS)
        return lexer_fail(&parser->lexer, offset, "the words of a command have at most %d parts",
                          COMMAND_MAX_PARTS);
    parser->parts[n] = *part;
    parser->word_ends[parser->command.n_words] = n + 1;
    return true;
}

static bool add_text(struct parser *parser, uint32_t offset, const char *text, size_t length)
{
    if (length == 0)
        return true;
    char *copy = arena_alloc(parser->arena, length + 1);
    if (!copy)
        return lexer_no_memory(&parser->lexer);
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        copy[n++] = text[i];
        i += text[i] == '{' || text[i] == '}'; /* doubled */
    }
    copy[n] = 0;
    return add_part(parser, offset, &(struct command_part){.kind = PART_TEXT, .text = copy});
}

/* Whether the current word is repeated for each element of an array. */
static bool word_has_texts(const struct parser *parser)
{
    uint32_t w = parser->command.n_words, p = w > 0 ? parser->word_ends[w - 1] : 0;
    for (; p < parser->word_ends[w]; p++)
        if ((parser->parts[p].kind == PART_STRING || parser->parts[p].kind == PART_FILE) &&
            argument_is_texts(&parser->arguments[parser->parts[p].argument]))
            return true;
    return false;
}

/* Why a command cannot use the argument. */
static const char *what_it_is(const struct argument *argument)
{
    return argument->type == TYPE_CALLBACK ? "a callback"
           : argument->type == TYPE_STATE  ? "a state"
                                           : "work memory";
}

/* Adds the argument in braces to a word: the text of a string, the name of a file, or a number. */
static bool add_argument(struct parser *parser, uint32_t offset, uint32_t index)
{
    const struct argument *argument = &parser->arguments[index];
    bool text = argument->type == TYPE_STRING && argument->mode == MODE_IN;
    if (argument->mode == MODE_WORK || argument->type >= TYPE_STATE)
        return lexer_fail(&parser->lexer, offset, "'%s' is %s, which only a routine has", argument->name,
                          what_it_is(argument));
    if (argument_is_texts(argument) && word_has_texts(parser))
        return lexer_fail(&parser->lexer, offset, "a word names at most one array of strings or files");
    return add_part(parser, offset,
                    &(struct command_part){.kind = text ? PART_STRING : PART_FILE, .argument = index});
}

static bool is_number_in(const struct argument *argument)
{
    return argument->n_dims == 0 && argument->type <= TYPE_DOUBLE && argument->mode != MODE_OUT;
}

/* Returns the index of the argument that the text names; -1: none. */
static int argument_named(const struct parser *parser, const char *text, size_t length)
{
    while (length > 0 && *text == ' ')
        text++, length--;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        if (strlen(parser->arguments[i].name) == length &&
            memcmp(parser->arguments[i].name, text, length) == 0)
            return (int)i;
    return -1;
}

static bool add_placeholder(struct parser *parser, uint32_t offset, const char *text, size_t length)
{
    int index = argument_named(parser, text, length);
    if (index >= 0 && !is_number_in(&parser->arguments[index]))
        return add_argument(parser, offset, (uint32_t)index);
    struct lexer inner;
    struct name_list names = {.last = &names.first};
    struct command_part part = {.kind = PART_VALUE};
    if (!lexer_open_inner(&inner, text, length, &parser->lexer, offset) ||
        !expr_read(&inner, parser->arena, &names, &part.value))
        return false;
    if (inner.token.kind != TOKEN_END)
        return lexer_expected(&inner, "an operator or '}'", NULL);
    return parser_resolve(parser, &inner, names.first, USAGE_CALL, 0) &&
           parser_check_inner(parser, &inner, part.value) && add_part(parser, offset, &part);
}

static bool read_word(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct command *command = &parser->command;
    uint32_t offset = lexer->token.offset;
    if (command->n_words == COMMAND_MAX_WORDS)
        return lexer_fail(lexer, offset, "a command has at most %d words", COMMAND_MAX_WORDS);
    const char *word = lexer_token_text(lexer, parser->arena), *from = word;
    if (!word)
        return false;
    parser->word_ends[command->n_words] = command->n_words > 0 ? parser->word_ends[command->n_words - 1] : 0;
    for (const char *at = word; *at; at++) {
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            at++;
        } else if (*at == '}') {
            return lexer_fail(lexer, offset, "'}' without '{' in a word (write }} for a brace)");
        } else if (*at == '{') {
            const char *end = strchr(at, '}');
            if (!end)
                return lexer_fail(lexer, offset, "'{' without '}' in a word (write {{ for a brace)");
            if (!add_text(parser, offset, from, (size_t)(at - from)) ||
                !add_placeholder(parser, offset, at + 1, (size_t)(end - at) - 1))
                return false;
            from = (at = end) + 1;
        }
    }
    if (!add_text(parser, offset, from, strlen(from)))
        return false;
    command->n_words++;
    return lexer_advance(lexer);
}

static bool read_program(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_reread_word(lexer, false))
        return false;
    if (lexer->token.kind != TOKEN_NAME && lexer->token.kind != TOKEN_STRING)
        return lexer_expected(lexer, "a program, as \"sort\"", NULL);
    uint32_t offset = lexer->token.offset;
    if (!(parser->implementation->symbol = lexer_token_text(lexer, parser->arena)))
        return false;
    if (parser->implementation->symbol[0] == 0 || strpbrk(parser->implementation->symbol, "{}"))
        return lexer_fail(lexer, offset, "a program has a name of its own: callers do not choose it");
    return read_word(parser);
}

static bool has_no_callbacks(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        if (parser->arguments[i].type == TYPE_CALLBACK)
            return lexer_fail(&parser->lexer, parser->command_offset,
                              "'%s' is a callback, which only a routine has", parser->arguments[i].name);
    return true;
}

static bool take_status(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        if (strcmp(parser->arguments[i].name, "status") == 0)
            return lexer_fail(&parser->lexer, parser->command_offset,
                              "'status' is the exit status of a command: an argument cannot have this name");
    parser->results[0] = "status";
    parser->implementation->n_results = 1;
    return true;
}

bool parser_command(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct implementation *implementation = parser->implementation;
    parser->command_offset = lexer->token.offset;
    if (implementation->symbol)
        return lexer_fail(lexer, lexer->token.offset, "the implementation '%s' has a call already: %s()",
                          implementation->name, implementation->symbol);
    implementation->convention = CONVENTION_COMMAND;
    implementation->library = "";
    parser->command = (struct command){0};
    if (!has_no_callbacks(parser) || !read_program(parser) || !take_status(parser))
        return false;
    while (!lexer_at_line_end(lexer)) {
        if (lexer->token.kind != TOKEN_STRING)
            return lexer_expected(lexer, "a word in quotes or the end of the line",
                                  "the words of a command stand in quotes: \"-n\" \"{n}\"");
        if (!read_word(parser))
            return false;
    }
    return true;
}

/* ---- files and streams ---- */

static bool check_format(struct parser *parser, uint32_t offset, const struct command_file *file)
{
    const struct argument *argument = &parser->arguments[file->argument];
    if (has_variable_length(argument) && file->format == FORMAT_MATRIX_MARKET)
        return lexer_fail(&parser->lexer, offset, "'%s' is a %s: it goes as it is ('raw')", argument->name,
                          base_type_name(argument->type));
    if (file->format == FORMAT_MATRIX_MARKET && (argument->type == TYPE_CHAR || argument->n_dims > 2))
        return lexer_fail(&parser->lexer, offset,
                          "'%s' cannot go as matrix-market: expected numbers of at most two dimensions",
                          argument->name);
    return true;
}

static bool check_direction(struct parser *parser, uint32_t offset, const struct command_file *file)
{
    const struct argument *argument = &parser->arguments[file->argument];
    if (argument_is_texts(argument) && argument->type == TYPE_FILE && file->stream != STREAM_FILE)
        return lexer_fail(&parser->lexer, offset, "'%s' is an array of files: they cannot be one stream",
                          argument->name);
    if (argument->mode == MODE_WORK || argument->type >= TYPE_STATE)
        return lexer_fail(&parser->lexer, offset, "'%s' is %s, which only a routine has", argument->name,
                          what_it_is(argument));
    if (file->stream == STREAM_INPUT && !argument_is_input(argument))
        return lexer_fail(&parser->lexer, offset, "'%s' is an output: a command cannot read it",
                          argument->name);
    if (file->stream == STREAM_OUTPUT && !argument_is_output(argument))
        return lexer_fail(&parser->lexer, offset, "'%s' is an input: a command cannot give it back",
                          argument->name);
    for (uint32_t i = 0; i < parser->command.n_files; i++) {
        const struct command_file *other = &parser->files[i];
        if (other->argument == file->argument &&
            ((other->goes_in && file->goes_in) || (other->comes_back && file->comes_back)))
            return lexer_fail(&parser->lexer, offset, "'%s' has its way to the command and back already",
                              argument->name);
        if (other->stream == file->stream && file->stream != STREAM_FILE &&
            (other->format != FORMAT_TEXT || file->format != FORMAT_TEXT))
            return lexer_fail(&parser->lexer, offset, "only numbers as 'text' can share a standard stream");
    }
    return true;
}

/* An inout argument uses its file both ways, unless a standard stream takes one of the two. */
static void share_ways(struct parser *parser, struct command_file *file)
{
    for (uint32_t i = 0; i < parser->command.n_files; i++) {
        struct command_file *other = &parser->files[i];
        if (other->argument != file->argument || other->stream == file->stream)
            continue;
        struct command_file *plain = file->stream == STREAM_FILE    ? file
                                     : other->stream == STREAM_FILE ? other
                                                                    : NULL;
        if (plain && plain->goes_in && plain->comes_back) {
            plain->goes_in = (plain == file ? other : file)->stream == STREAM_OUTPUT;
            plain->comes_back = !plain->goes_in;
        }
    }
}

static bool add_file(struct parser *parser, uint32_t offset, struct command_file file)
{
    const struct argument *argument = &parser->arguments[file.argument];
    file.goes_in = file.stream != STREAM_OUTPUT && argument_is_input(argument);
    file.comes_back = file.stream != STREAM_INPUT && argument_is_output(argument);
    bool characters = argument->type == TYPE_CHAR && argument->n_dims > 0;
    if ((has_variable_length(argument) || characters) && file.format == FORMAT_TEXT)
        file.format = FORMAT_RAW;
    share_ways(parser, &file);
    if (!check_format(parser, offset, &file) || !check_direction(parser, offset, &file))
        return false;
    if (parser->command.n_files == MAX_COMMAND_FILES)
        return lexer_fail(&parser->lexer, offset, "a command has at most %d files", MAX_COMMAND_FILES);
    parser->files[parser->command.n_files++] = file;
    return true;
}

static bool is_command(struct parser *parser, const char *clause)
{
    return (parser->implementation->symbol && parser->implementation->convention == CONVENTION_COMMAND) ||
           lexer_fail(&parser->lexer, parser->lexer.token.offset, "'%s' belongs behind a 'command' line",
                      clause);
}

static bool read_format(struct parser *parser, enum value_format *format)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer->token.kind != TOKEN_NAME)
        return true;
    if (!lexer_reread_word(lexer, true))
        return false;
    for (unsigned i = 0; i < N_VALUE_FORMATS; i++)
        if (lexer_at_name(lexer, format_names[i])) {
            *format = (enum value_format)i;
            return lexer_advance(lexer);
        }
    return lexer_expected_word(lexer, "a format (raw, text, matrix-market)", format_names, N_VALUE_FORMATS);
}

static bool is_good_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > COMMAND_MAX_FILE_NAME || name[0] == '.' || name[0] == '-')
        return false;
    for (; *name; name++)
        if (*name == '/' || (unsigned char)*name <= ' ' || *name == 0x7f)
            return false;
    return true;
}

static bool read_file_name(struct parser *parser, struct command_file *file)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer->token.kind != TOKEN_STRING || file->stream != STREAM_FILE)
        return true;
    uint32_t offset = lexer->token.offset;
    if (!(file->name = lexer_token_text(lexer, parser->arena)))
        return false;
    if (!is_good_name(file->name))
        return lexer_fail(lexer, offset,
                          "expected the name of a file in the call's own folder: at most %d characters, "
                          "no '/', no blanks, not beginning with '.' or '-'",
                          COMMAND_MAX_FILE_NAME);
    if (!lexer_advance(lexer))
        return false;
    if (lexer->token.kind == TOKEN_NAME)
        return lexer_expected(
            lexer, "the end of the line",
            "the format stands before the name of the file: file A matrix-market \"A.mtx\"");
    return true;
}

/* Reads the argument at the current token. */
static bool read_argument(struct parser *parser, uint32_t *index)
{
    struct lexer *lexer = &parser->lexer;
    const char *words[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++) {
        words[i] = parser->arguments[i].name;
        if (lexer_at_name(lexer, words[i])) {
            *index = i;
            return lexer_advance(lexer);
        }
    }
    return lexer_expected_word(lexer, "an argument of the problem", words, parser->problem->n_arguments);
}

/* Reads file NAME "mesh.vtk" after a routine: gives the file a name for routines that examine it. */
static bool name_file_of_routine(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct command_file file = {.stream = STREAM_FILE};
    const uint32_t offset = lexer->token.offset;
    struct implementation *implementation = parser->implementation;
    bool found = false;
    if (!read_argument(parser, &file.argument))
        return false;
    if (parser->arguments[file.argument].type != TYPE_FILE)
        return lexer_fail(lexer, offset, "'%s' is no file: a routine gets it in memory",
                          parser->arguments[file.argument].name);
    if (lexer->token.kind != TOKEN_STRING)
        return lexer_expected(lexer, "the name of the file in quotes, as \"mesh.vtk\"", NULL);
    if (!read_file_name(parser, &file))
        return false;
    for (uint32_t i = 0; i < implementation->n_parameters; i++) {
        struct call_parameter *parameter = &implementation->parameters[i];
        if (parameter->kind != PARAMETER_ARGUMENT || parameter->argument != file.argument)
            continue;
        if (parameter->name)
            return lexer_fail(lexer, offset, "'%s' has a name already: \"%s\"",
                              parser->arguments[file.argument].name, parameter->name);
        parameter->name = file.name;
        found = true;
    }
    return found || lexer_fail(lexer, offset, "'%s' is not among the parameters of %s()",
                               parser->arguments[file.argument].name, implementation->symbol);
}

bool parser_command_file(struct parser *parser, enum command_stream stream)
{
    static const char *const clauses[] = {"file", "stdin", "stdout"};
    struct lexer *lexer = &parser->lexer;
    uint32_t arguments[PROBLEM_MAX_ARGUMENTS], offsets[PROBLEM_MAX_ARGUMENTS], n = 0;
    struct command_file file = {.stream = stream};
    if (stream == STREAM_FILE && parser->implementation->symbol &&
        implementation_is_routine(parser->implementation))
        return name_file_of_routine(parser);
    if (!is_command(parser, clauses[stream]))
        return false;
    for (;;) {
        offsets[n] = lexer->token.offset;
        if (!read_argument(parser, &arguments[n++]))
            return false;
        if (stream == STREAM_FILE || !lexer_at_symbol(lexer, ',') || n == PROBLEM_MAX_ARGUMENTS)
            break;
        if (!lexer_advance(lexer))
            return false;
    }
    file.format = has_variable_length(&parser->arguments[arguments[0]]) ? FORMAT_RAW : FORMAT_TEXT;
    if (!read_format(parser, &file.format) || !read_file_name(parser, &file))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        file.argument = arguments[i];
        if (!add_file(parser, offsets[i], file))
            return false;
    }
    return true;
}

/* ---- limits ---- */

/* Whether a limit in bytes applies: to outputs of a command, or to files that a routine returns. */
static bool has_outputs_of_any_length(const struct parser *parser)
{
    bool has = parser->implementation->convention == CONVENTION_COMMAND;
    for (uint32_t i = 0; i < parser->problem->n_arguments && !has; i++)
        has = parser->arguments[i].type == TYPE_FILE && argument_is_output(&parser->arguments[i]);
    return has;
}

bool parser_limit(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct implementation *implementation = parser->implementation;
    uint32_t offset = lexer->token.offset;
    if (!implementation->symbol)
        return lexer_fail(lexer, offset, "'limit' belongs behind the call that it is about");
    const char *text = lexer->token.kind == TOKEN_STRING ? lexer_token_text(lexer, parser->arena) : NULL;
    if (!text)
        return lexer_expected(lexer, "a time or a size in quotes, as \"10 s\" or \"100 MiB\"", NULL);
    int64_t ns;
    uint64_t bytes;
    bool again;
    if (config_read_duration(text, &ns, NULL) == ESP_OK && ns >= NS_PER_MS) {
        again = implementation->time_limit_ms != 0;
        implementation->time_limit_ms = ns / NS_PER_MS;
    } else if (config_read_size(text, &bytes, NULL) == ESP_OK && bytes > 0 &&
               has_outputs_of_any_length(parser)) {
        again = parser->has_output_limit;
        parser->has_output_limit = true;
        implementation->output_bytes = bytes;
    } else
        return lexer_expected(lexer,
                              has_outputs_of_any_length(parser)
                                  ? "a time or a size, as \"10 s\" or \"100 MiB\""
                                  : "a time, as \"10 s\"",
                              NULL);
    return again ? lexer_fail(lexer, offset, "the implementation '%s' has a limit of this kind already",
                              implementation->name)
                 : lexer_advance(lexer);
}

/* ---- the end ---- */

static bool default_name(struct parser *parser, struct command_file *file)
{
    static const char *const endings[N_VALUE_FORMATS] = {"", ".txt", ".mtx"};
    char name[PROBLEM_MAX_NAME + 8];
    if (file->name || file->stream != STREAM_FILE)
        return true;
    snprintf(name, sizeof name, "%.*s%s", COMMAND_MAX_FILE_NAME - 4, parser->arguments[file->argument].name,
             endings[file->format]);
    file->name = arena_strdup(parser->arena, name);
    return file->name || lexer_no_memory(&parser->lexer);
}

bool parser_name_files(struct parser *parser)
{
    struct implementation *implementation = parser->implementation;
    for (uint32_t i = 0; i < implementation->n_parameters; i++) {
        struct call_parameter *parameter = &implementation->parameters[i];
        if (parameter->kind != PARAMETER_ARGUMENT || parser->arguments[parameter->argument].type != TYPE_FILE)
            continue;
        if (!parameter->name)
            parameter->name = parser->arguments[parameter->argument].name;
        for (uint32_t k = 0; k < i; k++) {
            const struct call_parameter *other = &implementation->parameters[k];
            if (other->kind == PARAMETER_ARGUMENT && other->argument != parameter->argument &&
                parser->arguments[other->argument].type == TYPE_FILE &&
                strcmp(other->name, parameter->name) == 0)
                return lexer_fail(&parser->lexer, parser->implementation_offset,
                                  "'%s' and '%s' would have the same file '%s'",
                                  parser->arguments[other->argument].name,
                                  parser->arguments[parameter->argument].name, parameter->name);
        }
    }
    return true;
}

static bool name_files(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->command.n_files; i++) {
        struct command_file *file = &parser->files[i];
        if (!default_name(parser, file))
            return false;
        for (uint32_t k = 0; file->name && k < i; k++)
            if (parser->files[k].name && strcmp(parser->files[k].name, file->name) == 0)
                return lexer_fail(&parser->lexer, parser->command_offset,
                                  "'%s' and '%s' would have the same file '%s'",
                                  parser->arguments[parser->files[k].argument].name,
                                  parser->arguments[file->argument].name, file->name);
    }
    return true;
}

/* Adds a file for each argument that a word names, unless a line declares one. */
static bool add_named_files(struct parser *parser)
{
    uint32_t n = parser->word_ends[parser->command.n_words - 1];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t argument = parser->parts[i].argument;
        bool text = parser->parts[i].kind == PART_STRING;
        if (!text && parser->parts[i].kind != PART_FILE)
            continue;
        parser->command.files = parser->files;
        bool there = command_file_of(&parser->command, argument) != NULL;
        if (text && there) /* a string with a file is represented by the file's name */
            parser->parts[i].kind = PART_FILE;
        struct command_file file = {
            .argument = argument,
            .format = has_variable_length(&parser->arguments[argument]) ? FORMAT_RAW : FORMAT_TEXT};
        if (!text && !there && !add_file(parser, parser->command_offset, file))
            return false;
    }
    return true;
}

static bool check_outputs(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++) {
        bool comes = !argument_is_output(&parser->arguments[i]);
        for (uint32_t f = 0; f < parser->command.n_files && !comes; f++)
            comes = parser->files[f].argument == i && parser->files[f].comes_back;
        if (!comes)
            return lexer_fail(&parser->lexer, parser->command_offset,
                              "the output '%s' does not come back from the command: expected a line with "
                              "'stdout %s' or 'file %s'",
                              parser->arguments[i].name, parser->arguments[i].name,
                              parser->arguments[i].name);
    }
    return true;
}

bool parser_end_command(struct parser *parser)
{
    struct command *command = &parser->command;
    if (!add_named_files(parser) || !name_files(parser) || !check_outputs(parser))
        return false;
    command->parts =
        parser_keep(parser, parser->parts, parser->word_ends[command->n_words - 1], sizeof *command->parts);
    command->word_ends = parser_keep(parser, parser->word_ends, command->n_words, sizeof *command->word_ends);
    command->files = parser_keep(parser, parser->files, command->n_files, sizeof *command->files);
    if (!command->parts || !command->word_ends || !command->files)
        return false;
    parser->implementation->command = parser_keep(parser, command, 1, sizeof *command);
    return parser->implementation->command != NULL;
}
