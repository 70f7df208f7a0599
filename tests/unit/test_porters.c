/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "sed/pool/folder.h"
#include "sed/porter/porters.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Whether a socket there takes connections. */
static bool is_listened_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    const bool there = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    char closed;
    /* The porter closes the connection of who sends no order: the listener's thread has accepted it. */
    const bool served = there && shutdown(fd, SHUT_WR) == 0 && recv(fd, &closed, 1, 0) >= 0;
    if (fd >= 0)
        close(fd);
    return served;
}

static void a_porter_whose_folder_was_removed_takes_orders_in_another_one(void **state)
{
    struct porters *porters;
    struct porter_list list;
    struct esp_error error;
    char former[PORTER_PATH], folder[PORTER_PATH];
    (void)state;
    assert_int_equal(porters_create(NULL, &porters, &error), ESP_OK);
    assert_int_equal(porters_listen(porters, "127.0.0.1", 0, &error), ESP_OK);
    porters_list(porters, &list);
    assert_int_equal(list.n, 1);
    assert_true(is_listened_at(list.paths[0]));
    memcpy(former, list.paths[0], sizeof former);
    memcpy(folder, former, sizeof folder);
    *strrchr(folder, '/') = 0;
    folder_remove(folder);
    porters_list(porters, &list);
    assert_int_equal(list.n, 1);
    assert_string_not_equal(list.paths[0], former);
    assert_true(is_listened_at(list.paths[0]));
    memcpy(former, list.paths[0], sizeof former);
    porters_list(porters, &list);
    assert_string_equal(list.paths[0], former); /* what is there stays */
    porters_destroy(porters);
    assert_int_equal(access(former, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_porter_whose_folder_was_removed_takes_orders_in_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
