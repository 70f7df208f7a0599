/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "tests/unit/store_rig.h"
#include "tests/unit/store_trials.h"

#include "util/random.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 4, DATA = 8, MOST_BYTES = 100000 };

enum promise { PROMISE_NONE, PROMISE_KEPT, PROMISE_EITHER, PROMISE_GONE };

struct item {
    struct datum_id id;
    uint64_t bytes;
    _Atomic int promise;
};

/* Survives the process that is killed. */
struct ledger {
    struct item items[CLIENTS][DATA];
    atomic_uint_fast64_t kept, lost, wrong, risen, strange;
    atomic_int ready;
};

/* The process that is killed. */
struct server {
    struct rig rig;
    struct ledger *ledger;
    pthread_mutex_t lock; /* the node's */
    uint64_t seed;
};

struct client {
    struct server *server;
    struct item *items;
    struct random random;
};

static enum esp_status end_work(struct server *server, struct store_work *work)
{
    pthread_mutex_unlock(&server->lock);
    store_work_do(work);
    pthread_mutex_lock(&server->lock);
    return store_work_end(server->rig.store, work, NULL);
}

static void put(struct client *client, struct item *item)
{
    struct server *server = client->server;
    bool durable = random_below(&client->random, 4) > 0;
    uint64_t bytes = random_below(&client->random, MOST_BYTES);
    struct store_new new_datum = rig_new(bytes, durable ? DATUM_PERSISTENT : DATUM_VOLATILE, 0);
    struct store_work *work;
    struct datum_id id;
    pthread_mutex_lock(&server->lock);
    if (rig_begin(&server->rig, &rig_alice, &new_datum, &id, NULL) == ESP_OK) {
        rig_fill(&server->rig, &rig_alice, &id, bytes, NULL);
        item->id = id;
        item->bytes = bytes;
        if (durable)
            item->promise = PROMISE_EITHER;
        enum esp_status status = store_commit(server->rig.store, &rig_alice, id.key, &work, NULL);
        if (work)
            status = end_work(server, work);
        if (status != ESP_OK)
            server->ledger->strange++;
        else if (durable)
            item->promise = PROMISE_KEPT;
    }
    pthread_mutex_unlock(&server->lock);
}

/* Looks at every byte. `starting`: what may be there is there or not, from now on. */
static void get(struct server *server, struct item *item, bool starting)
{
    struct store_pin *pin;
    struct store_work *work;
    int promise = item->promise;
    enum esp_status status = store_open(server->rig.store, &rig_alice, &item->id, &pin, &work, NULL);
    if (status == ESP_OK && work)
        status = end_work(server, work);
    if (status == ESP_OK) {
        const struct store_memory *memory = store_pin_memory(pin);
        server->ledger->wrong += !rig_is_content(&item->id, memory->data, memory->bytes);
        store_release(server->rig.store, pin, false);
    }
    bool absent = status == ESP_NOT_FOUND;
    server->ledger->kept += starting && promise == PROMISE_KEPT;
    server->ledger->lost += absent && promise == PROMISE_KEPT;
    server->ledger->risen += status == ESP_OK && promise == PROMISE_GONE;
    server->ledger->strange += status != ESP_OK && !absent && status != ESP_BUSY;
    if (starting && promise == PROMISE_EITHER)
        item->promise = absent ? PROMISE_NONE : PROMISE_KEPT;
    if (starting && promise == PROMISE_GONE)
        item->promise = PROMISE_NONE;
}

static void delete (struct server *server, struct item *item)
{
    item->promise = PROMISE_EITHER;
    enum esp_status status = store_delete(server->rig.store, &rig_alice, &item->id, NULL);
    server->ledger->strange += status != ESP_OK;
    item->promise = PROMISE_GONE;
}

static void *be_client(void *arg)
{
    struct client *client = arg;
    struct server *server = client->server;
    for (;;) {
        struct item *item = &client->items[random_below(&client->random, DATA)];
        uint64_t what = random_below(&client->random, 8);
        if (item->promise == PROMISE_NONE || item->promise == PROMISE_GONE) {
            put(client, item);
            continue;
        }
        pthread_mutex_lock(&server->lock);
        if (what < 2)
            delete (server, item);
        else
            get(server, item, false);
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

static void judge(struct server *server)
{
    struct store_counts counts;
    uint32_t n = 0;
    store_count(server->rig.store, &counts);
    for (int i = 0; i < CLIENTS; i++) {
        for (int k = 0; k < DATA; k++) {
            struct item *item = &server->ledger->items[i][k];
            if (item->promise == PROMISE_NONE)
                continue;
            get(server, item, true);
            n += item->promise == PROMISE_KEPT;
        }
    }
    server->ledger->strange += counts.damaged + (counts.data != n);
}

static bool start(struct server *server, const char *folder, struct ledger *ledger)
{
    *server = (struct server){.ledger = ledger};
    pthread_mutex_init(&server->lock, NULL);
    rig_create(&server->rig, 1, 300, 0);
    rig_close(&server->rig);
    server->rig.options.disk_bytes = 64 << 20;
    if (files_posix_create(folder, &server->rig.options.files, NULL) != ESP_OK ||
        store_create(&server->rig.options, &server->rig.store, NULL) != ESP_OK)
        return false;
    pthread_mutex_lock(&server->lock);
    judge(server);
    pthread_mutex_unlock(&server->lock);
    return true;
}

/* Until it is killed. */
static void be_server(const char *folder, uint64_t seed, struct ledger *ledger)
{
    static struct server server;
    static struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    if (!start(&server, folder, ledger)) {
        ledger->strange++;
        _exit(1);
    }
    ledger->ready = 1;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.server = &server, .items = ledger->items[i]};
        random_seed(&clients[i].random, CLIENTS * seed + (uint64_t)i);
        pthread_create(&threads[i], NULL, be_client, &clients[i]);
    }
    pthread_join(threads[0], NULL);
}

/* Most at work, some while they start. */
static void wait_for_a_moment(struct ledger *ledger, struct random *random)
{
    if (random_below(random, 5))
        for (int i = 0; i < 60000 && !ledger->ready; i++)
            usleep(1000);
    usleep((useconds_t)random_below(random, 25000));
}

void trial_kills(const char *folder, uint64_t seed, unsigned ends, struct trial *trial)
{
    static struct server last;
    struct random random;
    struct ledger *ledger =
        mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ledger, MAP_FAILED);
    random_seed(&random, seed);
    for (unsigned i = 0; i < ends; i++) {
        int status = 0;
        ledger->ready = 0;
        pid_t server = fork();
        if (server == 0) {
            be_server(folder, seed + i, ledger);
            _exit(2);
        }
        wait_for_a_moment(ledger, &random);
        kill(server, SIGKILL);
        waitpid(server, &status, 0);
        ledger->strange += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
    }
    if (start(&last, folder, ledger))
        rig_destroy(&last.rig);
    else
        ledger->strange++;
    trial->ends += ends;
    trial->kept += ledger->kept;
    trial->lost += ledger->lost;
    trial->wrong += ledger->wrong;
    trial->risen += ledger->risen;
    trial->strange += ledger->strange;
    munmap(ledger, sizeof *ledger);
}
