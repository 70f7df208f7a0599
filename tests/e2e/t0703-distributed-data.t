#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data in pieces: put, shown, got, computed with as they lie, kept as ranks have them, and taken by others.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR

cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address

# describe NAME IMPLEMENTATION...: C := A B
describe() {
    printf 'problem %s "C := A B"\n    in int m, n, k\n    in double A[m, k], B[k, n]\n    out double C[m, n]\n' "$1"
    printf 'implementation ours\n    %s\n' "$2"
}
mkdir together alone
describe pmul "parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0,
        C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2" >together/pmul.esp
cat >together/psolve.esp <<END
problem psolve "Solve A X = B on ranks"
    in      int     n, nrhs
    inout   double  A[n, n]
    inout   double  B[n, nrhs]
    work    int     pivots[n]
implementation scalapack
    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in libscalapack-openmpi.so.2.2
    spread  pivots rows of A
    error   info > 0 "U({info},{info}) is exactly zero: the matrix is singular"
END
describe smul "fortran dgemm_('N', 'N', m, n, k, double 1, A, m, B, k, double 0, C, m) in libblas.so.3" >alone/smul.esp
cat >alone/ssolve.esp <<END
problem sover "Solve A X = B by one worker"
    in      int     n, nrhs
    inout   double  A[n, n]
    inout   double  B[n, nrhs]
    work    int     pivots[n]
implementation lapack
    fortran dgesv_(n, nrhs, A, n, pivots, B, n, out info) in liblapack.so.3
END
# server NAME FOLDER KEYS
server() {
    cat >"$1.conf" <<END
name = "$1"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
log_file = "$work/$1.log"
log_level = debug
slots = 2
store_memory = "64 MB"
problems = { "$work/$2" }
$3
END
    start "$1" espalier-sed --foreground "$work/$1.conf"
}
server ranks together 'ranks = 4
grid = 2x2
block = 3'
server single alone ''
cat >client.conf <<END
agents = { "$(cat master.address)" }
END
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
served() { espalier problems | grep -q '^pmul ' && espalier problems | grep -q '^smul '; }
wait_until served
wait_until grep -q "ranks are ready" ranks.log

# matrix ROWS COLS SEED: whole numbers, so that results are exact
matrix() { awk -v m="$1" -v n="$2" -v s="$3" 'BEGIN { for (i = 1; i <= m; i++) { for (j = 1; j <= n; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + s * i * j) % 11 - 5; print "" } }'; }
matrix 10 8 1 >a.csv
matrix 8 7 2 >b.csv
matrix 7 7 3 | awk -F, -v OFS=, '{ $NR = $NR + 40; print }' >t.csv
espalier call smul A=@a.csv B=@b.csv -o C=expected.csv
put() { file=$1; shift; espalier data put "$file" --server ranks "$@"; }
same() { espalier data get "$1" got.csv && cmp got.csv "$2"; }

A=$(put a.csv --grid 2x2 --block 3)
B=$(put b.csv --grid 2x2 --block 3)
check "a matrix that was put in pieces is got as it was" same "$A" a.csv
is_in_pieces() { espalier data info "$1" | grep -q "over $2 ranks ($3)"; }
check "what it is tells how it lies" is_in_pieces "$A" "2 x 2" "3 x 3"
map_is_right() {
    espalier data show "$A" --map | head -6 >map
    printf '%s\n' "10 x 8 in blocks of 3 x 3 over 2 x 2 ranks" "   0 3 6" " 0 0 1 0" " 3 2 3 2" " 6 0 1 0" \
        " 9 2 3 2" | diff - map
}
check "the map shows which rank has which block" map_is_right
zooms() { espalier data show "$A" --zoom 4:6,4:8 >map && grep -q '^3 3 2$' map; }
check "a zoom shows a part of it" zooms
draws() { espalier data show "$A" --svg map.svg && [ -s map.svg ] && grep -q '<svg' map.svg && [ -z "$(espalier data show "$A" --svg map.svg)" ]; }
check "and a picture is written" draws
costs() { espalier data show "$A" --grid 1x3 --block 2 --json | grep -q '"least_steps"'; }
check "what moving it takes is told" costs

multiplies() { C=$(espalier call pmul "A=data:$A" "B=data:$B" -o C=data:pieces | grep -o 'ranks:[0-9a-f]*') && same "$C" expected.csv; }
check "ranks multiply matrices as they lie" multiplies
check "and leave the result as they have it" is_in_pieces "$C" "2 x 2" "3 x 3"
matrix 10 10 4 >d.csv
espalier call smul A=@d.csv B=@expected.csv -o C=further.csv
D=$(put d.csv --grid 3x1 --block 2x5)
goes_on() { espalier call pmul "A=data:$D" "B=data:$C" -o C=got.csv && cmp got.csv further.csv; }
own_pieces() { P=$("$top_builddir/tests/e2e/piece_steps" ranks) && is_in_pieces "$P" "2 x 2" "3 x 3"; }
check "a program puts and takes pieces of its own" own_pieces
check "which the next call takes, beside one that lies otherwise" goes_on
W=$(put a.csv)
mixes() { espalier call pmul "A=data:$W" "B=data:$B" -o C=got.csv && cmp got.csv expected.csv; }
check "and beside one that is in one piece" mixes
alone() { espalier call smul "A=data:$A" "B=data:$B" -o C=got.csv && cmp got.csv expected.csv; }
check "a worker of another server takes them as a whole" alone

