/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/porter_rig.h"

#include "core/redistribution/pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char folder[] = "/tmp/porters-XXXXXX";
static const struct datum_key key = {11, 22};

void open_side(struct side *side, const char *name, uint32_t n, uint64_t elements)
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

void close_side(struct side *side)
{
    for (uint32_t i = 0; i < side->list.n; i++) {
        if (side->loans[i] >= 0)
            close(side->loans[i]);
        porter_destroy(side->porters[i]);
    }
    munmap(side->pieces, side->bytes);
    close(side->fd);
}

struct porter_order order_of(const struct block_cyclic_matrix *from, const struct block_cyclic_matrix *to,
                             uint64_t bytes)
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

void lend(struct side *side, struct porter_order *order)
{
    struct esp_error error;
    for (uint32_t i = 0; i < side->list.n; i++)
        if (porter_lend(side->list.paths[i], order, side->fd, 5000, &side->loans[i], &order->ports[i],
                        &error) != ESP_OK)
            fail_msg("%s", error.text);
    order->n_ports = side->list.n;
}

static void moved(void *arg, uint64_t bytes)
{
    struct told *told = arg;
    told->bytes += bytes;
}

static bool stopped(void *arg)
{
    return ((struct told *)arg)->stop;
}

static void silent(void *arg, const struct esp_error *error)
{
    struct told *told = arg;
    told->silent = *error;
    if (told->heal > 0) /* the porter ends only now */
        close(told->heal);
}

enum esp_status fetch(struct side *side, const struct porter_order *order, struct told *told,
                      struct esp_error *error)
{
    bool let_go;
    const struct porter_watch watch = {
        .moved = moved, .stopped = stopped, .arg = told, .silent = silent, .patience_ms = told->patience_ms};
    enum esp_status status = porter_fetch_all(&side->list, order, side->fd, &watch, &let_go, error);
    assert_true(let_go);
    return status;
}

void fill(const struct block_cyclic_matrix *layout, double *pieces, bool check)
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

void carries(struct block_cyclic_matrix from, struct block_cyclic_matrix to, uint32_t here, uint32_t there,
             const char *host, bool sealed)
{
    struct side source, target;
    struct told told = {0};
    struct esp_error error = {.text = ""};
    uint64_t elements = (uint64_t)(from.rows.n * from.cols.n);
    open_side(&source, "from", here, elements);
    open_side(&target, "to", there, elements);
    struct porter_order order = order_of(&from, &to, source.bytes);
    snprintf(order.host, sizeof order.host, "%s", host);
    order.sealed = sealed;
    memset(order.secret, 0x5a, sizeof order.secret);
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

int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* no socket is left in it */
}
