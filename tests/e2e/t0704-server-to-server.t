#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A matrix in pieces moves to another server, to lie otherwise there: straight from ranks to ranks.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd curl
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
# describe NAME IMPLEMENTATION: C := A B
describe() {
    printf 'problem %s "C := A B"\n    in int m, n, k\n    in double A[m, k], B[k, n]\n    out double C[m, n]\n' "$1"
    printf 'implementation ours\n    %s\n' "$2"
}
mkdir together alone
describe pmul "parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0,
        C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2" >together/pmul.esp
describe smul "fortran dgemm_('N', 'N', m, n, k, double 1, A, m, B, k, double 0, C, m) in libblas.so.3" >alone/smul.esp
# server NAME FOLDER KEYS
server() {
    cat >"$1.conf" <<END
name = "$1"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
http = "127.0.0.1:0"
address_file = "$work/$1.address"
log_file = "$work/$1.log"
log_level = debug
store_memory = "64 MB"
state_dir = "$work/$1.state"
problems = { "$work/$2" }
$3
END
    mkdir -p "$1.state"
    start "$1" espalier-sed --foreground "$work/$1.conf"
}
server two together 'ranks = 2
grid = 2x1
block = 4'
server three together 'ranks = 3
grid = 3x1
block = 5'
server plain alone ''
cat >client.conf <<END
agents = { "$(cat master.address)" }
END
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
all_there() { [ "$(espalier tree | grep -c 'two\|three\|plain')" -ge 3 ]; }
wait_until all_there
wait_until grep -q "ranks are ready" two.log
wait_until grep -q "ranks are ready" three.log

# matrix ROWS COLS: whole numbers
matrix() { awk -v m="$1" -v n="$2" 'BEGIN { for (i = 1; i <= m; i++) { for (j = 1; j <= n; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + i * j) % 1009; print "" } }'; }
matrix 43 29 >a.csv
same() { espalier data get "$1" got.csv && cmp got.csv a.csv; }
lies() { espalier data info "$1" | grep -q "over $2 ranks ($3)"; }

A=$(espalier data put a.csv --server two --mode persistent --grid 2x2 --block 4)
to_three() { B=$(espalier data cp "$A" three --grid 2x3 --block 5x3) && [ -n "$B" ] && [ "$B" != "$A" ]; }
check "a matrix goes from four ranks' pieces to six ranks'" to_three
check "and lies there as it was to" lies "$B" "2 x 3" "5 x 3"
check "with every element in its place" same "$B"
check "what it was made of is as it was" same "$A"
is_durable() { espalier data info "$B" | grep -q "mode       persistent"; }
check "and is as durable as that" is_durable
to_plain() { C=$(espalier data cp "$B" plain --grid 1x4 --block 2) && lies "$C" "1 x 4" "2 x 2" && same "$C"; }
check "a server without ranks takes pieces too" to_plain
back() { D=$(espalier data mv "$C" three --grid 3x1 --block 7) && same "$D" && ! espalier data info "$C" 2>error; }
check "and gives them, when they move" back
W=$(espalier data put a.csv --server two)
whole() { E=$(espalier data cp "$W" three --grid 3x1 --block 7) && lies "$E" "3 x 1" "7 x 7" && same "$E"; }
check "what is whole is cut on its way" whole
here() { F=$(espalier data cp "$A" two --grid 1x2 --block 64) && lies "$F" "1 x 2" "64 x 64" && same "$F"; }
check "a server makes one of its own lie otherwise" here

# Blocks beyond the matrix: one holds all of it, until products of blocks and ranks could not be counted.
beyond() { G=$(espalier data cp "$A" two --grid 2x2 --block 2305843009213693952) && same "$G" &&
    G=$(espalier data put a.csv --server two --grid 2x2 --block 2305843009213693952) && same "$G"; }
check "a block may be larger than the matrix" beyond
too_large() { ! "$@" --grid 2x2 --block "$block" >out 2>&1 && cat out &&
    grep -q "rows: expected a block size of at most 2305843009213693952 on 2 ranks (one of 43 holds all), found $block" out; }
for block in 9223372036854775807 4611686018427387904; do
    check "a matrix is not put in blocks of $block" too_large espalier data put a.csv --server two
    check "nor copied into them, by its server" too_large espalier data cp "$A" two
    check "or by another one" too_large espalier data cp "$A" three
done

# A on the ranks of one server, B on those of another: B goes to A, A to B, or both to a third grid.
matrix 29 17 | tr 7 3 >b.csv
espalier call smul A=@a.csv B=@b.csv -o C=expected.csv
P=$(espalier data put b.csv --server three --grid 3x1 --block 5)
R=$(espalier data put b.csv --server plain --grid 1x4 --block 2)
Q=$(espalier data put a.csv --server two --grid 2x1 --block 4)
product() { espalier call pmul "A=data:$2" "B=data:$3" --server "$1" -o C=c.csv && cmp c.csv expected.csv &&
    grep "started: pmul" "$1.log" | tail -n 1 | grep "on $4 ranks"; }
