/* SPDX-License-Identifier: Apache-2.0
 *
 * Generates the text of a family for one member, with the origin of each piece. */
#include "core/problem/problem_family.h"

#include <stdlib.h>
#include <string.h>

/* The source, and the position in it. */
struct speller {
    struct spelling *spelling;
    const struct family *family;
    const struct lexer *lexer;
    const char *text; /* the source */
    bool within_text; /* between double quotes */
};

static bool spell(struct speller *speller, uint32_t from, uint32_t to);

static bool add_span(struct speller *speller, uint32_t source, bool literal)
{
    struct spelling *spelling = speller->spelling;
    if (spelling->n_spans == spelling->size_spans) {
        size_t size = spelling->size_spans ? 2 * spelling->size_spans : 64;
        struct lexer_span *larger = realloc(spelling->spans, size * sizeof *larger);
        if (!larger)
            return lexer_no_memory(speller->lexer);
        spelling->spans = larger;
        spelling->size_spans = size;
    }
    spelling->spans[spelling->n_spans++] =
        (struct lexer_span){.offset = (uint32_t)spelling->length, .source = source, .literal = literal};
    return true;
}

static bool add_bytes(struct speller *speller, uint32_t source, const char *bytes, size_t n)
{
    struct spelling *spelling = speller->spelling;
    if (spelling->length + n > PROBLEM_MAX_TEXT)
        return lexer_fail(speller->lexer, source, "the description of one problem has at most %d bytes",
                          PROBLEM_MAX_TEXT);
    if (spelling->length + n > spelling->size) {
        size_t size = 2 * spelling->size + n + 1024;
        char *larger = realloc(spelling->text, size);
        if (!larger)
            return lexer_no_memory(speller->lexer);
        spelling->text = larger;
        spelling->size = size;
    }
    memcpy(spelling->text + spelling->length, bytes, n);
    spelling->length += n;
    return true;
}

static bool copy(struct speller *speller, uint32_t from, uint32_t n)
{
    return n == 0 || (add_span(speller, from, true) && add_bytes(speller, from, speller->text + from, n));
}

static bool begins_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '{';
}

/* Replaces `?`; inside a text only in front of a word, because a question ends with a question mark. */
static bool spell_letter(struct speller *speller, uint32_t at, uint32_t to)
{
    if (speller->within_text && (at + 1 >= to || !begins_word(speller->text[at + 1])))
        return copy(speller, at, 1);
    const char *name = speller->family->members[speller->family->present].name;
    return add_span(speller, at, false) && add_bytes(speller, at, name, strlen(name));
}

/* One {a, b, c} of the source. */
struct choice {
    uint32_t end;      /* after the closing brace */
    uint32_t from, to; /* the present member's word */
    unsigned n;        /* words */
};

/* Finds a choice. False when there is no closing brace on the line, or no comma in between. A comma within
 * parentheses separates operands of a function. */
static bool find_choice(const struct speller *speller, uint32_t at, uint32_t to, struct choice *choice)
{
    unsigned depth = 0;
    uint32_t word = at + 1;
    *choice = (struct choice){0};
    for (uint32_t i = at + 1; i < to; i++) {
        char c = speller->text[i];
        if (c == '\n' || c == '{' || (c == '"' && speller->within_text))
            return false;
        depth += c == '(' || c == '[';
        depth -= (c == ')' || c == ']') && depth > 0;
        if ((c != ',' || depth > 0) && c != '}')
            continue;
        if (choice->n == speller->family->present) {
            choice->from = word;
            choice->to = i;
        }
        choice->n++;
        word = i + 1;
        if (c != '}')
            continue;
        choice->end = i + 1;
        return choice->n > 1;
    }
    return false;
}

static bool spell_choice(struct speller *speller, uint32_t at, const struct choice *choice)
{
    const struct family *family = speller->family;
    if (choice->n != family->n_members)
        return lexer_fail(speller->lexer, at,
                          "expected %u words in braces, one for each member of the family, found %u",
                          family->n_members, choice->n);
    uint32_t from = choice->from, to = choice->to;
    while (from < to && speller->text[from] == ' ')
        from++;
    while (to > from && speller->text[to - 1] == ' ')
        to--;
    return spell(speller, from, to);
}

/* Returns the length of a piece that is copied unchanged: a comment, a character, an escape. 0: there is
 * none. */
static uint32_t plain_length(const struct speller *speller, uint32_t at, uint32_t to)
{
    const char *text = speller->text + at;
    uint32_t left = to - at;
    if (speller->within_text)
        return left > 1 && (*text == '\\' || ((*text == '{' || *text == '}') && text[1] == *text)) ? 2 : 0;
    if (*text == '\'' && left > 2 && text[2] == '\'')
        return 3;
    if (*text != '#')
        return 0;
    const char *end = memchr(text, '\n', left);
    return end ? (uint32_t)(end - text) : left;
}

static bool spell(struct speller *speller, uint32_t from, uint32_t to)
{
    uint32_t copied = from;
    for (uint32_t at = from; at < to;) {
        char c = speller->text[at];
        uint32_t plain = plain_length(speller, at, to);
        struct choice choice;
        bool chosen = plain == 0 && c == '{' && find_choice(speller, at, to, &choice);
        if (!chosen && (plain || c != '?')) {
            if (plain == 0 && c == '"')
                speller->within_text = !speller->within_text;
            at += plain ? plain : 1;
            continue;
        }
        if (!copy(speller, copied, at - copied) ||
            !(chosen ? spell_choice(speller, at, &choice) : spell_letter(speller, at, to)))
            return false;
        at = copied = chosen ? choice.end : at + 1;
    }
    return copy(speller, copied, to - copied);
}

bool spelling_make(struct spelling *spelling, const struct family *family, const struct lexer *lexer,
                   uint32_t from, uint32_t to)
{
    *spelling = (struct spelling){0};
    struct speller speller = {.spelling = spelling, .family = family, .lexer = lexer, .text = lexer->text};
    return spell(&speller, from, to);
}

void spelling_clear(struct spelling *spelling)
{
    free(spelling->text);
    free(spelling->spans);
    *spelling = (struct spelling){0};
}
