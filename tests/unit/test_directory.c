/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/directory.h"
#include "services/directory/gather.h"
#include "services/directory/ldif.h"
#include "services/directory/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "dn: ou=grid,dc=x\nobjectClass: organizationalUnit\nou: grid\n\n"

static enum esp_status parse(const char *text, struct directory_tree *tree, const char **base,
                             struct esp_error *error)
{
    *tree = (struct directory_tree){0};
    return ldif_parse(text, strlen(text), "x.ldif", tree, base, error);
}

static void names_are_relative_to_the_first_record(void **state)
{
    (void)state;
    struct directory_tree tree;
    struct esp_error error;
    const char *base;
    assert_int_equal(parse("version: 2\n" HEAD, &tree, &base, &error), ESP_SYNTAX);
    assert_int_equal(
        parse("version: 1\n" HEAD
              "# a remark\ndn: cn=a,ou=Grid,dc=X\ncn: a\ndescription: long\n er\nespalierText:: YQBi\n",
              &tree, &base, &error),
        ESP_OK);
    assert_string_equal(base, "ou=grid,dc=x");
    const struct directory_entry *entry = directory_tree_find(&tree, "CN=A");
    assert_non_null(entry);
    assert_string_equal(directory_value(entry, "Description")->text, "longer");
    assert_int_equal(directory_value(entry, "espalierText")->length, 3);
    assert_memory_equal(directory_value(entry, "espalierText")->text, "a\0b", 3);
    directory_tree_clear(&tree);
}

/* A part of a directory is one, too: what names end in behind a unit of ours is the base. */
static void the_base_needs_no_record_of_its_own(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "dn: cn=a,ou=machines,ou=grid,dc=x\ncn: a\n",
        "dn: ou=machines,ou=Grid,dc=x\nou: machines\n\ndn: cn=a,ou=machines,ou=grid,dc=x\ncn: a\n",
        "dn: cn=m,cn=a,ou=machines,ou=grid,dc=x\ncn: m\n\ndn: cn=a,ou=machines,ou=grid,dc=x\ncn:: YQ\n =="
        "\n\ndn: ou=entries,ou=grid,dc=x\nou: entries\n",
        "dn: cn=a,ou=machines,ou=machines,dc=x\ncn: a\n\ndn: ou=machines,dc=x\nou: machines\n",
        "dn: cn=a,ou=machines,dc=machines,dc=x\ncn: a\n\n" HEAD,
    };
    static const char *const bases[] = {"ou=grid,dc=x", "ou=Grid,dc=x", "ou=grid,dc=x", "ou=machines,dc=x",
                                        NULL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct directory_tree tree;
        struct esp_error error;
        const char *base;
        assert_int_equal(parse(texts[i], &tree, &base, &error), bases[i] ? ESP_OK : ESP_SYNTAX);
        if (!bases[i])
            continue;
        assert_string_equal(base, bases[i]);
        const struct directory_entry *entry = directory_tree_find(&tree, "cn=a,ou=machines");
        assert_non_null(entry);
        assert_string_equal(directory_value(entry, "cn")->text, "a");
        directory_tree_clear(&tree);
    }
}

