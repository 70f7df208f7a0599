/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/inputs.h"
#include "flow/journal.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGEST UINT64_C(0x123456789abcdef0)

static char path[] = "/tmp/espalier-journal.XXXXXX";

struct seen {
    unsigned n, data, scalars, done;
    uint32_t last_task;
    char id[100];
};

static void see(void *arg, const struct journal_entry *entry)
{
    struct seen *seen = arg;
    seen->n++;
    seen->last_task = entry->task;
    seen->data += entry->kind == JOURNAL_DATA;
    seen->scalars += entry->kind == JOURNAL_SCALAR && entry->scalar[15] == 0xfe;
    seen->done += entry->kind == JOURNAL_DONE;
    if (entry->kind == JOURNAL_DATA)
        snprintf(seen->id, sizeof seen->id, "%s", entry->id);
}

static int begin(void **state)
{
    (void)state;
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct journal *open_well(struct seen *seen)
{
    struct journal *journal;
    struct esp_error error;
    *seen = (struct seen){0};
    if (journal_open(path, DIGEST, see, seen, &journal, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return journal;
}

static void write_some(void)
{
    struct seen seen;
    unsigned char scalar[16] = {[15] = 0xfe};
    struct journal *journal = open_well(&seen);
    assert_int_equal(seen.n, 0);
    journal_add_data(journal, 7, 1, "A:00112233445566778899aabbccddeeff");
    journal_add_scalar(journal, 7, 2, scalar);
    journal_add_done(journal, 7);
    journal_close(journal, false);
}

static void what_was_written_is_read_by_the_next_run(void **state)
{
    struct seen seen;
    (void)state;
    write_some();
    for (unsigned i = 0; i < 2; i++) {
        struct journal *journal = open_well(&seen);
        assert_int_equal(seen.n, 3);
        assert_int_equal(seen.data, 1);
        assert_int_equal(seen.scalars, 1);
        assert_int_equal(seen.done, 1);
        assert_int_equal(seen.last_task, 7);
        assert_string_equal(seen.id, "A:00112233445566778899aabbccddeeff");
        journal_close(journal, i == 1);
    }
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_line_that_was_cut_is_dropped(void **state)
{
    struct seen seen;
    (void)state;
    write_some();
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("data 8 0 B:00112", file);
    fclose(file);
    struct journal *journal = open_well(&seen);
    assert_int_equal(seen.n, 3);
    journal_add_done(journal, 9);
    journal_close(journal, false);
    journal_close(open_well(&seen), false);
    assert_int_equal(seen.n, 4);
    assert_int_equal(seen.last_task, 9);
}

static void refuse(uint64_t digest, enum esp_status status, const char *text)
{
    struct journal *journal;
    struct esp_error error;
    struct seen seen = {0};
    assert_int_equal(journal_open(path, digest, see, &seen, &journal, &error), status);
    assert_non_null(strstr(error.text, text));
    assert_null(journal);
}

static void other_journals_are_refused(void **state)
{
    struct seen seen;
    (void)state;
    write_some();
    refuse(DIGEST + 1, ESP_INVALID, "of another flow");
    struct journal *journal = open_well(&seen);
    refuse(DIGEST, ESP_BUSY, "another run has this journal");
    journal_close(journal, false);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("nonsense\n", file);
    fclose(file);
    refuse(DIGEST, ESP_SYNTAX, ":5: expected a line of a flow's journal, found 'nonsense'");
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("my thesis\n", file);
    fclose(file);
    refuse(DIGEST, ESP_INVALID, "expected the journal of a flow");
}

static void who_inspects_sees_the_run_or_what_it_left(void **state)
{
    struct seen seen = {0};
    struct journal *mine, *theirs;
    struct esp_error error;
    long pid = -1;
    (void)state;
    write_some();
    mine = open_well(&seen);
    seen.n = 0;
    assert_int_equal(journal_inspect(path, see, &seen, &pid, &theirs, &error), ESP_OK);
    assert_int_equal(pid, getpid());
    assert_int_equal(seen.n, 0);
    journal_close(theirs, false);
    journal_close(mine, false);
    assert_int_equal(journal_inspect(path, see, &seen, &pid, &theirs, &error), ESP_OK);
    assert_int_equal(pid, 0);
    assert_int_equal(seen.n, 3);
    journal_close(theirs, true);
    assert_int_equal(journal_inspect(path, see, &seen, &pid, &theirs, &error), ESP_NOT_FOUND);
}

/* ---- what is given for inputs ---- */

static void elements_come_before_what_is_for_all(void **state)
{
    struct inputs inputs = {0};
    struct esp_error error;
    (void)state;
    assert_int_equal(inputs_add(&inputs, "A[1,2]=data:S:12", &error), ESP_OK);
    assert_int_equal(inputs_add(&inputs, "A=data:S:{2}-{1}{3}", &error), ESP_OK);
    assert_int_equal(inputs_add(&inputs, "=1", &error), ESP_INVALID);
    assert_int_equal(inputs_add(&inputs, "B=", &error), ESP_INVALID);
    assert_true(inputs_have(&inputs, "A[5,6]"));
    assert_false(inputs_have(&inputs, "AB[5,6]"));
    char *one = inputs_datum(&inputs, "A[1,2]"), *all = inputs_datum(&inputs, "A[5,6]");
    assert_string_equal(one, "S:12");
    assert_string_equal(all, "S:6-5{3}");
    free(one);
    free(all);
    inputs_clear(&inputs);
}

static void give(const char *value, const struct flow_array *array, void *memory, enum esp_status status,
                 const char *text)
{
    struct inputs inputs = {0};
    struct esp_error error = {.text = ""};
    char word[200];
    snprintf(word, sizeof word, "A=%s", value);
    assert_int_equal(inputs_add(&inputs, word, &error), ESP_OK);
    assert_int_equal(inputs_read(&inputs, "A", array, memory, &error), status);
    assert_non_null(strstr(error.text, text));
    inputs_clear(&inputs);
}

static void matrices_become_what_the_problem_takes(void **state)
{
    struct flow_array array = {.type = TYPE_DOUBLE,
                               .storage = STORAGE_FULL,
                               .shape = {.n_dims = 2, .dims = {2, 3}, .count = 6, .bytes = 48}};
    double doubles[6];
    int32_t integers[6];
    (void)state;
    give("[1,2,3;4,5,6]", &array, doubles, ESP_OK, "");
    assert_memory_equal(doubles, ((double[]){1, 4, 2, 5, 3, 6}), sizeof doubles);
    array.row_major = true;
    give("[1,2,3;4,5,6]", &array, doubles, ESP_OK, "");
    assert_memory_equal(doubles, ((double[]){1, 2, 3, 4, 5, 6}), sizeof doubles);
    give("[1,2;3,4]", &array, doubles, ESP_INVALID, "input 'A': expected 2 x 3, found 2 x 2");
    give("[1,2i,3;4,5,6]", &array, doubles, ESP_INVALID, "expected real numbers");
    array = (struct flow_array){.type = TYPE_INT,
                                .storage = STORAGE_FULL,
                                .shape = {.n_dims = 1, .dims = {3}, .count = 3, .bytes = 12}};
    give("[7,8,9]", &array, integers, ESP_OK, "");
    assert_memory_equal(integers, ((int32_t[]){7, 8, 9}), 12);
    give("[7,8.5,9]", &array, integers, ESP_INVALID, "expected integers, found 8.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_is_read_by_the_next_run, begin, end),
        cmocka_unit_test_setup_teardown(a_line_that_was_cut_is_dropped, begin, end),
        cmocka_unit_test_setup_teardown(other_journals_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(who_inspects_sees_the_run_or_what_it_left, begin, end),
        cmocka_unit_test(elements_come_before_what_is_for_all),
        cmocka_unit_test(matrices_become_what_the_problem_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