# X with T X = Y, so that the solution is known
espalier call smul A=@t.csv B=@t.csv -o C=y.csv
T=$(put t.csv --grid 2x2 --block 3)
Y=$(put y.csv --grid 1x4 --block 1)
near() { paste -d, "$1" "$2" | awk -F, '{ for (i = 1; i <= NF / 2; i++) if (($i - $(i + NF / 2))^2 > 1e-16) exit 1 }'; }
solves() {
    X=$(espalier call psolve "A=data:$T" "B=data:$Y" -o B=data:pieces | grep -o 'ranks:[0-9a-f]*') &&
        espalier data get "$X" x.csv && near x.csv t.csv
}
check "what a routine overwrites becomes another datum" solves
check "and the one that went in is as it was" same "$Y" y.csv
solves_alone() { espalier call sover "A=data:$T" "B=data:$Y" -o B=x.csv && near x.csv t.csv; }
check "also where a worker overwrites it" solves_alone

refused() { ! espalier data put a.csv --server ranks "$@" 2>error && grep -q "$why" error; }
why="expected both --grid and --block" check "a grid without blocks is refused" refused --grid 2x2
why="expected rows and columns of ranks" check "so is a grid that is none" refused --grid 0x2 --block 3
why="at most 4096 pieces" check "and one of too many ranks" refused --grid 100x100 --block 3
no_such() { ! espalier data show "$A" --zoom 1:2 2>error && grep -q "expected rows and columns from 1" error; }
check "a zoom that is none is an error" no_such

# A server that chooses by itself. What it knows of its ranks is that they are very fast, so that the choice does
# not hang on what else this machine does.
mkdir -p state
printf '%s\n' 'espalier-ranks 2' 'ranks 2' 'flops 1e+12' 'latency_s 1e-07' 'byte_s 1e-12' \
    'kernel gemm 1e-15 0 0 0 0 0 0 1e-09' 'end c957e704' >state/ranks
mkdir both
cat >both/mul.esp <<END
problem mul "C := A B"
    in      int     m, n, k
    in      double  A[m, k], B[k, n]
    out     double  C[m, n]
    work    2*m*n*k
implementation ours
    fortran dgemm_('N', 'N', m, n, k, double 1, A, m, B, k, double 0, C, m) in libblas.so.3
implementation scalapack
    parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2
END
server chooses both "ranks = 2
state_dir = \"$work/state\""
espalier_knows() { espalier problems | grep -q '^mul '; }
wait_until espalier_knows
wait_until grep -q "ranks are ready" chooses.log
check "what was known of ranks is known again" grep -q "forecasts for 2 ranks go on as they were" chooses.log
by() { grep "called: mul\|started: mul by" chooses.log | tail -n 1 | grep "by $1"; }
matrix 500 500 1 >large.csv
large() { espalier call mul A=@large.csv B=@large.csv -o C=large.npy && by "scalapack on"; }
small() { espalier call mul A=@b.csv B=@t.csv -o C=small.csv && by ours; }
check "a large call goes to ranks" large
check "a small one to a worker" small
K=$(espalier data put a.csv --server chooses --mode persistent --grid 2x3 --block 2x4)
stop chooses
kept() { grep -q "^took pdgemm_ " state/ranks && ! grep -q "^flops 1e+12" state/ranks; }
check "what they measured and what calls took is kept" kept
tells() { espalier forecast pdgemm n=2000 --grids 2 --ranks state/ranks --svg grids.svg >out && grep -q '^fastest: ' out &&
    grep -q '<svg' grids.svg; }
check "and forecasts for grids go by it" tells
exports() { espalier directory export --output site.ldif chooses.conf && grep -q '^espalierRanks::' site.ldif &&
    espalier directory import --url "file:$work/directory.ldif" site.ldif; }
check "and go to the site's directory" exports
rm state/ranks
echo "directory = \"file:$work/directory.ldif\"" >>chooses.conf
start chooses espalier-sed --foreground "$work/chooses.conf"
wait_until espalier_knows
returns() { is_in_pieces "$K" "2 x 3" "2 x 4" && same "$K" a.csv; }
check "which a server without the file begins with" grep -q "forecasts for 2 ranks begin with what was told of them" chooses.log
wait_until returns
check "a persistent datum in pieces is still that when its server comes back" returns
damaged() { echo rubbish >state/ranks && ! espalier forecast pdgemm n=2000 --grids 2 --ranks state/ranks 2>error &&
    grep -q "espalier-ranks 2" error; }
check "a file that is none is an error" damaged
finish