static void mistakes_are_told_with_their_lines(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "x.ldif: expected entries, found none"},
        {"cn: a\n", "x.ldif:1: expected a record that begins with \"dn: NAME\", found \"cn\""},
        {HEAD "dn: cn=a,dc=y2\ncn: a\n",
         "x.ldif:5: expected a name below the base \"ou=grid,dc=x\", found \"cn=a,dc=y2\""},
        {HEAD "dn: cn=a,my-ou=grid,dc=x\ncn: a\n",
         "x.ldif:5: expected a name below the base \"ou=grid,dc=x\", found \"cn=a,my-ou=grid,dc=x\""},
        {HEAD "dn: cn=a,ou=grid,dc=x\ncn: a\n\ndn: cn=A,ou=grid,dc=x\ncn: A\n",
         "x.ldif:8: expected each name once, found \"cn=A\""},
        {HEAD "dn: cn=a,ou=grid,dc=x\nchangetype: delete\n",
         "x.ldif:5: expected entries, no changes, found \"changetype\""},
        {HEAD "dn: cn=a,ou=grid,dc=x\ncn:: YQB\n",
         "x.ldif:5: expected a whole text in base64 behind \"::\", found \"cn:: YQB\""},
        {HEAD "dn: cn=a,ou=grid,dc=x\ncn:: YQ*i\n",
         "x.ldif:5: expected a whole text in base64 behind \"::\", found \"cn:: YQ*i\""},
        {"dn: cn=a,ou=machines\ncn: a\n",
         "x.ldif: expected names that end in a base, such as \"cn=a,ou=machines,ou=espalier\", found "
         "\"cn=a,ou=machines\""},
        {HEAD "dn: cn=a,ou=grid,dc=x\ncn:< file:///etc/passwd\n",
         "x.ldif:5: expected values in the file itself, found \"cn:< file:///etc/passwd\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct directory_tree tree;
        struct esp_error error = {0};
        const char *base;
        assert_int_equal(parse(wrong[i][0], &tree, &base, &error), ESP_SYNTAX);
        assert_string_equal(error.text, wrong[i][1]);
        assert_int_equal(tree.n, 0);
    }
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    static const char odd[] = " blank first\nand a line, \\ and bytes \x01\xff";
    struct directory_tree tree = {0}, again = {0};
    struct esp_error error;
    const char *base;
    char name[64], path[] = "/tmp/espalier-ldif-XXXXXX";
    close(mkstemp(path));
    assert_int_equal(gather_base(&tree, &error), ESP_OK);
    assert_true(directory_name_make(name, sizeof name, "a, b+c ", "ou=problems"));
    struct directory_entry *entry = directory_tree_entry(&tree, name, &error);
    assert_int_equal(directory_tree_add(&tree, entry, "cn", "a, b+c ", 7, &error), ESP_OK);
    assert_int_equal(directory_tree_add(&tree, entry, "espalierText", odd, sizeof odd - 1, &error), ESP_OK);
    assert_int_equal(ldif_save(&tree, "ou=espalier,dc=x", path, &error), ESP_OK);
    assert_int_equal(ldif_load(path, &again, &base, &error), ESP_OK);
    directory_tree_sort(&again);
    assert_true(directory_tree_digest(&tree) == directory_tree_digest(&again));
    directory_entry_cn(directory_tree_find(&again, name), name, sizeof name);
    assert_string_equal(name, "a, b+c ");
    directory_tree_clear(&tree);
    directory_tree_clear(&again);
    unlink(path);
}

/* The text is cut, also between two entries, where the rest is valid: the other entries would count as
 * deleted. */
static void what_was_cut_is_not_read(void **state)
{
    (void)state;
    struct directory_tree tree = {0}, again = {0};
    struct esp_error error;
    const char *base;
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    assert_int_equal(gather_base(&tree, &error), ESP_OK);
    assert_int_equal(ldif_write(&tree, "ou=espalier", file, &error), ESP_OK);
    fclose(file);
    assert_true(tree.n > 3);
    for (size_t n = 0; n < length; n++) {
        if (ldif_parse(text, n, "x.ldif", &again, &base, &error) == ESP_OK)
            fail_msg("cut at %zu of %zu bytes", n, length);
        assert_int_equal(error.status, ESP_SYNTAX);
    }
    assert_int_equal(ldif_parse(text, length, "x.ldif", &again, &base, &error), ESP_OK);
    assert_int_equal(again.n, tree.n);
    directory_tree_clear(&again);
    directory_tree_clear(&tree);
    free(text);
}

/* LDAP servers escape by digits what we escape by a backslash. */
static void a_name_is_one_however_it_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *read, *name, *cn;
    } names[] = {
        {"cn=\\20lead.esp,ou=descriptions", "cn=\\ lead.esp,ou=descriptions", " lead.esp"},
        {"cn=a\\2C b.esp,ou=descriptions", "cn=a\\, b.esp,ou=descriptions", "a, b.esp"},
        {"cn=\\23a\\5cb=c\\20,ou=problems", "cn=\\#a\\\\b\\=c\\ ,ou=problems", "#a\\b=c "},
        {"cn=\\c3\\A9 \\#\\00\\0a,ou=problems", "cn=\xc3\xa9 #\\00\\0a,ou=problems", NULL},
        {"cn=m+ou=\\6e,ou=problems", "cn=m+ou=n,ou=problems", NULL},
    };
    struct directory_tree tree = {0};
    struct esp_error error;
    char text[64];
    const char *base;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct directory_entry *entry = directory_tree_entry(&tree, names[i].read, &error);
        assert_non_null(entry);
        assert_string_equal(entry->name, names[i].name);
        assert_ptr_equal(directory_tree_find(&tree, names[i].name), entry);
        assert_ptr_equal(directory_tree_find(&tree, names[i].read), entry);
        directory_entry_cn(entry, text, sizeof text);
        if (names[i].cn)
            assert_string_equal(text, names[i].cn);
        if (names[i].cn && directory_name_make(text, sizeof text, names[i].cn, strstr(names[i].name, "ou=")))
            assert_string_equal(text, names[i].name);
    }
    assert_int_equal(tree.n, sizeof names / sizeof *names);
    directory_tree_clear(&tree);
    assert_int_equal(parse(HEAD "dn: cn=a\\2Cb,ou=grid,dc=x\ncn: a\n\ndn: cn=a\\,b,ou=grid,dc=x\ncn: a\n",
                           &tree, &base, &error),
                     ESP_SYNTAX);
    assert_non_null(strstr(error.text, "x.ldif:8: expected each name once"));
}

