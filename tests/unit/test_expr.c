/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/problem/expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *const names[] = {"n", "m", "x", "unset"};
#define N_NAMES 4
static struct number values[N_NAMES] = {
    {.kind = NUMBER_INTEGER, .integer = 5},
    {.kind = NUMBER_INTEGER, .integer = -3},
    {.kind = NUMBER_REAL, .real = 2.5},
    {.kind = NUMBER_UNKNOWN},
};
static const struct scope scope = {values, N_NAMES};

static struct expr *parse(struct arena *arena, const char *text)
{
    struct expr *expr = NULL;
    struct esp_error error;
    if (expr_parse(text, names, N_NAMES, arena, &expr, &error) != ESP_OK)
        fail_msg("%s: %s", text, error.text);
    return expr;
}

/* The value as text: integers plain, reals with a point. */
static void show(const char *text, char *shown, size_t size)
{
    struct arena arena = {0};
    struct number value;
    struct esp_error error;
    if (expr_eval(parse(&arena, text), &scope, &value, &error) != ESP_OK)
        snprintf(shown, size, "%s", error.text);
    else if (value.kind == NUMBER_INTEGER)
        snprintf(shown, size, "%" PRId64, value.integer);
    else
        snprintf(shown, size, "%#.6g", value.real);
    arena_clear(&arena);
}

static void gives_the_value_that_the_reader_expects(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
    } rows[] = {
        {"1 + 2*3", "7"},
        {"(1 + 2)*3", "9"},
        {"10 - 3 - 2", "5"},
        {"2^3^2", "512"},
        {"-2^2", "-4"},
        {"(-2)^2", "4"},
        {"2^-1", "0.500000"},
        {"2*-3", "-6"},
        {"- -3", "3"},
        {"6/3", "2"},
        {"7/2", "3.50000"},
        {"2/3*n^3", "83.3333"},
        {"7 % 3", "1"},
        {"-7 % 3", "-1"},
        {"12/2*3", "18"},
        {"n + m", "2"},
        {"x*2", "5.00000"},
        {"1.5e2", "150.000"},
        {".5", "0.500000"},
        {"n > 3 and m < 0", "1"},
        {"n > 3 and m > 0", "0"},
        {"n < 3 or m < 0", "1"},
        {"not n == 5", "0"},
        {"not n == 5 or 1 == 1", "1"},
        {"1 == 1 or 1 == 0 and 1 == 0", "1"},
        {"n != 5", "0"},
        {"(1 < 2) == (2 < 3)", "1"},
        {"n >= 5", "1"},
        {"n <= 4", "0"},
        {"2.0 == 2", "1"},
        {"max(1, n, 3)", "5"},
        {"min(1, m, 3)", "-3"},
        {"max(1, 2.5)", "2.50000"},
        {"abs(m)", "3"},
        {"abs(-2.5)", "2.50000"},
        {"ceil(7/2)", "4"},
        {"floor(-7/2)", "-4"},
        {"floor(n)", "5"},
        {"floor(1e300)", "1.00000e+300"},
        {"log2(8)", "3.00000"},
        {"exp(1)", "2.71828"},
        {"log(exp(2))", "2.00000"},
        {"sin(0)^2 + cos(0)^2", "1.00000"},
        {"tan(4*atan(1)/4)", "1.00000"},
        {"sqrt(16)", "4.00000"},
        {"if(n == 5, 10, 1/0)", "10"},
        {"if(n == 4, 1/0, 20)", "20"},
        {"is('n', 'T', 'N')", "1"},
        {"is('N', 'n')", "1"},
        {"is('X', 'T', 'N')", "0"},
        {"is('[', '{')", "0"},
        {"is(x, 2.5)", "is(x, 2.5): is() wants characters with x = 2.5"},
        {"is(unset, 'N')", "is(unset, 'N'): unset is not known"},
        {"n == 4 and 1/0 > 0", "0"},
        {"n == 5 or unset", "1"},
        {"'U' == 85", "1"},
        {"0^0", "1"},
        {"(-1)^9223372036854775807", "-1"},
        {"1^9223372036854775807", "1"},
        {"0^9223372036854775807", "0"},
        {"(-9223372036854775807 - 1) % -1", "0"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775807 + 1", "9223372036854775807 + 1: the result overflows a 64-bit integer"},
        {"-9223372036854775807 - 2", "-9223372036854775807 - 2: the result overflows a 64-bit integer"},
        {"n*4611686018427387904", "n*4611686018427387904: the result overflows a 64-bit integer with n = 5"},
        {"(-9223372036854775807 - 1)/-1",
         "(-9223372036854775807 - 1)/-1: the result overflows a 64-bit integer"},
        {"-(-9223372036854775807 - 1)", "-(-9223372036854775807 - 1): the result overflows a 64-bit integer"},
        {"abs(-9223372036854775807 - 1)",
         "abs(-9223372036854775807 - 1): the result overflows a 64-bit integer"},
        {"2^63", "2^63: the result overflows a 64-bit integer"},
        {"1/0", "1/0: division by zero"},
        {"n % 0", "n % 0: division by zero with n = 5"},
        {"x/(n - 5)", "x/(n - 5): division by zero with x = 2.5, n = 5"},
        {"0^-1", "0^-1: division by zero"},
        {"x % 2", "x % 2: '%' wants integers with x = 2.5"},
        {"unset + 1", "unset + 1: unset is not known"},
        {"n + unset", "n + unset: unset is not known with n = 5"},
        {"log2(0)", "log2(0): log2() wants a number > 0"},
        {"log(0)", "log(0): the result is not a finite number"},
        {"exp(1000)", "exp(1000): the result is not a finite number"},
        {"sqrt(m)", "sqrt(m): sqrt() wants a number >= 0 with m = -3"},
        {"1e308*10", "1e308*10: the result is not a finite number"},
        {"(-8)^0.5", "(-8)^0.5: the result is not a finite number"},
    };
    char shown[sizeof(struct esp_error)];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        show(rows[i].text, shown, sizeof shown);
        if (strcmp(shown, rows[i].value) != 0)
            fail_msg("%s: expected %s, found %s", rows[i].text, rows[i].value, shown);
    }
}

