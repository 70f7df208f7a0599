/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of the parser of problem descriptions, shared by its files.
 *
 * A clause is one row in the table of problem_parse.c. Functions return false with *error filled. */
#ifndef CORE_PROBLEM_PARSER_H
#define CORE_PROBLEM_PARSER_H

#include "core/problem/expr.h"
#include "core/problem/problem_callback.h"
#include "core/problem/problem_family.h"
#include "core/problem/problem_parallel.h"

#define MAX_TITLE           200
#define MAX_MESSAGE         1000
#define N_TYPES             (TYPE_STATE + 1) /* types that have their own words */
#define MAX_PRECONDITIONS   64
#define MAX_IMPLEMENTATIONS 16
#define MAX_ERROR_CLAUSES   64
#define MAX_EMBEDDED        16
#define MAX_COMMAND_FILES   (2 * PROBLEM_MAX_ARGUMENTS)

/* The place of an expression determines which names it may use. */
enum usage {
    USAGE_DIMENSION,
    USAGE_DEFAULT, /* only names declared before the argument `owner` */
    USAGE_REQUIRE,
    USAGE_COST,
    USAGE_UNREAD, /* also complex inputs: numbers if their imaginary part is 0 */
    USAGE_CALL,
    USAGE_COUNT, /* also scalar outputs */
    USAGE_ERROR  /* also results and output scalars */
};

/* An expression of the signature whose names are resolved when all arguments are declared. */
struct pending {
    struct pending *next;
    struct expr *names;
    enum usage usage;
    uint32_t owner;
};

/* A callback of the problem being read, until all arguments of the problem are declared. */
struct callback_draft {
    struct problem *problem;
    const struct pending *names;                 /* names in its sizes that are not its own arguments */
    uint32_t outer[CALLBACK_MAX_OUTER], n_outer; /* indexes of these among the problem's arguments */
};

struct parser {
    struct lexer lexer;
    struct arena *arena;
    const char *file;   /* in the arena */
    const char *folder; /* of the file; in the arena */

    struct problem **problems; /* growing, malloc'd */
    size_t n_problems, size_problems;

    uint32_t resumed;            /* where parser_resume() continued last */
    const struct family *family; /* the family whose member is being read, or NULL */

    /* The problem being read. */
    struct problem *problem;
    struct abstract *abstract; /* its rules, if it is abstract, or NULL */
    unsigned clause_line[48];  /* by row of the clause table: line where it was given; 0: not yet */
    unsigned cost_line;        /* line of its `work` that gives the cost */
    struct pending *pending, **last_pending;
    struct argument arguments[PROBLEM_MAX_ARGUMENTS];
    struct callback_draft callbacks[PROBLEM_MAX_ARGUMENTS]; /* by argument */
    /* Positions of names that are checked when the problem is complete. */
    uint32_t problem_offset, implementation_offset, checkpoint_offset;
    struct {
        const char *matrix, *rhs, *solution, *transposed, *times; /* names until all arguments are declared */
        uint32_t offset;
    } roles;
    struct solves *solves; /* the equation of the problem, or NULL */
    struct precondition preconditions[MAX_PRECONDITIONS];
    struct implementation implementations[MAX_IMPLEMENTATIONS];

    struct {
        const char *pointers, *indices; /* of csc and csr: names until all arguments are declared */
        uint32_t offset;
    } sparse[PROBLEM_MAX_ARGUMENTS];

    /* The implementation being read (the newest of the problem), or NULL. */
    struct implementation *implementation;
    struct error_clause errors[MAX_ERROR_CLAUSES];
    const char *results[PROBLEM_MAX_RESULTS]; /* names of its PARAMETER_RESULTs */
    struct command command;                   /* its command, if it is one */
    struct command_part parts[COMMAND_MAX_PARTS];
    uint32_t word_ends[COMMAND_MAX_WORDS];
    struct command_file files[MAX_COMMAND_FILES];
    uint32_t command_offset;
    bool has_output_limit;                        /* of the implementation being read */
    struct spread spreads[PROBLEM_MAX_ARGUMENTS]; /* of a parallel implementation */
    uint32_t parallel_offset;                     /* position of its call */

    char scratch[PROBLEM_MAX_TEXT]; /* its texts until the signature is complete, then its canonical source */
    size_t text_length;
};

/* Reads the type named by the current token; *found is false, without an error, if there is none. */
bool parser_type(struct parser *parser, enum base_type *type, bool *found);

/* Reads a name for an argument or result, and moves past it. */
bool parser_name(struct parser *parser, const char *what, const char **name);

/* Reads an expression of the signature; its names are resolved by parser_resolve_pending(). */
bool parser_expression(struct parser *parser, enum usage usage, struct expr **expr);
/* Postpones resolving names of the signature until all arguments are declared. */
bool parser_postpone(struct parser *parser, struct expr *names, enum usage usage);
bool parser_resolve_pending(struct parser *parser);
/* Checks conditions that depend on all arguments and on resolved names. */
bool parser_check_arguments(struct parser *parser);
/* Rejects constants that no call could use, and shapes that contradict the properties of a matrix. All
 * names are resolved. */
bool parser_check_constants(struct parser *parser);
/* Checks the constants of one expression whose value is stored as `type`. */
bool parser_check_value(struct parser *parser, const struct expr *expr, enum base_type type);
/* Checks that the constant parts of an expression have values: n/0 has none, whatever n is. */
bool parser_check_parts(struct parser *parser, const struct expr *expr);
/* Like parser_check_parts(), for an expression inside a text that `inner` has read (lexer_open_inner()). */
bool parser_check_inner(struct parser *parser, const struct lexer *inner, const struct expr *expr);
/* Like parser_check_parts(), for a condition, which must not be a constant that is always false; `then`
 * says what that would mean. */
