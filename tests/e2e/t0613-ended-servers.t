#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server that is ended by SIGTERM, as systemd does it, is expected back for a while: calls that nobody else can take wait, also of
# programs that ask for its problem first. One that an administrator stops is not.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed timeout

mkdir problems
printf 'problem alpha "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "echo 1"\n    stdout j\n' >problems/alpha.esp
agent_for_clients 'heartbeat = "200 ms"'
server_below_agent S S "problems = { \"$work/problems\" }" "state_dir = \"$work/S\""
check "a call" wait_until espalier call alpha

stop S
check "its server is ended" espalier tree
check_says "which the tree shows" ' S .*ended [0-9]+ s ago, is waited for \([0-9]+ s more\)$'
check "as JSON" espalier tree --json
check_says "too" '"expected_s": [0-9]'
espalier call alpha >first.out 2>&1 &
first=$!
espalier problems alpha >described.out 2>&1 &
described=$!
check "a request for the description is answered meanwhile" wait $described
check_fails any "what nobody has solved" timeout 8 espalier call alphaa
check_says "is not waited for" 'no server below "MA" solves alphaa; did you mean alpha\?'
sleep 3 # longer than a fresh agent is unsure
check "the call waits" kill -0 $first
start_server S
check "and is served when the server is there again" wait $first
cat first.out >"$log"
check_says "as by any other" '^j = 1'
in_tree() { espalier tree | grep ' S .* server ' | grep -qv 'ended'; }
check "the tree shows it as before" wait_until in_tree

# ---- its data, too ----
printf 'problem beta "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "echo 2"\n    stdout j\n' >beta.esp
server_below_agent T T "problems = { \"$work/beta.esp\" }" "state_dir = \"$work/T\""
check "another server" wait_until espalier call beta
printf '1,2\n' >datum.csv
put() { # put WHAT: a datum on it, as $WHAT
    check "a datum on the first one" espalier data put datum.csv --server S --mode persistent
    eval "$1=\$(cat \$log)"
}
for what in read looked copied moved deleted; do
    put $what
done
stop S
wanted=''
want() { # want NAME WORD...: of 'espalier data', meanwhile
    tap_want=$1
    shift
    espalier data "$@" >"$tap_want.out" 2>&1 &
    wanted="$wanted $tap_want:$!"
}
# shellcheck disable=SC2154 # put() sets them
{
    want read get "$read" got.csv
    want looked info "$looked"
    want copied cp "$copied" T
    want moved mv "$moved" T
    want deleted rm "$deleted"
}
sleep 2
for what in $wanted; do
    cat "${what%:*}.out" >"$log"
    check "a request for its datum waits (${what%:*})" kill -0 "${what#*:}"
done
start_server S
for what in $wanted; do
    check "and has it when the server is there again (${what%:*})" wait "${what#*:}"
    cat "${what%:*}.out" >"$log"
done
check "as it was" cmp got.csv datum.csv
check_fails any "what was deleted" espalier data info "$deleted"
check_says "is so there" 'was deleted'

check "an administrator stops it" espalier admin stop S
gone() { ! espalier tree | grep -q ' S '; }
check "which the tree does not show for long" wait_until gone
begun=$(date +%s)
check_fails any "a call" espalier call alpha
check_says "gets the error that no server solves it" 'no server below "MA" solves alpha'
check "and does not wait" test $(($(date +%s) - begun)) -le 8

echo 'return_within = "0 s"' >>S.conf
start_server S
check "another life, in which it is not waited for" wait_until espalier call alpha
stop S
check "it is ended" espalier tree
check "and not shown" gone
check_fails any "nor does a call wait" timeout 8 espalier call alpha
check_says "for what nobody solves" 'no server below "MA" solves alpha'
finish
