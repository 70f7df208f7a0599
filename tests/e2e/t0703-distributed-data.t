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
cat >together/ptriangle.esp <<END
problem ptriangle "The upper triangle of C := A A' + beta C on ranks"
    in      int     n
    in      double  A[n, n]
    in      double  beta
    inout   double  C[n, n] unread(beta == 0)
implementation scalapack
    parallel fortran pdsyrk_('U', 'N', n, n, double 1, A, 1, 1, desc(A), beta, C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2
END
cat >together/pdouble.esp <<END
problem pdouble "x := 2 x, in which the first rank is through at once, and the others are not"
    in      double  seconds
    in      int     n
    inout   double  x[n, 1]
implementation ours
    parallel c linger(communicator, seconds, desc(x), x) in $top_builddir/tests/mpi/.libs/librankroutines.so
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
# The example of a parallel routine of one's own.
cp "$top_srcdir/examples/ranks/columns.esp" together
columns=no
command -v mpicc && mpicc -shared -fPIC -O2 -I"$top_srcdir/include" "$top_srcdir/examples/ranks/columns.c" \
    -o together/libcolumns.so -lscalapack-openmpi -lm && columns=yes
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
    printf '%s\n' "10 x 8 in blocks of 3 x 3 over 2 x 2 ranks" "   1 4 7" " 1 0 1 0" " 4 2 3 2" " 7 0 1 0" \
        "10 2 3 2" | diff - map
}
check "the map shows which rank has which block" map_is_right
zooms() { # what is asked for is what is labelled, and nothing else is shown
    espalier data show "$A" --zoom 5:6,4:8 >map &&
        printf '%s\n' "10 x 8 in blocks of 3 x 3 over 2 x 2 ranks" "rows 5 to 6, columns 4 to 8" "  4 7" "5 3 2" | diff - map
}
is_whole() {
    W=$(put a.csv) && espalier data show "$W" >map && cat map && [ "$(cat map)" = "10 x 8, whole (not in pieces), on ranks" ] &&
        espalier data show "$W" --json | jq -e '.grid == null and .servers == ["ranks"] and .pieces == []' &&
        ! espalier data show "$W" --zoom 1:2,1:2 2>error && cat error &&
        grep -q 'expected a datum in pieces, found one that is whole, on ranks' error
}
check "what is not in pieces is whole, on its server" is_whole
check "a zoom shows a part of it" zooms
draws() { espalier data show "$A" --svg map.svg && [ -s map.svg ] && grep -q '<svg' map.svg && [ -z "$(espalier data show "$A" --svg map.svg)" ]; }
check "and a picture is written" draws
draws_cost() { espalier data show "$A" --svg cost.svg --grid 2x1 --block 3 >out && cat out && grep -q '>to 2 x 1 ranks of another server, blocks of 3 x 3' cost.svg && grep -q '>forecast ' cost.svg; }
check "and has the cost of moving it elsewhere" draws_cost
costs() { espalier data show "$A" --grid 1x3 --block 2 --json | grep -q '"least_steps"'; }
moves_only() { espalier data show "$A" --grid 1x3 --block 2 >out && cat out && ! grep -q 'in blocks of' out && grep -q '^to 1 x 3 ranks' out &&
    espalier data show "$A" --grid 1x3 --block 2 --map | grep -q 'in blocks of'; }
check "what moving it takes is reported" costs
check "without the map, unless that is asked for" moves_only

lies_so() {
    espalier data show "$A" --grid 2x2 --block 3 >out && cat out && grep -q '^where it is, on ranks, it lies so already$' out &&
        espalier data show "$A" --grid 2x2 --block 3 --json | jq -e '.move.in_place.seconds == 0 and .move.in_place.bytes == 0'
}
check "to lie as it does costs nothing" lies_so
mode_behind() { M=$(espalier call pmul "A=data:$A" "B=data:$B" -o C=data:pieces,volatile 2>error | grep -o 'ranks:[0-9a-f]*'); cat error
    is_in_pieces "$M" "2 x 2" "3 x 3" && espalier data info "$M" | grep -q volatile; }