static void a_size_is_an_integer_not_below_zero(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct esp_error error;
    int64_t size;
    assert_int_equal(expr_eval_size(parse(&arena, "n + 1"), &scope, &size, &error), ESP_OK);
    assert_int_equal(size, 6);
    assert_int_equal(expr_eval_size(parse(&arena, "m - 1"), &scope, &size, &error), ESP_INVALID);
    assert_string_equal(error.text, "m - 1: expected a size >= 0, found -4 with m = -3");
    assert_int_equal(expr_eval_size(parse(&arena, "n/2"), &scope, &size, &error), ESP_INVALID);
    assert_string_equal(error.text, "n/2: expected an integer, found 2.5 with n = 5");
    arena_clear(&arena);
}

static void a_cost_goes_on_beyond_64_bits(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct esp_error error;
    double cost;
    assert_int_equal(expr_eval_real(parse(&arena, "2/3*(1000000*n)^3"), &scope, &cost, &error), ESP_OK);
    assert_true(fabs(cost / (2.0 / 3 * 125e18) - 1) < 1e-12);
    assert_int_equal(expr_eval_real(parse(&arena, "1/0"), &scope, &cost, &error), ESP_INVALID);
    arena_clear(&arena);
}

static void takes_no_error_at_all(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct number value;
    struct expr *expr;
    assert_int_equal(expr_eval(parse(&arena, "1/0"), &scope, &value, NULL), ESP_INVALID);
    assert_int_equal(expr_parse("1 +", names, N_NAMES, &arena, &expr, NULL), ESP_SYNTAX);
    arena_clear(&arena);
}

static void not_a_number_is_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct number bad[N_NAMES] = {[2] = {.kind = NUMBER_REAL, .real = NAN}};
    const struct scope bad_scope = {bad, N_NAMES};
    struct esp_error error;
    bool truth;
    assert_int_equal(expr_eval_bool(parse(&arena, "x > 0"), &bad_scope, &truth, &error), ESP_INVALID);
    assert_string_equal(error.text, "x > 0: x is not a finite number with x = nan");
    arena_clear(&arena);
}

