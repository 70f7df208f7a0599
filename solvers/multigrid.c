/* SPDX-License-Identifier: Apache-2.0
 *
 * Meshes, smoothing and V-cycles.
 */
#include "solvers/multigrid.h"
#include "solvers/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MOST 30
#define BEFORE      2 /* sweeps */
#define AFTER       1

/* A mesh, and this rank's lines of it. A line has n + 2 points; lines 0 and own + 1 are halo. A column of
 * cells has n + 1 cells; column 0 lies before the first own line. */
struct mesh {
    int n, first, own;           /* first: lines before the own ones */
    bool is_last, next_is_empty; /* the next rank has no line of this mesh */
    double h2;                   /* h squared */
    double *u, *f, *r;           /* r: the residual */
    double *cells;               /* own + 1 columns */
};

struct multigrid {
    MPI_Comm comm;
    int rank, ranks, levels;
    struct mesh meshes[LEVELS_MOST]; /* the first is the finest */
};

/* ---- partition ---- */

struct multigrid_partition multigrid_partition(int n, int ranks)
{
    int cells = n + 1, levels = 1;
    while (cells % 2 == 0 && cells / 2 > ranks && cells / 2 > 2 && levels < LEVELS_MOST) {
        cells /= 2;
        levels++;
    }
    const int each = (cells + ranks - 1) / ranks;
    return (struct multigrid_partition){(cells + each - 1) / each, each << (levels - 1), levels};
}

/* ---- memory ---- */

static size_t line_of(const struct mesh *mesh)
{
    return (size_t)mesh->n + 2;
}

static double *at(const struct mesh *mesh, double *values, int line)
{
    return values + (size_t)line * line_of(mesh);
}

static double *cells_at(const struct mesh *mesh, int column)
{
    return mesh->cells + (size_t)column * ((size_t)mesh->n + 1);
}

static bool make_mesh(struct mesh *mesh, int n, int first, int lines, bool is_last)
{
    const int left = n - first;
    *mesh = (struct mesh){.n = n, .first = first, .own = left < lines ? left : lines, .is_last = is_last};
    mesh->next_is_empty = left - lines <= 0;
    mesh->h2 = 1 / ((double)(n + 1) * (double)(n + 1));
    const size_t points = ((size_t)mesh->own + 2) * line_of(mesh);
    mesh->u = calloc(3 * points + ((size_t)mesh->own + 2) * ((size_t)n + 1), sizeof *mesh->u);
    mesh->f = mesh->u + points;
    mesh->r = mesh->f + points;
    mesh->cells = mesh->r + points;
    return mesh->u != NULL;
}

static bool make_meshes(struct multigrid *grids, int n, struct multigrid_partition partition)
{
    bool able = true;
    for (int i = 0; i < grids->levels; i++) {
        const int lines = partition.lines >> i;
        able = make_mesh(&grids->meshes[i], ((n + 1) >> i) - 1, grids->rank * lines, lines,
                         grids->rank + 1 == grids->ranks) &&
               able;
    }
    return columns_all(grids->comm, able);
}

static void free_meshes(struct multigrid *grids)
{
    for (int i = 0; i < grids->levels; i++)
        free(grids->meshes[i].u);
}

/* ---- halo ---- */

enum { REQUESTS = 4 };

/* Begins to send the outer lines to the neighbours, and to receive theirs. A rank without lines of its own
 * has nothing to send, but its lower halo is of use for interpolation. */