multiplies() { C=$(espalier call pmul "A=data:$A" "B=data:$B" -o C=data:pieces | grep -o 'ranks:[0-9a-f]*') && same "$C" expected.csv; }
check "ranks multiply matrices as they lie" multiplies
check "and leave the result as they have it" is_in_pieces "$C" "2 x 2" "3 x 3"
check "however its mode is reported" mode_behind
matrix 10 10 4 >d.csv
espalier call smul A=@d.csv B=@expected.csv -o C=further.csv
D=$(put d.csv --grid 3x1 --block 2x5)
# leaves_zeros N OUT: of the lower triangle nothing is written, and with beta = 0 nothing of C goes in
leaves_zeros() {
    matrix "$1" "$1" 5 >any.csv
    espalier call ptriangle A=@any.csv C=@any.csv beta=0 -o "C=$2" >said || return 1
    [ "$2" = got.csv ] || espalier data get "$(grep -o 'ranks:[0-9a-f]*' said)" got.csv || return 1
    awk -F, '{ for (j = 1; j < NR; j++) lower += $j != 0; for (; j <= NF; j++) upper += $j != 0 }
        END { print lower + 0, upper; exit !(lower == 0 && upper > NR) }' got.csv
}
check "what a routine of ranks only writes does not go in" leaves_zeros 10 got.csv
check "of whatever size it is" leaves_zeros 60 got.csv
check "also where it stays in pieces" leaves_zeros 60 data:pieces
goes_on() { espalier call pmul "A=data:$D" "B=data:$C" -o C=got.csv && cmp got.csv further.csv; }
own_pieces() { P=$("$top_builddir/tests/e2e/piece_steps" ranks) && is_in_pieces "$P" "2 x 2" "3 x 3"; }
check "a program puts and takes pieces of its own" own_pieces

# Ranks are killed in a call, when some of its result is there: the datum that it writes over is made anew from what was put.
kill_ranks() {
    # shellcheck disable=SC2154
    for process in $(descendants "$pid_ranks"); do
        [ "$(cat "/proc/$process/comm" 2>/dev/null)" = espalier-prd ] && kill -9 "$process"
    done
}
begins_anew() {
    espalier call pdouble seconds=2 "x=data:$column" -o "$1" --server ranks >doubled.out 2>&1 &
    called=$!
    begun=$((begun + 1))
    wait_until has_begun
    sleep 0.5
    kill_ranks
    wait "$called" && [ "$(grep -c 'linger on a grid.*: begins anew' ranks.log)" = "$begun" ]
}
begun=0
has_begun() { [ "$(grep -c 'started: pdouble' ranks.log)" -gt $((2 * begun - 2)) ]; }
matrix 8 1 5 >v.csv
awk '{ print 2 * $1 }' v.csv >doubled.csv
column=$(put v.csv --grid 2x2 --block 3)
in_pieces() { begins_anew x=data:pieces && twice=$(grep -o 'ranks:[0-9a-f]*' doubled.out) && same "$twice" doubled.csv && same "$column" v.csv; }
to_a_file() { begins_anew x=got.csv && cmp got.csv doubled.csv && same "$column" v.csv; }
check "ranks are killed in a call on pieces: it begins anew, with what it was given" in_pieces
check "so does one whose result comes back" to_a_file
check "which the next call takes, beside one that lies otherwise" goes_on
normalises() {
    espalier call normalise "A=data:$A" -o A=n.csv && awk -F, 'NR == FNR { for (j = 1; j <= NF; j++) { a[FNR, j] = $j; s[j] += $j * $j } next }
        { for (j = 1; j <= NF; j++) if (($j - a[FNR, j] / sqrt(s[j]))^2 > 1e-24) exit 1 } END { exit FNR != 10 }' a.csv n.csv
}
if [ "$columns" = yes ]; then
    check "a routine of one's own lays its matrix otherwise, and back" normalises