static unsigned n_named(const struct directory_tree *tree, const char *name)
{
    const struct directory_entry *entry = directory_tree_find(tree, name);
    return entry && strcmp(entry->name, name) == 0;
}

/* A directory has only one of the two: the missing one is reported, for models none. */
static void names_that_differ_in_capitals_only_are_told(void **state)
{
    (void)state;
    static const char text[] = "problem foo \"a\"\n    in int n\n    out double x[n]\n"
                               "implementation c\n    c f(n, x) in /x.so\n"
                               "implementation C\n    c g(n, x) in /x.so\n"
                               "implementation other\n    c h(n, x) in /x.so\n"
                               "problem Foo \"b\"\n    in int n\n    out double x[n]\n"
                               "implementation c\n    c f(n, x) in /x.so\n";
    struct directory_tree tree = {0};
    struct problem_set *set = NULL;
    struct esp_error error;
    assert_int_equal(problem_parse(text, strlen(text), "x.esp", &set, &error), ESP_OK);
    const struct problem *small = problem_find(set, "foo"), *large = problem_find(set, "Foo");
    assert_int_equal(gather_problem(&tree, small, &error), ESP_BUSY);
    assert_non_null(strstr(error.text, "cn=C,cn=foo,ou=problems: expected names that differ in more than "
                                       "capital and small letters"));
    assert_int_equal(n_named(&tree, "cn=other,cn=foo,ou=problems"), 1);
    assert_int_equal(gather_problem(&tree, large, &error), ESP_BUSY);
    assert_non_null(strstr(error.text, "found cn=foo,ou=problems: it is left out"));
    assert_int_equal(gather_entry(&tree, "s1", "server", "a:1", NULL, &(struct config_strings){0}, &error),
                     ESP_OK);
    assert_int_equal(gather_entry(&tree, "s1", "server", "a:1", NULL, &(struct config_strings){0}, &error),
                     ESP_OK);
    assert_int_equal(gather_entry(&tree, "S1", "server", "a:2", NULL, &(struct config_strings){0}, &error),
                     ESP_BUSY);
    const struct cost_model one = {.problem = "foo", .implementation = "c", .threads = 1},
                            other = {.problem = "Foo", .implementation = "c", .threads = 1};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gather_model(&tree, "s1", &one, 0, &error), ESP_OK);
        assert_int_equal(gather_model(&tree, "s1", &other, 0, &error), ESP_OK);
    }
    assert_int_equal(n_named(&tree, "cn=foo-c-1-0,cn=s1,ou=machines"), 1);
    assert_int_equal(n_named(&tree, "cn=Foo-c-1-1,cn=s1,ou=machines"), 1);
    assert_int_equal(tree.n, 6);
    problem_set_destroy(set);
    directory_tree_clear(&tree);
}

static void an_entry_that_is_too_large_is_told_with_its_line(void **state)
{
    (void)state;
    struct directory_tree tree;
    struct esp_error error;
    const char *base;
    char *text = malloc(sizeof HEAD + 8 * DIRECTORY_MOST_VALUES), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", HEAD);
    at[-1] = 0; /* no empty line: it goes on */
    at--;
    for (int i = 0; i < DIRECTORY_MOST_VALUES; i++)
        at += sprintf(at, "cn: a\n");
    assert_int_equal(parse(text, &tree, &base, &error), ESP_LIMIT);
    assert_non_null(strstr(error.text,
                           "x.ldif:1: the base: expected a directory of at most 67.1 MB, and 1000 "
                           "values in an entry"));
    free(text);
    assert_int_equal(
        parse(HEAD "dn: cn=a,ou=grid,dc=x\ncn: a\ndn: cn=b,ou=grid,dc=x\n", &tree, &base, &error),
        ESP_SYNTAX);
    assert_non_null(strstr(error.text, "x.ldif:5: expected one \"dn: NAME\" in a record"));
}

struct told {
    unsigned n, stay;
};

static void count_wrong(void *arg, const struct esp_error *error, bool stays)
{
    struct told *told = arg;
    (void)error;
    told->n++;
    told->stay += stays;
}

