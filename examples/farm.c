/* SPDX-License-Identifier: Apache-2.0
 *
 * An asynchronous farm: more jobs than are under way at a time. Whenever one has ended, the next begins, on
 * whichever server the hierarchy chooses; results are taken in the order in which they come.
 *
 *     cc farm.c $(pkg-config --cflags --libs espalier) -lm -o farm && ./farm
 */
#include <espalier.h>
#include <grpc.h>

#include <math.h>
#include <stdio.h>

enum { HANDLES = 4, JOBS = 20, N = 60 }; /* HANDLES jobs are under way at a time */

struct job {
    grpc_sessionid_t session;
    double a[N * N]; /* symmetric; then its eigenvectors */
    double w[N];     /* eigenvalues */
};

static struct job jobs[JOBS];
static grpc_function_handle_t handles[HANDLES];

/* The matrix with `shift` + 2 on the diagonal and -1 beside it: its eigenvalues are known. */
static void fill(struct job *job, int shift)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            job->a[i + j * N] = i == j ? shift + 2 : i - j == 1 || j - i == 1 ? -1 : 0;
}

static int is_right(const struct job *job, int shift)
{
    const double pi = 3.14159265358979323846;
    double smallest = shift + 2 - 2 * cos(pi / (N + 1));
    return fabs(job->w[0] - smallest) < 1e-9;
}

static int start(int number)
{
    struct job *job = &jobs[number];
    fill(job, number);
    grpc_error_t error =
        grpc_call_async(&handles[number % HANDLES], &job->session, 'V', 'U', N, job->a, job->w);
    if (error != GRPC_NO_ERROR)
        fprintf(stderr, "job %d was not started: %s\n", number, esp_last_error()->text);
    return error == GRPC_NO_ERROR;
}

static int finish(grpc_sessionid_t session)
{
    for (int i = 0; i < JOBS; i++) {
        if (jobs[i].session != session)
            continue;
        grpc_error_t error = grpc_get_error(session);
        printf("job %2d: %s, smallest eigenvalue %.6f\n", i, grpc_error_string(error), jobs[i].w[0]);
        return error == GRPC_NO_ERROR && is_right(&jobs[i], i);
    }
    return 0;
}

int main(void)
{
    int started = 0, right = 0;
    char name[] = "dsyev";
    grpc_sessionid_t session;
    grpc_error_t error = grpc_initialize(NULL);
    for (int i = 0; i < HANDLES && error == GRPC_NO_ERROR; i++)
        error = grpc_function_handle_default(&handles[i], name);
    if (error != GRPC_NO_ERROR) {
        fprintf(stderr, "farm: %s\n", esp_last_error()->text);
        grpc_finalize();
        return 1;
    }
    while (started < HANDLES && start(started))
        started++;
    while (grpc_wait_any(&session), session != GRPC_SESSIONID_VOID) {
        right += finish(session);
        if (started < JOBS && start(started))
            started++;
    }
    for (int i = 0; i < HANDLES; i++)
        grpc_function_handle_destruct(&handles[i]);
    grpc_finalize();
    printf("%d of %d right\n", right, JOBS);
    return right != JOBS;
}
