#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An iterative solver that saves its state goes on from there when its worker, or its server, is killed: the solution is the
# one of a run without a crash, to the bit, and the number of sweeps is the same in all.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc

mkdir solver tmp
TMPDIR=$work/tmp # of the servers
export TMPDIR
cp "$top_srcdir/examples/checkpoint/poisson.esp" solver
check "the example is built as its text says" cc -O2 -fPIC -shared -I"$top_srcdir/include" -o solver/libpoisson.so \
    "$top_srcdir/examples/checkpoint/poisson.c" -lm
agent_for_clients 'freshness = "100 ms"'
server() { # server NAME: with a state folder of its own
    server_below_agent "$1" "$1" 'slots = 1' "problems = { \"$work/solver\" }" "state_dir = \"$work/state-$1\"" "${2:-}"
}
server S
n=400 # a run of some seconds: a copy of its state needs a few tenths
awk -v n=$n 'BEGIN { print "%%MatrixMarket matrix array real general"; print n, n; for (i = 0; i < n * n; i++) print 1 + i % 7 }' >f.mtx
solve() { # solve NAME: what comes is in files of that name
    espalier call poisson n=$n f=@f.mtx every=0.03 -o u="$1.npy" -o iterations="$1-n.csv" -o from="$1-from.csv" >"$1.out" 2>&1
}
shows_problem() { espalier problems poisson; }
check "the solver is there" wait_until shows_problem
check "a run without a crash" solve calm
number() { # number FILE
    grep -v '^%' "$1" | tail -n 1
}
check "runs through" test "$(number calm-from.csv)" -eq 0
at_exit() { # who is stopped cannot be asked to end
    # shellcheck disable=SC2086
    kill -CONT ${stopped:-} 2>/dev/null
}
nothing_left() { [ -z "$(ls "$work"/state-*/checkpoints)" ]; }
check "and leaves no state behind" nothing_left

