/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in pieces carried between porters: every element to its place, and every way in which it fails.
 */
#include "tests/unit/unit.h"

#include "core/redistribution/pieces.h"
#include "sed/porter/porter_internal.h"
#include "sed/porter/porter_order.h"
#include "util/clock.h"

#include <endian.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 6

/* Porters of one server, and the memory of its store. */
struct side {
    struct porter *porters[MOST];
    struct porter_list list;
    int loans[MOST];
    int fd;
    double *pieces;
    uint64_t bytes;
};

static char folder[] = "/tmp/porters-XXXXXX";
static const struct datum_key key = {11, 22};

static void open_side(struct side *side, const char *name, uint32_t n, uint64_t elements)
{
    struct esp_error error;
    *side = (struct side){.bytes = elements * sizeof(double)};
    for (uint32_t i = 0; i < n; i++) {
        side->loans[i] = -1;
        snprintf(side->list.paths[i], PORTER_PATH, "%s/%s%u", folder, name, i);
        if (porter_create(side->list.paths[i], NULL, &side->porters[i], &error) != ESP_OK)
            fail_msg("%s", error.text);
    }
    side->list.n = n;
    side->fd = memfd_create(name, MFD_CLOEXEC);
    assert_int_equal(ftruncate(side->fd, (off_t)side->bytes), 0);
    side->pieces = mmap(NULL, side->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, side->fd, 0);
    assert_ptr_not_equal(side->pieces, MAP_FAILED);
}

static void close_side(struct side *side)
{
    for (uint32_t i = 0; i < side->list.n; i++) {
        if (side->loans[i] >= 0)
            close(side->loans[i]);
        porter_destroy(side->porters[i]);
    }
    munmap(side->pieces, side->bytes);
    close(side->fd);
}

static struct porter_order order_of(const struct block_cyclic_matrix *from,
                                    const struct block_cyclic_matrix *to, uint64_t bytes)
{
    struct porter_order order = {.kind = PORTER_LEND,
                                 .version = PORTER_VERSION,
                                 .ticket = 4711,
                                 .key = key,
                                 .from = *from,
                                 .to = *to,
                                 .element_bytes = sizeof(double),
                                 .bytes = bytes};
    snprintf(order.host, sizeof order.host, "127.0.0.1");
    return order;
}

static void lend(struct side *side, struct porter_order *order)
{
    struct esp_error error;
    for (uint32_t i = 0; i < side->list.n; i++)
        if (porter_lend(side->list.paths[i], order, side->fd, &side->loans[i], &order->ports[i], &error) !=
            ESP_OK)
            fail_msg("%s", error.text);
    order->n_ports = side->list.n;
}

struct told {
    uint64_t bytes;
    bool stop;
};

static void moved(void *arg, uint64_t bytes)
{
    struct told *told = arg;
    told->bytes += bytes;
}

static bool stopped(void *arg)
{
    return ((struct told *)arg)->stop;
}

static enum esp_status fetch(struct side *side, const struct porter_order *order, struct told *told,
                             struct esp_error *error)
{
    bool let_go;
    const struct porter_watch watch = {moved, stopped, told};
    enum esp_status status = porter_fetch_all(&side->list, order, side->fd, &watch, &let_go, error);
    assert_true(let_go);
    return status;
}

static void fill(const struct block_cyclic_matrix *layout, double *pieces, bool check)
{
    int64_t m = layout->rows.n, n = layout->cols.n;
    double *whole = malloc((size_t)(m * n) * sizeof *whole);
    if (check)
        pieces_join(layout, pieces, whole, sizeof *whole);
    for (int64_t i = 0; i < m * n; i++) {
        if (check)
            assert_true(whole[i] == (double)(3 * i + 1));
        whole[i] = (double)(3 * i + 1);
    }
    if (!check)
        pieces_cut(layout, whole, pieces, sizeof *whole);
    free(whole);
}

