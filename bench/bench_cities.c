/* SPDX-License-Identifier: Apache-2.0
 *
 * What it is worth that data stay on servers, as in figure H.5 (scilab-parallel): a product of complex
 * matrices as four real products and two additions, by a program that is 100 Mbit/s and 10 ms away from two
 * servers (network namespaces, joined by tests/e2e/slow_link.c).
 *
 * With persistence the six calls are a sequence, without they are six calls, and else they are the same: the
 * four products go out at the same time, and when they are back the two additions; so transfers overlap as
 * much in the one as in the other. Needs root; $BENCH_CITIES_N is the order of the matrices (1024),
 * $BENCH_CITIES_ROUNDS how often each is measured (3).
 */
#include "bench/bench.h"
#include "bench/site.h"
#include "espalier.h"
#include "grpc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MBITS    100
#define DELAY_MS 10

static pid_t far_link, agent, servers[2];
static grpc_function_handle_t product, sum, difference;

/* ---- the two cities ---- */

static void clean_up(void)
{
    char command[128];
    for (int i = 0; i < 2; i++)
        site_stop(&servers[i]);
    site_stop(&agent);
    site_stop(&far_link);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "ip netns del esp-city%d-%ld 2>/dev/null", i, (long)getpid());
        if (system(command) != 0)
            continue; /* it was not made */
    }
}

static void make_cities(void)
{
    const long id = getpid();
    site_begin();
    atexit(clean_up);
    site_run("ip netns add esp-city0-%ld && ip netns add esp-city1-%ld", id, id);
    far_link = site_start("link", "%s/tests/e2e/slow_link esp-city0-%ld esp-city1-%ld %d %d passed",
                          site_build, id, id, MBITS, DELAY_MS);
    site_await("passed");
    for (int i = 0; i < 2; i++)
        site_run(
            "ip -n esp-city%d-%ld link set lo up && ip -n esp-city%d-%ld addr add 10.96.0.%d/24 dev slow0 && "
            "ip -n esp-city%d-%ld link set slow0 up",
            i, id, i, id, i + 1, i, id);
}

static void start_server(int i, const char *parent)
{
    const char *top = getenv("top_srcdir");
    char name[16];
    snprintf(name, sizeof name, "s%d.conf", i);
    FILE *file = site_create(name);
    fprintf(
        file,
        "name = \"s%d\"\nparent = \"%s\"\nlisten = \"10.96.0.2:0\"\ninsecure = yes\nslots = 1\nsensors = no\n"
        "state_dir = \"%s/s%d\"\nproblems = { \"%s/problems/blas\", \"%s/problems/elementwise\" }\n",
        i, parent, site_folder, i, top ? top : ".", top ? top : ".");
    fclose(file);
    snprintf(name, sizeof name, "s%d", i);
    servers[i] = site_start(name, "ip netns exec esp-city1-%ld %s/sed/espalier-sed --foreground s%d.conf",
                            (long)getpid(), site_build, i);
}

static bool are_there(void)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    int there = 0;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        there += nodes[i].role == ESP_ROLE_SERVER;
    esp_tree_free(nodes);
    return there == 2;
}

static void open_cities(void)
{
    char path[128], here[32];
    FILE *file = site_create("agent.conf");
    fprintf(file,
            "name = \"MA\"\nlisten = \"10.96.0.2:0\"\ninsecure = yes\naddress_file = \"%s/agent.address\"\n",
            site_folder);
    fclose(file);
    agent = site_start("agent", "ip netns exec esp-city1-%ld %s/agent/espalier-agent --foreground agent.conf",
                       (long)getpid(), site_build);
    const char *address = site_address("agent.address");
    file = site_create("client.conf");
    fprintf(file, "agents = { \"%s\" }\nremember_links = no\n", address);
    fclose(file);
    for (int i = 0; i < 2; i++)
        start_server(i, address);
    snprintf(here, sizeof here, "esp-city0-%ld", (long)getpid());
    site_enter(here);
    snprintf(path, sizeof path, "%s/client.conf", site_folder);
    if (grpc_initialize(path) != GRPC_NO_ERROR)
        bench_fail("the client does not start: %s", esp_last_error()->text);
    for (const double until = bench_now() + SITE_PATIENCE_S; !are_there(); site_rest_ms(100))
        if (bench_now() > until)
            bench_fail("two servers are not there; see %s", site_folder);
    if (grpc_function_handle_default(&product, (char *)(uintptr_t) "dgemm") != GRPC_NO_ERROR ||
        grpc_function_handle_default(&sum, (char *)(uintptr_t) "dadd") != GRPC_NO_ERROR ||
        grpc_function_handle_default(&difference, (char *)(uintptr_t) "dsubtract") != GRPC_NO_ERROR)
        bench_fail("%s", esp_last_error()->text);
}

