#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server falls silent (SIGSTOP) with calls that it computes: those that may be executed again go to another one soon, and
# give one result each; the others wait, and are executed once.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed timeout curl

# Each execution signs the ledger of its call when it begins, and ends when there is a file of that name.
gated() { # gated NAME IDEMPOTENT FILE
    cat <<EOF
problem $1 "A call that ends when it is let"
    in      string  ledger
    in      int     i = 1
    out     int     j
    idempotent $2
implementation sh
    command sh "-c" "echo begun >>{ledger}{i}; until [ -e $work/$3 ]; do sleep 0.1; done; echo 1"
    stdout  j
EOF
}
mkdir problems
gated again yes go >problems/again.esp
gated once no go >problems/once.esp
gated longer yes go_on >problems/longer.esp
gated lonely yes go >lonely.esp
agent_for_clients
server() { # server NAME LINE...
    server_below_agent "$1" "$1" 'slots = 20' 'http = "127.0.0.1:0"' "state_dir = \"$work/state-$1\"" "$2"
}
server One "problems = { \"$work/problems\", \"$work/lonely.esp\" }"
is_there() { espalier tree --json | grep -q "\"name\": \"$1\""; }
at_exit() { # who is stopped cannot be asked to end
    # shellcheck disable=SC2154
    kill -CONT "$pid_One" 2>/dev/null
}
begin() { # begin NAME ARGUMENT...: the command beside this script
    name=$1
    shift
    timeout 120 espalier "$@" >"$name.out" 2>&1 &
    eval "$name=$!"
}
ended() { # ended NAME: with success
    eval "wait \$$1"
    status=$?
    cat "$1.out"
    return $status
}
all_run() { # all_run N NAME...: each was begun so often
    n=$1
    shift
    for name; do
        [ "$(cat "ledger-$name" 2>/dev/null | wc -l)" -eq "$n" ] || return 1
    done
}
check "one server is there" wait_until is_there One
begin call call again ledger="$work/ledger-call"
begin followed call --follow again ledger="$work/ledger-followed"
begin swept sweep --csv again ledger="$work/ledger-swept" i=1..2
begin bound call --server One again ledger="$work/ledger-bound"
begin once call once ledger="$work/ledger-once"
begin lonely call lonely ledger="$work/ledger-lonely"
begin late call --timeout '20 s' once ledger="$work/ledger-late"
begin alive call longer ledger="$work/ledger-alive"
job=$(espalier submit again ledger="$work/ledger-job")
begin waiting wait "$job"
movable="call1 followed1 swept1 swept2 alive1 job1"
# shellcheck disable=SC2086
check "it computes all calls" wait_until all_run 1 $movable bound1 once1 lonely1 late1
server Two "problems = { \"$work/problems\" }"
check "another server comes" wait_until is_there Two

kill -STOP "$pid_One"
stopped=$(date +%s)
# shellcheck disable=SC2086
check "those that may be executed again are, elsewhere" wait_until all_run 2 $movable
took_s=$(($(date +%s) - stopped))
check "soon (after $took_s s)" test $took_s -le 10
check_fails 3 "one with a deadline ends there" ended late
touch go
check "they are done while the first server is stopped" ended call
check "also one that is followed" ended followed
check "and those of a program with several" ended swept
check "and a job" ended waiting
# A call that begins now, of what it alone solves, waits as those that it had; not only as long as for one that is gone.
sed '$a agent_patience = "200 ms"' client.conf >hasty.conf
is_lost() { espalier tree | grep ' One ' | grep -q unreachable; }
check "agents have lost it" wait_until is_lost
ESPALIER_CONFIG=$work/hasty.conf begin later call lonely ledger="$work/ledger-later"
# shellcheck disable=SC2154 # begin() sets it
still() { cat later.out; kill -0 "$later"; }
sleep 2
check "what only that one solves is waited with" still
kill -CONT "$pid_One"
for name in once bound lonely later; do
    check "one that has to wait is done when the server goes on ($name)" ended $name
    check "which was executed once" all_run 1 "${name}1"
done
# shellcheck disable=SC2086
check "and those that went elsewhere twice" all_run 2 $movable
extra_runs() {
    extra=$(curl -sS --max-time 20 "http://$(cat One.address.http)/metrics" | awk '$1 == "espalier_server_extra_runs_total" { print $2 }')
    [ "${extra:-0}" -ge 1 ]
}
check "the first server learns of the calls made elsewhere, and counts them" wait_until extra_runs
touch go_on
check "the last of which gives its result" ended alive
finish
