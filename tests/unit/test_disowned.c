/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "services/disowned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_S INT64_C(1800000000)

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/espalier-given-up-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("given-up"));
    rmdir(path_of("given-up.new"));
    return rmdir(folder);
}

static struct disowned *load(int64_t now_s)
{
    struct disowned *disowned;
    struct esp_error error;
    if (disowned_load(folder, now_s, &disowned, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return disowned;
}

static struct datum_id id_of(uint64_t n)
{
    struct datum_id id = {.key = {n, ~n}};
    snprintf(id.origin, sizeof id.origin, "node%d", (int)n);
    return id;
}

static void note(struct disowned *disowned, uint64_t n, const char *owner, int64_t now_s)
{
    const struct datum_id id = id_of(n);
    assert_int_equal(disowned_note(disowned, &id, owner, now_s, NULL), ESP_OK);
}

static bool knows(const struct disowned *disowned, uint64_t n)
{
    struct disowned_datum found;
    return disowned_find(disowned, id_of(n).key, &found);
}

static void what_is_noted_is_there_at_the_next_start(void **state)
{
    (void)state;
    struct disowned_datum found;
    struct disowned *disowned = load(NOW_S);
    assert_int_equal(disowned_count(disowned), 0);
    note(disowned, 1, "", NOW_S);
    note(disowned, 2, "alice of the lab", NOW_S);
    note(disowned, 2, "alice of the lab", NOW_S);
    disowned_destroy(disowned); /* as if it had died */
    disowned = load(NOW_S);
    assert_int_equal(disowned_count(disowned), 2);
    assert_true(disowned_find(disowned, id_of(1).key, &found));
    assert_string_equal(found.owner, "");
    assert_string_equal(found.id.origin, "node1");
    assert_true(disowned_find(disowned, id_of(2).key, &found));
    assert_string_equal(found.owner, "alice of the lab");
    assert_false(knows(disowned, 3));
    disowned_destroy(disowned);
}

static void what_is_old_is_forgotten(void **state)
{
    (void)state;
    struct disowned *disowned = load(NOW_S);
    note(disowned, 1, "", NOW_S);
    note(disowned, 2, "", NOW_S + 10);
    note(disowned, 3, "", NOW_S + DISOWNED_KEPT_S + 5);
    assert_false(knows(disowned, 1));
    assert_true(knows(disowned, 2));
    disowned_destroy(disowned);
    disowned = load(NOW_S + DISOWNED_KEPT_S + 11);
    assert_false(knows(disowned, 2));
    assert_true(knows(disowned, 3));
    disowned_destroy(disowned);
}

static void nobody_pushes_out_what_others_have_noted(void **state)
{
    (void)state;
    struct disowned *disowned;
    assert_int_equal(disowned_load(NULL, NOW_S, &disowned, NULL), ESP_OK); /* no file: quicker */
    note(disowned, 1, "alice", NOW_S);
    for (uint64_t n = 2; n <= 2 * DISOWNED_MOST; n++)
        note(disowned, n, "bob", NOW_S);
    assert_int_equal(disowned_count(disowned), DISOWNED_MOST);
    assert_true(knows(disowned, 1));
    assert_false(knows(disowned, 2));
    note(disowned, 3 * DISOWNED_MOST, "carol", NOW_S);
    assert_int_equal(disowned_count(disowned), DISOWNED_MOST);
    assert_true(knows(disowned, 3 * DISOWNED_MOST));
    disowned_destroy(disowned);
}

/* ---- what another one knows ---- */

static unsigned n_news;

static void count_news(void *arg, const struct disowned_datum *datum)
{
    (void)arg;
    assert_non_null(datum->owner);
    n_news++;
}

/* How many of them are news; the list is cut behind `length` bytes. */
static unsigned take(struct disowned *to, const struct disowned *from, uint32_t length, int64_t now_s)
{
    struct arena arena = {0};
    struct extension list;
    assert_true(disowned_list(from, &arena, &list));
    list.length = length < list.length ? length : list.length;
    n_news = 0;
    assert_int_equal(disowned_take(to, &list, now_s, count_news, NULL, NULL), ESP_OK);
    arena_clear(&arena);
    return n_news;
}

static void who_takes_what_the_other_one_knows_knows_the_same(void **state)
{
    (void)state;
    struct disowned *own = load(NOW_S), *other;
    assert_int_equal(disowned_load(NULL, NOW_S, &other, NULL), ESP_OK);
    assert_int_equal(disowned_sum(own, NOW_S), 0);
    note(own, 1, "", NOW_S);
    note(own, 2, "bob", NOW_S);
    note(other, 2, "bob", NOW_S + 5);
    note(other, 3, "alice of the lab", NOW_S - 100);
    assert_true(disowned_sum(own, NOW_S) != disowned_sum(other, NOW_S));
    assert_int_equal(take(own, other, UINT32_MAX, NOW_S), 1);
    assert_int_equal(take(other, own, UINT32_MAX, NOW_S), 1);
    assert_int_equal(take(other, own, UINT32_MAX, NOW_S), 0);
    assert_true(disowned_sum(own, NOW_S) == disowned_sum(other, NOW_S));
    disowned_destroy(own);
    own = load(NOW_S);
    assert_true(knows(own, 3));
    /* It is as old here as there. */
    disowned_sum(own, NOW_S + DISOWNED_KEPT_S - 50);
    assert_false(knows(own, 3));
    assert_true(knows(own, 1));
    assert_int_equal(take(own, other, UINT32_MAX, NOW_S + DISOWNED_KEPT_S - 50), 0);
    disowned_destroy(own);
    disowned_destroy(other);
}

static void a_list_that_is_cut_is_taken_as_far_as_it_goes(void **state)
{
    (void)state;
    struct disowned *other;
    struct arena arena = {0};
    struct extension list;
    assert_int_equal(disowned_load(NULL, NOW_S, &other, NULL), ESP_OK);
    note(other, 1, "", NOW_S);
    note(other, 2, "bob", NOW_S);
    assert_true(disowned_list(other, &arena, &list));
    for (uint32_t length = 0; length <= list.length; length++) {
        struct disowned *own;
        assert_int_equal(disowned_load(NULL, NOW_S, &own, NULL), ESP_OK);
        const unsigned n = take(own, other, length, NOW_S);
        assert_in_range(n, length == list.length ? 2 : 0, length == list.length ? 2 : 1);
        assert_int_equal(disowned_count(own), n);
        disowned_destroy(own);
    }
    arena_clear(&arena);
    disowned_destroy(other);
}

static void a_list_pushes_out_nothing_newer(void **state)
{
    (void)state;
    struct disowned *own, *other;
    assert_int_equal(disowned_load(NULL, NOW_S, &own, NULL), ESP_OK);
    assert_int_equal(disowned_load(NULL, NOW_S, &other, NULL), ESP_OK);
    for (uint64_t n = 1; n <= DISOWNED_MOST; n++)
        note(own, n, "bob", NOW_S);
    note(other, 2 * DISOWNED_MOST, "bob", NOW_S - 1);
    assert_int_equal(take(own, other, UINT32_MAX, NOW_S), 0);
    note(other, 3 * DISOWNED_MOST, "bob", NOW_S + 1);
    assert_int_equal(take(own, other, UINT32_MAX, NOW_S + 1), 1);
    assert_false(knows(own, 1));
    assert_int_equal(disowned_count(own), DISOWNED_MOST);
    disowned_destroy(own);
    disowned_destroy(other);
}

static void a_name_that_would_break_the_file_is_refused(void **state)
{
    (void)state;
    struct esp_error error;
    const struct datum_id id = id_of(1);
    char longest[CAP_NAME + 2];
    struct disowned *disowned = load(NOW_S);
    assert_int_equal(disowned_note(disowned, &id, "alice\nnode9:", NOW_S, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "found code 10"));
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(disowned_note(disowned, &id, longest, NOW_S, &error), ESP_INVALID);
    longest[CAP_NAME] = 0;
    assert_int_equal(disowned_note(disowned, &id, longest, NOW_S, &error), ESP_OK);
    disowned_destroy(disowned);
    disowned = load(NOW_S);
    assert_true(knows(disowned, 1));
    disowned_destroy(disowned);
}

static void what_cannot_be_written_is_not_noted(void **state)
{
    (void)state;
    struct esp_error error;
    const struct datum_id id = id_of(1);
    struct disowned *disowned = load(NOW_S);
    assert_int_equal(mkdir(path_of("given-up.new"), 0700), 0); /* in the way, also of root */
    assert_int_not_equal(disowned_note(disowned, &id, "", NOW_S, &error), ESP_OK);
    assert_false(knows(disowned, 1));
    assert_int_equal(rmdir(path_of("given-up.new")), 0);
    assert_int_equal(disowned_note(disowned, &id, "", NOW_S, &error), ESP_OK);
    disowned_destroy(disowned);
}

/* Of another one it is taken all the same; who gives it up here as well hears whether it is in the file. */
static void what_was_taken_and_not_written_is_when_it_is_noted(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extension list;
    struct esp_error error;
    const struct datum_id id = id_of(1);
    struct disowned *own = load(NOW_S), *other;
    assert_int_equal(disowned_load(NULL, NOW_S, &other, NULL), ESP_OK);
    note(other, 1, "", NOW_S);
    assert_true(disowned_list(other, &arena, &list));
    assert_int_equal(mkdir(path_of("given-up.new"), 0700), 0);
    assert_int_not_equal(disowned_take(own, &list, NOW_S, count_news, NULL, &error), ESP_OK);
    assert_true(knows(own, 1));
    assert_int_not_equal(disowned_note(own, &id, "", NOW_S, &error), ESP_OK);
    assert_int_equal(rmdir(path_of("given-up.new")), 0);
    assert_int_equal(disowned_note(own, &id, "", NOW_S, &error), ESP_OK);
    disowned_destroy(own);
    own = load(NOW_S);
    assert_true(knows(own, 1));
    disowned_destroy(own);
    disowned_destroy(other);
    arena_clear(&arena);
}

static void a_strange_file_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } files[] = {
        {"espalier given up 2\n", "given-up:1: expected \"espalier given up 1\""},
        {"espalier given up 1\nnode1\n", "given-up:2: expected an identity"},
        {"espalier given up 1\nnode1:zz 1 alice\n", "given-up:2: expected an identity"},
        {"espalier given up 1\nnode1:00000000000000010000000000000001 x alice\n", "given-up:2: expected"},
        {"espalier given up 1\nnode1:00000000000000010000000000000001 1\n", "given-up:2: expected"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct disowned *disowned;
        struct esp_error error;
        FILE *file = fopen(path_of("given-up"), "w");
        assert_non_null(file);
        fputs(files[i].text, file);
        fclose(file);
        assert_int_equal(disowned_load(folder, NOW_S, &disowned, &error), ESP_CONFIG);
        if (!strstr(error.text, files[i].says))
            fail_msg("expected \"%s\" in \"%s\"", files[i].says, error.text);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(what_is_noted_is_there_at_the_next_start),
        TEST(what_is_old_is_forgotten),
        TEST(nobody_pushes_out_what_others_have_noted),
        TEST(a_name_that_would_break_the_file_is_refused),
        TEST(what_cannot_be_written_is_not_noted),
        TEST(what_was_taken_and_not_written_is_when_it_is_noted),
        TEST(a_strange_file_is_told_with_its_line),
        TEST(who_takes_what_the_other_one_knows_knows_the_same),
        TEST(a_list_that_is_cut_is_taken_as_far_as_it_goes),
        TEST(a_list_pushes_out_nothing_newer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
