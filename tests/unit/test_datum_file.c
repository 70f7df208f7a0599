/* SPDX-License-Identifier: Apache-2.0
 *
 * The durable format, damaged files, folders of others, and the files of the operating system.
 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"

#include "services/data/datum_file.h"
#include "util/crc32c.h"
#include "util/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct datum_header some_header(uint64_t bytes)
{
    struct datum_header header = {.id = {{0x0123456789abcdef, 0xfedcba9876543210}, "lyon:7"},
                                  .shape = {.type = TYPE_CHAR,
                                            .n_dims = 3,
                                            .dims = {1, (int64_t)bytes, 1},
                                            .row_major = true,
                                            .bytes = bytes},
                                  .mode = DATUM_STICKY_RETURN,
                                  .flags = DATUM_SHARED,
                                  .created_s = -5};
    strcpy(header.owner, "CN=alice");
    return header;
}

/* ---- the header ---- */

static void a_header_survives_its_bytes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, DATUM_FILE_BLOCK, 1500 * DATUM_FILE_BLOCK + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct datum_header header = some_header(sizes[i]), back;
        uint64_t length = datum_header_bytes(sizes[i]), read_length, file_bytes = datum_file_bytes(sizes[i]);
        uint32_t crcs[1501];
        uint8_t *bytes = malloc(length);
        for (uint32_t k = 0; k < 1501; k++)
            crcs[k] = k * 77777777u;
        datum_header_encode(&header, crcs, bytes);
        assert_int_equal(length % DATUM_FILE_PAGE, 0);
        assert_int_equal(datum_header_length(bytes, file_bytes, &read_length, NULL), ESP_OK);
        assert_int_equal(read_length, length);
        assert_int_equal(datum_header_parse(bytes, length, file_bytes, &back, NULL), ESP_OK);
        assert_memory_equal(&back.id, &header.id, sizeof back.id);
        assert_true(back.shape.row_major);
        assert_memory_equal(back.shape.dims, header.shape.dims, sizeof back.shape.dims);
        assert_int_equal(back.shape.bytes, sizes[i]);
        assert_int_equal(back.mode, DATUM_STICKY_RETURN);
        assert_int_equal(back.flags, DATUM_SHARED);
        assert_int_equal(back.created_s, -5);
        assert_string_equal(back.owner, "CN=alice");
        if (sizes[i] > DATUM_FILE_BLOCK)
            assert_int_equal(datum_header_crc(bytes, 1500), 1500 * 77777777u);
        free(bytes);
    }
}

static void the_format_is_what_it_was(void **state)
{
    (void)state;
    struct datum_header header = some_header(3);
    uint8_t bytes[DATUM_FILE_PAGE];
    uint32_t crc = crc32c(0, "abc", 3);
    datum_header_encode(&header, &crc, bytes);
    /* Files of today are read by programs of tomorrow: a change here is another version. */
    assert_int_equal(crc32c(0, bytes, sizeof bytes - 4), 0xd387d3fa);
}

static void every_wrong_bit_of_a_header_is_noticed(void **state)
{
    (void)state;
    struct datum_header header = some_header(3), back;
    uint8_t bytes[DATUM_FILE_PAGE];
    uint32_t crc = 7;
    datum_header_encode(&header, &crc, bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(datum_header_parse(bytes, sizeof bytes, sizeof bytes + 3, &back, NULL), ESP_SYNTAX);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(datum_header_parse(bytes, sizeof bytes, sizeof bytes + 3, &back, NULL), ESP_OK);
    assert_int_equal(datum_header_parse(bytes, sizeof bytes, sizeof bytes + 2, &back, NULL), ESP_SYNTAX);
    assert_int_equal(datum_header_parse(bytes, 100, 100, &back, NULL), ESP_SYNTAX);
}

/* A forged file, with a checksum that fits. */
static void headers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        const char *says;
    } rows[] = {
        {0, 'X', "ESPDATUM"},
        {8, 2, "version 2"},
        {13, 0x20, "header of a multiple"},
        {32, 4, "expected a file of 4100 bytes for a datum of 4, found 4099"},
        {34, 1, "expected a file of 69635 bytes for a datum of 65539, found 4099"},
        {39, 0x7f, "expected a file of 9151349352311033859"},
        {39, 0x80, "expected the bytes of a datum, found 9223372036854775811"},
        {48, 9, "mode 9"},
        {48, 0, "durable"},
        {52, 1, "durable"},
        {56, 77, "type"},
        {60, 3, "storage"},
        {68, 8, "dimensions"},
        {79, 0x80, "dimensions"},
        {154, 0, "do not agree"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct datum_header header = some_header(3), back;
        uint8_t bytes[DATUM_FILE_PAGE];
        uint32_t crc = 7;
        struct esp_error error = {.text = ""};
        datum_header_encode(&header, &crc, bytes);
        bytes[rows[i].at] = rows[i].value;
        crc = crc32c(0, bytes, sizeof bytes - 4);
        for (unsigned k = 0; k < 4; k++)
            bytes[sizeof bytes - 4 + k] = (uint8_t)(crc >> 8 * k);
        assert_int_equal(datum_header_parse(bytes, sizeof bytes, sizeof bytes + 3, &back, &error),
                         ESP_SYNTAX);
        assert_int_equal(error.status, ESP_SYNTAX);
        assert_says(&error, rows[i].says);
    }
}

