#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Servers with MPI ranks: the same calls, on workers or on ranks; ranks and mpirun that are not there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs curl jq mpirun espalier espalier-agent espalier-sed espalier-crd
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
scalapack=libscalapack-openmpi.so.2.2

cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address

# What only ranks can do, what ends one of them, and a whole MPI program.
mkdir own
TMPDIR=$work
export TMPDIR
cat >own/own.esp <<END
problem psolve "Solve A X = B on ranks"
    in      int     n, nrhs
    inout   double  A[n, n]
    inout   double  B[n, nrhs]
    work    int     pivots[n]
    work    2/3*n^3
implementation scalapack
    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in $scalapack
    spread  pivots rows of A
    error   info > 0 "U({info},{info}) is exactly zero: the matrix is singular"
problem plook "Solve A X = B on ranks, which look at X"
    in      int     n, nrhs
    inout   double  A[n, n]
    inout   double  B[n, nrhs]
    work    int     pivots[n]
    solves  A X = B giving X = B
    work    2/3*n^3
implementation scalapack
    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in $scalapack
    spread  pivots rows of A
    error   info > 0 "U({info},{info}) is exactly zero: the matrix is singular"
problem pwrong "What solves nothing, as A is none of factors"
    in      int     n, nrhs
    in      double  A[n, n]
    in      int     pivots[n] index(n)
    inout   double  B[n, nrhs]
    solves  A X = B giving X = B
