/* SPDX-License-Identifier: Apache-2.0
 *
 * lost_steps: sequences whose intermediate results are lost with the server that has them. Each creates the
 * file "made" when it is time, and waits for the file "killed".
 *
 *     lost_steps again        the program still has what they were made of
 *     lost_steps under-way    the server is lost while a call takes one: "made" comes before that call
 *     lost_steps overwritten  what the first was made of is nowhere any more; the other servers go on
 *     lost_steps looked       the same, and the program looks at it
 *     lost_steps alone        there is no other server; waits for the file "back", and goes on
 *     lost_steps datum        a volatile datum that the program itself has a name for, and an input of it
 */
#include "espalier.h"
#include "tests/e2e/data_arrays.h"

#include <time.h>
#include <unistd.h>

#define MIDDLE (N * N / 2 + 7)

static double d[N * N], square[N * N], copy[N * N];
static grpc_function_handle_t mul;

static int wait_for_file(const char *name)
{
    for (int i = 0; i < 1200 && access(name, F_OK) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    HOLDS(access(name, F_OK) == 0);
    return 0;
}

static int tell(const char *name)
{
    FILE *file = fopen(name, "w");
    HOLDS(file && fclose(file) == 0);
    return 0;
}

static int lose(void)
{
    return tell("made") || wait_for_file("killed");
}

/* c = a b is on a server; `expected` is a b, and `square` a a b. */
static int begin(void)
{
    fill(a, 1);
    fill(b, 2);
    multiply(a, b, expected);
    multiply(a, expected, square);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(esp_sequence_begin());
    MUST(grpc_call(&mul, N, a, b, c));
    return 0;
}

static int again(void)
{
    if (begin() || lose())
        return 1;
    MUST(grpc_call(&mul, N, a, c, d));
    MUST(esp_sequence_end());
    HOLDS(near(c, expected) && near(d, square));
    return 0;
}

static int under_way(void)
{
    grpc_function_handle_t late;
    MUST(grpc_function_handle_default(&late, (char *)"late"));
    if (begin() || tell("made"))
        return 1;
    MUST(grpc_call(&late, N, 3, c, copy)); /* three seconds later */
    MUST(grpc_call(&mul, N, a, c, d));
    MUST(esp_sequence_end());
    HOLDS(near(copy, expected) && near(c, expected) && near(d, square));
    return wait_for_file("killed");
}

/* The error of a call with a lost result names that result; the old content of the call's result stays. */
static int fails_with_its_name(void)
{
    char name[64];
    snprintf(name, sizeof name, "result \"C\" of a call of product at %p", (void *)c);
    fill(d, 3);
    HOLDS(grpc_call(&mul, N, a, c, d) != GRPC_NO_ERROR);
    printf("%s\n", esp_last_error()->text);
    HOLDS(strstr(esp_last_error()->text, name));
    fill(expected, 3);
    HOLDS(near(d, expected));
    return 0;
}

static int overwritten(void)
{
    if (begin())
        return 1;
    fill(a, 4);
    if (lose() || fails_with_its_name())
        return 1;
    MUST(grpc_call(&mul, N, a, b, d)); /* a call without the lost result goes on */
    multiply(a, b, expected);
    MUST(grpc_call(&mul, N, a, b, c)); /* a call that replaces it goes on, too */
    MUST(grpc_call(&mul, N, a, c, b));
    MUST(esp_sequence_end());
    HOLDS(near(d, expected) && near(c, expected));
    multiply(a, expected, square);
    HOLDS(near(b, square));
    return 0;
}

static int looked(void)
{
    if (begin())
        return 1;
    fill(a, 4);
    if (lose())
        return 1;
    printf("found %g\n", c[MIDDLE]); /* the process ends here */
    return 0;
}

static int alone(void)
{
    if (begin() || lose())
        return 1;
    HOLDS(grpc_call(&mul, N, a, c, d) != GRPC_NO_ERROR);
    printf("%s\n", esp_last_error()->text);
    HOLDS(strstr(esp_last_error()->text, "no server below \"MA\" solves product"));
    if (tell("failed") || wait_for_file("back"))
        return 1;
    MUST(grpc_call(&mul, N, a, c, d));
    MUST(esp_sequence_end());
    HOLDS(near(c, expected) && near(d, square));
    return 0;
}

/* A grpc_data_t is computed again by nobody: it says that its value is lost, until it has another one. */
static int datum(void)
{
    grpc_data_t kept;
    char *identity = NULL;
    fill(a, 1);
    fill(b, 2);
    multiply(a, b, expected);
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    MUST(array(&kept, NULL, NULL, GRPC_VOLATILE));
    MUST(grpc_call(&mul, N, a, b, &kept));
    MUST(grpc_data_getinfo(&kept, GRPC_INFO_IDENTITY, NULL, &identity));
    if (lose())
        return 1;
    fill(d, 3);
    HOLDS(grpc_call(&mul, N, a, &kept, d) != GRPC_NO_ERROR);
    printf("%s\n", esp_last_error()->text);
    identity[10] = 0; /* without the digits that errors do not tell, "A:" and eight */
    HOLDS(strstr(esp_last_error()->text, identity));
    fill(square, 3);
    HOLDS(near(d, square));
    MUST(grpc_call(&mul, N, a, b, &kept));
    MUST(grpc_call(&mul, N, a, &kept, d));
    multiply(a, expected, square);
    HOLDS(near(d, square));
    MUST(grpc_data_free(&kept, NULL));
    free(identity);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct step steps[] = {
        {"again", again},   {"under-way", under_way}, {"overwritten", overwritten},
        {"looked", looked}, {"alone", alone},         {"datum", datum}};
    return run_step(steps, sizeof steps / sizeof *steps, argc > 1 ? argv[1] : "");
}
