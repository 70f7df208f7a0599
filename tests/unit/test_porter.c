/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in pieces carried between porters: every element to its place, and every way in which it fails.
 */
#include "tests/unit/porter_rig.h"

#include "core/redistribution/pieces.h"
#include "util/clock.h"

#include <endian.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
                cases[i].here, cases[i].there, "127.0.0.1", false);
}

static void between_hosts_elements_are_checked(void **state)
{
    (void)state;
    carries(pieces_grid(300, 200, 2, 2, 7, 5), pieces_grid(300, 200, 3, 2, 8, 8), 4, 6, "127.0.0.2", false);
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
    enum esp_status status = ESP_OK; /* the porter notices it a moment later */
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

static void a_source_that_sends_nothing_for_long_is_told(void **state)
{
    (void)state;
    struct told told = {0};
    order.stall_ms = 300;
    lie_to(IS_SILENT, &told, ESP_TIMEOUT, "(porter 0 of 1 there): nothing moved for 0.3 s");
}

/* Acts as the porter of a stopped process: the system accepts connections, and sends nothing. */
static int stand_still_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 16), 0);
    return listener;
}

static void a_porter_that_stands_still_is_told_before_it_lets_go(void **state)
{
    (void)state;
    struct told told = {.patience_ms = 600};
    struct esp_error error;
    int64_t begun = clock_now_ns(&clock_system);
    porter_destroy(target.porters[1]);
    target.porters[1] = NULL;
    target.list.of_ranks = true;
    told.heal = stand_still_at(target.list.paths[1]);
    assert_int_equal(fetch(&target, &order, &told, &error), ESP_TIMEOUT);
    assert_true(clock_now_ns(&clock_system) - begun < 20 * NS_PER_S); /* 30 s are given for letting go */
    assert_int_equal(told.silent.status, ESP_TIMEOUT);
    assert_non_null(strstr(told.silent.text, "rank 1 of 3: it has said nothing for 0."));
    unlink(target.list.paths[1]);
}

static void a_porter_that_waits_for_its_source_is_not_silent(void **state)
{
    (void)state;
    struct told told = {.patience_ms = 1000};
    order.stall_ms = 3000;
    lie_to(IS_SILENT, &told, ESP_TIMEOUT, "nothing moved for 3 s");
    assert_int_equal(told.silent.status, ESP_OK);
}

static void a_lender_that_stands_still_is_told(void **state)
{
    (void)state;
    struct esp_error error;
    int socket;
    uint16_t port;
    porter_destroy(target.porters[0]);
    target.porters[0] = NULL;
    int listener = stand_still_at(target.list.paths[0]);
    assert_int_equal(porter_lend(target.list.paths[0], &order, source.fd, 200, &socket, &port, &error),
                     ESP_TIMEOUT);
    assert_non_null(strstr(error.text, "it has not answered for 0.2 s"));
    close(listener);
    unlink(target.list.paths[0]);
}

/* ---- where it is ---- */

/* By the porters that lend it, into the memory of the other side; what is said of ports leads nowhere. */
static enum esp_status lay_otherwise(struct told *told, struct esp_error *error)
{
    struct side here = source;
    here.fd = target.fd;
    for (uint32_t i = 0; i < order.n_ports; i++)
        order.ports[i] = 1;
    return fetch(&here, &order, told, error);
}

static void what_is_to_lie_otherwise_where_it_is_needs_no_message(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error = {.text = ""};
    fill(&order.from, source.pieces, false);
    assert_int_equal(lay_otherwise(&told, &error), ESP_OK);
    assert_string_equal(error.text, "");
    assert_int_equal(told.bytes, source.bytes);
    fill(&order.to, target.pieces, true);
}

static void memory_there_that_cannot_be_read_is_told(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    assert_int_equal(ftruncate(source.fd, 4096), 0);
    assert_int_equal(lay_otherwise(&told, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "of 4: the memory of the datum cannot be read: its disk has failed"));
}

static void other_sizes_than_those_of_what_is_there_are_refused(void **state)
{
    (void)state;
    struct told told = {0};
    struct esp_error error;
    order.to.rows.n = 50;
    order.to.cols.n = 200;
    assert_int_equal(lay_otherwise(&told, &error), ESP_PROTOCOL);
    assert_non_null(strstr(error.text, "malformed order"));
}