/* Megabytes that have crossed the link, both ways together. */
static double crossed_mb(void)
{
    char path[128];
    unsigned long long there, back;
    site_rest_ms(200); /* the link tells ten times a second */
    snprintf(path, sizeof path, "%s/passed", site_folder);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%llu %llu", &there, &back) != 2)
        bench_fail("%s tells nothing", path);
    fclose(file);
    return (double)(there + back) / 1e6;
}

/* ---- the product ---- */

enum { AR, AI, BR, BI, RR, II, RI, IR, CR, CI, MATRICES };

struct experiment {
    int n;
    bool stays; /* as a sequence */
    double *matrices[MATRICES];
    double seconds, mb; /* of the last one */
};

static void must(grpc_error_t error, const char *what)
{
    if (error != GRPC_NO_ERROR)
        bench_fail("%s: %s", what, esp_last_error()->text);
}

static void multiply(const struct experiment *x, int a, int b, int c)
{
    grpc_sessionid_t session;
    must(grpc_call_async(&product, &session, 'N', 'N', x->n, x->n, x->n, 1.0, x->matrices[a], x->matrices[b],
                         0.0, x->matrices[c]),
         "a product");
}

static void join(const struct experiment *x, grpc_function_handle_t *how, int a, int b, int c)
{
    grpc_sessionid_t session;
    must(grpc_call_async(how, &session, x->n, x->n, x->matrices[a], x->matrices[b], x->matrices[c]), "a sum");
}

static double element(const struct experiment *x, int a, int b, int i, int j)
{
    double sum_of = 0;
    for (int k = 0; k < x->n; k++)
        sum_of += x->matrices[a][(size_t)k * (size_t)x->n + (size_t)i] *
                  x->matrices[b][(size_t)j * (size_t)x->n + (size_t)k];
    return sum_of;
}

static void look(const struct experiment *x)
{
    const int i = x->n / 3, j = x->n - 2;
    const size_t at = (size_t)j * (size_t)x->n + (size_t)i;
    const double re = element(x, AR, BR, i, j) - element(x, AI, BI, i, j),
                 im = element(x, AR, BI, i, j) + element(x, AI, BR, i, j);
    if (!(fabs(x->matrices[CR][at] - re) < 1e-6 && fabs(x->matrices[CI][at] - im) < 1e-6))
        bench_fail("the product is wrong: expected %g + %gi, found %g + %gi", re, im, x->matrices[CR][at],
                   x->matrices[CI][at]);
}

static void run(struct experiment *x)
{
    const double before_mb = crossed_mb(), begun = bench_now();
    if (x->stays && esp_sequence_begin() != ESP_OK)
        bench_fail("%s", esp_last_error()->text);
    multiply(x, AR, BR, RR);
    multiply(x, AI, BI, II);
    multiply(x, AR, BI, RI);
    multiply(x, AI, BR, IR);
    must(grpc_wait_all(), "the products");
    join(x, &difference, RR, II, CR);
    join(x, &sum, RI, IR, CI);
    must(grpc_wait_all(), "the sums");
    if (x->stays && esp_sequence_end() != ESP_OK)
        bench_fail("%s", esp_last_error()->text);
    x->seconds = bench_now() - begun;
    x->mb = crossed_mb() - before_mb;
    look(x);
}

/* Products a minute. */
static double rate(void *context, size_t n)
{
    struct experiment *x = context;
    double seconds = 0;
    for (size_t i = 0; i < n; i++) {
        run(x);
        seconds += x->seconds;
    }
    fprintf(stderr, "%s: %.2f s, %.0f MB over the link\n", x->stays ? "as a sequence" : "call by call",
            x->seconds, x->mb);
    return 60 * (double)n / seconds;
}

static void fill(struct experiment *x)
{
    const size_t n = (size_t)x->n * (size_t)x->n;
    for (int m = 0; m < MATRICES; m++) {
        if (!(x->matrices[m] = malloc(n * sizeof(double))))
            bench_fail("no memory for matrices of order %d", x->n);
        for (size_t i = 0; i < n; i++)
            x->matrices[m][i] = m < RR ? sin(m + (double)i) : NAN;
    }
}

static int number(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text && atoi(text) > 0 ? atoi(text) : otherwise;
}

int main(void)
{
    static const struct bench_case faster = {"cities", "complex product with persistence, H.5", "1/min",
                                             BENCH_AT_LEAST, 1.9},
                                   less = {"cities", "bytes over the slow link", "MB", BENCH_SHOWN, 0};
    if (!site_is_possible("cities"))
        return 0;
    struct experiment stays = {.n = number("BENCH_CITIES_N", 1024), .stays = true}, goes;
    fill(&stays);
    goes = stays;
    goes.stays = false;
    make_cities();
    open_cities();
    bench_compare(&faster, rate, &stays, rate, &goes, 1, (size_t)number("BENCH_CITIES_ROUNDS", 3));
    bench_row(&less, stays.mb, goes.mb);
    grpc_finalize();
    return 0;
}