implementation scalapack
    parallel fortran pdgetrs_('N', n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in $scalapack
    spread  pivots rows of A
problem pback "Solve op(A) X = B with factors on ranks"
    gams    D2a1
    in      int     n, nrhs
    in      double  A[n, n]
    in      int     pivots[n] index(n)
    inout   double  B[n, nrhs]
    work    2*n^2*nrhs
implementation scalapack
    parallel fortran pdgetrs_('N', n, nrhs, A, 1, 1, desc(A), pivots, B, 1, 1, desc(B), out info) in $scalapack
    spread  pivots rows of A
problem ranks "How many ranks an MPI program has"
    out     string  n
implementation program
    command mpirun "--allow-run-as-root" "--oversubscribe" "-n" "2" "echo" "rank"
    stdout  n
END
cat >sed.conf <<END
name = "parallel"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
http = "127.0.0.1:0"
address_file = "$work/sed.address"
log_file = "$work/sed.log"
log_level = debug
slots = 2
state_dir = "$work/state"
ranks = 4
grid = 2x2
block = 2
problems = { "$work/own", "$top_srcdir/problems/blas/level3.esp", "$top_srcdir/problems/lapack/linear-systems",
             "$top_srcdir/problems/lapack/least-squares.esp", "$top_srcdir/problems/abstract/systems.esp" }
END
cat >client.conf <<END
agents = { "$(cat master.address)" }
END
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
start sed espalier-sed --foreground "$work/sed.conf"
wait_until test -s sed.address

served() { espalier problems | grep -q '^psolve '; }
on_ranks() {
    espalier call psolve 'A=[2,1,0,0;1,3,1,0;0,1,4,1;0,0,1,5]' 'B=[3;5;6;6]' -o B=b.mtx && cat b.mtx &&
        awk '!/^%/ && n++ { bad += ($1 - 1)^2 > 1e-20 } END { exit bad || n != 5 }' b.mtx
}
singular() {
    ! espalier call psolve 'A=[1,2;2,4]' 'B=[1;1]' >out 2>&1 && cat out && grep -q 'exactly zero: the matrix is singular' out
}
by() { # PROBLEM IMPLEMENTATION: how the server says it computed the last one
    grep "started: $1 by " sed.log | tail -n 1 | grep "by $2"
}
small_by_worker() {
    espalier call linsolve 'A=[2,1;1,3]' 'B=[3;4]' && by dposv lapack
}
# Whose grandparent was one of this test's servers, as told by the socket's folder.
no_ranks_left() { ! ls "$work"/espalier-prd-* 2>/dev/null && ! grep -lzqs "^ESPALIER_RANKS=$work/" /proc/[0-9]*/environ; }

wait_until served
check "a problem that only ranks compute is served" served
wait_until on_ranks
check "four ranks solve a system whose blocks do not divide it" on_ranks
check "and the log says on which grid" by psolve 'scalapack on 2 x 2 ranks, blocks of 2'

# The client, the trace and the server's records name the grid, too; a small system goes to a worker.
tells_ranks() {
    espalier call -v psolve 'A=[2,1;1,2]' 'B=[1;1]' >out && cat out &&
        grep -qx 'Computed  by ranks 0 to 3 as 2 x 2, blocks of 1' out &&
        espalier trace "$(sed -n 's/.*, session //p' out)" >traced && cat traced &&
        grep -q 'computed  *psolve on ranks 0 to 3 as 2 x 2, blocks of 1 *$' traced
}
tells_json() {
    espalier call --json psolve 'A=[2,1;1,2]' 'B=[1;1]' >out.json && cat out.json &&
        jq -e '.session.computed_by == {kind: "ranks", first: 0, last: 3, rows: 2, cols: 2, block: 1}' out.json
}
tells_worker() {
    espalier call -v linsolve 'A=[2,1;1,3]' 'B=[3;4]' >out && cat out && grep -qx 'Computed  by a worker' out &&
        espalier call --json dgesv 'A=[2,1;1,3]' 'B=[3;4]' >out.json && cat out.json &&
        jq -e '.session.computed_by == {kind: "worker"}' out.json
}
keeps_ranks() { awk -F'\t' '/\tpsolve\t/ { print } $2 == "psolve" && $5 == "ranks 0 to 3 as 2 x 2, blocks of 2" { n++ }
    END { exit !n }' state/accuracy.tsv && espalier accuracy state/accuracy.tsv >out && cat out && grep -q psolve out; }
check "the client and the trace name ranks, grid and blocks" tells_ranks
check "JSON has them as numbers" tells_json
check "of a worker it is said" tells_worker

# A forecast tells who would compute, and on which grid.
forecasts_ranks() {
    espalier forecast psolve n=500 nrhs=1 >out && cat out && grep -q '^parallel .* 2 x 2 ranks, blocks of 2 *$' out &&
        espalier forecast --json psolve n=500 nrhs=1 >out.json && cat out.json &&
        jq -e '.[0].computed_by == {kind: "ranks", rows: 2, cols: 2, block: 2}' out.json
}
forecasts_worker() {
    espalier forecast dgesv n=4 nrhs=1 >out && cat out && ! grep -q ranks out &&
        espalier forecast --json dgesv n=4 nrhs=1 >out.json && cat out.json &&
        jq -e '.[0].computed_by == {kind: "worker"}' out.json
}
wait_until forecasts_ranks
check "a forecast tells on which grid ranks would compute" forecasts_ranks
check "or that a worker would" forecasts_worker

check "a singular matrix is reported as such" singular
check "ranks look at their solution" espalier call plook 'A=[2,1,0,0;1,3,1,0;0,1,4,1;0,0,1,5]' 'B=[3,1;5,2;6,3;6,4]'
no_note() { ! grep -q 'note:' "$log"; }
check "which is right" no_note
check "one of a nearly singular system" espalier call plook 'A=[1,1,0;1,1.0000000000000002,0;0,0,1]' 'B=[1;2;3]'
check_says "has a note" '^plook: note: A is close to singular'
check_fails 1 "one that is wrong" espalier call pwrong 'A=[2,1,0;1,3,1;0,1,4]' 'pivots=[1;2;3]' 'B=[3;5;5]'
check_says "is an error" 'pwrong: the solution B does not solve the system: its backward error is'
check_fails 1 "results that are not finite" espalier call pback 'A=[1,0,0;0,1,0;0,0,0]' 'pivots=[1;2;3]' 'B=[1,1;1,1;1,1]'
check_says "are named" 'pback: B\(1,1\) is not a finite number, though all inputs are'
check "a small system of the same kind goes to a worker" small_by_worker
two_ranks() { espalier call ranks >out 2>&1; cat out; [ "$(grep -o rank out | grep -c .)" -ge 2 ]; }
check "an MPI program is a command" two_ranks

# Pivots that lead nowhere end the routine, and with it the whole job of MPI: they do not come that far, also
# where the client does not see them.
pivots() { printf '%s\n' "$@" >pivots.csv && espalier data put pivots.csv --type int --server parallel; }
solves() { espalier call "$1" 'A=[2,1;0,3]' "$2=data:$(pivots 1 2)" 'B=[3;3]' -o B=x.csv && printf '1\n1\n' | cmp - x.csv; }
refuses() { # PROBLEM ARGUMENT MOST PIVOT...: the second one is wrong
    called=$1 name=$2 most=$3 second=$5
    shift 3
    P=$(pivots "$@") || return 1
    for value in "data:$P" "[$1,$2]"; do
        ! espalier call "$called" 'A=[2,1;1,2]' "$name=$value" 'B=[1;1]' >out 2>&1 && cat out || return 1
        grep -qF "$called: $name(2): expected a number from 1 to $most, found $second" out || return 1
    done
}
ended() { grep -c 'the ranks are ended\|crashed' sed.log; }
before=$(ended)
check "ranks solve with factors and pivots" solves pback pivots
check "so does a worker" solves dgetrs ipiv
for pivot in 77 0 -5; do
    check "pivot $pivot of 2 does not come to ranks" refuses pback pivots 2 1 "$pivot"
    check "nor to a worker" refuses dgetrs ipiv 2 1 "$pivot"
done
check "and nothing has crashed" [ "$before" = "$(ended)" ]

# A program has its matrices in pieces.
cc -I"$top_srcdir/include" "$top_srcdir/examples/pieces.c" -L"$top_builddir/client/.libs" -lespalier -lm -o pieces >pieces.out 2>&1
LD_LIBRARY_PATH=$top_builddir/client/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} check "the example pieces runs" ./pieces parallel
check_says "what it takes back in pieces is the product" '^4 pieces, largest error 0$'

# Parts are memory, too: of a matrix of 300 x 300 the server has one, and its ranks another.
awk 'BEGIN { srand(3); n = 300; print "%%MatrixMarket matrix array real general\n" n, n
    for (i = 0; i < n * n; i++) print rand() }' >large.mtx
