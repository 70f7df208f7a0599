/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of links to nodes that are gone: files, and ports that other nodes have now. */
#include "services/nws/links.h"
#include "services/nws/probe.h"
#include "services/nws/ring_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files of links that are gone ---- */

static char rings[100];

static void write_ring(const char *name, int64_t days)
{
    char path[300];
    const struct timespec times[2] = {{.tv_sec = 1000000000 + days * 24 * 3600},
                                      {.tv_sec = 1000000000 + days * 24 * 3600}};
    snprintf(path, sizeof path, "%s/%s", rings, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Takes the file away, if it is there. */
static bool had(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", rings, name);
    return unlink(path) == 0;
}

/* "Long ago" is before the latest of them, and not by the clock, which may have jumped. */
static void files_of_links_that_went_long_ago_go(void **state)
{
    (void)state;
    strcpy(rings, "/tmp/espalier-rings-XXXXXX");
    assert_non_null(mkdtemp(rings));
    write_ring("gone.ring", 0);
    write_ring("hit.ring.damaged", 1);
    write_ring("others", 0);
    write_ring("away.ring", 41 - RING_FILES_IDLE_DAYS);
    write_ring("there.ring", 41);
    assert_int_equal(ring_files_drop_old(rings, 1000), 2);
    assert_int_equal(ring_files_drop_old(rings, 1000), 0);
    write_ring("latest.ring", 42);
    write_ring("next.ring", 41);
    assert_int_equal(ring_files_drop_old(rings, 3), 1); /* of four: the one that is away */
    assert_true(had("latest.ring") && had("next.ring") && had("there.ring") && had("others"));
    assert_int_equal(rmdir(rings), 0);
    assert_int_equal(ring_files_drop_old(rings, 3), 0); /* there is no folder */
}

/* A daemon does so when it starts. */
static void a_daemon_that_starts_drops_files_of_old_links(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-links-XXXXXX", state_dir[64];
    struct links *links;
    struct esp_error error;
    assert_non_null(mkdtemp(folder));
    snprintf(state_dir, sizeof state_dir, "%s/state", folder);
    snprintf(rings, sizeof rings, "%s/links", state_dir);
    assert_int_equal(mkdir(state_dir, 0700), 0);
    assert_int_equal(mkdir(rings, 0700), 0);
    write_ring("gone.ring", 0);
    write_ring("there.ring", 365);
    const struct links_options options = {
        .name = "here", .listen = "127.0.0.1:0", .state_dir = state_dir, .learns = true};
    assert_int_equal(links_create(&options, &links, &error), ESP_OK);
    assert_false(had("gone.ring"));
    assert_true(had("there.ring"));
    links_destroy(links);
    assert_int_equal(rmdir(rings), 0);
    assert_int_equal(rmdir(state_dir), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- ports that others have ---- */

/* Answers each request with this, as another program might that has the port. */
struct other_program {
    int listener;
    const char *answer;
};

static void *answer_all(void *self)
{
    const struct other_program *other = self;
    char request[4096];
    int fd;
    while ((fd = accept(other->listener, NULL, NULL)) >= 0) {
        while (recv(fd, request, sizeof request, 0) > 0 &&
               send(fd, other->answer, strlen(other->answer), MSG_NOSIGNAL) > 0)
            ;
        close(fd);
    }
    return NULL;
}

/* Pages of another length than was asked for would tell of a link that is as quick as anything. */
static void what_another_program_answers_is_no_measurement(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", /* as long as the first one that is asked for */
        "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\r\n\r\n"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        struct other_program other = {socket(AF_INET, SOCK_STREAM, 0), answers[i]};
        struct link_measurement measurement = {0};
        struct esp_error error = {0};
        double busy_s = 0;
        char url[64];
        pthread_t thread;
        assert_int_equal(bind(other.listener, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(other.listener, 8), 0);
        assert_int_equal(getsockname(other.listener, (struct sockaddr *)&address, &length), 0);
        assert_int_equal(pthread_create(&thread, NULL, answer_all, &other), 0);
        snprintf(url, sizeof url, "http://127.0.0.1:%u/secret", ntohs(address.sin_port));
        const enum esp_status status = probe_link(url, NULL, 5000, NULL, &measurement, &busy_s, &error);
        shutdown(other.listener, SHUT_RDWR);
        pthread_join(thread, NULL);
        close(other.listener);
        assert_int_equal(status, i < 3 ? ESP_PROTOCOL : ESP_REFUSED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_links_that_went_long_ago_go),
        cmocka_unit_test(a_daemon_that_starts_drops_files_of_old_links),
        cmocka_unit_test(what_another_program_answers_is_no_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
