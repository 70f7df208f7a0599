/* SPDX-License-Identifier: Apache-2.0
 *
 * The transport alone: what a call costs beside a plain call of the ORB, how many go through, and what a
 * one-way message from node to node costs. The other side is a process of its own (this program, "serve").
 */
#include "bench/bench.h"
#include "bench/platform.h"
#include "orb/orb.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct transport *transport;
static char server[64];

/* ---- the other side: answers greetings, and sends pulses back to who sent them ---- */

static struct endpoint *endpoint;
static char asker[64];

static void serve_call(void *self, struct call *call, const struct message *request)
{
    (void)self;
    struct message *reply = message_create(MESSAGE_GREET_REPLY);
    if (reply) {
        reply->greet_reply.name = "server";
        reply->greet_reply.features = request->greet.features;
    }
    call_reply(call, reply);
}

static void serve_post(void *self, const struct envelope *envelope, const struct message *message)
{
    (void)self, (void)envelope;
    if (message->kind == MESSAGE_HELLO)
        snprintf(asker, sizeof asker, "%s", message->hello.address);
    else
        endpoint_post(endpoint, asker, 0, message, NULL);
}

static struct endpoint *listen_as(const char *name, const struct endpoint_ops *ops)
{
    struct endpoint_options options = {.name = name, .listen = "127.0.0.1:0"};
    struct esp_error error;
    struct endpoint *at;
    if (orb_open(&(struct orb_options){0}, &transport, &error) != ESP_OK ||
        transport_serve(transport, &options, ops, NULL, &at, &error) != ESP_OK)
        bench_fail("%s", error.text);
    return at;
}

static int serve(void)
{
    static const struct endpoint_ops ops = {.call = serve_call, .post = serve_post};
    endpoint = listen_as("server", &ops);
    printf("%s\n", endpoint_address(endpoint));
    fflush(stdout);
    while (pause() == -1)
        ;
    return 0;
}

static pid_t start_server(const char *self)
{
    int out[2];
    if (pipe(out) != 0)
        bench_fail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        execl(self, self, "serve", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    ssize_t n = read(out[0], server, sizeof server - 1);
    if (n <= 0)
        bench_fail("cannot start %s serve", self);
    server[strcspn(server, "\n")] = 0;
    close(out[0]);
    return pid;
}

/* ---- calls ---- */

static void call_once(void *context)
{
    (void)context;
    struct message request = {.kind = MESSAGE_GREET, .greet = {.features = 7}}, reply;
    struct esp_error error;
    if (transport_call(transport, server, &request, 10000, &reply, &error) != ESP_OK)
        bench_fail("%s", error.text);
    message_clear(&reply);
}

static void *call_often(void *n)
{
    for (size_t i = 0; i < *(size_t *)n; i++)
        call_once(NULL);
    return NULL;
}

/* Calls per second of 8 threads with n calls each. */
static double rate(void *context, size_t n)
{
    (void)context;
    pthread_t threads[8];
    double before = bench_now();
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, call_often, &n) != 0)
            bench_fail("no threads");
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return (double)(8 * n) / (bench_now() - before);
}

static double median(bench_operation *operation, void *context, size_t n)
{
    double *samples = calloc(n, sizeof *samples);
    if (!samples)
        bench_fail("out of memory");
    for (size_t i = 0; i < n; i++) {
        double before = bench_now();
        operation(context);
        samples[i] = (bench_now() - before) * 1e6;
    }
    double result = bench_median(samples, n);
    free(samples);
    return result;
}

static double reference_median(void *reference, size_t n)
{
    return reference_latency(reference, n);
}

static double reference_crowd(void *reference, size_t n)
{
    return reference_rate(reference, n, 8);
}

static double call_median(void *context, size_t n)
{
    return median(call_once, context, n);
}

/* ---- one-way messages: there and back again ---- */

static atomic_ullong echoed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;

static void take_echo(void *self, const struct envelope *envelope, const struct message *message)
{
    (void)self, (void)envelope, (void)message;
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&echoed, 1);
    pthread_cond_signal(&came);
    pthread_mutex_unlock(&mutex);
}

static void post(struct endpoint *at, const struct message *message)
{
    endpoint_enter(at);
    if (endpoint_post(at, server, 0, message, NULL) != ESP_OK)
        bench_fail("cannot post");
    endpoint_leave(at);
}

static void wait_for(unsigned long long n)
{
    pthread_mutex_lock(&mutex);
    while (atomic_load(&echoed) < n)
        pthread_cond_wait(&came, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void there_and_back(void *context)
{
    struct endpoint *at = context;
    const struct message pulse = {.kind = MESSAGE_PULSE};
    unsigned long long before = atomic_load(&echoed);
    post(at, &pulse);
    wait_for(before + 1);
}

static double echo_median(void *at, size_t n)
{
    return median(there_and_back, at, n);
}

/* Echoes per second when nobody waits for one before he sends the next. */
static double stream(void *context, size_t n)
{
    struct endpoint *at = context;
    const struct message pulse = {.kind = MESSAGE_PULSE};
    unsigned long long before = atomic_load(&echoed);
    double start = bench_now();
    for (size_t i = 0; i < 8 * n; i++)
        post(at, &pulse);
    wait_for(before + 8 * n);
    return (double)(8 * n) / (bench_now() - start);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "serve"))
        return serve();
    pid_t pid = start_server(argv[0]);
    struct reference reference;
    reference_start(&reference);
    static const struct endpoint_ops ops = {.post = take_echo};
    struct endpoint *at = listen_as("bench", &ops);

    const struct bench_case latency = {"transport", "call, median", "us", BENCH_AT_MOST, 1.5};
    bench_compare(&latency, call_median, NULL, reference_median, &reference, 2000, 10);
    const struct bench_case crowd = {"transport", "calls, 8 threads", "1/s", BENCH_AT_LEAST, 0.6};
    bench_compare(&crowd, rate, NULL, reference_crowd, &reference, 5000, 5);

    struct message hello = {.kind = MESSAGE_HELLO, .hello = {.address = endpoint_address(at)}};
    post(at, &hello);
    there_and_back(at);
    const struct bench_case hop = {"transport", "one-way there and back", "us", BENCH_AT_MOST, 2.5};
    bench_compare(&hop, echo_median, at, reference_median, &reference, 2000, 10);
    const struct bench_case flow = {"transport", "one-way echoes", "1/s", BENCH_AT_LEAST, 0.8};
    bench_compare(&flow, stream, at, reference_crowd, &reference, 5000, 5);

    endpoint_close(at);
    transport_destroy(transport);
    reference_stop(&reference);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}