awk 'NR == 2 { print n = $1, 1 } NR == 1 || (NR > 2 && NR < n + 3)' large.mtx >column.mtx
counts_parts() {
    espalier call psolve A=@large.mtx B=@column.mtx >/dev/null &&
        awk '/accepted: psolve/ { for (i = 2; i <= NF; i++) if ($i == "MB,") size = $(i - 1) }
             END { print size; exit size < 1.44 || size > 1.67 }' sed.log
}
check "what ranks take for their parts is reserved" counts_parts
check "a forecast that is noted says which ranks computed" wait_until keeps_ranks

# A rank is killed while nobody computes.
kill_one() {
    for environ in $(grep -lzs "^ESPALIER_RANKS=$work/" /proc/[0-9]*/environ); do
        process=${environ%/environ}
        [ "$(cat "$process/comm")" = espalier-prd ] && kill -9 "${process#/proc/}" && return 0
    done
    return 1
}
check "a rank is killed" kill_one
wait_until on_ranks
check "and calls go on with new ranks" on_ranks

# A call ends the ranks of one beside it, which is not to blame: it is started again, and its caller sees nothing.
mkdir beside
routines=$top_builddir/tests/mpi/.libs/librankroutines.so
cat >beside/beside.esp <<END
problem gated "Waits for a file"
implementation c
    parallel c gate(communicator) in $routines
problem gated_once "Waits for a file, and may not do so twice"
    idempotent no
implementation c
    parallel c gate(communicator) in $routines
problem tells "Tells how far it is"
    in      double  fraction, seconds
implementation c
    parallel c tell(communicator, fraction, seconds) in $routines
problem tells_once "The same, which may not be done twice"
    idempotent no
    in      double  fraction, seconds
implementation c
    parallel c tell(communicator, fraction, seconds) in $routines
problem crash "Ends its rank"
    in      int     which, how
implementation c
    parallel c code = leave(communicator, which, how) in $routines
END
ESPALIER_TEST_GATE=$work/gate
export ESPALIER_TEST_GATE
sed -e 's/^name.*/name = "two"/' -e 's|sed\.address|two.address|' -e 's|sed\.log|two.log|' -e 's|/state"|/two"|' \
    -e 's/^ranks.*/ranks = 2/' -e 's/^grid.*/grid = 1x1/' -e 's|/own"|/beside"|' sed.conf >two.conf