static void carries(struct block_cyclic_matrix from, struct block_cyclic_matrix to, uint32_t here,
                    uint32_t there, const char *host)
{
    struct side source, target;
    struct told told = {0};
    struct esp_error error = {.text = ""};
    uint64_t elements = (uint64_t)(from.rows.n * from.cols.n);
    open_side(&source, "from", here, elements);
    open_side(&target, "to", there, elements);
    struct porter_order order = order_of(&from, &to, source.bytes);
    snprintf(order.host, sizeof order.host, "%s", host);
    fill(&from, source.pieces, false);
    lend(&source, &order);
    enum esp_status status = fetch(&target, &order, &told, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, ESP_OK);
    assert_int_equal(told.bytes, source.bytes);
    fill(&to, target.pieces, true);
    close_side(&source);
    close_side(&target);
}

static void every_element_comes_to_its_place(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, p, q, rb, cb, p2, q2, rb2, cb2;
        uint32_t here, there;
    } cases[] = {{10, 8, 2, 2, 3, 3, 3, 2, 2, 5, 4, 6},  {37, 23, 2, 2, 4, 4, 1, 4, 7, 1, 4, 4},
                 {64, 64, 4, 1, 8, 8, 1, 4, 8, 8, 4, 4}, {50, 50, 1, 1, 1, 1, 2, 3, 5, 5, 1, 6},
                 {50, 50, 2, 3, 5, 5, 1, 1, 1, 1, 6, 1}, {97, 13, 5, 3, 1, 1, 2, 2, 3, 2, 4, 3},
                 {700, 3, 2, 2, 1, 1, 3, 2, 2, 2, 2, 2}, {1, 1, 2, 2, 4, 4, 3, 3, 1, 1, 2, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        carries(pieces_grid(cases[i].m, cases[i].n, cases[i].p, cases[i].q, cases[i].rb, cases[i].cb),
                pieces_grid(cases[i].m, cases[i].n, cases[i].p2, cases[i].q2, cases[i].rb2, cases[i].cb2),
                cases[i].here, cases[i].there, "127.0.0.1");
}

static void between_hosts_elements_are_checked(void **state)
{
    (void)state;
    carries(pieces_grid(300, 200, 2, 2, 7, 5), pieces_grid(300, 200, 3, 2, 8, 8), 4, 6, "127.0.0.2");
}

/* ---- what goes wrong ---- */

static struct side source, target;
static struct porter_order order;

static int prepare(void **state)
{
    (void)state;
    struct block_cyclic_matrix from = pieces_grid(100, 100, 2, 2, 8, 8),
                               to = pieces_grid(100, 100, 3, 1, 5, 5);
    open_side(&source, "from", 4, 10000);
    open_side(&target, "to", 3, 10000);
    order = order_of(&from, &to, source.bytes);
    lend(&source, &order);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    close_side(&source);
    close_side(&target);
    return 0;
}

static void a_wrong_ticket_is_refused(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    order.ticket++;
    assert_int_equal(fetch(&target, &order, &told, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "the pieces are not lent (any more): ask for them again"));
    assert_int_equal(told.bytes, 0);
}

static void another_layout_than_what_is_lent_is_refused(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    order.from.rows.block = 9;
    assert_int_equal(fetch(&target, &order, &told, &error), ESP_NOT_FOUND);
}

static void what_is_not_lent_any_more_is_told(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    for (uint32_t i = 0; i < source.list.n; i++) {
        close(source.loans[i]);
        source.loans[i] = -1;
    }
    enum esp_status status = ESP_OK; /* the porter hears of it a moment later */
    for (int i = 0; i < 500 && status == ESP_OK; i++)
        status = fetch(&target, &order, &told, &error);
    assert_int_equal(status, ESP_NOT_FOUND);
}

static void a_source_that_is_gone_is_told(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    close(source.loans[1]);
    source.loans[1] = -1;
    porter_destroy(source.porters[1]);
    source.porters[1] = NULL;
    assert_int_equal(fetch(&target, &order, &told, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "piece 1 from 127.0.0.1:"));
}

static void a_porter_that_is_not_there_stops_the_others(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    porter_destroy(target.porters[2]);
    target.porters[2] = NULL;
    assert_int_equal(fetch(&target, &order, &told, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "porter 2 of 3: the porter at "));
}

/* ---- a source that does what it should not ---- */

enum manner { CLOSES_IN_THE_MIDDLE, DAMAGES, IS_SILENT };

struct liar {
    int listener;
    enum manner manner;
    pthread_t thread;
};

static void *lie(void *arg)
{
    struct liar *liar = arg;
    int socket;
    const struct porter_end end = {.stop = -1, .order = -1};
    uint64_t words[PORTER_REQUEST_WORDS], ticket, elements;
    struct datum_key wanted;
    struct porter_message message;
    while ((socket = accept(liar->listener, NULL, NULL)) >= 0) {
        if (porter_hear(socket, words, sizeof words, &end, NULL) != ESP_OK ||
            !porter_request_read(words, &message, &ticket, &wanted) ||
            porter_message_count(&message, &elements, NULL) != ESP_OK)
            break;
        char *bytes = calloc(elements + 1, sizeof(double));
        uint64_t answer[2] = {htole64(ESP_OK), htole64(elements * sizeof(double))};
        porter_say(socket, answer, sizeof answer, &end, NULL);
        if (liar->manner == DAMAGES) /* elements without the checksum that they should have */
            porter_say(socket, bytes, (elements + 1) * sizeof(double), &end, NULL);
        else if (liar->manner == CLOSES_IN_THE_MIDDLE)
            porter_say(socket, bytes, elements * sizeof(double) / 2, &end, NULL);
        else
            porter_wait(socket, false, &end, PORTER_STALL_MS, NULL);
        free(bytes);
        close(socket);
    }
    return NULL;
}

static void lie_to(enum manner manner, struct told *told, enum esp_status expected, const char *text)
{
    struct liar liar = {.manner = manner};
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t size = sizeof name;
    struct esp_error error;
    liar.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(liar.listener, (struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(liar.listener, 16), 0);
    assert_int_equal(getsockname(liar.listener, (struct sockaddr *)&name, &size), 0);
    assert_int_equal(pthread_create(&liar.thread, NULL, lie, &liar), 0);
    snprintf(order.host, sizeof order.host, manner == DAMAGES ? "127.0.0.2" : "127.0.0.1");
    order.n_ports = 1;
    order.ports[0] = ntohs(name.sin_port);
    assert_int_equal(fetch(&target, &order, told, &error), expected);
    assert_non_null(strstr(error.text, text));
    shutdown(liar.listener, SHUT_RDWR);
    pthread_join(liar.thread, NULL);
    close(liar.listener);
}

static void a_source_that_ends_in_the_middle_is_told(void **state)
{
    (void)state;
    struct told told = {0};
    lie_to(CLOSES_IN_THE_MIDDLE, &told, ESP_UNREACHABLE, "the other side has closed it");
}

static void damaged_elements_are_not_taken(void **state)
{
    (void)state;
    struct told told = {0};
    lie_to(DAMAGES, &told, ESP_PROTOCOL, "the checksum of the elements is wrong");
    assert_int_equal(told.bytes, 0);
}

static void who_stops_it_does_not_wait_for_a_silent_source(void **state)
{
    (void)state;
    struct told told = {.stop = true};
    int64_t begun = clock_now_ns(&clock_system);
    lie_to(IS_SILENT, &told, ESP_CANCELLED, "the transfer was stopped");
    assert_true(clock_now_ns(&clock_system) - begun < 20 * NS_PER_S); /* 30 s without a byte are let pass */
}

static void a_malformed_order_is_refused(void **state)
{
    (void)state;
    struct esp_error error;
    int socket;
    uint16_t port;
    order.bytes--;
    assert_int_equal(porter_lend(source.list.paths[0], &order, source.fd, &socket, &port, &error),
                     ESP_PROTOCOL);
    assert_string_equal(error.text, "the porter was handed a malformed order");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* no socket is left in it */
}

int main(void)
{
#define FAULT(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_comes_to_its_place),
        cmocka_unit_test(between_hosts_elements_are_checked),
        FAULT(a_wrong_ticket_is_refused),
        FAULT(another_layout_than_what_is_lent_is_refused),
        FAULT(what_is_not_lent_any_more_is_told),
        FAULT(a_source_that_is_gone_is_told),
        FAULT(a_porter_that_is_not_there_stops_the_others),
        FAULT(a_source_that_ends_in_the_middle_is_told),
        FAULT(damaged_elements_are_not_taken),
        FAULT(who_stops_it_does_not_wait_for_a_silent_source),
        FAULT(a_malformed_order_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