static void begin_halo(const struct multigrid *grids, const struct mesh *mesh, double *values,
                       MPI_Request *requests)
{
    const int count = mesh->n + 2;
    int n = 0;
    if (grids->rank > 0) {
        MPI_Irecv(at(mesh, values, 0), count, MPI_DOUBLE, grids->rank - 1, 0, grids->comm, &requests[n++]);
        if (mesh->own > 0)
            MPI_Isend(at(mesh, values, 1), count, MPI_DOUBLE, grids->rank - 1, 1, grids->comm,
                      &requests[n++]);
    }
    if (!mesh->is_last) {
        MPI_Isend(at(mesh, values, mesh->own), count, MPI_DOUBLE, grids->rank + 1, 0, grids->comm,
                  &requests[n++]);
        if (!mesh->next_is_empty)
            MPI_Irecv(at(mesh, values, mesh->own + 1), count, MPI_DOUBLE, grids->rank + 1, 1, grids->comm,
                      &requests[n++]);
    }
    for (; n < REQUESTS; n++)
        requests[n] = MPI_REQUEST_NULL;
}

static void exchange(const struct multigrid *grids, const struct mesh *mesh, double *values)
{
    MPI_Request requests[REQUESTS];
    begin_halo(grids, mesh, values, requests);
    columns_wait(REQUESTS, requests);
}

/* ---- the operator ---- */

/* Coefficients of the four faces around a point: to the next and the last point of its line, to its
 * neighbours in the next and the last line; and their sum. */
struct faces {
    double on, back, up, down, sum;
};

static struct faces faces_of(const double *below, const double *above, int i)
{
    struct faces faces = {(below[i] + above[i]) / 2, (below[i - 1] + above[i - 1]) / 2,
                          (above[i - 1] + above[i]) / 2, (below[i - 1] + below[i]) / 2, 0};
    faces.sum = faces.on + faces.back + faces.up + faces.down;
    return faces;
}

/* Points of one colour of a line, over-relaxed by omega. `parity`: the first point of that colour, 1 or 2. */
static void smooth_line(const struct mesh *mesh, int line, int parity, double omega)
{
    double *u = at(mesh, mesh->u, line);
    const double *down = at(mesh, mesh->u, line - 1), *up = at(mesh, mesh->u, line + 1),
                 *f = at(mesh, mesh->f, line), *below = cells_at(mesh, line - 1),
                 *above = cells_at(mesh, line);
    for (int i = parity; i <= mesh->n; i += 2) {
        const struct faces a = faces_of(below, above, i);
        const double sum = a.on * u[i + 1] + a.back * u[i - 1] + a.up * up[i] + a.down * down[i];
        u[i] += omega * ((mesh->h2 * f[i] + sum) / a.sum - u[i]);
    }
}

/* The first point of a colour in a line: colours are those of a chessboard. */
static int first_point(const struct mesh *mesh, int line, int colour)
{
    return (mesh->first + line + colour) % 2 ? 1 : 2;
}

/* Half a sweep: the inner lines while the halo of the other colour is under way, then the outer ones. */
static void smooth_colour(const struct multigrid *grids, const struct mesh *mesh, int colour, double omega)
{
    MPI_Request requests[REQUESTS];
    begin_halo(grids, mesh, mesh->u, requests);
    for (int line = 2; line < mesh->own; line++)
        smooth_line(mesh, line, first_point(mesh, line, colour), omega);
    columns_wait(REQUESTS, requests);
    if (mesh->own > 0)
        smooth_line(mesh, 1, first_point(mesh, 1, colour), omega);
    if (mesh->own > 1)
        smooth_line(mesh, mesh->own, first_point(mesh, mesh->own, colour), omega);
}

static void smooth(const struct multigrid *grids, const struct mesh *mesh, int sweeps, double omega)
{
    for (int i = 0; i < sweeps; i++) {
        smooth_colour(grids, mesh, 0, omega);
        smooth_colour(grids, mesh, 1, omega);
    }
}

static void find_residual_of(const struct mesh *mesh, int line)
{
    const double *u = at(mesh, mesh->u, line), *down = at(mesh, mesh->u, line - 1),
                 *up = at(mesh, mesh->u, line + 1), *f = at(mesh, mesh->f, line),
                 *below = cells_at(mesh, line - 1), *above = cells_at(mesh, line);
    double *r = at(mesh, mesh->r, line);
    for (int i = 1; i <= mesh->n; i++) {
        const struct faces a = faces_of(below, above, i);
        r[i] = f[i] - (a.sum * u[i] - a.on * u[i + 1] - a.back * u[i - 1] - a.up * up[i] - a.down * down[i]) /
                          mesh->h2;
    }
}