static void canonical_spelling_keeps_only_needed_parentheses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {"((1))+(2*3)", "1 + 2*3"},
        {"1-(2-3)", "1 - (2 - 3)"},
        {"(1-2)-3", "1 - 2 - 3"},
        {"a", NULL},
        {"(2^3)^2", "(2^3)^2"},
        {"2^(3^2)", "2^3^2"},
        {"(-2)^2", "(-2)^2"},
        {"-(2^2)", "-2^2"},
        {"2^(-n)", "2^-n"},
        {"-(n*m)", "-(n*m)"},
        {"(n and m) or not(x>1)", "n and m or not x > 1"},
        {"n and (m or x)", "n and (m or x)"},
        {"(n<m)==(m<n)", "(n < m) == (m < n)"},
        {"max( 1,n )", "max(1, n)"},
        {"n%2", "n % 2"},
        {"if(n=='U',1,2)", "if(n == 'U', 1, 2)"},
        {"n/(m*x)", "n/(m*x)"},
        {"1.50*n", "1.50*n"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].canonical)
            assert_string_equal(expr_text(parse(&arena, rows[i].text)), rows[i].canonical);
    arena_clear(&arena);
}

static void solves_linear_forms_in_one_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool linear;
        int64_t slope, offset;
    } rows[] = {
        {"unset", true, 1, 0},
        {"unset + 1", true, 1, 1},
        {"2*unset", true, 2, 0},
        {"n*(unset - 1) + 3", true, 5, -2},
        {"-unset", true, -1, 0},
        {"n - unset*2", true, -2, 5},
        {"if(n == 5, unset, 1)", true, 1, 0},
        {"if(n == 4, unset, 1)", false, 0, 0},
        {"unset - unset", false, 0, 0},
        {"unset*unset", false, 0, 0},
        {"unset^1", false, 0, 0},
        {"max(1, unset)", false, 0, 0},
        {"x*unset", false, 0, 0},
        {"n + 1", false, 0, 0},
        {"4611686018427387904*(unset*4)", false, 0, 0},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t index;
        int64_t slope, offset;
        bool linear = expr_is_linear(parse(&arena, rows[i].text), &scope, &index, &slope, &offset);
        if (linear != rows[i].linear)
            fail_msg("%s: expected %d", rows[i].text, rows[i].linear);
        if (linear && (index != 3 || slope != rows[i].slope || offset != rows[i].offset))
            fail_msg("%s: found %" PRId64 "*x + %" PRId64, rows[i].text, slope, offset);
    }
    arena_clear(&arena);
}

/* Random expressions are written with all parentheses and, beside that, evaluated by hand. */
struct random_text {
    char text[4096];
    size_t length;
    uint64_t seed;
};

static unsigned draw(struct random_text *random, unsigned n)
{
    random->seed = random->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random->seed >> 33) % n;
}

static void put(struct random_text *random, const char *piece)
{
    random->length +=
        (size_t)snprintf(random->text + random->length, sizeof random->text - random->length, "%s", piece);
}

static __int128 build(struct random_text *random, unsigned depth)
{
    if (depth == 0 || draw(random, 4) == 0) {
        unsigned which = draw(random, 3);
        char number[16];
        int constant = (int)draw(random, 10);
        snprintf(number, sizeof number, "%d", constant);
        put(random, which == 0 ? "n" : which == 1 ? "m" : number);
        return which == 0 ? 5 : which == 1 ? -3 : constant;
    }
    static const char *const operators[] = {" + ", " - ", "*", " < ", " == ", " and ", " or ", " >= "};
    unsigned which = draw(random, 11);
    if (which >= 8) {
        put(random, which == 8 ? "(-" : which == 9 ? "max(" : "(not ");
        __int128 a = build(random, depth - 1);
        if (which == 9)
            put(random, ", ");
        __int128 b = which == 9 ? build(random, depth - 1) : 0;
        put(random, ")");
        return which == 8 ? -a : which == 9 ? (a > b ? a : b) : !a;
    }
    put(random, "(");
    __int128 a = build(random, depth - 1);
    put(random, operators[which]);
    __int128 b = build(random, depth - 1);
    put(random, ")");
    switch (which) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return a < b;
    case 4:
        return a == b;
    case 5:
        return a && b;
    case 6:
        return a || b;
    default:
        return a >= b;
    }
}

static void random_expressions_agree_with_plain_arithmetic(void **state)
{
    (void)state;
    struct random_text random = {.seed = 20260101};
    for (int round = 0; round < 3000; round++) {
        struct arena arena = {0};
        random.length = 0;
        __int128 wanted = build(&random, 5); /* below 9^32 < 2^127 */
        struct expr *expr = parse(&arena, random.text);
        struct expr *again = parse(&arena, expr_text(expr));
        assert_string_equal(expr_text(again), expr_text(expr));
        struct number value, value_again;
        enum esp_status status = expr_eval(expr, &scope, &value, NULL);
        assert_int_equal(expr_eval(again, &scope, &value_again, NULL), status);
        if (status == ESP_OK) {
            assert_int_equal(value.kind, NUMBER_INTEGER);
            if ((__int128)value.integer != wanted || value_again.integer != value.integer)
                fail_msg("%s (%s)", random.text, expr_text(expr));
        } else if (wanted >= INT32_MIN && wanted <= INT32_MAX && !strchr(random.text, '*')) {
            fail_msg("%s does not overflow", random.text);
        }
        arena_clear(&arena);
    }
}