static void nonsense_goes_out_with_what_is_below_it(void **state)
{
    (void)state;
    struct directory_tree tree;
    struct esp_error error;
    const char *base;
    struct told told = {0};
    assert_int_equal(
        parse(HEAD
              "dn: ou=problems,ou=grid,dc=x\nobjectClass: organizationalUnit\nou: problems\n\n"
              "dn: cn=p,ou=problems,ou=grid,dc=x\nobjectClass: espalierProblem\ncn: p\nespalierDigest: zz\n"
              "espalierSignature: s\n\n"
              "dn: cn=i,cn=p,ou=problems,ou=grid,dc=x\nobjectClass: espalierImplementation\ncn: i\n"
              "espalierConvention: c\n\n"
              "dn: cn=q,ou=problems,ou=grid,dc=x\nobjectClass: espalierProblem\ncn: q\n"
              "espalierDigest: 0123456789abcdef\nespalierSignature: s\n\n"
              "dn: cn=other,ou=grid,dc=x\nobjectClass: device\ncn: other\n",
              &tree, &base, &error),
        ESP_OK);
    assert_int_equal(schema_check(&tree, NULL, count_wrong, &told),
                     4);                        /* the base, the unit, q, the other one */
    assert_true(told.n == 2 && told.stay == 0); /* the node below it is reported, too */
    assert_null(directory_tree_find(&tree, "cn=p,ou=problems"));
    assert_null(directory_tree_find(&tree, "cn=i,cn=p,ou=problems"));
    assert_non_null(directory_tree_find(&tree, "cn=q,ou=problems"));
    directory_tree_clear(&tree);
}

static void nonsense_does_not_take_the_place_of_what_was_good(void **state)
{
    (void)state;
#define UNIT    "dn: ou=machines,ou=grid,dc=x\nobjectClass: organizationalUnit\nou: machines\n\n"
#define MACHINE UNIT "dn: cn=m,ou=machines,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: m\n"
#define MODEL   "dn: cn=c,cn=m,ou=machines,ou=grid,dc=x\nobjectClass: device\ncn: c\n\n"
#define GONE    "dn: cn=g,ou=machines,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: g\n"
#define NEW     "dn: cn=n,ou=machines,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: n\nespalierSlots: many\n"
    struct directory_tree before, tree;
    struct esp_error error;
    struct told told = {0};
    const char *base;
    assert_int_equal(parse(HEAD MACHINE "espalierSlots: 4\n\n" MODEL GONE, &before, &base, &error), ESP_OK);
    assert_int_equal(schema_check(&before, NULL, count_wrong, &told), 5);
    const uint64_t digest = directory_tree_digest(&before);
    assert_int_equal(parse(HEAD MACHINE "espalierSlots: four\n\n" MODEL NEW, &tree, &base, &error), ESP_OK);
    assert_int_equal(schema_check(&tree, &before, count_wrong, &told), 5);
    assert_true(told.n == 2 && told.stay == 1);
    assert_int_equal(tree.n, 5);
    const struct directory_entry *entry = directory_tree_find(&tree, "cn=m,ou=machines");
    assert_non_null(entry);
    assert_string_equal(directory_value(entry, "espalierSlots")->text, "4");
    assert_non_null(directory_tree_find(&tree, "cn=c,cn=m,ou=machines"));
    assert_null(directory_tree_find(&tree, "cn=g,ou=machines"));
    entry = directory_tree_find(&tree, "cn=n,ou=machines");
    assert_non_null(entry); /* it never had any slots, but it is a machine */
    assert_null(directory_value(entry, "espalierSlots"));
    directory_tree_clear(&tree);
    /* Unchanged entries make no difference: no daemon has to read them again. */
    assert_int_equal(parse(HEAD MACHINE "espalierSlots: four\n\n" MODEL GONE, &tree, &base, &error), ESP_OK);
    schema_check(&tree, &before, NULL, NULL);
    assert_true(directory_tree_digest(&tree) == digest);
    directory_tree_clear(&tree);
    directory_tree_clear(&before);
}

