/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS for one type: TYPE, NUMBER, STRUCTURE and CALL are defined by who includes this.
 */
static void quiet(STRUCTURE *mumps)
{
    for (int i = 0; i < 4; i++) /* ICNTL(1) to (4): nothing is printed */
        mumps->icntl[i] = i == 3 ? 0 : -1;
}

/* sym: 0 general, 1 positive definite, 2 symmetric; for 1 and 2 the lower triangle is read. */
SOLVER int FUNCTION(int sym, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                    void *b, int *info)
{
    *info = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0 || nrhs == 0)
        return SOLVER_OK;
    STRUCTURE mumps = {.sym = sym, .par = 1, .job = -1, .comm_fortran = -987654 /* MPI_COMM_WORLD */};
    CALL(&mumps);
    quiet(&mumps);
    struct triplets list;
    int status = triplets_make(n, pointers, rows, sym != 0, &list) ? SOLVER_OK : SOLVER_NO_MEMORY;
    NUMBER *kept = malloc(((size_t)list.count + 1) * sizeof *kept);
    if (status == SOLVER_OK && kept) {
        for (int k = 0; k < list.count; k++)
            kept[k] = ((const NUMBER *)values)[list.from[k]];
        mumps.n = n;
        mumps.nnz = list.count;
        mumps.irn = list.rows;
        mumps.jcn = list.columns;
        mumps.a = (void *)kept;
        mumps.rhs = b;
        mumps.nrhs = nrhs;
        mumps.lrhs = n;
        mumps.job = 6; /* analyse, factor, solve */
        CALL(&mumps);
        *info = mumps.infog[0];
        status = mumps_meaning(*info);
    } else {
        status = SOLVER_NO_MEMORY;
    }
    mumps.job = -2;
    CALL(&mumps);
    triplets_clear(&list);
    free(kept);
    return status;
}
