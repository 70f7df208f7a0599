/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the parser of problem descriptions: what its files share.
 *
 * A clause is one row in the table of problem_parse.c; functions return false with *error filled.
 */
#ifndef CORE_PROBLEM_PARSER_H
#define CORE_PROBLEM_PARSER_H

#include "core/problem/expr.h"
#include "core/problem/problem_callback.h"
#include "core/problem/problem_family.h"
#include "core/problem/problem_parallel.h"

#define MAX_TITLE           200
#define MAX_MESSAGE         1000
#define N_TYPES             (TYPE_STATE + 1) /* that have words of their own */
#define MAX_PRECONDITIONS   64
#define MAX_IMPLEMENTATIONS 16
#define MAX_ERROR_CLAUSES   64
#define MAX_EMBEDDED        16
#define MAX_COMMAND_FILES   (2 * PROBLEM_MAX_ARGUMENTS)

/* Where an expression stands decides which names it may use. */
enum usage {
    USAGE_DIMENSION,
    USAGE_DEFAULT, /* of the argument `owner`: names declared before it */
    USAGE_REQUIRE,
    USAGE_COST,
    USAGE_UNREAD, /* complex inputs too: numbers where their imaginary part is 0 */
    USAGE_CALL,
    USAGE_COUNT, /* scalar outputs too */
    USAGE_ERROR  /* results and output scalars too */
};

/* An expression of the signature whose names wait until all arguments are declared. */
struct pending {
    struct pending *next;
    struct expr *names;
    enum usage usage;
    uint32_t owner;
};

/* A callback of the problem being read, until all arguments of the problem are declared. */
struct callback_draft {
    struct problem *problem;
    const struct pending *names;                 /* in its sizes, that are none of its own arguments */
    uint32_t outer[CALLBACK_MAX_OUTER], n_outer; /* the problem's arguments that these are */
};

struct parser {
    struct lexer lexer;
    struct arena *arena;
    const char *file;   /* in the arena */
    const char *folder; /* of the file; in the arena */

    struct problem **problems; /* growing, malloc'd */
    size_t n_problems, size_problems;

    uint32_t resumed;            /* where parser_resume() went on last */
    const struct family *family; /* whose member is being read, or NULL */

    /* The problem being read. */
    struct problem *problem;
    struct abstract *abstract; /* its rules, if it is abstract, or NULL */
    unsigned clause_line[48];  /* by row of the clause table: where it was given, 0: not yet */
    unsigned cost_line;        /* of its `work` that tells the cost */
    struct pending *pending, **last_pending;
    struct argument arguments[PROBLEM_MAX_ARGUMENTS];
    struct callback_draft callbacks[PROBLEM_MAX_ARGUMENTS]; /* by argument */
    /* Where names stand whose mistakes are found when the problem is complete. */
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
    struct spread spreads[PROBLEM_MAX_ARGUMENTS]; /* of a parallel one */
    uint32_t parallel_offset;                     /* where its call is */

    char scratch[PROBLEM_MAX_TEXT]; /* its texts until the signature is complete, then its source */
    size_t text_length;
};

/* The type named at the lexer's token; false without an error when there is none. */
bool parser_type(struct parser *parser, enum base_type *type, bool *found);

/* A name that an argument or result may have. The lexer stands behind it afterwards. */
bool parser_name(struct parser *parser, const char *what, const char **name);

/* Reads an expression of the signature; its names are resolved by parser_resolve_pending(). */
bool parser_expression(struct parser *parser, enum usage usage, struct expr **expr);
/* Names of the signature that are resolved when all arguments are declared. */
bool parser_postpone(struct parser *parser, struct expr *names, enum usage usage);
bool parser_resolve_pending(struct parser *parser);
/* What is only known when all arguments are declared and all names have their meaning. */
bool parser_check_arguments(struct parser *parser);
/* Constants that no call could use, and shapes that contradict what is said of a matrix. All names have their
 * meaning already. */
bool parser_check_constants(struct parser *parser);
/* The same of one expression whose value is stored as `type`. */
bool parser_check_value(struct parser *parser, const struct expr *expr, enum base_type type);
/* The constant parts of an expression must have values: n/0 has none, whatever n is. */
bool parser_check_parts(struct parser *parser, const struct expr *expr);
/* The same of an expression inside a text, which `inner` has read (lexer_open_inner()). */
bool parser_check_inner(struct parser *parser, const struct lexer *inner, const struct expr *expr);
/* The same of a condition, which must not be a constant that never holds; `then`: what that would mean. */
bool parser_check_condition(struct parser *parser, const struct expr *condition, const char *then);
/* Gives names their index now. `lexer` is where messages point to. */
bool parser_resolve(struct parser *parser, struct lexer *lexer, struct expr *names, enum usage usage,
                    uint32_t owner);

/* Fails where the lexer stands on a word that is no type: what is meant, if other languages have it. */
bool parser_unknown_type(const struct lexer *lexer);
/* Fails where a declaration goes on as those of other languages do: behind the type with a '*'; behind the
 * name with extents in parentheses, or as DOUBLE PRECISION. */