fi
W=$(put a.csv)
mixes() { espalier call pmul "A=data:$W" "B=data:$B" -o C=got.csv && cmp got.csv expected.csv; }
check "and beside one that is in one piece" mixes
awk -F, -v OFS=, 'NR % 2 { NF = 6; print }' a.csv >part.csv
espalier data get "$B" whole-b.csv && head -n 6 whole-b.csv >part-b.csv
espalier call smul A=@part.csv B=@part-b.csv -o C=of-parts.csv
sections() { espalier call smul "A=data:${A}[1:2:end,1:6]" "B=data:${B}[1:6,:]" -o C=got.csv && cmp got.csv of-parts.csv; }
check "and so are sections of them" sections
ranks_too() { espalier call pmul "A=data:${A}[1:2:end,1:6]" "B=data:${B}[1:6,:]" -o C=got.csv && cmp got.csv of-parts.csv; }
check "also by ranks" ranks_too
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

# Matrices whose pages come to lie otherwise when they are used again and again (sed/crd/crd_recurring.c)
matrix 1100 1100 1 >large-a.csv
matrix 1100 1100 2 >large-b.csv
espalier call smul A=@large-a.csv B=@large-b.csv -o C=large-c.csv
LA=$(put large-a.csv --grid 2x2 --block 3)
LB=$(put large-b.csv --grid 3x1 --block 64)
repeats() {
    for i in 1 2 3 4 5 6; do
        L=$(espalier call pmul "A=data:$LA" "B=data:$LB" -o C=data:pieces | grep -o 'ranks:[0-9a-f]*') || return 1
        S=$(espalier call pmul "A=data:$A" "B=data:$B" -o C=data:pieces | grep -o 'ranks:[0-9a-f]*') && same "$S" expected.csv || return 1
        [ "$i" = 6 ] || espalier data rm "$L" >rm.out || return 1
        espalier data rm "$S" >rm.out || return 1
    done
    same "$L" large-c.csv && same "$LA" large-a.csv && same "$LB" large-b.csv
}
check "calls on the same large matrices, and small ones in between, stay right" repeats
espalier data rm "$LA" "$LB" "$L" >rm.out

refused() { ! espalier data put a.csv --server ranks "$@" 2>error && grep -q "$why" error; }
why="expected both --grid and --block" check "a grid without blocks is refused" refused --grid 2x2
why="expected rows and columns of ranks" check "so is a grid that is none" refused --grid 0x2 --block 3
why="at most 4096 pieces" check "and one of too many ranks" refused --grid 100x100 --block 3
refused_once() { refused "$@" && cat error && ! grep -q 'it keeps the pieces' error; }
why="expected rows and columns of ranks with at most 4096 pieces in all, found 70000x70000" \
    check "without any other message" refused_once --grid 70000x70000 --block 3
remarks() { W=$(espalier data put a.csv --server ranks --grid 2x3 --block 3 2>error) && cat error &&
    grep -q 'server ranks has 4 ranks, and no grid of 6: it keeps the pieces, but' error && espalier data rm "$W" &&
    W=$(espalier data put a.csv --server single --grid 2x3 --block 3 2>error) && ! [ -s error ] && espalier data rm "$W"; }
check "one of more ranks than there are is kept, and what that means is reported" remarks
no_such() { ! espalier data show "$A" --zoom 1:2 2>error && grep -q "expected rows and columns from 1" error; }
check "a zoom that is none is an error" no_such

# A server that chooses by itself. Its profile claims that its ranks are very fast, so that the choice does not depend
# on the load of this machine.
mkdir -p state
printf '%s\n' 'espalier-ranks 2' 'ranks 2' 'flops 1e+12' 'latency_s 1e-07' 'byte_s 1e-12' 'fill_byte_s 1e-15' \
    'kernel gemm 1e-15 0 0 0 0 0 0 1e-09' 'end d0b73380' >state/ranks
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
# One slow call is not believed: another on the same grid.
espalier call mul A=@large.csv B=@large.csv -o C=large.npy
K=$(espalier data put a.csv --server chooses --mode persistent --grid 2x3 --block 2x4)
stop chooses
kept() { grep -q "^took pdgemm_ " state/ranks && ! grep -q "^flops 1e+12" state/ranks; }
check "what they measured and what calls took is kept" kept
tells() { espalier forecast pdgemm n=2000 --grids 2 --ranks state/ranks --svg grids.svg >out && grep -q '^fastest: ' out &&
    grep -q '<svg' grids.svg; }