# An mpirun that can be broken.
cat >mpirun <<END
#!/bin/sh
[ -e "$work/broken" ] && { echo "no slots are left today" >&2; exit 3; }
exec $(command -v mpirun) "\$@"
END
chmod 755 mpirun
echo "mpirun = \"$work/mpirun\"" >>two.conf
start two espalier-sed --foreground "$work/two.conf"
wait_until test -s two.address
wait_until grep -q 'ranks are ready' two.log
starts() { grep -c "started: $1 by" two.log; }
has_started() { [ "$(starts "$1")" = "$2" ]; }
beside_a_crash() { # PROBLEM
    espalier call "$1" --server two >beside.out 2>&1 &
    called=$!
    wait_until has_started "$1" 1
    ! espalier call crash which=0 how=0 --server two >out 2>&1 && cat out &&
        grep -q 'was lost: rank . of 2 .* was killed by signal 11' out
}
is_computed() { touch gate && wait "$called"; }
is_lost() { ! wait "$called" && cat beside.out && grep -q 'was lost: rank . of 2 .* was killed by signal 11' beside.out; }
check "a call crashes beside another one" beside_a_crash gated
check "which is started again" wait_until has_started gated 2
check "as the log says" grep -q 'gate on a grid.*: begins anew' two.log
check "and computed" is_computed
rm gate
check "another one crashes beside one that may not be repeated" beside_a_crash gated_once
check "which is reported" is_lost
follows() { espalier call --follow tells fraction=0.25 seconds=3 --server two >out 2>&1 && cat out && grep -q '^25 % done' out; }
wait_until espalier call tells fraction=1 seconds=0 --server two
check "who follows a call on ranks sees how far it is" follows

# It declares no work, so that nothing tells which grid that will be.
forecasts_some() { espalier forecast gated >out && cat out && grep -q '^two .* ranks *$' out; }
check "a forecast of what only ranks compute says so" forecasts_some

# Somebody kills a rank that computes, or mpirun: the call begins anew, and its caller sees nothing.
kill_of_two() { # PROGRAM
    killed=
    # shellcheck disable=SC2154
    for process in $(descendants "$pid_two"); do
        case $(cat "/proc/$process/comm" 2>/dev/null) in
        "$1"*) kill -9 "$process" && killed=$process ;;
        esac
    done
    [ -n "$killed" ]
}
under_way() { # PROBLEM SECONDS
    espalier call --follow "$1" fraction=0.25 seconds="$2" --server two >followed.out 2>&1 &
    called=$!
    wait_until grep -q '^25 % done' followed.out
}
ends_well() { wait "$called" || { cat followed.out; return 1; }; }
is_told() { ! wait "$called" && cat followed.out && grep -q 'tell on a grid.*was lost' followed.out &&
    grep -q 'not declared idempotent' followed.out; }
again() { grep -c 'tell on a grid.*: begins anew' two.log; }
under_way tells 3
kill_of_two espalier-prd
check "a rank that computes is killed: the call ends well" ends_well
check "as it began anew" [ "$(again)" = 1 ]
under_way tells 3
kill_of_two mpirun || kill_of_two orterun
check "mpirun is killed: the call ends well" ends_well
check "as it began anew, too" [ "$(again)" = 2 ]
under_way tells_once 60
kill_of_two espalier-prd
check "what is not idempotent is not begun again, and its caller gets the reason" is_told

# Ranks that do not come back: the call goes to another server, which was not there when it began.
wait_until espalier call tells fraction=1 seconds=0 --server two
begun=$(starts gated)
espalier call -v gated >followed.out 2>&1 &
called=$!
wait_until has_started gated $((begun + 1))
sed -e 's/^name.*/name = "three"/' -e 's|two\.address|three.address|' -e 's|two\.log|three.log|' -e 's|/two"|/three"|' \
    -e '/^mpirun/d' two.conf >three.conf
start three espalier-sed --foreground "$work/three.conf"
wait_until test -s three.address
wait_until grep -q 'ranks are ready' three.log
touch broken
kill_of_two espalier-prd
touch gate
check "ranks are killed and cannot be started again: the call ends well" ends_well
check "on another server" grep -q '^Server  *three,' followed.out
stop three

# Attempts that fail come after pauses, from the first one on, although the ranks had just been there.
wait_until grep -q 'the ranks are ended and started again in .*no slots are left today' two.log
check "what cannot be started is not tried again at once" [ "$(grep -c 'started again: .*no slots are left today' two.log)" = 0 ]