static void find_residual(const struct multigrid *grids, const struct mesh *mesh)
{
    MPI_Request requests[REQUESTS];
    begin_halo(grids, mesh, mesh->u, requests);
    for (int line = 2; line < mesh->own; line++)
        find_residual_of(mesh, line);
    columns_wait(REQUESTS, requests);
    if (mesh->own > 0)
        find_residual_of(mesh, 1);
    if (mesh->own > 1)
        find_residual_of(mesh, mesh->own);
}

/* ---- between meshes: coarse line j lies on line 2 j ---- */

/* Full weighting of the residual. */
static void restrict_residual(const struct multigrid *grids, const struct mesh *fine,
                              const struct mesh *coarse)
{
    exchange(grids, fine, fine->r);
    for (int line = 1; line <= coarse->own; line++) {
        const double *here = at(fine, fine->r, 2 * line), *down = here - line_of(fine),
                     *up = here + line_of(fine);
        double *f = at(coarse, coarse->f, line);
        for (int i = 1; i <= coarse->n; i++) {
            const int k = 2 * i;
            f[i] = (4 * here[k] + 2 * (here[k - 1] + here[k + 1] + down[k] + up[k]) + down[k - 1] +
                    down[k + 1] + up[k - 1] + up[k + 1]) /
                   16;
        }
    }
}

/* Adds the bilinear interpolation of the coarse correction. */
static void correct(const struct multigrid *grids, const struct mesh *fine, const struct mesh *coarse)
{
    exchange(grids, coarse, coarse->u);
    for (int line = 1; line <= fine->own; line++) {
        const double *down = at(coarse, coarse->u, line / 2), *up = at(coarse, coarse->u, (line + 1) / 2);
        double *u = at(fine, fine->u, line);
        for (int i = 1; i <= fine->n; i++)
            u[i] += (down[i / 2] + down[(i + 1) / 2] + up[i / 2] + up[(i + 1) / 2]) / 4;
    }
}

/* The first column of cells of the next rank lies behind the last own line. */
static void exchange_cells(const struct multigrid *grids, const struct mesh *mesh)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (grids->rank > 0)
        MPI_Isend(mesh->cells, mesh->n + 1, MPI_DOUBLE, grids->rank - 1, 2, grids->comm, &requests[0]);
    if (!mesh->is_last)
        MPI_Irecv(cells_at(mesh, mesh->own), mesh->n + 1, MPI_DOUBLE, grids->rank + 1, 2, grids->comm,
                  &requests[1]);
    columns_wait(2, requests);
}

/* Means of four cells. */
static void coarsen_cells(const struct multigrid *grids, const struct mesh *fine, const struct mesh *coarse)
{
    const int columns = coarse->own + coarse->is_last;
    for (int column = 0; column < columns; column++) {
        const double *a = cells_at(fine, 2 * column), *b = cells_at(fine, 2 * column + 1);
        double *to = cells_at(coarse, column);
        for (int i = 0; i <= coarse->n; i++)
            to[i] = (a[2 * i] + a[2 * i + 1] + b[2 * i] + b[2 * i + 1]) / 4;
    }
    exchange_cells(grids, coarse);
}

/* ---- cycles ---- */

/* Successive over-relaxation with the best factor for Laplace's equation: its error falls to nothing in some
 * times as many sweeps as the mesh has lines, and this mesh has few. */
static void solve_coarsest(const struct multigrid *grids, const struct mesh *mesh)
{
    const double pi = 3.14159265358979323846;
    smooth(grids, mesh, 3 * (mesh->n + 1), 2 / (1 + sin(pi / (mesh->n + 1))));
}