check "and forecasts for grids go by it" tells
# Of the blocks that servers choose from, each grid has its best one in the second table, and in JSON.
shows_blocks() { espalier forecast pdgemm n=1000 --grids 4 --ranks state/ranks --json >out && espalier forecast pdgemm n=1000 --grids 4 --json >guess &&
    cat out guess && jq -es 'length == 2 and all(.[][]; .block | IN(16, 32, 64, 128))' out guess; }
check "with blocks that a server chooses from" shows_blocks
# A server with ranks tells what these measured; one without is assumed to have 10 Gbit/s.
S=$(espalier data put a.csv --server single --grid 2x2 --block 3)
asks() { espalier data show "$A" --grid 1x3 --block 2 >out && cat out && grep -q 'GB/s, as the ranks of ranks measured):' out &&
    espalier data show "$A" --grid 1x3 --block 2 --json | jq -e '.move | .measured and .measured_on == "ranks" and .byte_seconds > 0'; }
check "what moving takes is reported by what the ranks of its server measured" asks
in_place() { grep -q '^where it is, on ranks, no message is sent: 3 ranks copy 640 B from where it lies, forecast ' out &&
    espalier data show "$A" --grid 1x3 --block 2 --json | jq -e '.move.in_place | .server == "ranks" and .ranks == 3 and .bytes == 640 and .seconds > 0' &&
    espalier data show "$S" --grid 1x3 --block 2 | grep -q '^where it is, on single, no message is sent: 640 B are copied from where it lies, '; }
check "and beside it what it takes where it is" in_place
asks_server() { espalier forecast pdgemm n=2000 --grids 4 --server ranks >out && cat out && grep -q '^fastest: ' out && ! grep -q 'not measured' out; }
check "forecasts for grids ask it too" asks_server
has_none() { ! espalier forecast pdgemm n=2000 --grids 4 --server single 2>error && cat error && grep -q 'server single has no ranks' error &&
    ! espalier forecast pdgemm n=2000 --grids 4 --server nobody 2>error && cat error && grep -q 'the platform has no server "nobody"' error; }
check "one that has none is reported, and one that is not there" has_none
measured() { espalier data show "$S" --grid 1x3 --block 2 >out && cat out && grep -q '(at 50 us a step and 1 GB/s, which is assumed):' out &&
    espalier data show "$A" --grid 1x3 --block 2 --ranks state/ranks >out && cat out && grep -q 'GB/s, as its ranks measured):' out &&
    espalier data show "$A" --grid 1x3 --block 2 --ranks state/ranks --json | jq -e '.move.measured and .move.byte_seconds > 0'; }
check "and what moving takes is reported by a file too" measured
# The best of 16, 32, 64, 128 is the next one below the root of the derivative, or above it.
near_root() { espalier forecast pdgetrf n=2000 --grids 3 --json | jq -e 'length == 5 and all(.[];
    .block_by_derivative > 0.45 * .block and .block_by_derivative < 2.2 * .block)'; }
check "of an LU with the block size that the derivative of its model asks for" near_root
says_root() { espalier forecast pdgetrf n=2000 --grids 3 | grep -q '^block size there by the derivative of the model: [0-9]' &&
    ! espalier forecast pdgemm n=2000 --grids 3 | grep derivative; }
