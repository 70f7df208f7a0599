/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that come from elsewhere: guest_steps STEP. They fork, give wrong sizes, and name problems as
 * clients of Ninf-G do.
 */
#include "tests/e2e/steps.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int add(void)
{
    grpc_function_handle_t plus = handle("plus");
    double c = 0;
    EXPECT(grpc_call(&plus, 1.5, 2.5, &c) == GRPC_NO_ERROR && c == 4);
    EXPECT(grpc_function_handle_destruct(&plus) == GRPC_NO_ERROR);
    return 0;
}

/* Acts as a worker of Python's multiprocessing does. */
static int begin_anew(grpc_function_handle_t *of_parent)
{
    double c = 0;
    EXPECT(grpc_call(of_parent, 1.5, 2.5, &c) == GRPC_OTHER_ERROR_CODE);
    EXPECT(strstr(esp_last_error()->text, "call grpc_initialize() again"));
    for (int i = 0; i < 2; i++) {
        EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
        EXPECT(grpc_call(of_parent, 1.5, 2.5, &c) == GRPC_INVALID_FUNCTION_HANDLE);
        if (add())
            return 1;
        EXPECT(grpc_finalize() == GRPC_NO_ERROR);
    }
    EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
    return add();
}

static int is_well(pid_t child)
{
    int status;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

static int forked(void)
{
    grpc_function_handle_t plus = handle("plus"), nap = handle("nap");
    pid_t children[3];
    int slept;
    double c = 0;
    if (add())
        return 1;
    for (int i = 0; i < 3; i++)
        if ((children[i] = fork()) == 0) {
            int result = begin_anew(&plus);
            pid_t child = result == 0 && i == 0 ? fork() : -1;
            if (child == 0)
                exit(begin_anew(&plus)); /* the connections of two generations are closed in the last one */
            if (child > 0)
                result = is_well(child);
            exit(result || (i < 2 && grpc_finalize() != GRPC_NO_ERROR));
        }
    EXPECT(grpc_call(&nap, 100, &slept) == GRPC_NO_ERROR); /* meanwhile */
    for (int i = 0; i < 3; i++)
        if (is_well(children[i]))
            return 1;
    EXPECT(grpc_call(&plus, 1.5, 2.5, &c) == GRPC_NO_ERROR && c == 4);
    return 0;
}

/* A child that executes no other program outlives its parent, which is killed in the middle of a call. */
static int killed(void)
{
    grpc_function_handle_t nap = handle("nap");
    grpc_sessionid_t session;
    int slept;
    EXPECT(grpc_call_async(&nap, &session, 600000, &slept) == GRPC_NO_ERROR);
    printf("called\n");
    fflush(stdout);
    sleep(1); /* the call is on its way */
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child > 0)
        kill(getpid(), SIGKILL);
    printf("child %ld\n", (long)getpid());
    fflush(stdout);
    for (;;)
        pause();
}

/* Arrays of one element: nothing after it may be read. */
static int too_large(void)
{
    grpc_function_handle_t solve = handle("dgesv");
    double a = 1, b = 1;
    int pivot;
    EXPECT(grpc_call(&solve, 30000, 30000, &a, &pivot, &b) == GRPC_SERVER_NOT_FOUND);
    EXPECT(strstr(esp_last_error()->text, "no server has the memory for this call"));
    return 0;
}

static int wrong_extents(void)
{
    grpc_function_handle_t solve = handle("dgesv");
    static double a[1000 * 1000], b[1000];
    static int pivots[1000];
    const int64_t square[] = {1000, 1000}, rows[] = {1000};
    int n = 5000, nrhs = 1;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(5);
    EXPECT(stack);
    EXPECT(grpc_arg_stack_push_arg(stack, &n) == GRPC_NO_ERROR);
    EXPECT(grpc_arg_stack_push_arg(stack, &nrhs) == GRPC_NO_ERROR);
    EXPECT(grpc_arg_stack_push_typed(stack, a, ESP_TYPE_DOUBLE, square, 2) == GRPC_NO_ERROR);
    EXPECT(grpc_arg_stack_push_typed(stack, pivots, ESP_TYPE_INT, rows, 1) == GRPC_NO_ERROR);
    EXPECT(grpc_arg_stack_push_typed(stack, b, ESP_TYPE_DOUBLE, rows, 1) == GRPC_NO_ERROR);
    EXPECT(grpc_call_arg_stack(&solve, stack) == GRPC_SESSION_FAILED);
    EXPECT(strstr(esp_last_error()->text, "5000"));
    EXPECT(grpc_arg_stack_destruct(stack) == GRPC_NO_ERROR);
    return 0;
}

static int entry(void)
{
    grpc_function_handle_t plus = handle("arith/plus");
    double c = 0;
    EXPECT(grpc_call(&plus, 1.5, 2.5, &c) == GRPC_NO_ERROR && c == 4);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } steps[] = {{"forked", forked},
                 {"killed", killed},
                 {"too-large", too_large},
                 {"extents", wrong_extents},
                 {"entry", entry}};
    if (grpc_initialize(NULL) != GRPC_NO_ERROR) {
        printf("%s\n", esp_last_error()->text);
        return 1;
    }
    for (size_t i = 0; argc > 1 && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(argv[1], steps[i].name) == 0) {
            int result = steps[i].run();
            return result ? result : grpc_finalize() != GRPC_NO_ERROR;
        }
    return 2;
}
