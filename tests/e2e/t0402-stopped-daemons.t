#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Daemons that are stopped but not dead (SIGSTOP, a frozen virtual machine): calls end at their deadlines with a clear
# error, the tree marks the nodes that do not answer, and after SIGCONT all goes on.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed timeout

node() { # node NAME KIND LINES...
    name=$1 kind=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\n' "$name"
        printf 'address_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" "espalier-$kind" --foreground "$name.conf"
    eval "$name=\$(address_of $name.address)"
}
node redirector redirector 'heartbeat = "500 ms"' 'lease = "3 s"'
# shellcheck disable=SC2154
node MA agent "redirector = \"$redirector\"" 'freshness = "200 ms"' 'heartbeat = "500 ms"' 'lease = "3 s"'
# shellcheck disable=SC2154
node LA agent "parent = \"$MA\"" 'freshness = "200 ms"' 'heartbeat = "500 ms"' 'lease = "3 s"'
# shellcheck disable=SC2154
node SeD sed "parent = \"$LA\"" 'slots = 1' "problems = { \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/blas\" }"
printf 'redirector = "%s"\ncall_timeout = "2 s"\nagent_patience = "2 s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
at_exit() { # whoever is stopped cannot be asked to end
    # shellcheck disable=SC2154,SC2086
    kill -CONT "$pid_redirector" "$pid_MA" "$pid_LA" "$pid_SeD" ${pid_one:-} ${pid_two:-} ${pid_middle:-} 2>/dev/null
}

