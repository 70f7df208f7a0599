/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/cost_model.h"
#include "util/regular_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/espalier-regular-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void a_regular_file_is_opened(void **state)
{
    (void)state;
    struct esp_error error;
    char text[8] = "";
    FILE *file = regular_file_open(path_of("plain"), "a", &error);
    assert_non_null(file);
    fputs("one\n", file);
    fclose(file);
    file = regular_file_open(path_of("plain"), "r+", &error);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, "one\n");
    fclose(file);
    assert_null(regular_file_open(path_of("none"), "r", &error));
    assert_int_equal(error.status, ESP_NOT_FOUND);
}

/* Each of them would hold the caller up, or fail at the first byte. */
static void nothing_else_is(void **state)
{
    (void)state;
    static const char *const modes[] = {"r", "r+", "a", "w"};
    static const char *const names[][2] = {
        {"fifo", "a FIFO"}, {"folder", "a folder"}, {"socket", "a socket"}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct esp_error error;
    char expected[200];
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path_of("socket"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    alarm(20); /* a FIFO that is waited for ends the test */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
            snprintf(expected, sizeof expected, "%s: expected a regular file, found %s", path_of(names[i][0]),
                     names[i][1]);
            assert_null(regular_file_open(path_of(names[i][0]), modes[k], &error));
            assert_int_equal(error.status, ESP_INVALID);
            assert_string_equal(error.text, expected);
        }
    assert_int_equal(regular_file_descriptor("/dev/null", O_RDONLY, NULL), -1);
    alarm(0);
    close(fd);
}

static void count(void *arg, const struct esp_error *error)
{
    assert_non_null(strstr(error->text, "expected a regular file, found a FIFO"));
    ++*(unsigned *)arg;
}

/* Files that a server reads at its start and at SIGHUP. */
static void a_folder_of_models_is_read_beside_them(void **state)
{
    (void)state;
    struct cost_set set;
    struct esp_error error;
    unsigned n = 0;
    assert_int_equal(mkfifo(path_of("x.model"), 0600), 0);
    alarm(20);
    assert_int_equal(cost_load_folder(folder, count, &n, &set, &error), ESP_OK);
    alarm(0);
    assert_int_equal(n, 1);
    cost_set_clear(&set);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "fifo", "folder", "socket", "x.model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(path_of(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regular_file_is_opened),
        cmocka_unit_test(nothing_else_is),
        cmocka_unit_test(a_folder_of_models_is_read_beside_them),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