static void a_wrong_attribute_leaves_the_machine_with_its_models(void **state)
{
    (void)state;
    struct directory_tree tree;
    struct esp_error error;
    struct told told = {0};
    const char *base;
    assert_int_equal(parse(HEAD MACHINE "espalierSlots: 4\nespalierMemory: lots\nespalierParent: h:1\n"
                                        "espalierParent: nowhere:at:all\nespalierParent: h:2\n\n" MODEL,
                           &tree, &base, &error),
                     ESP_OK);
    assert_int_equal(schema_check(&tree, NULL, count_wrong, &told), 4);
    assert_true(told.n == 2 && told.stay == 0);
    const struct directory_entry *machine = directory_tree_find(&tree, "cn=m,ou=machines");
    assert_non_null(machine);
    assert_non_null(directory_tree_find(&tree, "cn=c,cn=m,ou=machines"));
    assert_string_equal(directory_value(machine, "espalierSlots")->text, "4");
    assert_null(directory_value(machine, "espalierMemory"));
    unsigned parents = 0;
    for (uint32_t i = 0; i < machine->n_values; i++)
        parents += strcmp(machine->values[i].attribute, "espalierParent") == 0;
    assert_int_equal(parents, 2);
    directory_tree_clear(&tree);
}

static void keep_text(void *arg, const struct esp_error *error, bool stays)
{
    char *texts = arg;
    assert_false(stays);
    snprintf(texts + strlen(texts), 2000 - strlen(texts), "%s\n", error->text);
}

/* The attribute beside a cost model names its problem; the model itself names it, too. */
static void a_cost_model_of_another_problem_than_its_entry_says_is_told(void **state)
{
    (void)state;
    static const char *const attributes[] = {"espalierProblemName", "espalierDigest"};
    static const char *const others[] = {"dgesv", "0123456789abcdef"};
    static const char *const expected[] = {
        "espalierProblemName: expected dsyev, as its espalierModel says, found \"dgesv\"",
        "espalierDigest: expected 00000000000000a1, as its espalierModel says"};
    struct cost_term term = {.coefficient = 1e-9, .powers = {1}};
    struct cost_piece piece = {.until = HUGE_VAL, .n_terms = 1, .terms = &term};
    struct cost_measurement measured = {.x = {1e9, 1e6}, .seconds = 1, .repetitions = 3};
    struct cost_model model = {.problem = "dsyev",
                               .implementation = "lapack",
                               .machine = "m",
                               .digest = 0xa1,
                               .threads = 1,
                               .n_variables = 2,
                               .factor = 1,
                               .n_measurements = 1,
                               .measurements = &measured};
    model.variables[0] =
        (struct cost_variable){.argument = COST_WORK, .name = "work", .least = 1e8, .most = 1e10};
    model.variables[1] =
        (struct cost_variable){.argument = COST_BYTES, .name = "bytes", .least = 1, .most = 1e8};
    model.time =
        (struct cost_curve){.n_pieces = 1, .pieces = &piece, .error = 0.01, .least = 0.1, .most = 10};
    for (size_t i = 0; i < 3; i++) {
        char texts[2000] = "";
        struct directory_tree tree;
        struct esp_error error = {0};
        const char *base;
        assert_int_equal(parse(HEAD MACHINE, &tree, &base, &error), ESP_OK);
        assert_int_equal(gather_model(&tree, "m", &model, 0, &error), ESP_OK);
        struct directory_entry *entry = directory_tree_find(&tree, "cn=dsyev-lapack-1-0,cn=m,ou=machines");
        assert_non_null(entry);
        if (i < 2) {
            directory_entry_drop(entry, attributes[i]);
            assert_int_equal(
                directory_tree_add(&tree, entry, attributes[i], others[i], strlen(others[i]), &error),
                ESP_OK);
        }
        directory_tree_sort(&tree);
        assert_int_equal(schema_check(&tree, NULL, keep_text, texts), i < 2 ? 3 : 4);
        assert_true(i < 2 ? strstr(texts, expected[i]) != NULL : !*texts);
        directory_tree_clear(&tree);
    }
}

static void what_nobody_would_find_is_told(void **state)
{
    (void)state;
    char texts[2000] = "";
    struct directory_tree tree;
    struct esp_error error;
    const char *base;
    assert_int_equal(parse(HEAD UNIT
                           "dn: ou=problems,ou=grid,dc=x\nobjectClass: organizationalUnit\nou: problems\n\n"
                           "dn: cn=a,ou=problems,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: a\n\n"
                           "dn: cn=b,ou=gone,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: b\n\n"
                           "dn: cn=c,ou=machines,ou=grid,dc=x\nobjectClass: espalierMachin\ncn: c\n\n"
                           "dn: cn=d,ou=problems,ou=grid,dc=x\nobjectClass: espalierImplementation\ncn: d\n"
                           "espalierConvention: c\n",
                           &tree, &base, &error),
                     ESP_OK);
    assert_int_equal(schema_check(&tree, NULL, keep_text, texts), 3);
    assert_int_equal(tree.n, 3);
    assert_non_null(strstr(texts, "cn=a,ou=problems: expected a place below ou=machines (it is of class "
                                  "espalierMachine), found \"ou=problems\"\n"));
    assert_non_null(
        strstr(texts, "cn=b,ou=gone: what it lies below is missing, or wrong itself (ou=gone)\n"));
    assert_non_null(strstr(texts, "cn=c,ou=machines: objectClass: expected espalierDescription, "));
    assert_non_null(strstr(texts, "espalierEntry, found \"espalierMachin\"\n"));
    assert_non_null(
        strstr(texts, "cn=d,ou=problems: expected a place below an entry of class espalierProblem"));
    directory_tree_clear(&tree);
}

