/* SPDX-License-Identifier: Apache-2.0
 *
 * A server that is killed (kill -9) at random times while four clients put, get and delete persistent data
 * over the network: what it acknowledged is there after its next start, byte by byte. $ESP_BENCH_KILLS: how
 * often (1000 is what is promised; without it 100, which takes a minute or two).
 */
#include "bench/bench.h"
#include "core/data/datum.h"
#include "core/transport.h"
#include "orb/orb.h"

#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 4, DATA = 8, MOST_BYTES = 300000, PIECE = 65536, TIMEOUT_MS = 60000 };

/* What was promised of a datum. */
enum promise { PROMISE_NONE, PROMISE_KEPT, PROMISE_EITHER, PROMISE_GONE };

struct item {
    struct datum_id id;
    uint64_t bytes;
    enum promise promise;
};

struct client {
    pthread_t thread;
    struct random random;
    struct item items[DATA];
    uint8_t data[MOST_BYTES + 8], expected[MOST_BYTES + 8];
};

static struct transport *transport;
static char folder[] = "/tmp/espalier-bench.XXXXXX", address[128];
static struct client clients[CLIENTS];
static atomic_uint_fast64_t n_puts, n_gets, kept, lost, wrong, risen, strange;

/* ---- the server ---- */

static void write_conf(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/none.esp", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail("cannot write %s: %s", path, strerror(errno));
    fputs(
        "problem seed \"Something to serve\"\n    in int n\nimplementation c\n    c srand(n) in libc.so.6\n",
        file);
    fclose(file);
    snprintf(path, sizeof path, "%s/server.conf", folder);
    if (!(file = fopen(path, "w")))
        bench_fail("cannot write %s: %s", path, strerror(errno));
    fprintf(file,
            "name = \"server\"\nlisten = \"127.0.0.1:0\"\naddress_file = \"%s/address\"\n"
            "parent = \"127.0.0.1:9\"\nstate_dir = \"%s/state\"\nslots = 1\nstore_memory = \"64 MiB\"\n"
            "log_file = \"%s/server.log\"\nproblems = { \"%s/none.esp\" }\n",
            folder, folder, folder, folder);
    fclose(file);
}

static pid_t start_server(void)
{
    const char *build = getenv("top_builddir");
    char program[512], conf[128], file[128];
    snprintf(program, sizeof program, "%s/sed/espalier-sed", build ? build : ".");
    snprintf(conf, sizeof conf, "%s/server.conf", folder);
    snprintf(file, sizeof file, "%s/address", folder);
    unlink(file);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, program, "--foreground", conf, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 60000; i++) {
        FILE *there = fopen(file, "r");
        address[0] = 0;
        if (there) {
            if (!fgets(address, sizeof address, there))
                address[0] = 0;
            fclose(there);
        }
        if (strchr(address, '\n')) {
            address[strcspn(address, "\n")] = 0;
            return pid;
        }
        if (waitpid(pid, NULL, WNOHANG) == pid)
            break;
        usleep(1000);
    }
    bench_fail("the server does not start: see %s/server.log", folder);
}

/* ---- what clients do ---- */

static void make_content(const struct item *item, uint8_t *data)
{
    struct random random;
    random_seed(&random, item->id.key.low);
    for (uint64_t i = 0; i < item->bytes; i += 8) {
        uint64_t word = random_next(&random);
        memcpy(data + i, &word, 8);
    }
}

static enum esp_status ask(struct message *request, struct message *reply)
{
    struct esp_error error;
    return transport_call(transport, address, request, TIMEOUT_MS, reply, &error);
}

static struct message piece(enum message_kind kind, const struct item *item, uint64_t ticket, uint64_t offset,
                            uint64_t length)
{
    return (struct message){
        .kind = kind,
        .chunk = {
            .session = {.client_high = item->id.key.high, .client_low = item->id.key.low, .secret = ticket},
            .offset = offset,
            .length = length,
            .flags = CHUNK_DATUM}};
}

static enum esp_status finish(const char *datum, uint64_t ticket)
{
    struct message request = {.kind = MESSAGE_FINISH, .finish = {.datum = datum, .ticket = ticket}}, reply;
    enum esp_status status = ask(&request, &reply);
    message_clear(&reply);
    return status;
}

/* ESP_OK: acknowledged. */
static enum esp_status put(struct client *client, struct item *item)
{
    char text[DATUM_TEXT];
    struct message reply;
    if (datum_id_draw("server", &item->id, NULL) != ESP_OK)
        bench_fail("no random numbers");
    item->bytes = random_below(&client->random, MOST_BYTES);
    item->promise = PROMISE_EITHER;
    make_content(item, client->data);
    int64_t dims = (int64_t)item->bytes;
    struct message offer = {.kind = MESSAGE_OFFER,
                            .offer = {.datum = {.datum = datum_id_text(&item->id, text),
                                                .type = TYPE_CHAR,
                                                .dims = &dims,
                                                .n_dims = 1,
                                                .bytes = item->bytes,
                                                .mode = DATUM_PERSISTENT}}};
    enum esp_status status = ask(&offer, &reply);
    uint64_t ticket = status == ESP_OK ? reply.offer_reply.ticket : 0;
    message_clear(&reply);
    for (uint64_t at = 0; status == ESP_OK && at < item->bytes; at += PIECE) {
        uint64_t length = item->bytes - at < PIECE ? item->bytes - at : PIECE;
        struct message header = piece(MESSAGE_PUT, item, ticket, at, length);
        struct esp_error error;
        status = transport_put(transport, address, &header, client->data + at, TIMEOUT_MS, 0, &error);
    }
    if (status == ESP_OK)
        status = finish(text, ticket);
    if (status == ESP_OK)
        item->promise = PROMISE_KEPT;
    n_puts += status == ESP_OK;
    return status;
}