b_to_a() { moved=$(espalier data cp "$P" two --grid 2x1 --block 4) && product two "$Q" "$moved" "2 x 1"; }
a_to_b() { moved=$(espalier data cp "$Q" three --grid 3x1 --block 5) && product three "$moved" "$P" "3 x 1"; }
both() { moved=$(espalier data cp "$Q" three --grid 3x1 --block 5) && other=$(espalier data cp "$R" three --grid 3x1 --block 5) &&
    product three "$moved" "$other" "3 x 1"; }
check "B is multiplied where A is" b_to_a
check "and A where B is" a_to_b
check "and both where neither was" both

# What is wrong.
says() { text=$1; shift; ! espalier data cp "$@" >out 2>error && grep -q "$text" error; }
check "a grid without blocks is refused" says "expected both --grid and --block" "$A" three --grid 2x2
check "so are too many pieces" says "at most 4096 pieces" "$A" three --grid 100x100 --block 1
check "and a datum that is not there" says "server two has no datum" "two:00000000000000000000000000000001" three --grid 2x2 --block 1

# A stopped rank is reported by name, within call_timeout. (The server itself is not stopped.)
# rank_of SERVER RANK SIZE
rank_of() { for environ in $(grep -lzs "^ESPALIER_RANKS=$work/" /proc/[0-9]*/environ 2>/dev/null); do
    process=${environ%/environ}
    grep -sqzx "OMPI_COMM_WORLD_SIZE=$2" "$environ" && grep -sqzx "OMPI_COMM_WORLD_RANK=$1" "$environ" &&
        [ "$(cat "$process/comm")" = espalier-prd ] && echo "${process#/proc/}" && return
done; return 1; }
stopped_is_told() { pid=$(rank_of "$1" "$2") && kill -STOP "$pid" && begun=$(date +%s)
    says "server $3[:,] rank $1 of $2: it has .* nothing for\|server $3[:,] rank $1 of $2: it has not answered" "$A" three --grid 2x3 --block 3
    told=$?
    kill -CONT "$pid"
    cat error && [ $told -eq 0 ] && [ $(($(date +%s) - begun)) -le 15 ]; }
check "a rank at the target that is stopped is reported" stopped_is_told 1 3 three
check "and one at the source" stopped_is_told 1 2 two

# ---- who dies in the middle ----

# The ranks that fetch stand still, so that the middle lasts: those that lend have been asked for the pieces then.
# signal_ranks SIGNAL SIZE
signal_ranks() { n_signalled=0; for environ in $(grep -lzs "^ESPALIER_RANKS=$work/" /proc/[0-9]*/environ 2>/dev/null); do
    process=${environ%/environ}
    grep -sqzx "OMPI_COMM_WORLD_SIZE=$2" "$environ" && [ "$(cat "$process/comm")" = espalier-prd ] &&
        kill "-$1" "${process#/proc/}" && n_signalled=$((n_signalled + 1))
done; }
all_stand_still() { signal_ranks STOP 3; [ "$n_signalled" -eq 3 ]; }
none_left() { signal_ranks 0 "$1"; [ "$n_signalled" -eq 0 ]; }
# figure SERVER NAME: of what it counts
figure() { curl -sS --max-time 20 "http://$(cat "$1.address.http")/metrics" | awk -v name="espalier_server_$2" '$1 == name { print $2 }'; }
listed() { espalier data ls --server three | wc -l; }
count_lines() { grep -c "$1" "$2.log"; }
more_fetch() { [ "$(count_lines "3 porters fetch pieces" three)" -gt "$fetching" ]; }
begins_to_move() {
    fetching=$(count_lines "3 porters fetch pieces" three)
    was_ready=$(($(count_lines "ranks are ready" three) + $(count_lines "ranks are ready" two)))
    before=$(listed) used=$(figure three data_memory_bytes)
    wait_until all_stand_still && [ -n "$used" ] || return 1
    espalier data cp "$A" three --grid 2x3 --block 1 >moved 2>error &
    asking=$!
    wait_until more_fetch
}
moves_on() { wait "$asking" && G=$(cat moved) && lies "$G" "2 x 3" "1 x 1" && same "$G"; }
are_ready() { [ $(($(count_lines "ranks are ready" three) + $(count_lines "ranks are ready" two))) -gt "$was_ready" ]; }
at_two=$(espalier data cp "$P" two --grid 2x1 --block 4)
computes() { product two "$Q" "$at_two" "2 x 1" && product three "$B" "$P" "3 x 1"; }

check "a matrix is on its way" begins_to_move
signal_ranks KILL 3
check "when all ranks that are to have it die, it comes nevertheless" moves_on
check "the log tells who died" grep -q "is tried again: server three: rank [0-2] of 3: " three.log
check "there are ranks again" wait_until are_ready