/* ---- damage ---- */

static struct rig *rig_with_one(struct rig *rig, uint64_t verify_bytes, struct datum_id *id, char *name)
{
    rig_create(rig, 1, 1000, 64 << 20);
    rig->options.verify_bytes = verify_bytes;
    assert_int_equal(rig_put(rig, &rig_alice, DATUM_FILE_BLOCK + 5000, DATUM_PERSISTENT, 0, id, NULL),
                     ESP_OK);
    datum_file_name(id->key, true, name);
    rig_close(rig);
    return rig;
}

static bool is_aside(const struct rig *rig, const char *name)
{
    char aside[80];
    bool there = false, moved = false;
    snprintf(aside, sizeof aside, "damaged/%s", name);
    for (size_t i = 0; disk_name(rig->disk, i); i++) {
        there |= strcmp(disk_name(rig->disk, i), name) == 0;
        moved |= strcmp(disk_name(rig->disk, i), aside) == 0;
    }
    return moved && !there;
}

static void damage_is_found_at_the_start(void **state)
{
    (void)state;
    static const uint64_t places[] = {0, 100, 700, 4095, 4096, 1000000, 4096 + (1 << 20) + 4999};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct rig rig;
        struct datum_id id;
        char name[DATUM_FILE_NAME];
        struct store_counts counts;
        rig_with_one(&rig, UINT64_MAX, &id, name);
        assert_true(disk_flip(rig.disk, name, places[i]));
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
        store_count(rig.store, &counts);
        assert_int_equal(counts.damaged, 1);
        assert_int_equal(counts.data, 0);
        assert_int_equal(counts.disk_bytes, 0);
        assert_true(is_aside(&rig, name));
        assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_NOT_FOUND);
        rig_destroy(&rig);
    }
}

static void a_file_that_was_cut_is_damaged(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 10000, 4096 + (1 << 20) + 4999};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rig rig;
        struct datum_id id;
        char name[DATUM_FILE_NAME];
        rig_with_one(&rig, 0, &id, name);
        disk_cut(rig.disk, name, sizes[i]);
        assert_int_equal(rig_open(&rig, NULL), ESP_OK);
        assert_true(is_aside(&rig, name));
        rig_destroy(&rig);
    }
}

static void damage_found_when_it_is_read_is_not_served(void **state)
{
    (void)state;
    struct rig rig;
    struct datum_id id;
    struct store_pin *pin;
    struct store_counts counts;
    struct esp_error error;
    char name[DATUM_FILE_NAME];
    rig_with_one(&rig, 0, &id, name);
    disk_flip(rig.disk, name, 5000);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_true(store_has(rig.store, id.key));
    assert_int_equal(rig_pin(&rig, &rig_alice, &id, &pin, &error), ESP_NOT_FOUND);
    assert_says(&error, "damaged");
    assert_says(&error, "checksum");
    assert_int_equal(rig_pin(&rig, &rig_alice, &id, &pin, &error), ESP_NOT_FOUND);
    assert_says(&error, "set aside");
    assert_true(is_aside(&rig, name));
    assert_int_equal(rig.gone, 1);
    store_count(rig.store, &counts);
    assert_int_equal(counts.memory_bytes, 0);
    assert_int_equal(counts.pinned, 0);
    rig_destroy(&rig);
}

static void damage_is_found_at_leisure(void **state)
{
    (void)state;
    struct rig rig;
    struct datum_id id, other;
    struct store_work *work;
    char name[DATUM_FILE_NAME];
    unsigned n = 0;
    rig_with_one(&rig, 0, &id, name);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_int_equal(rig_put(&rig, &rig_alice, 10, DATUM_PERSISTENT, 0, &other, NULL), ESP_OK);
    rig_close(&rig);
    disk_flip(rig.disk, name, 5000);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    for (; (work = store_check_next(rig.store)); n++) {
        store_work_do(work);
        store_work_end(rig.store, work, NULL);
    }
    assert_int_equal(n, 2);
    assert_false(store_has(rig.store, id.key));
    assert_true(is_aside(&rig, name));
    assert_int_equal(rig_check(&rig, &rig_alice, &other, NULL), ESP_OK);
    rig_destroy(&rig);
}