saved() { # saved SERVER: its routine has saved a state
    for file in "state-$1/checkpoints"/*; do
        case $file in *.new | *'*') ;; *) return 0 ;; esac
    done
    return 1
}
same() { # same NAME: the solution and the sweeps of the calm run, and some were not made again
    cmp calm.npy "$1.npy" && [ "$(number calm-n.csv)" -eq "$(number "$1-n.csv")" ] && [ "$(number "$1-from.csv")" -gt 0 ]
}
# The process that computes: the busiest below the server.
worker_of() {
    for pid in $(descendants "$1"); do
        echo "$(awk '{ print $14 + $15 }' "/proc/$pid/stat") $pid"
    done | sort -n | tail -n 1 | cut -d' ' -f2
}

# ---- the worker ----
solve worker &
call=$!
check "a call saves its state" wait_until saved S
# shellcheck disable=SC2154
kill -9 "$(worker_of "$pid_S")"
check "its worker is killed, and the call succeeds" wait $call
check "with the same result, and from where it was" same worker
check "the log says so" grep -q 'goes on from its checkpoint' S.log
check "no state is left behind" nothing_left

# ---- the server ----
solve server &
call=$!
check "a call saves its state" wait_until saved S
stop S KILL
check "what it has saved is there" saved S
start_server S
check "its server is killed and comes back, and the call succeeds" wait $call
check "with the same result, and from where it was" same server
check "no state is left behind" nothing_left

# ---- another server ----
server T
two_servers() { [ "$(espalier tree | grep ' server ' | grep -vc unreachable)" -eq 2 ]; }
check "a second server" wait_until two_servers
copied() { # a copy has come to the other one
    grep -q 'stored' T.log || grep -q 'stored' S.log
}
solve other &
call=$!
check "a call's state goes to the other server" wait_until copied
if saved S; then first=S last=T; else first=T last=S; fi
stop $first KILL
check "its server is killed for good, and the call succeeds" wait $call
check "with the same result, and from where it was" same other
check "the other server tells where it has the state from" grep -q 'goes on from checkpoint' $last.log
nothing_kept() { [ -z "$(espalier data ls --json | tr -d '[] \n')" ] && [ -z "$(ls "state-$last/checkpoints")" ]; }
check "no state is left behind there" wait_until nothing_kept

pools() { # pools N: so many servers have folders of workers there
    [ "$(find tmp -maxdepth 1 -name 'espalier-crd-*' | wc -l)" -eq "$1" ]
}
check "nor a folder of workers by the servers that were killed" wait_until pools 1

# ---- a silent server ----
rm -f "state-$first/checkpoints"/*
start_server $first
check "both servers again" wait_until two_servers
kept_by() { [ -n "$(espalier data ls --server "$1" --json | tr -d '[] \n')" ]; }
goes_on() { # $first computes, $last has a copy of its state
    if saved S; then first=S last=T; else first=T last=S; fi
    saved $first && kept_by $last
}
solve silent &
call=$!
check "a call's state goes to the other server" wait_until goes_on
eval "stopped=\"\$pid_$first \$(worker_of \$pid_$first)\""
# shellcheck disable=SC2086
kill -STOP $stopped
check "its server falls silent, and the call succeeds" wait $call
check "with the same result, and from where it was" same silent
# shellcheck disable=SC2086
kill -CONT $stopped
stop $first KILL

# ---- who keeps the copy ----
rm -f "state-$first/checkpoints"/* # of the call that ended elsewhere: it would stay for job_lease
start_server $first
server U
three_servers() { [ "$(espalier tree | grep ' server ' | grep -vc unreachable)" -eq 3 ]; }
check "a third server" wait_until three_servers
has_keeper() { # $first computes, $keeper has a copy of its state, $other nothing
    for first in S T U; do saved $first && break; done
    for keeper in S T U; do [ $keeper != $first ] && kept_by $keeper && break; done
    for other in S T U; do [ $other != $first ] && [ $other != $keeper ] && break; done
    saved $first && [ $keeper != $first ] && kept_by $keeper
}
solve keeper &
call=$!
check "a call's state goes to another server" wait_until has_keeper
eval "worker=\$(worker_of \$pid_$first)"
kill -STOP "$worker" # it saves nothing new
stop "$keeper" KILL
check "which is killed: the third one gets a copy" wait_until kept_by "$other"
stop "$first" TERM
check "the server that computes is stopped in good order, and the call succeeds" wait $call
check "with the same result, and from where it was" same keeper

# ---- the only other server is below another master agent ----
near=$agent
printf 'name = "MB"\nlisten = "127.0.0.1:0"\naddress_file = "%s/far.address"\n' "$work" >far.conf
start far espalier-agent --foreground far.conf
agent=$(address_of far.address)
server V
agent=$near
cp client.conf near.conf
printf 'agents = { "%s", "%s" }\n' "$near" "$(cat far.address)" >client.conf
far_solves() { espalier call poisson n=4 f=@small.mtx every=0 --server V; }
printf '%%%%MatrixMarket matrix array real general\n4 4\n' >small.mtx
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo 1; done >>small.mtx
check "a server below another master agent" wait_until far_solves
solve far &
call=$!
check "a call's state goes there" wait_until kept_by V
check "from the only server of the first one" saved "$other"
stop "$other" KILL
check "which is killed, and the call succeeds" wait $call
check "with the same result, and from where it was" same far
stop V
stop far
cp near.conf client.conf

# ---- nobody comes back ----
for name in S T; do
    printf 'data_lease = "1 s"\norphan_lease = "1 s"\njob_lease = "1 s"\n' >>$name.conf
    start_server $name
done
check "both servers" wait_until two_servers
left="state-S/checkpoints/00000000000000010000000000000002-3-0000000000000004"
touch -d "1 hour ago" "$left" "$left.new" # of a call that went on elsewhere while S was away
no_left() { ! ls state-S/checkpoints/000000000000000* >/dev/null 2>&1; }
check "what nobody comes for goes while the server runs" wait_until no_left
: >S.log
: >T.log
espalier call poisson n=$n f=@f.mtx every=0.03 -o u=nobody.npy >nobody.out 2>&1 &
call=$!
check "a call's state goes to the other server" wait_until copied
if saved S; then first=S last=T; else first=T last=S; fi
eval "worker=\$(worker_of \$pid_$first)"
has_copy() { [ -n "$(espalier data ls --server $last --json | tr -d '[] \n')" ]; }
kill -STOP "$worker" "$call" # neither says anything from now on
sleep 2.5 # the lease of data is 1 s
check "where it stays also while the routine saves nothing new" has_copy
check "and so does the state, beyond the lease of what nobody comes for" saved $first
stop $first KILL
kill -9 $call
check "but not when server and client are lost" wait_until nothing_kept

# ---- what may not save ----
{
    echo 'problem wrong "w"'
    echo '    inout double x[3]'
    echo '    checkpoint yes'
} >wrong.esp
check_fails any "a problem that overwrites its argument" espalier problems check wrong.esp
check_says "is reported" "checkpoint: 'wrong' has an inout argument"
finish
