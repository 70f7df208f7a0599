/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose matrices are in pieces, as on the ranks of a process grid, and never whole: it sends them
 * piece by piece, a server multiplies them, and the product comes back in such pieces. (Here one process
 * makes all pieces in turn, in place of the ranks of a job.)
 *
 *     cc pieces.c $(pkg-config --cflags --libs espalier) -o pieces && ./pieces SERVER
 */
#include <espalier.h>
#include <grpc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 500, ROWS = 2, COLS = 2, BLOCK = 64, PIECES = ROWS * COLS };

static const struct esp_data_layout layout = {ROWS, COLS, BLOCK, BLOCK};
static const struct esp_argument matrix = {.type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, N}};

static double a(int i, int j)
{
    return i + 2 * j;
}

static double b(int i, int j)
{
    return i == j ? 3 : 0;
}

static double product(int i, int j)
{
    return 3 * a(i, j);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return 1;
}

/* The elements of a piece are stored by columns; ranks are numbered row by row. */
static int is_in(unsigned piece, int i, int j)
{
    return (unsigned)(i / BLOCK % ROWS) == piece / COLS && (unsigned)(j / BLOCK % COLS) == piece % COLS;
}

static char *put(const char *server, double (*element)(int i, int j))
{
    double *pieces[PIECES];
    const void *memory[PIECES];
    char *id = NULL;
    for (unsigned p = 0; p < PIECES; p++) {
        double *at = malloc(esp_data_piece_elements(&matrix, &layout, p) * sizeof *at);
        memory[p] = pieces[p] = at;
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                if (is_in(p, i, j))
                    *at++ = element(i, j);
    }
    if (esp_data_put_pieces(server, &matrix, &layout, memory, ESP_DATA_VOLATILE, NULL, NULL, &id) != ESP_OK)
        fail("cannot put a matrix in pieces");
    for (unsigned p = 0; p < PIECES; p++)
        free(pieces[p]);
    return id;
}

/* C := A B, which stays on the server as its ranks have it, or whole, where a worker has computed it. */
static char *multiply(const char *a_id, const char *b_id)
{
    char no = 'N', *c_id = NULL;
    int n = N;
    double one = 1, zero = 0;
    const struct esp_argument arguments[] = {
        {.data = &no},   {.data = &no},
        {.data = &n},    {.data = &n},
        {.data = &n},    {.data = &one},
        {.datum = a_id}, {.datum = b_id},
        {.data = &zero}, {.kept = &c_id, .kept_mode = ESP_DATA_VOLATILE, .kept_in_pieces = 1}};
    grpc_function_handle_t dgemm;
    if (grpc_function_handle_default(&dgemm, "dgemm") != GRPC_NO_ERROR) {
        fail("dgemm");
        return NULL;
    }
    if (esp_call(&dgemm, arguments, sizeof arguments / sizeof *arguments, NULL, NULL) != ESP_OK)
        fail("dgemm");
    grpc_function_handle_destruct(&dgemm);
    return c_id;
}

/* Piece by piece, each as large as its rank's part. */
static int check(const char *id)
{
    double worst = 0;
    for (unsigned p = 0; p < PIECES; p++) {
        const uint64_t bytes = esp_data_piece_elements(&matrix, &layout, p) * sizeof(double);
        double *piece = malloc(bytes), *at = piece;
        if (esp_data_get_piece(id, p, piece, bytes, NULL, NULL) != ESP_OK) {
            free(piece);
            return fail("cannot get a piece");
        }
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                if (is_in(p, i, j))
                    worst = fmax(worst, fabs(*at++ - product(i, j)));
        free(piece);
    }
    printf("%d pieces, largest error %g\n", PIECES, worst);
    return worst > 1e-9;
}

int main(int argc, char **argv)
{
    char *c_id = NULL, *mine = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: pieces SERVER\n");
        return 2;
    }
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return fail("grpc_initialize");
    char *a_id = put(argv[1], a), *b_id = put(argv[1], b);
    if (a_id && b_id)
        c_id = multiply(a_id, b_id);
    /* However it lies: as this program has its pieces. */
    if (c_id && esp_data_redistribute(c_id, argv[1], &layout, NULL, NULL, &mine) != ESP_OK)
        fail("cannot lay the product otherwise");
    const int code = mine ? check(mine) : 1;
    char *const all[] = {a_id, b_id, c_id, mine};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i])
            esp_data_drop(all[i]);
        free(all[i]);
    }
    grpc_finalize();
    return code;
}