static void a_file_under_another_name_is_not_that_datum(void **state)
{
    (void)state;
    struct rig rig;
    struct datum_id id;
    char name[DATUM_FILE_NAME];
    const char *other = "00000000000000010000000000000001.datum";
    rig_with_one(&rig, 0, &id, name);
    struct files *files = disk_mount(rig.disk);
    assert_int_equal(files->ops->rename(files, name, other, NULL), ESP_OK);
    files->ops->destroy(files);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    assert_true(is_aside(&rig, other));
    rig_destroy(&rig);
}

static void unfinished_files_go_and_others_stay(void **state)
{
    (void)state;
    struct rig rig;
    struct datum_id id;
    char name[DATUM_FILE_NAME];
    bool notes = false, unfinished = false;
    rig_with_one(&rig, 0, &id, name);
    disk_plant(rig.disk, "0123456789abcdef0123456789abcdef.new", "half", 4);
    disk_plant(rig.disk, "notes.txt", "mine", 4);
    assert_int_equal(rig_open(&rig, NULL), ESP_OK);
    for (size_t i = 0; disk_name(rig.disk, i); i++) {
        notes |= strcmp(disk_name(rig.disk, i), "notes.txt") == 0;
        unfinished |= strstr(disk_name(rig.disk, i), ".new") != NULL;
    }
    assert_true(notes);
    assert_false(unfinished);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_OK);
    rig_destroy(&rig);
}

/* ---- folders of others ---- */

static void folders_of_others_are_refused_and_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *marker;
        enum esp_status status;
        const char *says;
    } rows[] = {
        {"espalier store 2\nnode node7\n", ESP_VERSION, "version 2"},
        {"espalier store 1\nnode node8\n", ESP_REFUSED, "server \"node8\""},
        {"something else", ESP_REFUSED, "found \"something else\""},
        {"", ESP_REFUSED, "expected"},
        {NULL, ESP_REFUSED, "no file 'store'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig rig;
        struct datum_id id;
        char name[DATUM_FILE_NAME];
        struct esp_error error = {.text = ""};
        bool there = false;
        rig_with_one(&rig, UINT64_MAX, &id, name);
        disk_flip(rig.disk, name, 5000); /* would be set aside */
        disk_plant(rig.disk, "0123456789abcdef0123456789abcdef.new", "half", 4);
        if (rows[i].marker) {
            disk_plant(rig.disk, "store", rows[i].marker, strlen(rows[i].marker));
        } else {
            struct files *files = disk_mount(rig.disk);
            files->ops->remove(files, "store", NULL);
            files->ops->destroy(files);
        }
        uint64_t before = 0, after = 0;
        while (disk_name(rig.disk, before))
            before++;
        assert_int_equal(rig_open(&rig, &error), rows[i].status);
        assert_says(&error, rows[i].says);
        for (; disk_name(rig.disk, after); after++)
            there |= strcmp(disk_name(rig.disk, after), name) == 0;
        assert_int_equal(before, after);
        assert_true(there);
        rig.store = NULL;
        rig_destroy(&rig);
    }
}

/* ---- the operating system's files ---- */

static char folder[] = "/tmp/espalier-store-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static enum esp_status open_real(struct rig *rig, const char *path, struct esp_error *error)
{
    enum esp_status status = files_posix_create(path, &rig->options.files, error);
    return status == ESP_OK ? store_create(&rig->options, &rig->store, error) : status;
}

static void real_files_keep_data(void **state)
{
    (void)state;
    struct rig rig, second;
    struct datum_id id;
    char path[128], name[DATUM_FILE_NAME], file[256];
    struct stat about;
    struct esp_error error;
    snprintf(path, sizeof path, "%s/data", folder);
    rig_create(&rig, 1, 1000, 64 << 20);
    rig_create(&second, 1, 1000, 64 << 20);
    rig_close(&rig);
    rig_close(&second);
    assert_int_equal(open_real(&rig, path, &error), ESP_OK);
    assert_int_equal(rig_put(&rig, &rig_alice, 3000000, DATUM_PERSISTENT, 0, &id, &error), ESP_OK);
    assert_int_equal(open_real(&second, path, &error), ESP_REFUSED);
    assert_says(&error, "another process");
    second.store = NULL;
    rig_close(&rig);
    assert_int_equal(open_real(&rig, path, &error), ESP_OK);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, &error), ESP_OK);
    snprintf(file, sizeof file, "%s/%s", path, datum_file_name(id.key, true, name));
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(about.st_size, datum_file_bytes(3000000));
    rig_close(&rig);
    int fd = open(file, O_WRONLY);
    assert_int_equal(pwrite(fd, "damage", 6, 2000000), 6);
    close(fd);
    rig.options.verify_bytes = UINT64_MAX;
    assert_int_equal(open_real(&rig, path, &error), ESP_OK);
    assert_false(store_has(rig.store, id.key));
    assert_int_not_equal(stat(file, &about), 0);
    snprintf(file, sizeof file, "%s/damaged/%s", path, name);
    assert_int_equal(stat(file, &about), 0);
    rig_destroy(&rig);
    rig_destroy(&second);
}