static void a_malformed_order_is_refused(void **state)
{
    (void)state;
    struct esp_error error;
    int socket;
    uint16_t port;
    order.bytes--;
    assert_int_equal(porter_lend(source.list.paths[0], &order, source.fd, 5000, &socket, &port, &error),
                     ESP_PROTOCOL);
    assert_string_equal(error.text, "the porter was handed a malformed order");
}

/* ---- ranks on other hosts that lend what they keep ---- */

#define KEPT_PIECE 1

static const struct datum_key kept_name = {33, 44};
static char *kept; /* the piece, which the daemon's porters have no longer as it was */
static int holders, held;

static const char *hold(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                        uint32_t element_bytes, uint64_t bytes, void **what)
{
    if (!datum_key_equal(name, kept_name) || piece != KEPT_PIECE)
        return NULL;
    assert_int_equal(element_bytes, sizeof(double));
    assert_int_equal(bytes, pieces_count(layout, piece) * sizeof(double));
    __atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
    *what = &holders;
    return kept;
}

static void let(void *what)
{
    __atomic_sub_fetch((int *)what, 1, __ATOMIC_SEQ_CST);
}

static const struct porter_keeper keeper = {.hold = hold, .let = let};

static struct porter *keep(void)
{
    struct porter *porter;
    struct esp_error error;
    const uint64_t bytes = pieces_count(&order.from, KEPT_PIECE) * sizeof(double);
    fill(&order.from, source.pieces, false);
    char *piece = (char *)(source.pieces + pieces_before(&order.from, KEPT_PIECE));
    kept = malloc(bytes);
    memcpy(kept, piece, bytes);
    memset(piece, 0, bytes);
    holders = held = 0;
    if (porter_create_keeping(&keeper, "127.0.0.1", &porter, &error) != ESP_OK)
        fail_msg("%s", error.text);
    order.lenders = (struct porter_lenders){.name = kept_name, .n = 2};
    for (uint32_t i = 0; i < 2; i++) { /* ranks 6 and 7, of which the first has nothing */
        order.lenders.all[i] = (struct porter_lender){.rank = 6 + i, .port = porter_port(porter)};
        snprintf(order.lenders.all[i].host, PORTER_LENDER_HOST, "127.0.0.1");
    }
    return porter;
}

static void give_back(void)
{
    const uint64_t bytes = pieces_count(&order.from, KEPT_PIECE) * sizeof(double);
    memcpy(source.pieces + pieces_before(&order.from, KEPT_PIECE), kept, bytes);
}

static void arrives(void)
{
    struct told told = {0};
    struct esp_error error = {.text = ""};
    assert_int_equal(fetch(&target, &order, &told, &error), ESP_OK);
    assert_int_equal(told.bytes, source.bytes);
    fill(&order.to, target.pieces, true);
}

static void a_piece_that_a_lender_keeps_comes_from_there(void **state)
{
    (void)state;
    struct porter *porter = keep();
    arrives();
    porter_destroy(porter);
    assert_true(held > 0);
    assert_int_equal(holders, 0);
    free(kept);
}

static void a_lender_that_is_gone_is_not_needed(void **state)
{
    (void)state;
    struct porter *porter = keep();
    give_back();
    porter_destroy(porter);
    arrives();
    assert_int_equal(held, 0);
    free(kept);
}

static void a_lender_does_not_give_what_goes_by_another_name(void **state)
{
    (void)state;
    struct porter *porter = keep();
    give_back();
    order.lenders.name.low++;
    arrives();
    porter_destroy(porter);
    assert_int_equal(held, 0);
    free(kept);
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
        FAULT(a_source_that_sends_nothing_for_long_is_told),
        FAULT(a_porter_that_stands_still_is_told_before_it_lets_go),
        FAULT(a_porter_that_waits_for_its_source_is_not_silent),
        FAULT(a_lender_that_stands_still_is_told),
        FAULT(what_is_to_lie_otherwise_where_it_is_needs_no_message),
        FAULT(memory_there_that_cannot_be_read_is_told),
        FAULT(other_sizes_than_those_of_what_is_there_are_refused),
        FAULT(a_malformed_order_is_refused),
        FAULT(a_piece_that_a_lender_keeps_comes_from_there),
        FAULT(a_lender_that_is_gone_is_not_needed),
        FAULT(a_lender_does_not_give_what_goes_by_another_name),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
