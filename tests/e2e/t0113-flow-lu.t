#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The block LU factorization of examples/flow/ on real servers: its factors are those of LAPACK.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed python3

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" 'slots = 2' \
        "problems = { \"$top_srcdir/problems/lapack/linear-systems\", \"$top_srcdir/problems/blas\", \"$top_srcdir/problems/elementwise\" }"
done
both_are_there() {
    espalier problems | grep -Eq '^dsection .* 2 '
}
check "two servers are there" wait_until both_are_there

n=60 r=12
awk -v n=$n 'BEGIN { print "%%MatrixMarket matrix array real general"; print n, n
                     for (i = 0; i < n * n; i++) { x = (x * 1103515245 + 12345) % 2147483648; print x / 1073741824 - 1 } }' >A.mtx
python3 - $n $r <<'EOF2'
import sys
n, r = map(int, sys.argv[1:])
values = open("A.mtx").read().split("\n")[2:]
for j in range(n // r):
    with open(f"A-{j}.mtx", "w") as column:
        print(f"%%MatrixMarket matrix array real general\n{n} {r}", file=column)
        print("\n".join(values[j * n * r:(j + 1) * n * r]), file=column)
EOF2
factorizes() {
    espalier flow run "$top_srcdir/examples/flow/lu-blocks.flow" n=$n r=$r 'A=@A-{1}.mtx' -o 'D=D-{1}.mtx' -o 'P=P-{1}.mtx' \
        -o 'U=U-{1}-{2}.mtx' -o 'L=L-{1}-{2}.mtx' --trace trace.json &&
        espalier call dgetrf A=@A.mtx -o A=LU.mtx -o ipiv=ipiv.mtx
}
is_lapacks() {
    python3 - $n $r <<'EOF2'
import sys
n, r = map(int, sys.argv[1:])
def read(path):
    lines = [line.split() for line in open(path) if not line.startswith("%")]
    rows, cols = int(lines[0][0]), int(lines[0][1])
    if len(lines[0]) == 3:
        matrix = [[0.0] * cols for _ in range(rows)]
        for i, j, v in lines[1:]:
            matrix[int(i) - 1][int(j) - 1] = float(v)
        return matrix
    return [[float(lines[1 + j * rows + i][0]) for j in range(cols)] for i in range(rows)]
whole, pivots = read("LU.mtx"), [int(row[0]) for row in read("ipiv.mtx")]
for i in range(n // r):
    found = [int(row[0]) + i * r for row in read(f"P-{i}.mtx")]
    assert found == pivots[i * r:(i + 1) * r], (i, found)
    for j in range(n // r):
        block = read(f"D-{i}.mtx" if i == j else f"U-{i}-{j}.mtx" if i < j else f"L-{i}-{j}.mtx")
        error = max(abs(block[a][b] - whole[i * r + a][j * r + b]) for a in range(r) for b in range(r))
        assert error < 1e-11, (i, j, error)
EOF2
}
check "the matrix is factorized by blocks, and by LAPACK" factorizes
check "with the same factors and interchanges" is_lapacks
finish
