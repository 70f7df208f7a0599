/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/espalier-problems-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The names of the set, each with a space behind it; the error's text when it does not load. */
static const char *loaded(const char *path)
{
    static char names[sizeof(struct esp_error) + 12];
    struct problem_set *set;
    struct esp_error error;
    names[0] = 0;
    if (problem_load(path, &set, &error) != ESP_OK) {
        snprintf(names, sizeof names, "%d %s", (int)error.status, error.text);
        return names;
    }
    for (size_t i = 0; i < set->n_problems; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", set->problems[i]->name);
    problem_set_destroy(set);
    return names;
}

static void a_folder_gives_its_descriptions_sorted(void **state)
{
    (void)state;
    write_file("z.esp", "problem c \"t\"\nproblem a \"t\"\n");
    assert_int_equal(mkdir(path_of("below"), 0777), 0);
    write_file("below/y.esp", "problem b \"t\"\n");
    write_file("below/README", "no description");
    write_file(".hidden.esp", "no description");
    assert_string_equal(loaded(folder), "a b c ");
    assert_string_equal(loaded(path_of("z.esp")), "a c ");
}

static void a_name_described_twice_names_both_places(void **state)
{
    (void)state;
    char message[400];
    write_file("a.esp", "problem a \"t\"\n\nproblem b \"t\"\n");
    write_file("b.esp", "problem b \"t\"\n");
    snprintf(message, sizeof message, "2 %s/b.esp:1:9: the problem 'b' is described already in %s/a.esp:3",
             folder, folder);
    assert_string_equal(loaded(folder), message);
}

/* The column is that of the file's own line, in characters, whatever stands in the lines before. */
static void the_column_of_a_problem_is_told(void **state)
{
    (void)state;
    static const unsigned lines[] = {1, 3, 5, 5}, columns[] = {9, 11, 12, 12};
    struct problem_set *set;
    struct esp_error error;
    write_file("a.esp",
               "problem a \"Gr\u00f6\u00dfe\"\n# caf\u00e9\n  problem b \"t\"\n\n   problem ?fam for s, d "
               "\"t\"\n");
    assert_int_equal(problem_load(folder, &set, &error), ESP_OK);
    assert_int_equal(set->n_problems, 4);
    for (size_t i = 0; i < set->n_problems; i++) {
        assert_int_equal(set->problems[i]->line, lines[i]);
        assert_int_equal(set->problems[i]->column, columns[i]);
    }
    problem_set_destroy(set);
}

static void several_paths_are_one_set(void **state)
{
    (void)state;
    struct problem_set *set;
    struct esp_error error;
    char a[128], b[128];
    write_file("a.esp", "problem b \"t\"\n");
    write_file("b.esp", "problem a \"t\"\n");
    strcpy(a, path_of("a.esp"));
    strcpy(b, path_of("b.esp"));
    const char *paths[] = {a, b};
    assert_int_equal(problem_load_all(paths, 2, &set, &error), ESP_OK);
    assert_int_equal(set->n_problems, 2);
    assert_string_equal(problem_find(set, "a")->file, b);
    assert_int_equal(problem_find(set, "b")->line, 1);
    problem_set_destroy(set);
    assert_int_equal(problem_load_all(paths, 0, &set, &error), ESP_OK);
    assert_int_equal(set->n_problems, 0);
    assert_null(problem_find(set, "a"));
    problem_set_destroy(set);
}

static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    char message[400];
    snprintf(message, sizeof message, "5 %s: there is no problem description (*.esp) in this folder", folder);
    assert_string_equal(loaded(folder), message);
    const char *paths[] = {folder};
    struct problem_set *none;
    assert_int_equal(problem_load_even_none(paths, 1, &none, NULL), ESP_OK);
    assert_int_equal(none->n_problems, 0);
    problem_set_destroy(none);
    snprintf(message, sizeof message,
             "5 cannot read problem descriptions from %s/absent: No such file or directory", folder);
    assert_string_equal(loaded(path_of("absent")), message);
    assert_int_equal(mkfifo(path_of("pipe.esp"), 0666), 0);
    snprintf(message, sizeof message, "1 %s/pipe.esp: expected a regular file", folder);
    assert_string_equal(loaded(folder), message);
    assert_int_equal(unlink(path_of("pipe.esp")), 0);
    write_file("wrong.esp", "problem p\n");
    snprintf(message, sizeof message,
             "2 %s/wrong.esp:1:10: expected the title of the problem in quotes, found the end of the line",
             folder);
    assert_string_equal(loaded(folder), message);
    assert_int_equal(truncate(path_of("wrong.esp"), PROBLEM_MAX_FILE + 1), 0);
    snprintf(message, sizeof message, "2 %s/wrong.esp: a description file has at most 1048576 bytes", folder);
    assert_string_equal(loaded(folder), message);
}