static void cycle(const struct multigrid *grids, int level)
{
    const struct mesh *mesh = &grids->meshes[level], *coarse = mesh + 1;
    if (level + 1 == grids->levels) {
        solve_coarsest(grids, mesh);
        return;
    }
    smooth(grids, mesh, BEFORE, 1);
    find_residual(grids, mesh);
    restrict_residual(grids, mesh, coarse);
    memset(coarse->u, 0, ((size_t)coarse->own + 2) * line_of(coarse) * sizeof *coarse->u);
    cycle(grids, level + 1);
    correct(grids, mesh, coarse);
    smooth(grids, mesh, AFTER, 1);
}

static double norm(const struct multigrid *grids, double *values)
{
    const struct mesh *mesh = &grids->meshes[0];
    double mine = 0, all = 0;
    MPI_Request request;
    for (int line = 1; line <= mesh->own; line++)
        for (int i = 1; i <= mesh->n; i++)
            mine += at(mesh, values, line)[i] * at(mesh, values, line)[i];
    MPI_Iallreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, grids->comm, &request);
    columns_wait(1, &request);
    return sqrt(all);
}

static int iterate(const struct multigrid *grids, double tol, int most, struct multigrid_result *result)
{
    const struct mesh *finest = &grids->meshes[0];
    const double size = norm(grids, finest->f);
    *result = (struct multigrid_result){.residual = size > 0 ? 1 : size};
    while (!(result->residual <= tol) && result->cycles < most && isfinite(result->residual)) {
        cycle(grids, 0);
        find_residual(grids, finest);
        result->residual = norm(grids, finest->r) / size;
        result->cycles++;
    }
    if (result->cycles > 0)
        result->factor = pow(result->residual, 1.0 / result->cycles);
    return result->residual <= tol ? SOLVER_OK : SOLVER_NO_CONVERGENCE;
}

/* ---- the call ---- */

/* Copies the parts. Whether all coefficients are positive. */
static bool fill(const struct multigrid *grids, const double *f, const double *cells)
{
    const struct mesh *mesh = &grids->meshes[0];
    const size_t n = (size_t)mesh->n, columns = (size_t)(mesh->own + mesh->is_last);
    bool positive = true;
    for (int line = 1; line <= mesh->own; line++)
        memcpy(at(mesh, mesh->f, line) + 1, f + (size_t)(line - 1) * n, n * sizeof *f);
    memcpy(mesh->cells, cells, columns * (n + 1) * sizeof *cells);
    for (size_t i = 0; i < columns * (n + 1); i++)
        positive = positive && cells[i] > 0;
    return columns_all(grids->comm, positive);
}

int multigrid_solve(MPI_Comm comm, int n, const double *f, const double *cells, double tol, int most,
                    double *u, struct multigrid_result *result)
{
    struct multigrid grids = {.comm = comm};
    MPI_Comm_rank(comm, &grids.rank);
    MPI_Comm_size(comm, &grids.ranks);
    const struct multigrid_partition partition = multigrid_partition(n, grids.ranks);
    grids.levels = partition.levels;
    int status = make_meshes(&grids, n, partition) ? SOLVER_OK : SOLVER_NO_MEMORY;
    if (status == SOLVER_OK && !fill(&grids, f, cells))
        status = SOLVER_INVALID;
    if (status == SOLVER_OK) {
        exchange_cells(&grids, &grids.meshes[0]);
        for (int i = 1; i < grids.levels; i++)
            coarsen_cells(&grids, &grids.meshes[i - 1], &grids.meshes[i]);
        status = iterate(&grids, tol, most, result);
        for (int line = 1; line <= grids.meshes[0].own; line++)
            memcpy(u + (size_t)(line - 1) * (size_t)n, at(&grids.meshes[0], grids.meshes[0].u, line) + 1,
                   (size_t)n * sizeof *u);
    }
    free_meshes(&grids);
    return status;
}