static void values_keep_the_places_that_they_say(void **state)
{
    (void)state;
    char text[1000] = HEAD UNIT "dn: cn=m,ou=machines,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: m\n";
    struct directory_tree tree;
    struct esp_error error;
    struct told told = {0};
    const char *base;
    for (int i = 11; i >= 0; i--)
        snprintf(text + strlen(text), sizeof text - strlen(text), "espalierParent: {%d}host%d:1\n", i,
                 11 - i);
    assert_int_equal(parse(text, &tree, &base, &error), ESP_OK);
    schema_check(&tree, NULL, count_wrong, &told);
    assert_int_equal(told.n, 0);
    const struct directory_entry *machine = directory_tree_find(&tree, "cn=m,ou=machines");
    int n = 0;
    for (uint32_t i = 0; i < machine->n_values; i++)
        if (strcmp(machine->values[i].attribute, "espalierParent") == 0) {
            snprintf(text, sizeof text, "host%d:1", 11 - n++);
            assert_string_equal(directory_value_text(&machine->values[i]), text);
        }
    assert_int_equal(n, 12);
    directory_tree_clear(&tree);
    /* A place is no address. */
    assert_int_equal(
        parse(HEAD UNIT
              "dn: cn=m,ou=machines,ou=grid,dc=x\nobjectClass: espalierMachine\ncn: m\nespalierParent: {0}\n",
              &tree, &base, &error),
        ESP_OK);
    schema_check(&tree, NULL, count_wrong, &told);
    assert_int_equal(told.n, 1);
    directory_tree_clear(&tree);
}

/* The definition of a class or attribute in the schema file, with its folded lines joined. */
static const char *definition(const char *schema, const char *kind, const char *name, char *text, size_t size)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "NAME '%s'", name);
    for (const char *at = schema; (at = strstr(at, kind)); at++) {
        size_t n = 0;
        for (const char *p = at; *p && !(p[0] == '\n' && p[1] != ' ') && n + 1 < size; p++)
            if (*p != '\n')
                text[n++] = *p;
        text[n] = 0;
        if (strstr(text, wanted))
            return text;
    }
    return NULL;
}

static void the_schema_file_says_the_same(void **state)
{
    (void)state;
    static char schema[1 << 16], text[4096], wanted[128];
    snprintf(text, sizeof text, "%s/etc/espalier.ldif", getenv("top_srcdir") ? getenv("top_srcdir") : ".");
    FILE *file = fopen(text, "re");
    assert_non_null(file);
    schema[fread(schema, 1, sizeof schema - 1, file)] = 0;
    fclose(file);
    for (unsigned c = 0; schema_class(c); c++) {
        assert_non_null(definition(schema, "olcObjectClasses:", schema_class(c), text, sizeof text));
        const char *may = strstr(text, "MAY");
        for (unsigned a = 0; schema_attribute(schema_class(c), a); a++) {
            const char *attribute = schema_attribute(schema_class(c), a);
            bool required;
            assert_true(schema_allows(schema_class(c), attribute, &required));
            snprintf(wanted, sizeof wanted, " %s ", attribute);
            const char *at = strstr(strstr(text, "MUST"), wanted);
            assert_non_null(at);
            assert_int_equal(required, !may || at < may);
        }
    }
    for (unsigned c = 0; schema_class(c); c++)
        for (unsigned a = 0; schema_attribute(schema_class(c), a); a++)
            if (strncmp(schema_attribute(schema_class(c), a), "espalier", 8) == 0)
                assert_non_null(definition(schema, "olcAttributeTypes:", schema_attribute(schema_class(c), a),
                                           text, sizeof text));
}

/* One that is written where its folder is not, or cannot be: the texts do not speak of what lies beside it.
 */