bool parser_check_condition(struct parser *parser, const struct expr *condition, const char *then);
/* Resolves names to their index. `lexer` gives the positions for messages. */
bool parser_resolve(struct parser *parser, struct lexer *lexer, struct expr *names, enum usage usage,
                    uint32_t owner);

/* Fails at a word that is no type, with a suggestion if other languages have it. */
bool parser_unknown_type(const struct lexer *lexer);
/* Fails if a declaration continues as in other languages: a '*' after the type, extents in parentheses
 * after the name, or DOUBLE PRECISION. */
bool parser_check_sign(const struct lexer *lexer, enum base_type type);
bool parser_check_brackets(const struct lexer *lexer, const struct argument *argument);

/* Reads mode TYPE name[dims] ..., ...; the current token is the type. */
bool parser_declare(struct parser *parser, enum argument_mode mode);

/* Makes the problem being read abstract (core/problem/abstract.h). */
bool parser_begin_abstract(struct parser *parser);
/* Reads STEP {then STEP} [when ...], after `take` or `try`. */
bool parser_rule(struct parser *parser, bool may_fail);
/* Reads take or try, and the rule, after `or`. */
bool parser_rival(struct parser *parser);
/* Checks the rules when the signature is complete. */
bool parser_check_abstract(struct parser *parser);

/* Reads one declaration after its type. */
bool parser_argument(struct parser *parser, enum argument_mode mode, enum base_type type);
/* Checks that no argument of the problem has this name, whose position is `offset`. */
bool parser_new_name(struct parser *parser, const char *name, uint32_t offset);
/* Reads the text after a declaration, or "". */
bool parser_argument_text(struct parser *parser, struct argument *argument);
/* Reads callback [TYPE] NAME(in TYPE name, ...) "text"; the lexer is after the keyword. */
bool parser_callback(struct parser *parser);
/* Called when all arguments of the problem are declared: names in the sizes of its callbacks that are not
 * their own arguments are the problem's. Writes the sources of the callbacks. */
bool parser_end_callbacks(struct parser *parser);

/* Reads packed, banded, csc, csr, index, signed-index, count, unread or triangle after the dimensions,
 * when the current token is one of these words. */
bool parser_storage(struct parser *parser, struct argument *argument, bool *found);
bool parser_check_storage(struct parser *parser, uint32_t index);
/* The words that parser_storage() knows. */
extern const char *const parser_storage_words[];
#define N_STORAGE_WORDS 9

/* Reads A X = B [giving X = NAME] [transposed NAME] [times NAME] [right EXPRESSION] [within EXPRESSION]
 * [where EXPRESSION], after `solves` or `fits` (problem_solves.c). parser_check_solves() checks it when
 * all arguments are declared. */
bool parser_solves(struct parser *parser, bool fits);
bool parser_check_solves(struct parser *parser);

/* Reads implementation NAME / [result =] symbol(parameters) in library / error condition "message"; the
 * lexer is after the keyword. */
bool parser_implementation(struct parser *parser);
bool parser_call(struct parser *parser, enum convention convention);
/* Whether the parameters fit the arguments; `offset` is the position of the call. */
bool parser_error_clause(struct parser *parser);
bool parser_note_clause(struct parser *parser);
bool parser_success_clause(struct parser *parser);
/* Reads a quoted text with its {expressions} (problem.c). */
bool parser_message(struct parser *parser, enum usage usage, struct failure_text *message);
/* Read command "PROGRAM" "word" ... / file, stdin, stdout ARGUMENT [format] / limit "10 s"
 * (problem_command.c). `file` and `limit` also apply to routines with files. */
bool parser_command(struct parser *parser);
bool parser_command_file(struct parser *parser, enum command_stream stream);
bool parser_limit(struct parser *parser);
/* Read parallel (fortran | c) ..., spread NAME {, NAME} (rows | columns) of NAME, suits EXPRESSION
 * (problem_parallel.c). */
bool parser_parallel(struct parser *parser);
bool parser_spread(struct parser *parser);
bool parser_suits(struct parser *parser);
/* Reads desc(A), into(A), leading(A), when the current token is the word: fills in the argument. */
bool parser_of_matrix(struct parser *parser, struct call_parameter *parameter);
/* Reads desc(A), into(A), communicator, context among the parameters of a parallel call, when the current
 * token is one of these words. */
bool parser_parallel_parameter(struct parser *parser, struct call_parameter *parameter, bool *found);
/* Completes the parallel implementation being read, if it is one. */
bool parser_end_parallel(struct parser *parser);
/* Gives each file of the routine being read its name in its folder. */
bool parser_name_files(struct parser *parser);
/* Completes the command of the implementation being read, if it is one. */
bool parser_end_command(struct parser *parser);
/* Ends the implementation being read, if any. */
bool parser_end_implementation(struct parser *parser);

/* Reads the lines up to the end of the text, and ends the problem being read, if any. */
bool parser_read_clauses(struct parser *parser);
bool parser_end_problem(struct parser *parser);

/* Copies n items of `size` bytes into the arena. NULL with *error filled; n may be 0. */
void *parser_keep(struct parser *parser, const void *items, size_t n, size_t size);

/* Fills problem->source and digest. */
bool parser_write_source(struct parser *parser);

/* Reads one text into a parser whose file and arena are set; appends its problems. */
bool parser_read(struct parser *parser, const char *text, size_t length, struct esp_error *error);
/* After an error: parser_can_resume() says whether another problem follows, parser_resume() continues
 * reading there. Problems before the error are kept. */
bool parser_can_resume(const struct parser *parser);
bool parser_resume(struct parser *parser);

#endif