static enum esp_status delete (struct item *item) {
    char text[DATUM_TEXT]; struct message reply;
    struct message request = {.kind = MESSAGE_DROP, .drop = {.datum = datum_id_text(&item->id, text)}};
    item->promise = PROMISE_EITHER;
    enum esp_status status = ask(&request, &reply);
    message_clear(&reply);
    if (status == ESP_OK) item->promise = PROMISE_GONE;
    return status;
}

/* All of it, looked at. */
static enum esp_status get(struct client *client, const struct item *item)
{
    char text[DATUM_TEXT];
    struct message reply;
    struct message request = {.kind = MESSAGE_OPEN, .open = {.datum = datum_id_text(&item->id, text)}};
    enum esp_status status = ask(&request, &reply);
    uint64_t ticket = status == ESP_OK ? reply.open_reply.ticket : 0;
    message_clear(&reply);
    for (uint64_t at = 0, moved = 0; status == ESP_OK && at < item->bytes; at += moved) {
        struct message header = piece(MESSAGE_GET, item, ticket, at, PIECE);
        struct esp_error error;
        status = transport_get(transport, address, &header, client->data + at, &moved, TIMEOUT_MS, 0, &error);
        if (status == ESP_OK && moved == 0)
            status = ESP_FAILED;
    }
    if (status != ESP_OK)
        return status;
    finish(text, ticket);
    make_content(item, client->expected);
    wrong += memcmp(client->data, client->expected, item->bytes) != 0;
    n_gets++;
    return ESP_OK;
}

/* Until the server is gone: any failure but a busy moment. */
static void *be_client(void *arg)
{
    struct client *client = arg;
    enum esp_status status = ESP_OK;
    while (status == ESP_OK || status == ESP_BUSY) {
        struct item *item = &client->items[random_below(&client->random, DATA)];
        uint64_t what = random_below(&client->random, 8);
        if (item->promise == PROMISE_NONE || item->promise == PROMISE_GONE)
            status = put(client, item);
        else if (item->promise == PROMISE_EITHER)
            status = ESP_OK; /* the next start tells */
        else if (what < 3)
            status = delete (item);
        else
            status = get(client, item);
        if (status == ESP_NOT_FOUND) {
            lost++;
            status = ESP_OK;
        }
    }
    return NULL;
}

/* After a start: what may be there is there or not, from now on. */
static void judge(struct client *client)
{
    for (int i = 0; i < DATA; i++) {
        struct item *item = &client->items[i];
        if (item->promise == PROMISE_NONE)
            continue;
        enum esp_status status = get(client, item);
        kept += item->promise == PROMISE_KEPT;
        lost += item->promise == PROMISE_KEPT && status == ESP_NOT_FOUND;
        risen += item->promise == PROMISE_GONE && status == ESP_OK;
        strange += status != ESP_OK && status != ESP_NOT_FOUND;
        item->promise = status == ESP_OK ? PROMISE_KEPT : PROMISE_NONE;
    }
}

static void live_and_die(struct random *random)
{
    pid_t server = start_server();
    for (int i = 0; i < CLIENTS; i++)
        judge(&clients[i]);
    for (int i = 0; i < CLIENTS; i++)
        if (pthread_create(&clients[i].thread, NULL, be_client, &clients[i]) != 0)
            bench_fail("no threads");
    usleep((useconds_t)random_below(random, 100000));
    kill(server, SIGKILL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    waitpid(server, NULL, 0);
}

static void show(size_t kills)
{
    const struct {
        const char *name;
        uint64_t n;
    } rows[] = {{"acknowledged data lost", lost},
                {"data with wrong bytes", wrong},
                {"deleted data that came back", risen},
                {"data that could not be read", strange}};
    char name[96];
    printf("%" PRIu64 " puts and %" PRIu64 " gets; %" PRIu64 " acknowledged data looked at after a start\n",
           (uint64_t)n_puts, (uint64_t)n_gets, (uint64_t)kept);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(name, sizeof name, "%zu kills of a server, %s", kills, rows[i].name);
        bench_row(&(struct bench_case){"kill", name, "data", BENCH_GROWS_AT_MOST, 0}, (double)rows[i].n, 0);
    }
}

int main(void)
{
    const char *wanted = getenv("ESP_BENCH_KILLS");
    size_t kills = wanted ? strtoul(wanted, NULL, 10) : 100;
    char command[96];
    struct random random;
    struct esp_error error;
    if (!mkdtemp(folder))
        bench_fail("cannot make a folder in /tmp: %s", strerror(errno));
    if (orb_open(&(struct orb_options){0}, &transport, &error) != ESP_OK)
        bench_fail("%s", error.text);
    write_conf();
    random_seed(&random, 1);
    for (int i = 0; i < CLIENTS; i++)
        random_seed(&clients[i].random, 100 + (uint64_t)i);
    for (size_t i = 0; i < kills; i++) {
        live_and_die(&random);
        if (isatty(2))
            fprintf(stderr, "\r%zu of %zu kills", i + 1, kills);
    }
    pid_t server = start_server();
    for (int i = 0; i < CLIENTS; i++)
        judge(&clients[i]);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    transport_destroy(transport);
    show(kills);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0;
}
