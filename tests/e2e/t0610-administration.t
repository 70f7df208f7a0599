#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tree of real daemons is reshaped under a stream of calls, none of which fails.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed

config() { # config NAME LINES...
    name=$1
    shift
    {
        printf 'name = "%s"\nlisten = "%s"\nstate_dir = "%s/%s"\n' "$name" "${listen:-127.0.0.1:0}" "$work" "$name"
        printf 'address_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' 'log_level = debug' "$@"
    } >"$name.conf"
}
run() { # run NAME KIND
    rm -f "$1.address"
    start "$1" "espalier-$2" --foreground "$1.conf"
    eval "$1=\$(address_of $1.address)"
}
problems="problems = { \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/blas\" }"
config redirector && run redirector redirector
# shellcheck disable=SC2154
config MA "redirector = \"$redirector\"" && run MA agent
# shellcheck disable=SC2154
for name in LA1 LA2; do
    config $name "parent = \"$MA\"" && run $name agent
done
# shellcheck disable=SC2154
config SeD "parent = \"$LA1\"" 'slots = 2' "$problems" && run SeD sed
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

call() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
below() { # below NODE PARENT
    espalier tree --json | tr -d ' \n' | grep -o "{[^}]*\"name\":\"$1\"[^}]*}" | grep -q "\"parent\":\"$2\""
}
check "a call gives its result" wait_until call
check "the server is below LA1" below SeD LA1

# ---- moves under a stream of calls ----
stream() {
    while [ ! -e "$work/enough" ]; do
        call >>"$work/stream" 2>&1 || echo failed >>"$work/failures"
        echo call >>"$work/calls"
    done
}
stream &
pids="$pids $!"
stream &
pids="$pids $!"
more_calls() { # ten more than there are now
    calls=$(($(wc -l <"$work/calls") + 10))
    wait_until enough_calls
}
enough_calls() {
    [ "$(wc -l <"$work/calls")" -ge "$calls" ]
}
wait_until test -s "$work/calls"
for parent in LA2 LA1 MA LA2; do
    check "the server moves below $parent" espalier admin move SeD --to $parent
    check_says "and the command says so" "^SeD: moved below $parent, was below "
    check "the tree shows it" wait_until below SeD $parent
    check "calls go on" more_calls
done
check "an agent moves with all below it" espalier admin move LA2 --to LA1
check "the tree shows it" wait_until below LA2 LA1
check "calls go on" more_calls
touch "$work/enough"
wait_for_streams() {
    for pid in $pids; do
        # shellcheck disable=SC2154
        case " $pid_redirector $pid_MA $pid_LA1 $pid_LA2 $pid_SeD " in *" $pid "*) ;; *) wait "$pid" ;; esac
    done
}
wait_for_streams
cat "$work/failures" "$work/stream" >"$log" 2>/dev/null
check "no call has failed" test ! -e "$work/failures"

# ---- what cannot be ----
check_fails 2 "a move into the own subtree is refused" espalier admin move LA1 --to LA2
check_says "with the reason" '"LA2" is below "LA1"'
check_fails 2 "a node that is not there" espalier admin move SeT --to LA2
check_says "is reported with the nearest one" "did you mean 'SeD'"
check_fails 2 "no parent at all" espalier admin move SeD
check_fails 1 "a stop that would cut the tree" espalier admin stop LA1
check_says "is refused with what it would cut" '2 nodes below "LA1" would be cut off'
check_fails 2 "a master agent has no parent" espalier admin move MA --to LA1