# The longer pauses between attempts that fail are over with one that does not.
rm broken
wait_until espalier call tells fraction=1 seconds=0 --server two
kill_of_two espalier-prd
is_last_end() { grep 'the ranks are ended' two.log | tail -n 1 | grep "$1"; }
wait_until is_last_end 'was killed'
check "ranks that came after all are replaced at once" is_last_end 'started again: rank'
stop two

# mpirun is missing: workers do what they can, and the reason is reported.
sed -e 's/^name.*/name = "without"/' -e 's|sed\.address|without.address|' -e 's|sed\.log|without.log|' -e 's|/state"|/alone"|' sed.conf >without.conf
echo 'mpirun = "no-such-mpirun"' >>without.conf
start without espalier-sed --foreground "$work/without.conf"
wait_until test -s without.address
alone() { espalier call dgemm 'A=[1,2;3,4]' 'B=[1,0;0,1]' --server without >out 2>&1; cat out; grep -q 4 out; }
refused() { ! espalier call psolve 'A=[1,2;2,5]' 'B=[1;1]' --server without >out 2>&1 && cat out && grep -q "there is no program 'no-such-mpirun'" out; }
check "without mpirun workers compute what they can" alone
check "and what only ranks could is refused with the reason" refused
# Agents choose other servers for parallel calls, and give the reason.
not_offered() {
    espalier forecast --json psolve n=500 nrhs=1 >out.json && cat out.json && ! jq -e '.. | objects | select(.server? == "without" and .compute_s?)' out.json &&
        espalier forecast psolve n=500 nrhs=1 >out && cat out && grep 'without' out | grep -q "only ranks compute psolve there, and the ranks of this server are not there: .*no program 'no-such-mpirun'"
}
still_offered() { espalier forecast dgemm m=50 n=50 k=50 >out && cat out && grep '^without' out | grep -vq 'ranks of this server'; }
unwell() { curl -sS --max-time 20 "http://$(cat without.address.http)/health" >out && cat out && grep -q '; the ranks of this server are not there: ' out; }
check "agents do not offer it for that" wait_until not_offered
check "but for what workers compute as well" still_offered
check "its health tells" unwell

# What is wrong in a file.
counted() { curl -sS --max-time 20 "http://$(cat sed.address.http)/metrics" >metrics && cat metrics &&
    grep -qE '^espalier_server_ranks 4$' metrics && grep -qE '^espalier_server_ranks_busy [0-4]$' metrics &&
    grep -qE '^espalier_server_rank_jobs_total [1-9]' metrics && grep -qE '^espalier_server_rank_calls_total [1-9]' metrics; }
check "ranks, their jobs and their calls are counted" wait_until counted
config_says() { # TEXT LINE...
    text=$1
    shift
    { grep -vE '^(grid|block|ranks)' sed.conf; printf '%s\n' "$@"; } >bad-sed.conf
    ! espalier config check bad-sed.conf >out 2>&1 && cat out && grep -qF "$text" out
}
check "a grid larger than the pool is an error" config_says 'grid = "2x3" needs 6 ranks' 'ranks = 4' 'grid = 2x3'
check "so is one that is none" config_says 'expected rows and columns of ranks' 'ranks = 4' 'grid = square'
check "a hostfile without ranks is an error" config_says 'expected the key "ranks" beside it' "hostfile = $work/hosts"
check "so is one that is not there" config_says 'cannot read the hostfile' 'ranks = 4' "hostfile = $work/hosts"
echo 'node1 slots=2' >hosts
check "and one with too few slots" config_says 'expected slots for ranks = 4, found 2' 'ranks = 4' "hostfile = $work/hosts"
check "so is an mpirun that is not there" config_says 'mpirun: expected a program, found none at /nowhere/mpirun' \
    'ranks = 4' 'mpirun = /nowhere/mpirun'
check "and one that cannot be executed" config_says "mpirun: expected a program, but $work/hosts cannot be executed" \
    'ranks = 4' "mpirun = $work/hosts"
check "one that is named without a folder is looked for" config_says \
    "mpirun: expected a program, found none that is called 'no-such-mpirun' and can be executed in PATH (${PATH%%:*}" \
    'ranks = 4' 'mpirun = no-such-mpirun'
check "and a block of 0" config_says 'block' 'ranks = 4' 'block = 0'

stop_all
check "no rank is left when the servers have stopped" no_ranks_left
finish