static void links_stay_in_the_folder(void **state)
{
    (void)state;
    char message[400];
    assert_int_equal(mkdir(path_of("inside"), 0777), 0);
    write_file("inside/real", "problem a \"t\"\n");
    write_file("outside", "problem b \"t\"\n");
    assert_int_equal(symlink("real", path_of("inside/a.esp")), 0);
    assert_int_equal(symlink("inside", path_of("link")), 0);
    assert_string_equal(loaded(path_of("inside")), "a ");
    assert_string_equal(loaded(path_of("link")), "a ");
    assert_int_equal(symlink("..", path_of("inside/up")), 0);
    assert_string_equal(loaded(path_of("inside")), "a ");
    assert_int_equal(symlink("../outside", path_of("inside/b.esp")), 0);
    snprintf(message, sizeof message,
             "1 %s/inside/b.esp: a symbolic link may not lead out of the folder of descriptions", folder);
    assert_string_equal(loaded(path_of("inside")), message);
}

static void folders_are_not_followed_forever(void **state)
{
    (void)state;
    char path[400] = "";
    for (int i = 0; i < 18; i++) {
        strcat(path, i ? "/d" : "d");
        assert_int_equal(mkdir(path_of(path), 0777), 0);
    }
    assert_non_null(strstr(loaded(folder), "nested more than 16 deep"));
}

static void keep_mistake(void *arg, const struct esp_error *error)
{
    char *told = arg;
    strncat(told, error->text + strlen(path_of("many.esp")), 150);
    strcat(told, "\n");
}

static void every_mistake_of_a_file_is_told(void **state)
{
    (void)state;
    write_file("many.esp", "\xef\xbb\xbf\n# a mark and an empty line come first\n"
                           "problem good \"t\"\nin int n\n"
                           "problem one\nin int n\n"
                           "problem two \"t\"\nin double x[n\n"
                           "problem ?three for s, d \"t\"\nin scalar x[1.5]\n"
                           "problem four \"t\"\nin int n\nin double y[-1]\n"
                           "problem fine \"t\"\nin int n\n"
                           "problem five \"t\"\ninn int n\n");
    const char *path = path_of("many.esp");
    char told[2000] = "", *paths[] = {strdup(path)};
    struct problem_set *set;
    struct esp_error error;
    assert_int_equal(problem_load_good((const char *const *)paths, 1, keep_mistake, told, &set, &error),
                     ESP_OK);
    assert_string_equal(
        told,
        ":5:12: expected the title of the problem in quotes, found the end of the line\n"
        ":9:1: expected an operator, ',', ':' or ']', found 'problem': the '[' in line 8, column 12 has not "
        "been closed\n"
        ":10:13: in the member 's': 1.5: expected an integer, found 1.5\n"
        ":13:13: -1: expected a size >= 0, found -1\n"
        ":17:1: expected a clause (in, out, inout, work, require, ...), found 'inn': did you mean 'in'?\n");
    assert_int_equal(set->n_problems, 2);
    assert_string_equal(set->problems[0]->name, "fine");
    assert_string_equal(set->problems[1]->name, "good");
    problem_set_destroy(set);
    free(paths[0]);
}

static void a_folder_of_mistakes_has_descriptions(void **state)
{
    (void)state;
    write_file("a.esp", "problem one\nin int n\n");
    const char *paths[] = {folder};
    char told[2000] = "";
    struct problem_set *set;
    struct esp_error error;
    assert_int_equal(problem_load_good(paths, 1, keep_mistake, told, &set, &error), ESP_OK);
    assert_non_null(strstr(told, "expected the title of the problem in quotes"));
    assert_null(strstr(told, "no problem description"));
    assert_int_equal(set->n_problems, 0);
    problem_set_destroy(set);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
static const struct CMUnitTest tests[] = {
    IN_FOLDER(a_folder_gives_its_descriptions_sorted),
    IN_FOLDER(a_name_described_twice_names_both_places),
    IN_FOLDER(the_column_of_a_problem_is_told),
    IN_FOLDER(several_paths_are_one_set),
    IN_FOLDER(what_cannot_be_read_is_told),
    IN_FOLDER(every_mistake_of_a_file_is_told),
    IN_FOLDER(a_folder_of_mistakes_has_descriptions),
    IN_FOLDER(links_stay_in_the_folder),
    IN_FOLDER(folders_are_not_followed_forever),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