/* Result of an operator in 128 bits. False: a division by zero, or a result that is no integer. */
static bool exact(char operator, __int128 a, __int128 b, __int128 *result)
{
    const __int128 most = (__int128)1 << 64;
    switch (operator) {
    case '+':
        *result = a + b;
        return true;
    case '-':
        *result = a - b;
        return true;
    case '*':
        *result = a * b;
        return true;
    case '/':
        *result = b ? a / b : 0;
        return b && a % b == 0;
    case '%':
        *result = b ? a % b : 0;
        return b != 0;
    default:
        *result = 1;
        for (__int128 i = 0; i < b && i < 200 && *result<most && * result> - most; i++)
            *result *= a;
        if (b >= 200 && (a == 0 || a == 1 || a == -1))
            *result = a == -1 && b % 2 == 0 ? 1 : a;
        return b >= 0;
    }
}

/* Every operator on every pair of numbers at which something may go wrong. */
static void integers_are_exact_up_to_the_edges(void **state)
{
    (void)state;
    static const int64_t edges[] = {INT64_MIN,
                                    INT64_MIN + 1,
                                    INT64_C(-4294967296),
                                    INT32_MIN,
                                    -64,
                                    -3,
                                    -2,
                                    -1,
                                    0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    62,
                                    63,
                                    64,
                                    INT32_MAX,
                                    INT64_C(3037000499),
                                    INT64_C(3037000500),
                                    INT64_C(4294967296),
                                    INT64_MAX - 1,
                                    INT64_MAX};
    static const char operators[] = "+-*/%^";
    struct arena arena = {0};
    for (size_t o = 0; operators[o]; o++) {
        char text[] = "n ? m";
        text[2] = operators[o];
        struct expr *expr = parse(&arena, text);
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            for (size_t j = 0; j < sizeof edges / sizeof *edges; j++) {
                struct number pair[N_NAMES] = {{.kind = NUMBER_INTEGER, .integer = edges[i]},
                                               {.kind = NUMBER_INTEGER, .integer = edges[j]}};
                const struct scope edge = {pair, N_NAMES};
                struct number found = {.kind = NUMBER_UNKNOWN};
                __int128 wanted;
                bool is_integer = exact(operators[o], edges[i], edges[j], &wanted);
                bool fits = is_integer && wanted >= INT64_MIN && wanted <= INT64_MAX;
                enum esp_status status = expr_eval(expr, &edge, &found, NULL);
                bool right = fits
                                 ? status == ESP_OK && found.kind == NUMBER_INTEGER && found.integer == wanted
                                 : status == ESP_INVALID || (!is_integer && found.kind == NUMBER_REAL);
                if (!right)
                    fail_msg("%" PRId64 " %c %" PRId64 ": status %d, found %" PRId64, edges[i], operators[o],
                             edges[j], status, found.integer);
            }
    }
    arena_clear(&arena);
}