static void a_file_that_cannot_be_written_is_told_by_its_name(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-ldif-XXXXXX", url[64], wanted[128];
    struct directory_tree tree = {0};
    struct esp_error error;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gather_base(&tree, &error), ESP_OK);
    snprintf(url, sizeof url, "file:%s/no/x.ldif", folder);
    const struct directory_options options = {.url = url, .timeout_ms = 1000};
    snprintf(wanted, sizeof wanted, "%s/no/x.ldif cannot be written: there is no folder %s/no", folder,
             folder);
    assert_int_equal(directory_write(&options, &tree, false, NULL, NULL, &error), ESP_NOT_FOUND);
    assert_string_equal(error.text, wanted);
    assert_int_equal(ldif_save(&tree, "ou=espalier", url + 5, &error), ESP_NOT_FOUND);
    assert_string_equal(error.text, wanted);
    snprintf(wanted, sizeof wanted, "%s: expected a regular file, found a folder", folder);
    assert_int_equal(ldif_save(&tree, "ou=espalier", folder, &error), ESP_INVALID);
    assert_string_equal(error.text, wanted);
    directory_tree_clear(&tree);
    rmdir(folder);
}

static void urls_are_told_from_others(void **state)
{
    (void)state;
    static const char
        *const good[] = {"ldap://h/ou=x", "ldap:///ou=x,dc=y",          "ldaps://[::1]:636/ou=x",
                         "file:/srv/x",   "ldapi://%2Frun%2Fldapi/o=x", "ldap://h:389/ou=x",
                         "file:///srv/x"},
               *const bad[] = {"",          "http://h/ou=x",       "ldap://h",       "ldap://h/",
                               "ldap:ou=x", "ldap://h:99999/ou=x", "ldap://h:/ou=x", "ldap://h:b/ou=x",
                               "file:",     "file:/srv/",          "ldap://h/?ou=x"};
    struct esp_error error;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(directory_check_url(good[i], &error), ESP_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(directory_check_url(bad[i], &error), ESP_CONFIG);
        assert_non_null(strstr(error.text, "expected \"ldap://HOST/BASE\""));
    }
}

static void a_file_keeps_what_is_not_brought_unless_it_is_pruned(void **state)
{
    (void)state;
    char path[] = "/tmp/espalier-ldif-XXXXXX", url[64];
    close(mkstemp(path));
    unlink(path);
    snprintf(url, sizeof url, "file:%s", path);
    const struct directory_options options = {.url = url, .timeout_ms = 1000};
    struct directory_tree one = {0}, two = {0}, more = {0}, all = {0};
    char second[] = "h:3", *items[] = {second};
    const struct config_strings none = {0}, others = {items, 1};
    struct esp_error error;
    const char *base;
    assert_int_equal(gather_base(&one, &error), ESP_OK);
    assert_int_equal(gather_entry(&one, "a", "master", "h:1", NULL, &none, &error), ESP_OK);
    assert_int_equal(gather_base(&two, &error), ESP_OK);
    assert_int_equal(gather_entry(&two, "b", "leader", "h:2", "h:1", &others, &error), ESP_OK);
    assert_int_equal(directory_read(&options, &all, &base, &error), ESP_NOT_FOUND);
    assert_int_equal(directory_write(&options, &one, false, NULL, NULL, &error), ESP_OK);
    assert_int_equal(directory_write(&options, &two, false, NULL, NULL, &error), ESP_OK);
    assert_int_equal(directory_read(&options, &all, &base, &error), ESP_OK);
    assert_non_null(directory_tree_find(&all, "cn=a,ou=entries"));
    const struct directory_entry *b = directory_tree_find(&all, "cn=b,ou=entries");
    assert_non_null(b);
    assert_string_equal(directory_value(b, "espalierParent")->text, "{0}h:1");
    assert_string_equal(b->values[3].text, "{1}h:3");
    directory_tree_clear(&all);
    /* The rule of LDAP: attributes that our file does not name stay; the classes and the base are the
     * directory's. */
    assert_int_equal(gather_entry(&more, "b", "master", "h:4", NULL, &none, &error), ESP_OK);
    assert_int_equal(directory_write(&options, &more, false, NULL, NULL, &error), ESP_OK);
    assert_int_equal(directory_read(&options, &all, &base, &error), ESP_OK);
    b = directory_tree_find(&all, "cn=b,ou=entries");
    assert_string_equal(directory_value(b, "espalierAddress")->text, "h:4");
    assert_string_equal(directory_value(b, "espalierParent")->text, "{0}h:1");
    assert_int_equal(b->n_values, 6);
    directory_tree_clear(&all);
    directory_tree_clear(&more);
    assert_int_equal(directory_write(&options, &two, true, NULL, NULL, &error), ESP_OK);
    assert_int_equal(directory_read(&options, &all, &base, &error), ESP_OK);
    assert_null(directory_tree_find(&all, "cn=a,ou=entries"));
    directory_tree_clear(&one);
    directory_tree_clear(&two);
    directory_tree_clear(&all);
    unlink(path);
}