check "which the table tells too" says_root
# The nodes and the network of the papers: compact grids win for a product, rows for a triangle from the left.
seconds() { jq ".[] | select(.rows == $2 and .cols == $3) | .seconds" "$1"; }
is_less() { awk -v a="$1" -v b="$2" 'BEGIN { print a, b; exit !(a > 0 && a < b) }'; }
compact_wins() {
    espalier forecast pdgemm n=2048 --grids 32 --machine paper --json >paper.json &&
        is_less "$(seconds paper.json 4 8)" "$(seconds paper.json 2 16)" &&
        is_less "$(seconds paper.json 2 16)" "$(seconds paper.json 1 32)" &&
        is_less "$(seconds paper.json 8 4)" "$(seconds paper.json 32 1)" &&
        espalier forecast pdgemm n=2048 --grids 32 --machine paper --svg paper.svg >out && cat out &&
        grep -q '0.5 Gflop/s, 100 us and 0.0112 GB/s between two (as given)' out && grep -q '<svg' paper.svg
}
rows_win() {
    espalier forecast pdtrsm n=2048 uplo=U side=L transa=N --grids 8 --machine paper --json >trsm.json &&
        espalier forecast pdtrsm n=2048 uplo=U side=L trans=N --grids 8 --machine paper --json | cmp - trsm.json &&
        is_less "$(seconds trsm.json 1 8)" "$(seconds trsm.json 8 1)"
}
given() { # a bandwidth that nobody waits for: elongated grids are as good
    espalier forecast pdgemm n=2048 --grids 32 --machine flops=5e8,latency=1e-9,bandwidth=1e15,broadcast=ring --json >fast.json &&
        is_less "$(seconds fast.json 1 32)" "$(seconds paper.json 4 8)"
}
half() { # the same in single precision takes half as long, and so does the triangle of A A'
    for routine in psgemm pdsyrk; do
        espalier forecast $routine n=2048 --grids 1 --machine paper --json | jq -e --argjson d "$(seconds paper.json 1 1)" \
            '.[0].seconds / $d | . > 0.49 and . < 0.51' || return 1
    done
    espalier forecast pdgetrf n=2000 --grids 1 --json >lu.json && espalier forecast pdgesv n=2000 nrhs=2000 --grids 1 --json |
        jq -e --argjson d "$(seconds lu.json 1 1)" '.[0].seconds / $d | . > 3 and . < 5'
}
solves() { # right-hand sides take their time in the other solvers, too
    for pair in pdpotrf:pdposv pdgeqrf:pdgels; do
        espalier forecast "${pair%:*}" n=2000 --grids 1 --json >factor.json &&
            espalier forecast "${pair#*:}" n=2000 nrhs=2000 --grids 1 --json |
            jq -e --argjson d "$(seconds factor.json 1 1)" '.[0].seconds / $d | . > 1.7' || return 1
    done
}
refuses() { # TEXT ARGUMENT...
    text=$1
    shift
    espalier forecast "$@" >out 2>&1
    code=$?
    cat out
    [ $code = 2 ] && grep -qF -e "$text" out
}
check "on the machines of the papers compact grids win for a product" compact_wins
check "and rows of ranks for a triangle" rows_win
check "constants can be given one by one" given
check "other types and shapes of a product are a part of it, a solver its factorisation" half
check "right-hand sides take their time" solves
check "what has no model is refused with what has" refuses 'then gemm, symm, hemm, syrk, herk, trsm, getrf, getrs, gesv, potrf, potrs, posv, geqrf or gels' \
    pdsyev n=100 --grids 2
check "so is a machine that is none" refuses 'broadcast=tree, ring, pipeline or split (any of them), found "speed=3"' \
    pdgemm n=100 --grids 2 --machine speed=3
check "and a speed of nothing" refuses 'flops: expected a number above 0, found "0"' pdgemm n=100 --grids 2 --machine flops=0
check "and both at once" refuses '--ranks (as measured) or --machine (as given), found both' pdgemm n=100 --grids 2 \
    --machine paper --ranks state/ranks
check "and a server beside either" refuses '--server (as its ranks measured) or --machine, found both' pdgemm n=100 --grids 2 \
    --machine paper --server ranks
exports() { espalier directory export --output site.ldif chooses.conf && grep -q '^espalierRanks::' site.ldif &&
    espalier directory import --url "file:$work/directory.ldif" site.ldif; }
check "and go to the site's directory" exports
rm state/ranks
echo "directory = \"file:$work/directory.ldif\"" >>chooses.conf
start chooses espalier-sed --foreground "$work/chooses.conf"
wait_until espalier_knows
returns() { is_in_pieces "$K" "2 x 3" "2 x 4" && same "$K" a.csv; }
check "which a server without the file begins with" wait_until grep -q "forecasts for 2 ranks begin with what was told of them" chooses.log
wait_until returns
check "a persistent datum in pieces is still that when its server comes back" returns
damaged() { echo rubbish >state/ranks && ! espalier forecast pdgemm n=2000 --grids 2 --ranks state/ranks 2>error &&
    grep -q "espalier-ranks 3" error; }
check "a file that is none is an error" damaged
finish