# ---- drain, disable, trace ----
check "a drain" espalier admin drain LA2
check_says "reaches the servers below" '^SeD: takes no new sessions$'
check_says "and the agent, for those that come" '^LA2: servers that join below it take no new sessions$'
drained() { # drained NODE...
    espalier tree >tree
    for node; do grep -Eq "^ *$node .*\(draining\)" tree || return 1; done
}
check "the tree shows it" wait_until drained SeD LA2
check_fails 2 "an undrain with a misspelt name" espalier admin undrain SeD Sed
check "is done to nobody" drained SeD LA2
check "an undrain" espalier admin undrain SeD
check "and calls are taken again" wait_until call
# shellcheck disable=SC2154
config Late "parent = \"$LA2\"" 'slots = 1' "$problems" && run Late sed
check "a server that joins later is drained" wait_until drained Late
check "the log says why" grep -q '"Late" is drained, as all below "LA2"' LA2.log
stop Late
stop LA2
listen=$LA2
config LA2 "parent = \"$MA\"" && run LA2 agent
listen=
run Late sed
check "the agent knows it when it was restarted" wait_until drained LA2 Late
check "and has the server again, wherever that went meanwhile" wait_until below Late LA2
check "the agent is undrained" espalier admin undrain LA2
check_says "with those below it" '^LA2: servers that join below it take sessions$' '^Late: takes sessions again$'
nobody_drained() { espalier tree >tree && ! grep -q draining tree; }
check "nobody is drained any more" wait_until nobody_drained
stop Late
run Late sed
wait_until below Late LA2
sleep 1
check "nor who joins then" nobody_drained
stop Late KILL
is_away() { espalier tree >tree && grep 'Late.*unreachable' tree; }
check "one that died is shown" wait_until is_away
check_fails 3 "and takes no orders" espalier admin reload Late
check_says "as it cannot be reached" '"Late" was below ".*", and cannot be reached now'
wait_until below SeD LA2
wait_until call
check "a problem is disabled" espalier admin disable dgesv --on SeD
gone() { ! espalier problems dgesv; }
check "and nobody solves it any more" wait_until gone
check_fails 3 "it is enabled, and the silent servers are named" espalier admin enable dgesv
check_says "with what to do" "'Late' at .* does not answer, and was not told"
check "and solved again" wait_until call
espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=- >/dev/null
session=$(grep -o 'session=[0-9a-f]*-[0-9]*' SeD.log | tail -n 1 | cut -d= -f2)
check "a session is traced" espalier trace "$session"
check_says "from the choice to the computation" 'MA .*chosen +SeD' 'SeD .*computed +dgesv' 'redirector +redirector +sent to +MA'
espalier call -s SeD dgesv A='[4,1;1,3]' B='[6;7]' -o B=- >/dev/null
session=$(grep -o 'session=[0-9a-f]*-[0-9]*' SeD.log | tail -n 1 | cut -d= -f2)
check "one that its client sent to a server of its choice" espalier trace "$session"
check_says "is found there" 'SeD .*computed +dgesv'
check_fails 2 "what is no session" espalier trace nonsense
check_says "is reported" 'expected a session like c0ffee12-7'
check_fails 1 "nobody knows a session of another platform" espalier trace 00000000-7
check "reload" espalier admin reload MA SeD

# ---- the new shape survives restarts ----
check "the server's place is kept" grep -q "^parent $LA2\$" SeD/place
stop SeD
run SeD sed
check "after a restart it is where it was moved to" wait_until below SeD LA2
check "and calls go there" wait_until call
stop SeD
sed -i 's/^name SeD/name Other/' SeD/place
check_fails 4 "the state of another node is refused" espalier-sed --foreground SeD.conf
check_says "with what to do" 'the state is of the node "Other", not of "SeD"'
sed -i 's/^name Other/name SeD/' SeD/place
run SeD sed
check "it is there again" wait_until call

# ---- a folder is its first node's, also where nothing was ever ordered ----
config First "redirector = \"$redirector\""
sed '/state_dir/!s/First/Second/' First.conf >Second.conf
run First agent
stop First
check_fails 4 "the folder of a master agent without orders is refused to another node" espalier-agent --foreground Second.conf
check_says "with whose it is" 'the state is of the node "First", not of "Second"'
rm First/place
run Second agent
stop Second
check "one of an earlier version, without its name, is taken over" grep -qx 'name Second' First/place

# ---- settings that do not survive a restart are reported ----
config Brief "parent = \"$LA1\"" 'slots = 1' "$problems"
sed -i '/^state_dir/d' Brief.conf
run Brief sed
check "the tree has a server without a folder" wait_until below Brief LA1
for order in "move Brief --to MA" "drain Brief"; do
    # shellcheck disable=SC2086
    check "$order" espalier admin $order
    check_says "lasts until it is started again" '^Brief: .*until it is started again \(it has no state_dir\)$'
done
stop Brief