static void a_folder_that_cannot_be_is_told(void **state)
{
    (void)state;
    struct files *files;
    struct esp_error error;
    char path[128];
    snprintf(path, sizeof path, "%s/not/there", folder);
    assert_int_equal(files_posix_create(path, &files, &error), ESP_NOT_FOUND);
    assert_says(&error, path);
}

static void a_deleted_file_is_gone(void **state)
{
    (void)state;
    struct rig rig;
    struct datum_id id;
    struct stat about;
    char file[256], name[DATUM_FILE_NAME];
    rig_create(&rig, 1, 1000, 64 << 20);
    rig_close(&rig);
    assert_int_equal(open_real(&rig, folder, NULL), ESP_OK);
    assert_int_equal(rig_put(&rig, &rig_alice, 100, DATUM_STICKY, 0, &id, NULL), ESP_OK);
    snprintf(file, sizeof file, "%s/%s", folder, datum_file_name(id.key, true, name));
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(store_delete(rig.store, &rig_alice, &id, NULL), ESP_OK);
    assert_int_not_equal(stat(file, &about), 0);
    rig_destroy(&rig);
}

static bool is_logged(const char *path, const char *words)
{
    char line[1024];
    bool found = false;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file))
        found = strstr(line, words);
    fclose(file);
    return found;
}

/* Neither followed nor waited for, and told with their names. */
static void what_is_no_regular_file_is_left_alone(void **state)
{
    (void)state;
    static const char *const kinds[] = {"a FIFO", "a symbolic link", "a folder"};
    static const struct log_options quiet = {.node = "test", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    struct rig rig;
    struct datum_id id;
    struct store_counts counts;
    struct file *file;
    struct esp_error error;
    uint64_t bytes;
    char path[128], log[128], names[3][DATUM_FILE_NAME], files[3][256], words[512];
    snprintf(path, sizeof path, "%s/data", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    rig_create(&rig, 1, 1000, 64 << 20);
    rig_close(&rig);
    assert_int_equal(open_real(&rig, path, NULL), ESP_OK);
    assert_int_equal(rig_put(&rig, &rig_alice, 100, DATUM_STICKY, 0, &id, NULL), ESP_OK);
    rig_close(&rig);
    for (unsigned i = 0; i < 3; i++) {
        datum_file_name((struct datum_key){7, i}, i != 2, names[i]);
        snprintf(files[i], sizeof files[i], "%s/%s", path, names[i]);
    }
    assert_int_equal(mkfifo(files[0], 0600), 0);
    assert_int_equal(symlink("/etc/passwd", files[1]), 0);
    assert_int_equal(mkdir(files[2], 0700), 0);
    log_close();
    log_open(&(struct log_options){.node = "test", .path = log, .level = LOG_WARNING_LEVEL}, NULL);
    assert_int_equal(open_real(&rig, path, NULL), ESP_OK);
    store_count(rig.store, &counts);
    assert_int_equal(counts.data, 1);
    assert_int_equal(counts.damaged, 0);
    assert_int_equal(rig_check(&rig, &rig_alice, &id, NULL), ESP_OK);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(words, sizeof words, "%s: expected a regular file, found %s", names[i], kinds[i]);
        assert_true(is_logged(log, words));
    }
    struct files *own = rig.options.files;
    assert_int_equal(own->ops->open(own, names[0], &file, &bytes, &error), ESP_INVALID);
    assert_says(&error, "expected a regular file, found a FIFO");
    rig_destroy(&rig);
    log_close();
    log_open(&quiet, NULL);
}

int main(void)
{
    struct log_options quiet = {.node = "test", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    log_open(&quiet, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_survives_its_bytes),
        cmocka_unit_test(the_format_is_what_it_was),
        cmocka_unit_test(every_wrong_bit_of_a_header_is_noticed),
        cmocka_unit_test(headers_that_make_no_sense_are_refused),
        cmocka_unit_test(damage_is_found_at_the_start),
        cmocka_unit_test(a_file_that_was_cut_is_damaged),
        cmocka_unit_test(damage_found_when_it_is_read_is_not_served),
        cmocka_unit_test(damage_is_found_at_leisure),
        cmocka_unit_test(a_file_under_another_name_is_not_that_datum),
        cmocka_unit_test(unfinished_files_go_and_others_stay),
        cmocka_unit_test(folders_of_others_are_refused_and_left_alone),
        cmocka_unit_test_setup_teardown(real_files_keep_data, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_is_told, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_deleted_file_is_gone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_left_alone, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
