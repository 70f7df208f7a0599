/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that tell a caller what is wrong: `error info > 0 "U({info},{info}) is exactly zero"`.
 */
#include "core/problem/problem_parser.h"
#include "util/text.h"

#include <inttypes.h>
#include <string.h>

/* Those of the signature are resolved when all arguments are known, and their mistakes are told where the
 * text begins: the text has been taken apart by then. */
static bool resolve(struct parser *parser, struct lexer *inner, struct expr *names, enum usage usage,
                    uint32_t offset)
{
    if (usage == USAGE_ERROR)
        return parser_resolve(parser, inner, names, usage, 0);
    for (struct expr *name = names; name; name = name->next_name)
        name->offset = offset;
    return parser_postpone(parser, names, usage);
}

/* One {expression}; *at stands behind the brace and moves behind the closing one. */
static bool read_value(struct parser *parser, enum usage usage, const char **at, uint32_t offset,
                       struct expr **expr)
{
    const char *end = strchr(*at, '}');
    if (!end)
        return lexer_fail(&parser->lexer, offset, "'{' without '}' in a message (write {{ for a brace)");
    struct lexer inner;
    struct name_list names = {.last = &names.first};
    if (!lexer_open_inner(&inner, *at, (size_t)(end - *at), &parser->lexer, offset) ||
        !expr_read(&inner, parser->arena, &names, expr))
        return false;
    if (inner.token.kind != TOKEN_END)
        return lexer_expected(&inner, "an operator or '}'", NULL);
    *at = end + 1;
    return parser_check_inner(parser, &inner, *expr) && resolve(parser, &inner, names.first, usage, offset);
}

bool parser_message(struct parser *parser, enum usage usage, struct failure_text *message)
{
    uint32_t offset = parser->lexer.token.offset;
    struct expr *values[MAX_EMBEDDED];
    uint32_t n = 0;
    if (parser->lexer.token.length - 2 > MAX_MESSAGE)
        return lexer_fail(&parser->lexer, offset, "a text here has at most %d bytes, this one has %u",
                          MAX_MESSAGE, parser->lexer.token.length - 2);
    if (!(message->text = lexer_token_text(&parser->lexer, parser->arena)))
        return false;
    for (const char *at = message->text; *at;) {
        char c = *at++;
        if ((c == '{' || c == '}') && *at == c) {
            at++;
        } else if (c == '}') {
            return lexer_fail(&parser->lexer, offset, "'}' without '{' in a message (write }} for a brace)");
        } else if (c == '{') {
            if (n == MAX_EMBEDDED)
                return lexer_fail(&parser->lexer, offset, "a message has at most %d expressions",
                                  MAX_EMBEDDED);
            if (!read_value(parser, usage, &at, offset, &values[n++]))
                return false;
        }
    }
    message->n_values = n;
    message->values = parser_keep(parser, values, n, sizeof *values);
    return message->values && lexer_advance(&parser->lexer);
}

/* ---- telling ---- */

static void write_value(struct text *text, const struct expr *expr, const struct scope *scope)
{
    struct number value;
    if (!scope)
        text_put(text, expr_text(expr));
    else if (expr_eval(expr, scope, &value, NULL) != ESP_OK)
        text_put(text, "?");
    else if (value.kind == NUMBER_REAL)
        text_printf(text, "%g", value.real);
    else if (expr->kind == EXPR_NAME && expr->names_character && value.integer > ' ' && value.integer < 0x7f)
        text_printf(text, "%c", (int)value.integer);
    else
        text_printf(text, "%" PRId64, value.integer);
}

void problem_failure_text(const struct failure_text *failure, const struct scope *scope, char *text,
                          size_t size)
{
    struct text writer;
    text_open(&writer, text, size);
    uint32_t n = 0;
    for (const char *at = failure->text; at && *at; at++) {
        bool doubled = (*at == '{' || *at == '}') && at[1] == *at;
        if (*at != '{' || doubled) {
            text_put_bytes(&writer, at, 1);
            at += doubled;
            continue;
        }
        write_value(&writer, failure->values[n++], scope);
        at = strchr(at, '}');
    }
}
