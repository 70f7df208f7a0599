/* SPDX-License-Identifier: Apache-2.0
 *
 * attach_steps ID: waits for a job of the list whose result is the number `result`, and writes it.
 */
#include "tests/e2e/must.h"

#include <string.h>

int main(int argc, char **argv)
{
    double result = 0;
    struct esp_job *job;
    struct esp_argument results[8] = {{0}};
    grpc_sessionid_t session;
    MUST(grpc_initialize(NULL));
    MUST(esp_job_find(argc > 1 ? argv[1] : "", &job));
    HOLDS(job->problem->n_arguments <= 8);
    for (size_t i = 0; i < job->problem->n_arguments; i++)
        if (!strcmp(job->problem->arguments[i].name, "result"))
            results[i].data = &result;
    MUST(esp_job_attach(job, results, job->problem->n_arguments, NULL, &session));
    esp_job_free(job);
    printf("attached\n");
    fflush(stdout);
    MUST(grpc_wait(session));
    printf("%.17g\n", result);
    return grpc_finalize() != GRPC_NO_ERROR;
}
