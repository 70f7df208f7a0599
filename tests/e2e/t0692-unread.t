#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a routine only writes is not sent: unread(CONDITION) in descriptions.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed curl
steps=$top_builddir/tests/e2e/unread_steps
[ -x "$steps" ] || skip_all "built without the ORB"

agent_for_clients
server_below_agent S S "state_dir = \"$work/state\"" 'slots = 1' 'http = "127.0.0.1:0"' \
    "problems = { \"$top_srcdir/problems/blas\", \"$top_srcdir/problems/lapack/eigenvalues\", \"$top_srcdir/tests/e2e/unread.esp\" }"
has_problem() {
    espalier problems | grep -q '^triangle '
}
check "the server is there" wait_until has_problem

went_in() { # bytes of arguments that the server has had
    curl -sS --max-time 20 "http://$(cat S.address.http)/metrics" | awk '$1 == "espalier_server_argument_bytes_total" { print $2 }'
}
matrix=115200 # bytes of one of data_arrays.h
takes() { # takes MATRICES COMMAND...: so many go in, and some scalars
    takes_n=$1
    shift
    takes_before=$(went_in)
    "$@" || return 1
    takes_bytes=$(awk -v after="$(went_in)" -v before="$takes_before" 'BEGIN { printf "%d", after - before }')
    echo "$takes_bytes bytes went in"
    [ "$takes_bytes" -ge $((takes_n * matrix)) ] && [ "$takes_bytes" -lt $((takes_n * matrix + 1000)) ]
}
check "with beta = 1 three matrices go into dgemm" takes 3 "$steps" gemm 1
check "with beta = 0 two do, and what was in C does not matter" takes 2 "$steps" gemm 0
check "a complex beta is 0 when both its parts are" "$steps" imaginary
check "what the routine leaves then is 0, and nothing that was there before" "$steps" stale
check "what is not read may be nowhere" "$steps" nowhere
check "forecasts do not count it" "$steps" forecast
check "what cannot be forecast is reported, and leaves the program's numbers alone" "$steps" refused

# ---- on the command line ----
two="A=rand(120,120) B=rand(120,120)"
# shellcheck disable=SC2086
{
    check "the command sends no C when none is given" takes 2 espalier call dgemm $two -o C=c.npy
    check "nor when one is" takes 2 espalier call dgemm $two C=@c.npy -o C=d.npy
    check "but with beta = 1" takes 3 espalier call dgemm $two C=@c.npy beta=1 -o C=d.npy
}
datum=$(espalier data put c.npy --server S)
# shellcheck disable=SC2086
{
    check "nor is a datum in its place taken, where the result stays as well" takes 2 espalier call dgemm $two C=data:$datum -o C=data:
    check "but with beta = 1" takes 3 espalier call dgemm $two C=data:$datum beta=1 -o C=data:
}
check "of a section the elements that travel are 0" espalier call blank n=5 reads=0 'y=[1,2,3,4,5]' -o y=-
check_says "all" '^0$'
check "and where it is read they are what they were" espalier call blank n=5 reads=1 'y=[1,2,3,4,5]' -o y=-
check_says "each" '^5$'
job() {
    # shellcheck disable=SC2086
    id=$(espalier submit dgemm $two C=@c.npy) && espalier fetch "$id" --wait -o C=job.npy
}
check "a job is not sent it either" takes 2 job
check "the page of a problem says so" espalier problems dgemm
check_says "with the condition" 'not read when beta == 0'
check "and in JSON" espalier problems dgemm --json
check_says "too" '"unread": "beta == 0"'
finish
