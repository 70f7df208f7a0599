/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame of a family: who its members are, where its text ends, and reading it once for each.
 */
#include "core/problem/problem_parser.h"

#include <stdio.h>
#include <string.h>

enum base_type family_type(const struct family *family, bool real)
{
    enum base_type type = family->members[family->present].type;
    if (!real)
        return type;
    return type == TYPE_COMPLEX ? TYPE_FLOAT : type == TYPE_DOUBLE_COMPLEX ? TYPE_DOUBLE : type;
}

/* To the word `for` of the line, behind the name of the problem. */
static bool find_for(struct lexer *lexer)
{
    if (!lexer_advance(lexer))
        return false;
    while (!lexer_at_line_end(lexer) && lexer->token.kind != TOKEN_STRING) {
        if (!lexer_advance(lexer))
            return false;
        if (lexer_at_name(lexer, "for"))
            return true;
    }
    return false;
}

bool family_is_here(const struct lexer *lexer)
{
    struct lexer ahead = *lexer;
    struct esp_error unused;
    ahead.error = &unused;
    return find_for(&ahead);
}

/* What LAPACK's letters stand for. */
static bool well_known_type(const char *name, enum base_type *type)
{
    static const struct {
        const char *name;
        enum base_type type;
    } letters[] = {{"s", TYPE_FLOAT}, {"d", TYPE_DOUBLE}, {"c", TYPE_COMPLEX}, {"z", TYPE_DOUBLE_COMPLEX}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].name, name) == 0) {
            *type = letters[i].type;
            return true;
        }
    return false;
}

/* NAME [type] */
static bool read_member(struct parser *parser, struct family *family)
{
    struct lexer *lexer = &parser->lexer;
    const struct token *token = &lexer->token;
    uint32_t offset = token->offset;
    if (token->kind != TOKEN_NAME)
        return lexer_expected(lexer, "a member of the family, as in: for s, d, c, z", NULL);
    if (token->length > MAX_MEMBER_NAME)
        return lexer_fail(lexer, offset, "the name of a member has at most %d characters, this one has %u",
                          MAX_MEMBER_NAME, token->length);
    if (family->n_members == MAX_MEMBERS)
        return lexer_fail(lexer, offset, "a family has at most %d members", MAX_MEMBERS);
    struct member *member = &family->members[family->n_members];
    memcpy(member->name, lexer->text + offset, token->length);
    member->name[token->length] = 0;
    for (unsigned i = 0; i < family->n_members; i++)
        if (strcmp(family->members[i].name, member->name) == 0)
            return lexer_fail(lexer, offset, "the family has a member '%s' already", member->name);
    bool is_type;
    if (!lexer_advance(lexer) || !parser_type(parser, &member->type, &is_type))
        return false;
    if (!is_type && !well_known_type(member->name, &member->type))
        return lexer_fail(lexer, offset,
                          "the member '%s' needs a type, as in: %s double (s, d, c and z have theirs)",
                          member->name, member->name);
    if (base_type_is_variable(member->type))
        return lexer_fail(lexer, offset, "the type of a member is a number, not a %s",
                          base_type_name(member->type));
    family->n_members++;
    return true;
}

static bool read_members(struct parser *parser, struct family *family)
{
    struct lexer *lexer = &parser->lexer;
    family->n_members = 0;
    do
        if (!lexer_advance(lexer) || !read_member(parser, family))
            return false;
    while (lexer_at_symbol(lexer, ','));
    return lexer->token.kind == TOKEN_STRING ||
           lexer_expected(lexer, "',' or the title of the problem in quotes", NULL);
}

/* To the next problem, or the end. */
static bool skip_family(struct lexer *lexer)
{
    while (lexer->token.kind != TOKEN_END) {
        bool new_line = lexer->token.kind == TOKEN_NEWLINE;
        if (!lexer_advance(lexer))
            return false;
        if (new_line && (lexer_at_name(lexer, "problem") || lexer_at_name(lexer, "abstract")))
            break;
    }
    return true;
}

static bool read_spelt_out(struct parser *parser, const struct lexer *source, struct lexer_origin *origin,
                           unsigned line, const struct spelling *spelling)
{
    origin->spans = spelling->spans;
    origin->n_spans = spelling->n_spans;
    return lexer_open_spelt(&parser->lexer, spelling->text, spelling->length, source, origin, line) &&
           parser_read_clauses(parser) && parser_end_problem(parser);
}

/* Its members' names would all be the same. `begin` stands on the word before the name, `end` behind it. */
static bool name_differs(const struct lexer *begin, uint32_t end)
{
    struct lexer name = *begin;
    for (uint32_t i = begin->token.offset; i < end; i++)
        if (begin->text[i] == '?' || begin->text[i] == '{')
            return true;
    return lexer_advance(&name) &&
           lexer_fail(
               &name, name.token.offset,
               "the name of a family has a place for that of its members: problem ?gesv for s, d, c, z");
}

bool parser_family(struct parser *parser)
{
    struct lexer begin = parser->lexer;
    struct family family;
    if (!find_for(&parser->lexer))
        return false;
    uint32_t name_end = parser->lexer.token.offset;
    if (!read_members(parser, &family) || (family.n_members > 1 && !name_differs(&begin, name_end)) ||
        !skip_family(&parser->lexer))
        return false;
    struct lexer end = parser->lexer;
    parser->family = &family;
    bool read = true;
    for (family.present = 0; read && family.present < family.n_members; family.present++) {
        struct spelling spelling;
        struct lexer_origin origin = {.member = family.members[family.present].name};
        read = spelling_make(&spelling, &family, &begin, begin.token.offset, end.token.offset) &&
               read_spelt_out(parser, &begin, &origin, begin.token.line, &spelling);
        spelling_clear(&spelling);
    }
    parser->family = NULL;
    parser->lexer = end;
    return read;
}

static bool unknown_member(struct parser *parser)
{
    const struct family *family = parser->family;
    const char *words[MAX_MEMBERS];
    char what[40 + MAX_MEMBERS * (MAX_MEMBER_NAME + 4)] = "a member of the family (";
    size_t length = strlen(what);
    for (unsigned i = 0; i < family->n_members; i++) {
        words[i] = family->members[i].name;
        length += (size_t)snprintf(what + length, sizeof what - length, "%s%s", i ? ", " : "", words[i]);
    }
    snprintf(what + length, sizeof what - length, ")");
    return lexer_expected_word(&parser->lexer, what, words, family->n_members);
}

bool parser_when(struct parser *parser, bool *holds)
{
    struct lexer *lexer = &parser->lexer;
    const struct family *family = parser->family;
    *holds = false;
    do {
        if (!lexer_advance(lexer))
            return false;
        unsigned i = 0;
        while (i < family->n_members && !lexer_at_name(lexer, family->members[i].name))
            i++;
        if (i == family->n_members)
            return unknown_member(parser);
        *holds = *holds || i == family->present;
        if (!lexer_advance(lexer))
            return false;
    } while (lexer_at_name(lexer, "or"));
    return lexer_take_symbol(lexer, ':', "'or' or ':'");
}