#define WRITERS 6
#define ROUNDS  5

/* One of those who write at once: an entry of its own in each round. */
static int write_rounds(const struct directory_options *options, int writer)
{
    const struct config_strings none = {0};
    struct esp_error error;
    for (int i = 0; i < ROUNDS; i++) {
        struct directory_tree tree = {0};
        char name[32];
        snprintf(name, sizeof name, "w%d-%d", writer, i);
        if (gather_base(&tree, &error) != ESP_OK ||
            gather_entry(&tree, name, "master", "h:1", NULL, &none, &error) != ESP_OK ||
            directory_write(options, &tree, false, NULL, NULL, &error) != ESP_OK)
            return 1;
        directory_tree_clear(&tree);
    }
    return 0;
}

static void who_write_a_file_at_once_lose_nothing(void **state)
{
    (void)state;
    char path[] = "/tmp/espalier-ldif-XXXXXX", url[64], name[64];
    close(mkstemp(path));
    unlink(path);
    snprintf(url, sizeof url, "file:%s", path);
    const struct directory_options options = {.url = url, .timeout_ms = 60000};
    pid_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        if ((writers[i] = fork()) == 0)
            _exit(write_rounds(&options, i));
    for (int i = 0, how; i < WRITERS; i++) {
        assert_int_equal(waitpid(writers[i], &how, 0), writers[i]);
        assert_int_equal(how, 0);
    }
    struct directory_tree all = {0};
    struct esp_error error;
    const char *base;
    assert_int_equal(directory_read(&options, &all, &base, &error), ESP_OK);
    for (int i = 0; i < WRITERS * ROUNDS; i++) {
        snprintf(name, sizeof name, "cn=w%d-%d,ou=entries", i / ROUNDS, i % ROUNDS);
        assert_non_null(directory_tree_find(&all, name));
    }
    directory_tree_clear(&all);
    unlink(path);
}

static void who_waits_too_long_to_write_a_file_is_told_for_whom(void **state)
{
    (void)state;
    char path[] = "/tmp/espalier-ldif-XXXXXX", url[64], lock[64], whom[64];
    close(mkstemp(path));
    unlink(path);
    snprintf(url, sizeof url, "file:%s", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    struct directory_options first = {.url = url, .timeout_ms = 1000},
                             second = {.url = url, .timeout_ms = 50};
    struct directory_tree tree = {0};
    struct esp_error error;
    assert_int_equal(gather_base(&tree, &error), ESP_OK);
    assert_int_equal(directory_begin(&first, &error), ESP_OK);
    assert_int_equal(directory_write(&second, &tree, false, NULL, NULL, &error), ESP_BUSY);
    snprintf(whom, sizeof whom, "found process %ld still writing", (long)getpid());
    assert_non_null(strstr(error.text, whom));
    assert_int_equal(directory_write(&first, &tree, false, NULL, NULL, &error), ESP_OK);
    directory_end(&first);
    assert_int_not_equal(access(lock, F_OK), 0);
    assert_int_equal(directory_write(&second, &tree, false, NULL, NULL, &error), ESP_OK);
    directory_tree_clear(&tree);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_relative_to_the_first_record),
        cmocka_unit_test(the_base_needs_no_record_of_its_own),
        cmocka_unit_test(mistakes_are_told_with_their_lines),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(what_was_cut_is_not_read),
        cmocka_unit_test(a_name_is_one_however_it_is_written),
        cmocka_unit_test(names_that_differ_in_capitals_only_are_told),
        cmocka_unit_test(an_entry_that_is_too_large_is_told_with_its_line),
        cmocka_unit_test(nonsense_goes_out_with_what_is_below_it),
        cmocka_unit_test(nonsense_does_not_take_the_place_of_what_was_good),
        cmocka_unit_test(a_cost_model_of_another_problem_than_its_entry_says_is_told),
        cmocka_unit_test(a_wrong_attribute_leaves_the_machine_with_its_models),
        cmocka_unit_test(what_nobody_would_find_is_told),
        cmocka_unit_test(values_keep_the_places_that_they_say),
        cmocka_unit_test(the_schema_file_says_the_same),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told_by_its_name),
        cmocka_unit_test(urls_are_told_from_others),
        cmocka_unit_test(a_file_keeps_what_is_not_brought_unless_it_is_pruned),
        cmocka_unit_test(who_write_a_file_at_once_lose_nothing),
        cmocka_unit_test(who_waits_too_long_to_write_a_file_is_told_for_whom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