static void wrong_expressions_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "expression:1:1: expected a value, found the end of the file"},
        {"1 +", "expression:1:4: expected a value, found the end of the file"},
        {"1 2", "expression:1:3: expected an operator or the end of the expression, found 2"},
        {"(1", "expression:1:3: expected an operator or ')', found the end of the file"},
        {"1)", "expression:1:2: expected an operator or the end of the expression, found ')'"},
        {"a < b", "expression:1:1: unknown name 'a'"},
        {"N", "expression:1:1: unknown name 'N': did you mean 'n'?"},
        {"unsett", "expression:1:1: unknown name 'unsett': did you mean 'unset'?"},
        {"maks(1)", "expression:1:1: unknown function 'maks': did you mean 'max'?"},
        {"integrate(1)",
         "expression:1:1: unknown function 'integrate': there are min, max, abs, ceil, "
         "floor, log2, sqrt, exp, log, sin, cos, tan, atan, factor_flop, factor_nz, if and is"},
        {"abs(1, 2)", "expression:1:6: abs() takes at most 1 operand"},
        {"if(1, 2)", "expression:1:1: if() takes 3 operands, found 2"},
        {"is(n)", "expression:1:1: is() takes at least 2 operands, found 1"},
        {"max()", "expression:1:5: expected a value, found ')'"},
        {"max + 1", "expression:1:5: expected '(' after the name of a function, found '+'"},
        {"1 < n < 3", "expression:1:7: comparisons do not chain: write a < b and b < c"},
        {"n && m", "expression:1:3: expected an operator, found '&&': write 'and'"},
        {"n || m", "expression:1:3: expected an operator, found '||': write 'or'"},
        {"n ** 2", "expression:1:3: expected an operator, found '**': write '^'"},
        {"n <> 2", "expression:1:3: expected an operator, found '<>': write '!='"},
        {"n = 2", "expression:1:3: expected an operator, found '=': write '==' to compare"},
        {"!n", "expression:1:1: expected a value, found '!': write 'not'"},
        {"1 + not n", "expression:1:5: expected a value, found 'not': put (not ...) in parentheses here"},
        {"and 1", "expression:1:1: expected a value, found 'and'"},
        {"'UL'", "expression:1:1: expected one character between single quotes, as in 'U'"},
        {"99999999999999999999",
         "expression:1:1: the number 99999999999999999999 is too large for a 64-bit integer"},
        {"1e", "expression:1:1: a number with 'e' needs an exponent, as in 1e6"},
        {"1e999", "expression:1:1: the number 1e999 is too large"},
        {"2n", "expression:1:1: a name cannot begin with a digit, and a product is written with *"},
        {"n ; m", "expression:1:3: expected an operator or the end of the expression, found ';'"},
        {"n $ m", "expression:1:3: the character '$' has no meaning here"},
        {"n \x01", "expression:1:3: the byte 0x01 has no meaning outside of texts and comments"},
        {"\"n\"", "expression:1:1: expected a value, found \"n\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct expr *expr;
        struct esp_error error;
        assert_int_equal(expr_parse(rows[i].text, names, N_NAMES, &arena, &expr, &error), ESP_SYNTAX);
        assert_string_equal(error.text, rows[i].message);
        arena_clear(&arena);
    }
}

static void nesting_and_terms_are_bounded(void **state)
{
    (void)state;
    static const char deep[] = "nested more than 64 levels deep";
    static const char many[] = "1:1025: the expression has more than 512 terms (numbers and names)";
    static const struct {
        const char *piece, *last, *why;
        int least;
    } rows[] = {{"(", "1", deep, 63},    {"-", "1", deep, 63},    {"2^", "1", deep, 62},
                {"not ", "1", deep, 63}, {"1+", "1", many, 511},  {"n*", "1", many, 511},
                {"1-", "n", many, 511},  {"n<", "1", "chain", 1}, {"1 or ", "0", "more than 512 terms", 511}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static char text[1 << 20];
        struct arena arena = {0};
        struct expr *expr;
        struct esp_error error;
        text[0] = 0;
        char *at = text;
        for (int n = 0; n < 100000; n++)
            at = stpcpy(at, rows[i].piece);
        strcpy(at, rows[i].last);
        assert_int_equal(expr_parse(text, names, N_NAMES, &arena, &expr, &error), ESP_SYNTAX);
        assert_non_null(strstr(error.text, rows[i].why));
        arena_clear(&arena);
        if (rows[i].piece[0] == '(')
            continue;
        size_t start = strlen(rows[i].piece) * (size_t)(100000 - rows[i].least);
        assert_int_equal(expr_parse(text + start, names, N_NAMES, &arena, &expr, &error), ESP_OK);
        arena_clear(&arena);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gives_the_value_that_the_reader_expects),
    cmocka_unit_test(a_size_is_an_integer_not_below_zero),
    cmocka_unit_test(a_cost_goes_on_beyond_64_bits),
    cmocka_unit_test(takes_no_error_at_all),
    cmocka_unit_test(not_a_number_is_refused),
    cmocka_unit_test(canonical_spelling_keeps_only_needed_parentheses),
    cmocka_unit_test(solves_linear_forms_in_one_unknown),
    cmocka_unit_test(random_expressions_agree_with_plain_arithmetic),
    cmocka_unit_test(integers_are_exact_up_to_the_edges),
    cmocka_unit_test(wrong_expressions_say_what_is_wrong),
    cmocka_unit_test(nesting_and_terms_are_bounded),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
