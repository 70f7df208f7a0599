#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use data on servers: grpc_data.h, and sequences of calls.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/data_steps
[ -x "$steps" ] || skip_all "built without the ORB"

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" \
        'slots = 1' \
        'store_memory = "64 MiB"' \
        "problems = { \"$top_srcdir/tests/e2e/product.esp\", \"$top_srcdir/tests/e2e/kinds.esp\", \"$top_srcdir/problems/lapack/linear-systems\", \"$top_srcdir/problems/abstract\" }"
done
servers() { # servers N: so many multiply matrices
    espalier problems | grep -Eq "^product .* $1 "
}
check "two servers are there" wait_until servers 2
check "data go into calls of all kinds, come out, and stay" "$steps" grid A
check "what is overwritten goes, unless somebody else has a name for it" "${steps%data_steps}stay_steps" overwritten
check "strict data go with their first session, wherever it was" "${steps%data_steps}stay_steps" strict
check "what goes in and comes out under one name does not wait for itself" timeout 20 "${steps%data_steps}stay_steps" both
check "nor do calls of two threads that take what the other one makes" timeout 60 "${steps%data_steps}stay_steps" together
check "what is to be durable on a second server" "${steps%data_steps}stay_steps" durable
stop B KILL
start_server B
durable_on_b() {
    espalier data info "$(cat durable.id)" >shown && grep -Eq 'on +B .*disk' shown && ! grep -q replica shown &&
        ! grep -Eq 'on +A' shown
}
check "is there when that was killed, and the first one has let go of it" wait_until durable_on_b
check_fails any "it is no replica" grep -q replica shown
check "and it goes" espalier data rm "$(cat durable.id)"
check "two servers are there again" wait_until servers 2
check "a program saves what another one needs" "$steps" save file:saved
check "as a text" cat saved
check_says "with identity and shape" "^identity A:[0-9a-f]{32}$" "^type double$" "^dimensions 120 120$" "^mode GRPC_STICKY$"
check "which uses it, and deletes it" "$steps" load "file://$work/saved"
check_fails any "it is there once only" "$steps" load file:saved
check_says "which is told" "deleted"
sed 's/^type double/type quaternion/' saved >wrong
check_fails any "a damaged file is refused" "$steps" load file:wrong
check_says "with its line" "wrong:3: expected a type"
check "a sequence sends nothing twice, and gives what the program gives without" "$steps" sequence
check "data go wherever an argument is an array" "${steps%steps}kinds" B

# ---- orders about the data of a session ----
check "a program gives orders about what a session took and made" "${steps%steps}orders" B
sizes='n=2 A=[1,2;3,4] B=[5,6;7,8]'
# shellcheck disable=SC2086
check "a call leaves what it takes and makes" espalier call product $sizes -s A --leave all:persistent -v
cp "$log" said
check_says "and tells their identities, and how to name them all" 'session = session:[0-9a-f]+-[0-9]+$' \
    'A \(input\) = data:A:' 'B \(input\) = data:A:' '^C = data:A:'
session=$(sed -n 's/^session = //p' said)
on() { # on SERVER N: that many data are on it
    test "$(espalier data ls -s "$1" | grep -c '^A:.*persistent')" -eq "$2"
}
check "all outputs go to another server" espalier data cp "$session:outputs" B
check "which has them" on B 1
check "one input" espalier data cp "$session:inputs:B" B
check "which has both" on B 2
check "and all inputs" espalier data cp "$session:inputs" B
check "as well" on B 3
mkdir brought
check "all go to the client" espalier data get "$session" brought --format csv
check "each into its file" sh -c 'cat brought/A.csv brought/B.csv brought/C.csv'
check_says "with its value" '^1,2$' '^7,8$' '^19,22$' '^43,50$'
check "one of them" espalier data get "$session:outputs:C" c.csv
check "too" cmp c.csv brought/C.csv
check "they go into another call" sh -c "espalier call product n=2 A=\$(sed -n 's/^C = //p' said) 'B=[1,0;0,1]' --leave outputs"
other=$(sed -n 's/^session = //p' "$log")
check "they are shown" espalier data info "$other"
check_says "by their names" '^A, an input$' '^C, an output$'
check "what one session leaves" espalier data rm "$other"
check "is not what another one left" espalier data get "$session" brought
check_fails 5 "there is no such argument" espalier data get "$session:outputs:A" a.csv
check_says "which is told" 'has left no outputs named A'
check_fails 2 "nor such a side" espalier data cp "$session:both" B
check_says "with those that there are" 'session:ID:inputs'
check_fails 5 "nor such a session" espalier data get session:0123-77 brought
check_says "which is told too" 'no session "0123-77"'
check_fails 2 "what is left has a name" espalier call product n=1 'A=[1]' 'B=[1]' --leave some
check_says "of three" 'inputs, outputs or all'
check_fails 2 "abstract problems leave nothing so" espalier call mul 'A=[1]' 'B=[1]' --leave all
check_says "and say what to do" 'name that one'
check "the servers forget them" espalier data rm "$session"
check_fails 5 "and the session" espalier data rm "$session"

nothing_left() {
    espalier data ls >left && ! grep ':' left
}
check "nothing is left on the servers" nothing_left

# ---- a server is lost between two calls of a sequence ----
start lost "$steps" lost
check "a sequence leaves two results on a server" wait_until test -e made
victim=A
espalier data ls -s B | grep -q ':' && victim=B
stop $victim KILL
touch killed
ends() {
    # shellcheck disable=SC2154
    wait "$pid_lost" || { cat lost.out; return 1; }
}
check "when that is killed both are computed again on the other one" ends
finish
