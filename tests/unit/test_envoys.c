/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that are accepted as a rank on another host, and those that are refused: the other side of
 * each connection is this test. */
#include "tests/unit/unit.h"

#include "sed/ranks/envoy_internal.h"
#include "util/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANKS    2
#define HELLO_MS 300

static struct envoys *envoys;
static char secret[RANK_SECRET_TEXT];
static _Atomic int arrivals;
static int channels[8]; /* the pool's ends */
static bool wanted;
static int pulse; /* that the pool was given, or -1 */

static struct ring *no_ring(void *arg, uint32_t number)
{
    (void)arg;
    (void)number;
    return NULL;
}

static bool arrived(void *arg, const struct far_hello *hello, int socket)
{
    (void)arg;
    (void)hello;
    if (!wanted)
        return false;
    channels[atomic_load(&arrivals)] = socket;
    atomic_fetch_add(&arrivals, 1);
    return true;
}

static bool took_pulse(void *arg, const struct far_hello *hello, int socket)
{
    (void)arg;
    if (!wanted || hello->rank != 1)
        return false;
    pulse = socket;
    atomic_fetch_add(&arrivals, 1);
    return true;
}

static int open_gate(int hello_ms)
{
    struct esp_error error;
    const struct envoys_options options = {.host = "127.0.0.1",
                                           .ranks = RANKS,
                                           .hello_ms = hello_ms,
                                           .bell = -1,
                                           .ring = no_ring,
                                           .arrived = arrived,
                                           .pulse = took_pulse};
    arrivals = 0;
    pulse = -1;
    wanted = true;
    if (envoys_create(&options, &envoys, &error) != ESP_OK || envoys_expect(envoys, secret, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return open_gate(HELLO_MS);
}

static int set_up_patient(void **state)
{
    (void)state;
    return open_gate(60000);
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < arrivals - (pulse >= 0); i++)
        close(channels[i]);
    if (pulse >= 0)
        close(pulse);
    envoys_destroy(envoys);
    return 0;
}

/* ---- the other side ---- */

static int knock(void)
{
    unsigned port;
    assert_int_equal(sscanf(envoys_at(envoys), "127.0.0.1:%u", &port), 1);
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static struct far_signed hello_of(uint32_t rank)
{
    return (struct far_signed){.hello = {.magic = FAR_MAGIC,
                                         .version = RANK_LINK_VERSION,
                                         .ring_bytes = sizeof(struct ring),
                                         .rank = rank,
                                         .size = RANKS,
                                         .pid = 1234,
                                         .host = "elsewhere"}};
}

/* Within 5 s. */
static bool hear(int fd, void *data, size_t bytes)
{
    struct pollfd heard = {.fd = fd, .events = POLLIN};
    return poll(&heard, 1, 5000) == 1 && recv(fd, data, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

/* Says it all, knowing that secret. True: a welcome came back. */
static bool is_let_in(int fd, struct far_signed both, const char *knows)
{
    struct far_challenge challenge;
    struct far_message welcome;
    unsigned char proof[RANK_PROOF_BYTES];
    if (send(fd, &both.hello, sizeof both.hello, MSG_NOSIGNAL) != sizeof both.hello ||
        !hear(fd, &challenge, sizeof challenge))
        return false;
    memcpy(both.nonce, challenge.nonce, sizeof both.nonce);
    assert_int_equal(rank_prove(knows, "rank", &both, sizeof both, proof, NULL), ESP_OK);
    return send(fd, proof, sizeof proof, MSG_NOSIGNAL) == sizeof proof &&
           hear(fd, &welcome, sizeof welcome) && welcome.kind == FAR_WELCOME;
}

static void is_sent_away(struct far_signed both, const char *knows)
{
    int fd = knock();
    assert_false(is_let_in(fd, both, knows));
    close(fd);
    assert_int_equal(arrivals, 0);
}

static double closed_after_s(int fd)
{
    char byte;
    const int64_t begun = clock_now_ns(&clock_system);
    struct pollfd closed = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&closed, 1, 20000), 1);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    return (double)(clock_now_ns(&clock_system) - begun) / NS_PER_S;
}

/* ---- accepted and refused processes ---- */

static void who_knows_the_secret_is_let_in_and_its_end_is_told(void **state)
{
    (void)state;
    struct pollfd gone = {.events = POLLRDHUP};
    int fd = knock();
    assert_true(is_let_in(fd, hello_of(1), secret));
    assert_int_equal(arrivals, 1);
    close(fd);
    gone.fd = channels[0];
    assert_int_equal(poll(&gone, 1, 5000), 1);
}

/* By the same proofs; then it is the pool's alone. */
static void the_connection_of_a_pulse_is_given_to_the_pool(void **state)
{
    (void)state;
    struct far_signed both = hello_of(1);
    char byte = 0;
    both.hello.purpose = FAR_PULSE;
    is_sent_away(both, "");
    int fd = knock();
    assert_true(is_let_in(fd, both, secret));
    for (int i = 0; i < 500 && arrivals == 0; i++) /* it is welcomed before */
        usleep(10000);
    assert_int_equal(arrivals, 1);
    assert_int_equal(send(pulse, "x", 1, MSG_NOSIGNAL), 1);
    assert_true(hear(fd, &byte, 1));
    assert_int_equal(byte, 'x');
    close(fd);
    both.hello.rank = 0; /* of a rank that the pool does not know */
    fd = knock();
    assert_true(is_let_in(fd, both, secret));
    assert_true(closed_after_s(fd) < 10);
    assert_int_equal(arrivals, 1);
}

static void a_rank_ends_when_the_pool_closes_its_channel(void **state)
{
    (void)state;
    int fd = knock();
    assert_true(is_let_in(fd, hello_of(0), secret));
    shutdown(channels[0], SHUT_WR);
    assert_true(closed_after_s(fd) < 10);
}

static void who_does_not_know_the_secret_is_sent_away(void **state)
{
    char almost[RANK_SECRET_TEXT];
    (void)state;
    memcpy(almost, secret, sizeof almost);
    almost[63] = almost[63] == '0' ? '1' : '0';
    is_sent_away(hello_of(0), almost);
    is_sent_away(hello_of(0), "");
}

/* A rank of the job before this one must not come to the new one. */
static void the_secret_of_an_earlier_job_is_worth_nothing(void **state)
{
    char fresh[RANK_SECRET_TEXT];
    (void)state;
    assert_int_equal(envoys_expect(envoys, fresh, NULL), ESP_OK);
    assert_string_not_equal(fresh, secret);
    is_sent_away(hello_of(0), secret);
}

/* The daemon's proof differs from the rank's proof. */
static void a_proof_cannot_be_thrown_back(void **state)
{
    struct far_signed both = hello_of(0);
    struct far_challenge challenge;
    unsigned char mine[RANK_PROOF_BYTES];
    char byte;
    (void)state;
    int fd = knock();
    assert_int_equal(send(fd, &both.hello, sizeof both.hello, 0), sizeof both.hello);
    assert_true(hear(fd, &challenge, sizeof challenge));
    memcpy(both.nonce, challenge.nonce, sizeof both.nonce);
    assert_int_equal(rank_prove(secret, "daemon", &both, sizeof both, mine, NULL), ESP_OK);
    assert_true(rank_proofs_agree(mine, challenge.proof)); /* it does know the secret */
    assert_int_equal(send(fd, challenge.proof, sizeof challenge.proof, 0), sizeof challenge.proof);
    assert_false(hear(fd, &byte, 1));
    close(fd);
    assert_int_equal(arrivals, 0);
}

static void what_is_no_rank_of_this_build_and_job_is_sent_away(void **state)
{
    (void)state;
    struct far_signed other = hello_of(0), version = other, layout = other, size = other, rank = other;
    struct far_signed purpose = other;
    other.hello.magic++;
    version.hello.version++;
    layout.hello.ring_bytes += 64;
    size.hello.size++;
    rank.hello.rank = RANKS;
    purpose.hello.purpose = FAR_PULSE + 1;
    is_sent_away(other, secret);
    is_sent_away(version, secret);
    is_sent_away(layout, secret);
    is_sent_away(size, secret);
    is_sent_away(rank, secret);
    is_sent_away(purpose, secret);
}

static void a_rank_that_nobody_waits_for_is_sent_away(void **state)
{
    (void)state;
    wanted = false;
    is_sent_away(hello_of(0), secret);
}

/* ---- strangers ---- */

static void who_says_nothing_or_trickles_is_not_waited_for(void **state)
{
    (void)state;
    int silent = knock(), trickles = knock();
    for (int i = 0; i < 6; i++) {
        send(trickles, "x", 1, MSG_NOSIGNAL);
        usleep(HELLO_MS * 1000 / 4);
    }
    assert_true(closed_after_s(silent) < 10);
    assert_true(closed_after_s(trickles) < 10);
}

/* Connections beyond the cap are closed at once, and ranks come in again when the others are gone. */
static void a_crowd_of_strangers_is_kept_out(void **state)
{
    enum { MANY = 100 };
    int fds[MANY], open = MANY;
    (void)state;
    for (int i = 0; i < MANY; i++)
        fds[i] = knock();
    for (int tries = 0; tries < 500 && open > RANKS + 16; tries++) {
        usleep(10000);
        open = 0;
        for (int i = 0; i < MANY; i++) {
            char byte;
            open += recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0;
        }
    }
    assert_int_equal(open, RANKS + 16);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    for (int i = 0; i < 100 && arrivals == 0; i++) {
        int fd = knock();
        if (!is_let_in(fd, hello_of(0), secret))
            usleep(10000);
        close(fd);
    }
    assert_int_equal(arrivals, 1);
}

/* The pool has ended the job, as it heard of another rank first: what this one has said is passed on all the
 * same. */
static void a_last_word_is_heard_behind_the_end_of_the_job(void **state)
{
    (void)state;
    for (int said = 0; said < 2; said++) {
        int rank[2], pool[2], stop[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, rank), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pool), 0);
        assert_int_equal(pipe(stop), 0);
        const struct far_message word = {.kind = FAR_LAST_WORD, .end = RANK_ABORTED, .code = 7};
        if (said)
            assert_int_equal(send(rank[1], &word, sizeof word, 0), sizeof word);
        assert_int_equal(shutdown(pool[0], SHUT_WR), 0);
        const struct porter_end end = {.stop = stop[0], .order = pool[1]};
        struct far_message message;
        struct rank_message last;
        struct esp_error error;
        int files[RING_MAX_DESCRIPTORS];
        uint32_t n;
        assert_int_equal(envoy_hear(rank[0], &end, &message, &error), said ? ESP_UNREACHABLE : ESP_CANCELLED);
        assert_int_equal(rank_link_receive(pool[0], &last, files, &n, MSG_DONTWAIT) == 1, said);
        if (said)
            assert_true(last.kind == RANK_LAST_WORD && last.end == RANK_ABORTED && last.code == 7);
        for (int i = 0; i < 2; i++) {
            close(rank[i]);
            close(pool[i]);
            close(stop[i]);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_knows_the_secret_is_let_in_and_its_end_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_connection_of_a_pulse_is_given_to_the_pool, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rank_ends_when_the_pool_closes_its_channel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_know_the_secret_is_sent_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_secret_of_an_earlier_job_is_worth_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_proof_cannot_be_thrown_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_rank_of_this_build_and_job_is_sent_away, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_rank_that_nobody_waits_for_is_sent_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_says_nothing_or_trickles_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crowd_of_strangers_is_kept_out, set_up_patient, tear_down),
        cmocka_unit_test(a_last_word_is_heard_behind_the_end_of_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