# ---- two nodes of one name below two master agents, which do not see each other's trees ----
config MB "redirector = \"$redirector\"" && run MB agent
# shellcheck disable=SC2154
check "a leader agent moves below the other one" espalier admin move LA2 --to MB
check_says "with its server" '^LA2: moved below MB, was below LA1'
check "the tree shows it there" wait_until below LA2 MB
check "a call goes on" call
stop LA2
listen=$LA2
config LA2 "parent = \"$MA\"" && run LA2 agent
listen=
check "it is there after a restart" wait_until below LA2 MB
wait_until below SeD LA2
check "it moves back" espalier admin move LA2 --to LA1
check "to where it was" wait_until below LA2 LA1
check "a call goes on" wait_until call
check_fails 2 "a redirector is nowhere in a tree" espalier admin move LA2 --to redirector
check_fails 2 "a subtree's root gives nothing away" espalier admin move SeD --to MB --agent "$LA2"
sed "s|^parent.*|parent = \"$MB\"|; s|$work/SeD|$work/other|g" SeD.conf >other.conf
run other sed
marked() { espalier tree | grep -c 'SeD .*: another node has this name' | grep -qx 2; }
check "the tree marks both" wait_until marked
for_programs() { test "$(espalier tree --json | grep -o '"namesake": *true' | wc -l)" -eq 2; }
check "for programs too" for_programs
says_shared() { grep -q 'warning .*"SeD" at .*another node named "SeD" is below the master agent "'"$2"'" at .*give one of them another name' "$1".log; }
check "the agents say so" wait_until says_shared MA MB
check "each of the other" wait_until says_shared MB MA
check "and the redirector" wait_until grep -q 'warning .*is a node named "SeD", and another node named "SeD" is below' redirector.log
shared() { ! espalier call -s SeD dgesv A='[4,1;1,3]' B='[6;7]' -o B=- >shared 2>&1; }
check "a call by that name is refused" wait_until shared
check "with what to do" grep -Eq 'which server "SeD" is meant is not clear: there is one at .*another node named "SeD" is below .* name it by its address' shared
# shellcheck disable=SC2154
check "by its address it is called" espalier call -s "$SeD" dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
once() { [ "$(cat MA.log MB.log | grep -c 'another node named "SeD" is below')" -eq 2 ]; }
sleep 3 # more heartbeats
check "each log has it once" once
check_fails 2 "an order to one of them is refused" espalier admin drain SeD
# shellcheck disable=SC2154
check_says "with both addresses" "two nodes are named 'SeD'.*$SeD" "$other"
check "by the top of its tree it is one" espalier admin stop SeD --agent "$MB"
other_ended() { ! alive "$pid_other"; }
wait_until other_ended
check_fails 2 "a master agent does not move by an order" espalier admin move MB --to LA1
check_says "and what does it is reported" "'MB' is a master agent, .* write parent = \"$LA1\" there .* 'espalier admin restart MB'"
sed -i "s|^redirector.*|parent = \"$LA1\"|" MB.conf
check "which is so" espalier admin restart MB
check "it is below that agent then" wait_until below MB LA1
check_fails 2 "nor does one go below itself" espalier admin move MA --to LA1
check_says "for that reason" "'LA1' is below 'MA': moved there, the tree would hang on itself"
stop MB
unmarked() { espalier tree >tree && ! grep -q 'another node' tree; }
check "alone it is marked no longer" wait_until unmarked
by_name() { espalier call -s SeD dgesv A='[4,1;1,3]' B='[6;7]' -o B=- >/dev/null; }
patience=60
check "and is called by its name again" wait_until by_name
patience=30

# ---- an administrator of a subtree ----
check "the root of a subtree takes orders for it" espalier admin drain SeD --agent "$LA1"
check_fails 2 "and knows nothing else" espalier admin move SeD --to MA --agent "$LA1"
espalier admin undrain SeD >/dev/null
wait_until call
printf '1\n2\n' >datum.csv
espalier data put datum.csv -s SeD -m persistent >datum
datum=$(cat datum)
check_fails 1 "a server with a persistent datum is not removed" espalier admin remove SeD
check_says "the datum is named, and what to do" "1 data that are to stay .*$datum" 'data mv --from SeD OTHER' '[-]-force'
check "it takes calls as before" call
check "the datum is there" espalier data get "$datum" back.csv
check "nothing else stops it: stopped and started again it has it" espalier admin stop SeD
stopped() { ! alive "$pid_SeD"; }
wait_until stopped
run SeD sed
check "on its disk" wait_until espalier data get "$datum" back.csv
above=$(espalier tree --json | tr -d ' \n' | grep -o '{[^}]*"name":"SeD"[^}]*}' | sed 's/.*"parent":"\([^"]*\)".*/\1/')
check_fails 1 "nor is it together with the agent above it" espalier admin remove "$above" SeD
check_says "for its datum" "1 data that are to stay .*$datum"
check_fails 1 "an agent alone is not, either" espalier admin remove "$above"
check_says "as what is below it would be cut off" 'would be cut off'
check "a server is removed with the agent above it, and what it has, when that is meant, whichever is named first" \
    espalier admin remove "$above" SeD --force
check_says "from below" '^SeD: removed' "^$above: removed"
ended() { eval "! alive \$pid_SeD \$pid_$above"; }
check "and the processes end" wait_until ended
finish