# The deadline is 3 s; a minute is generous for a machine that does much else.
call() {
    timeout 60 espalier call --timeout '3 s' dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
check "a call gives its result" wait_until call

# On a busy machine a thread of the daemon may run on for a moment after the signal.
is_frozen() {
    ! cat "/proc/$1/task/"*/stat | sed 's/.*) //' | grep -qv '^T'
}
freeze() {
    kill -STOP "$1" && wait_until is_frozen "$1"
}

freeze "$pid_LA"
sleep 1 # longer than the master believes what it was told
# The call asks again until the server has gone to the master, or says who did not answer.
told_or_done() {
    call >said 2>&1 || grep -Eq 'did not answer|no server|deadline|known before' said
}
check "with the leader stopped a call finds the other way, or says that nobody answered" told_or_done
check "when its lease is over the server goes to the master, and calls go on" wait_until call
kill -CONT "$pid_LA"
check "after SIGCONT calls go on" wait_until call

freeze "$pid_MA"
check_fails any "with the master stopped a call fails" call
check_says "and says so" 'no answer in time|no connection in time|deadline|within [0-9.]+ s'
check "the tree says that it does not answer" timeout 60 espalier tree
check_says "and since when" 'MA .*unreachable since [0-9]+ s'
check "so does the tree as JSON" timeout 60 espalier tree --json
check_says "with a mark" '"name": "MA".*"unreachable": true'
kill -CONT "$pid_MA"
check "after SIGCONT calls go on" wait_until call
check "and the tree shows it as before" sh -c "espalier tree --json | grep -q '\"name\": \"SeD\"' && ! espalier tree | grep -q unreachable"

freeze "$pid_redirector"
check_fails any "with the redirector stopped a new client's call fails" call
check_says "and says who did not answer" 'redirector: no Espalier daemon answers at |redirector.*no connection in time'
kill -CONT "$pid_redirector"
check "after SIGCONT calls go on" wait_until call

# shellcheck disable=SC2154
freeze "$pid_SeD"
check_fails any "with the server stopped a call fails" call
check_says "and says so" "deadline|server SeD at .* said nothing for .* stopped|no answer in time|no connection in time|did not answer|no server|known before"
kill -CONT "$pid_SeD"
check "after SIGCONT calls go on" wait_until call

# The time is that of the look-up and the call together.
freeze "$pid_redirector"
freeze "$pid_SeD"
timeout 60 espalier call --timeout '6 s' dgesv A='[4,1;1,3]' B='[6;7]' >late 2>&1 &
caller=$!
sleep 4
kill -CONT "$pid_redirector"
late() {
    wait $caller
    status=$?
    cat late
    return $status
}
check_fails 3 "a call that is looked up for most of its time fails" late
check_says "when that is over, and not as much later" 'the deadline of [0-3](\.[0-9]+)? s passed|the 6 s of --timeout are over'
kill -CONT "$pid_SeD"
check "after SIGCONT calls go on" wait_until call
names() {
    espalier tree --json | grep -o '"name": [^,]*, "parent": [^,]*, "role": [^,]*, "address": [^,]*' >"$1"
}
names first
names second
check "the tree as JSON is the same twice" cmp first second

# An agent that answers from memory for long, so that it goes on offering the stopped one of two servers. A
# client that gave it the call and waited for an answer would need four times the call_timeout.
node second redirector
# shellcheck disable=SC2154
node lasting agent "redirector = \"$redirector\"" "redirectors = { \"$second\" }" 'freshness = "10 min"' 'heartbeat = "10 s"' 'lease = "10 min"'
# shellcheck disable=SC2154
node middle agent "parent = \"$lasting\"" 'heartbeat = "500 ms"' 'lease = "10 min"'
server() {
    node "$1" sed "parent = \"$2\"" 'slots = 1' "state_dir = \"$work/state-$1\"" \
        "problems = { \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/abstract\" }"
}
server one "$lasting"
# shellcheck disable=SC2154
server two "$middle"
# shellcheck disable=SC2154
printf 'agents = { "%s" }\ncall_timeout = "1 h"\nanswer_patience = "1 s"\n' "$lasting" >client.conf
solves() {
    timeout 60 espalier call --json dgesv A='[4,1;1,3]' B='[6;7]' | tee answer
    grep '"server"' answer | head -n 1 | grep -q "\"$1\""
}
both() {
    espalier call --json dgesv A='[4,1;1,3]' B='[6;7]' | tr -d '\n' | grep -q '"server": "one".*"server": "two"\|"server": "two".*"server": "one"'
}
check "two servers are candidates" wait_until both
# shellcheck disable=SC2154
kill -STOP "$pid_one"
check "with one of them stopped the other computes" solves two
kill -CONT "$pid_one"
# shellcheck disable=SC2154
kill -STOP "$pid_two"
check "and the other way round" solves one
kill -CONT "$pid_two"

# Of several master agents, or redirectors, one that is stopped is not waited for: here for ten minutes.
printf 'agents = { "%s", "%s" }\ncall_timeout = "1 h"\nanswer_patience = "10 min"\n' "$MA" "$lasting" >client.conf
freeze "$pid_MA"
check "with the first of two masters stopped the second one is asked" call
check_fails any "a name that nobody knows is reported all the same" timeout 60 espalier call --timeout '5 s' nosuchproblem x=1
kill -CONT "$pid_MA"
printf 'redirector = "%s"\nredirectors = { "%s" }\ncall_timeout = "1 h"\nanswer_patience = "10 min"\n' "$redirector" "$second" >client.conf
freeze "$pid_redirector"
check "with the first of two redirectors stopped the second one is asked" call
kill -CONT "$pid_redirector"
# shellcheck disable=SC2154
printf 'agents = { "%s" }\ncall_timeout = "1 h"\nanswer_patience = "1 s"\n' "$lasting" >client.conf

# Whatever the file says of single calls, a time for the whole holds.
job=$(espalier submit --server two dgesv A='[4,1;1,3]' B='[6;7]')
check "a job" test -n "$job"
printf '4,1\n1,3\n' >a.csv
check "a datum" espalier data put a.csv --server two --mode persistent
datum=$(cat "$log")
kill -STOP "$pid_two"
check_fails 3 "a call of a stopped server that is to take a second" \
    timeout 60 espalier call --server two --timeout '1 s' dgesv A='[4]' B='[6]'
check_fails 3 "nor is a job waited for longer" timeout 60 espalier wait --timeout '1 s' "$job"
check_fails 3 "or its result" timeout 60 espalier fetch --timeout '1 s' "$job"
for verb in call submit; do
    check_fails 3 "nor is a datum of it looked for, by $verb" \
        timeout 60 espalier $verb --timeout '1 s' dgesv "A=data:$datum" B='[6;7]'
    check_says "which names the request, the silent node and the cure" \
        "A: datum two:.* data: no answer in time .*stopped.*, or give it more time"
done
check_fails 3 "nor by an abstract problem" timeout 60 espalier call --timeout '1 s' solve "A=data:$datum" B='[6;7]'
check_says "which says so too" 'A: datum two:.* data: no answer in time'
kill -CONT "$pid_two"
check "the job is there when it goes on" espalier fetch --wait "$job"

is_old() {
    espalier tree | grep -Eq "^ *$1 .*: as it was [0-9]+ s ago"
}
# shellcheck disable=SC2154
kill -STOP "$pid_middle"
check "below a stopped leader the tree says how old that is" wait_until is_old two
kill -CONT "$pid_middle"
is_young() { ! is_old two; }
check "and no more when it goes on" wait_until is_young
finish