check "another is on its way" begins_to_move
kill -KILL "$(rank_of 1 3)"
signal_ranks CONT 3
check "when one rank that is to have it dies, it comes nevertheless" moves_on
check "there are ranks again" wait_until are_ready

check "another is on its way" begins_to_move
lender=$(rank_of 1 2)
kill -KILL "$lender"
is_gone() { ! alive "$lender"; }
wait_until is_gone
signal_ranks CONT 3
check "when a rank that lends it dies, it comes nevertheless" moves_on
check "the log tells from whom it did not come" grep -q "is tried again: server three: rank [0-2] of 3: piece [0-3] from server two, 127.0.0.1:" three.log
check "and its server which one has died" grep -q "rank 1 of 2 (process [0-9]* on [^)]*) was killed" two.log
check "there are ranks again" wait_until are_ready
check "both servers compute as before" computes

not_moved() { ! wait "$asking" && cat moved error && grep -q "$1" error && [ ! -s moved ]; }
as_before() { [ "$(listed)" -eq "$before" ] && [ "$(figure three data_memory_bytes)" = "$used" ]; }
check "another is on its way" begins_to_move
stop two KILL
wait_until none_left 2
signal_ranks CONT 3
check "a server that dies in the middle is reported by name" not_moved "rank [0-2] of 3: piece [0-3] from server two, 127.0.0.1:"
check "nothing of it is left, and its memory is given back" wait_until as_before
start two espalier-sed --foreground "$work/two.conf"
returns() { same "$A"; }
wait_until returns
check "the matrix is not lost" same "$A"
check "and comes when it is wanted again" to_three
check "there are ranks again" wait_until are_ready

persistent() { espalier data ls --server three | grep -c persistent; }
check "another is on its way" begins_to_move
kept=$(persistent)
stop three KILL
signal_ranks CONT 3
check "a server that was to have it and dies is reported by name" not_moved "server three, which is to have it, .*nothing is lost, two has it still"
wait_until none_left 3
start three espalier-sed --foreground "$work/three.conf"
is_back() { [ "$(persistent)" -eq "$kept" ]; }
check "it comes back with what was durable there, and nothing else" wait_until is_back
check "there are ranks again" wait_until are_ready
check "the matrix comes when it is wanted again" to_three

nothing_left() { [ "$(listed)" -eq "$before" ]; }
before=$(listed)
stop two
check "a server that is gone is reported" says "server two, which made it, is not there" "$A" three --grid 2x2 --block 3
check "and nothing of it is left" nothing_left
start two espalier-sed --foreground "$work/two.conf"
wait_until returns
check "nor lost" same "$A"

# ---- the program that ordered it goes away in the middle: no nameless datum stays ----

has_ended() { count_lines ": fetched, \|cannot be fetched" three; }
more_ended() { [ "$(has_ended)" -gt "$ended" ]; }
# ordered_by SIGNAL COMMAND...: the command gets that while the ranks of "three", which fetch, stand still.
ordered_by() {
    signal=$1 ended=$(has_ended) fetching=$(count_lines "3 porters fetch pieces" three)
    shift
    wait_until all_stand_still || return 1
    "$@" >moved 2>error &
    asking=$!
    wait_until more_fetch
    kill "-$signal" "$asking"
    ! wait "$asking" && [ ! -s moved ]
    left_alone=$?
    signal_ranks CONT 3
    [ $left_alone -eq 0 ] && wait_until more_ended
}
leaves_nothing() { before=$(listed) && ordered_by "$@" && wait_until nothing_left; }
W=$(espalier data put a.csv --server two)
check "who orders a persistent matrix and is killed leaves nothing" leaves_nothing KILL espalier data cp "$A" three --grid 2x3 --block 2
check "nor does who gives up" leaves_nothing TERM espalier data cp "$A" three --grid 2x3 --block 2
check "nor of a volatile one" leaves_nothing KILL espalier data cp "$W" three --grid 2x3 --block 2
check "a move that is given up leaves nothing either" leaves_nothing KILL espalier data mv "$W" three --grid 2x3 --block 2
check "and what was to move where it was" same "$W"
not_told() { before=$(listed) && ! espalier data mv "$W" three --grid 2x3 --block 2 >/dev/full 2>error && nothing_left && same "$W"; }
check "a client that does not learn the identity of the new datum keeps the old one" not_told
ended_meanwhile() { # ended_meanwhile SIGNAL
    kept=$(persistent)
    ordered_by KILL espalier data cp "$A" three --grid 2x3 --block 2 || return 1
    was_ready=$(($(count_lines "ranks are ready" three) + $(count_lines "ranks are ready" two)))
    stop three "$1"
    start three espalier-sed --foreground "$work/three.conf"
    wait_until is_back && wait_until are_ready
}
check "a server that is stopped before it has noticed does not come back with it" ended_meanwhile TERM
check "nor does one that is killed" ended_meanwhile KILL
finish