bool parser_check_sign(const struct lexer *lexer, enum base_type type);
bool parser_check_brackets(const struct lexer *lexer, const struct argument *argument);

/* mode TYPE name[dims] ..., ...; the lexer stands on the type. */
bool parser_declare(struct parser *parser, enum argument_mode mode);

/* Makes the problem being read an abstract one (core/problem/abstract.h). */
bool parser_begin_abstract(struct parser *parser);
/* STEP {then STEP} [when ...], behind `take` or `try`. */
bool parser_rule(struct parser *parser, bool may_fail);
/* Behind `or`: take or try, and the rule. */
bool parser_rival(struct parser *parser);
/* When its signature is complete. */
bool parser_check_abstract(struct parser *parser);

/* One declaration behind its type. */
bool parser_argument(struct parser *parser, enum argument_mode mode, enum base_type type);
/* Whether no argument of the problem has the name yet, which stands at `offset`. */
bool parser_new_name(struct parser *parser, const char *name, uint32_t offset);
/* The text behind a declaration, or "". */
bool parser_argument_text(struct parser *parser, struct argument *argument);
/* callback [TYPE] NAME(in TYPE name, ...) "text"; the lexer stands behind the keyword. */
bool parser_callback(struct parser *parser);
/* When all arguments of the problem are declared: names in the sizes of its callbacks that are none of theirs
 * are the problem's. Writes the sources of the callbacks. */
bool parser_end_callbacks(struct parser *parser);

/* packed, banded, csc, csr, index, signed-index, count, unread or triangle behind the dimensions, when the
 * lexer stands on one of these words. */
bool parser_storage(struct parser *parser, struct argument *argument, bool *found);
bool parser_check_storage(struct parser *parser, uint32_t index);
/* The words that parser_storage() knows. */
extern const char *const parser_storage_words[];
#define N_STORAGE_WORDS 9

/* A X = B [giving X = NAME] [transposed NAME] [times NAME] [right EXPRESSION] [within EXPRESSION]
 * [where EXPRESSION], behind `solves` or `fits` (problem_solves.c); and its check, when all arguments are
 * declared. */
bool parser_solves(struct parser *parser, bool fits);
bool parser_check_solves(struct parser *parser);

/* implementation NAME / [result =] symbol(parameters) in library / error condition "message";
 * the lexer stands behind the keyword. */
bool parser_implementation(struct parser *parser);
bool parser_call(struct parser *parser, enum convention convention);
/* Whether the parameters that were read fit the arguments; `offset` is of the call. */
bool parser_error_clause(struct parser *parser);
bool parser_note_clause(struct parser *parser);
bool parser_success_clause(struct parser *parser);
/* The text at the lexer's token, which is one in quotes, with its {expressions} (problem.c). */
bool parser_message(struct parser *parser, enum usage usage, struct failure_text *message);
/* command "PROGRAM" "word" ... / file, stdin, stdout ARGUMENT [format] / limit "10 s" (problem_command.c).
 * `file` and `limit` are for routines with files, too. */
bool parser_command(struct parser *parser);
bool parser_command_file(struct parser *parser, enum command_stream stream);
bool parser_limit(struct parser *parser);
/* parallel (fortran | c) ..., spread NAME {, NAME} (rows | columns) of NAME, suits EXPRESSION
 * (problem_parallel.c). */
bool parser_parallel(struct parser *parser);
bool parser_spread(struct parser *parser);
bool parser_suits(struct parser *parser);
/* desc(A), into(A), leading(A), when the lexer stands on the word: fills in the argument. */
bool parser_of_matrix(struct parser *parser, struct call_parameter *parameter);
/* desc(A), into(A), communicator, context among the parameters of a parallel call, when the lexer stands on
 * one. */
bool parser_parallel_parameter(struct parser *parser, struct call_parameter *parameter, bool *found);
/* Completes the parallel implementation being read, when it is one. */
bool parser_end_parallel(struct parser *parser);
/* Gives each file of the routine being read the name that it has in its folder. */
bool parser_name_files(struct parser *parser);
/* Completes the command of the implementation being read, when it is one. */
bool parser_end_command(struct parser *parser);
/* Ends the implementation being read, if any. */
bool parser_end_implementation(struct parser *parser);

/* The lines up to the end of the text, and the end of the problem being read, if any. */
bool parser_read_clauses(struct parser *parser);
bool parser_end_problem(struct parser *parser);

/* Copies n items of `size` bytes into the arena. NULL with *error filled; n may be 0. */
void *parser_keep(struct parser *parser, const void *items, size_t n, size_t size);

/* Fills problem->source and digest. */
bool parser_write_source(struct parser *parser);

/* Reads one text into a parser whose file, arena are set; problems are appended. */
bool parser_read(struct parser *parser, const char *text, size_t length, struct esp_error *error);
/* After a mistake: whether another problem begins behind it, and reading on there. Problems before the
 * mistake are kept. */
bool parser_can_resume(const struct parser *parser);
bool parser_resume(struct parser *parser);

#endif
