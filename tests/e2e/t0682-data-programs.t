#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use data on servers, with grpc_data.h.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/data_steps
[ -x "$steps" ] || skip_all "built without the ORB"

two_servers_with_data "$top_srcdir/tests/e2e/kinds.esp"
check "data go into calls of all kinds, come out, and stay" "$steps" grid A
check "an overwritten value goes, unless another program has a name for it" "${steps%data_steps}stay_steps" overwritten
check "unique data have calls go to where they are" "${steps%data_steps}stay_steps" unique
check "strict data go with their first session, wherever it was" "${steps%data_steps}stay_steps" strict
check "what a server has dropped is sent again, if the program's memory has it still" "${steps%data_steps}stay_steps" dropped
check "what goes in and comes out under one name does not wait for itself" timeout 20 "${steps%data_steps}stay_steps" both
check "nor do calls of two threads that take what the other one makes" timeout 60 "${steps%data_steps}stay_steps" together
check "what is sent to one server, and then to another, is one datum, and goes" "${steps%data_steps}stay_steps" second
check "what a single server is to have is on that server alone" timeout 60 "${steps%data_steps}stay_steps" alone
check "what is to stay on any server is on one" "${steps%data_steps}stay_steps" somewhere
check "wrong uses are reported, and change nothing" timeout 60 "${steps%data_steps}stay_steps" wrong
check "so is memory that is not there" "${steps%data_steps}stay_steps" shorter
check "data that are not what the program says are reported" "${steps%data_steps}stay_steps" misdescribed
check "what is in a container is waited for together" "${steps%data_steps}stay_steps" containers
check "what was to go to a server that there is not can be deleted" "${steps%data_steps}stay_steps" misspelt
check "what cannot go to one place goes to the others" "${steps%data_steps}stay_steps" several
check "a result that is to be on another server is there alone" "${steps%data_steps}stay_steps" result
check "what is freed behind calls that take it goes with the last of them" "${steps%data_steps}stay_steps" behind
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

# ---- a server that has a datum is down ----
echo 'agent_patience = "2 s"' >>client.conf # it is not started again while somebody looks for it
lost_to_agents() { # lost_to_agents SERVER
    espalier tree --json >tree && jq -e --arg name "$1" 'all(.[]; .name != $name or .unreachable)' tree >/dev/null
}
both_have_it() {
    espalier data info "$(cat twice.id)" >shown && grep -Eq 'on +A .*disk' shown && grep -Eq 'on +B .*disk' shown
}
has_it() { # has_it SERVER
    espalier data info "$(cat twice.id)" >shown && grep -Eq "on +$1 .*disk" shown
}
is_gone() { # is_gone SERVER: which is there, and has it no more
    espalier data ls -s "$1" >shown && ! grep -q "$(cat twice.id)" shown
}
for down in A B; do
    other=$(echo AB | tr -d $down)
    check "a datum is kept for good on two servers" "${steps%data_steps}stay_steps" twice
    check "as is seen" wait_until both_have_it
    stop $other KILL
    start_server $other
    check "of which one is started again" wait_until both_have_it
    stop $down KILL
    check "its agent notices" wait_until lost_to_agents $down
    check_fails 3 "when server $down is down, a deletion" espalier data rm "$(cat twice.id)"
    check_says "says that it has it still" "could not be deleted on $down,.*elsewhere it is deleted"
    check_fails 3 "so does who looks for it" espalier data info "$(cat twice.id)"
    check_says "hear" "server $down(, which made it, is not there| cannot be reached)"
    check_fails any "that all of it is deleted, nobody does" grep -q 'was deleted; no other' "$log"
    if [ $down = B ]; then # the other one remembers it over a restart
        stop $other KILL
        start_server $other
    fi
    start_server $down
    check "when it is back, it learns of that, and drops it" wait_until is_gone $down
    check_fails 5 "it is deleted everywhere" espalier data info "$(cat twice.id)"
done
check "a datum is kept for good on two servers" "${steps%data_steps}stay_steps" twice
check "as is seen" wait_until both_have_it
check "another one on one of them" "${steps%data_steps}stay_steps" noted
stop B KILL
check "its agent notices" wait_until lost_to_agents B
check "where its data are is not known to a program" "${steps%data_steps}stay_steps" unseen
check_fails 1 "a program that frees it then" "${steps%data_steps}stay_steps" freed
check_says "is reported" 'grpc_data_free.* B[ ,]'
check "of a server that may never come back, it can be given up" espalier data rm --force "$(cat twice.id)"
check_says "which is reported" 'given up on B, which cannot be reached'
check_fails 5 "it is deleted then" espalier data info "$(cat twice.id)"
check_says "as is reported" 'it was deleted'
start_server B
check "a server that comes back learns of that, too" wait_until is_gone B
check "the program can free its own" "${steps%data_steps}stay_steps" freed
check "two servers are there" wait_until servers 2
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >two.mtx
espalier data put two.mtx -s A -m persistent >twice.id
pause_b() { # pause_b SIGNAL
    # shellcheck disable=SC2154
    kill -"$1" "$pid_B"
}
check "a server is stopped" pause_b STOP
check_fails 3 "nothing moves there" espalier data mv "$(cat twice.id)" B --timeout '2 s'
check_says "it is named, with what holds now" 'server B, which is to have it, does not answer: nothing is lost, A has it still'
check_fails any "of what only looks nobody says that it may have been executed" espalier data ls -s B --timeout '1 s'
check_fails any "at all" grep -q 'may have been executed' "$log"
check "it goes on" pause_b CONT
check "and the order can be said again" espalier data mv "$(cat twice.id)" B
check "there it is" has_it B
check "and it goes" espalier data rm "$(cat twice.id)"
espalier data put two.mtx -s A -m persistent >twice.id
check "a datum moves" espalier data mv "$(cat twice.id)" B
stop B KILL
check "its agent notices" wait_until lost_to_agents B
printf 'agents = { "%s" }\nagent_patience = "10 min"\n' "$agent" >patient.conf
check_fails 3 "a short --timeout limits the wait, regardless of the file" \
    timeout 60 espalier data put two.mtx -s B -c patient.conf --timeout '1 s'
check_says "and hears that it is gone" '"B".* it was there, and cannot be reached'
stop A KILL
start_server A
known_to_agents() { # known_to_agents SERVER
    ! lost_to_agents "$1"
}
check "its agent notices" wait_until known_to_agents A
check_fails 3 "when its server is down, it is not said to be gone" espalier data info "$(cat twice.id)"
check_says "but where it is" 'it was moved to server B; server B cannot be reached'
check_fails 3 "nor can it be deleted" espalier data rm "$(cat twice.id)"
check "but given up" espalier data rm --force "$(cat twice.id)"
check_fails 5 "which holds for all" espalier data info "$(cat twice.id)"
check_says "and get an error" 'it was deleted'
stop A KILL
start_server A
start_server B
check "also where all others were started again, it goes when its server is back" wait_until is_gone B
check "two servers are there once more" wait_until servers 2
espalier data put two.mtx -s A -m persistent >twice.id
check "a replica" espalier data cp "$(cat twice.id)" B
stop A KILL
check "its agent notices" wait_until lost_to_agents A
check_fails 3 "is no original" espalier data mv "$(cat twice.id)" B
check_says "as who moves it hears, with what makes it one" 'B has a replica of it, .*cannot be reached.*data mv --force'
check "that does" espalier data mv --force "$(cat twice.id)" B
is_original() { # is_original SERVER: and nobody else has one
    espalier data info "$(cat twice.id)" >shown && grep -Eq "on +$1 .*disk" shown && ! grep -q replica shown &&
        test "$(grep -c '^ *on ' shown)" = 1
}
check "from now on" is_original B
stop B KILL
start_server B
check "for good" wait_until is_original B
start_server A
check "when the lost one comes back after all" wait_until both_have_it
check "the move once more makes it one" espalier data mv "$(cat twice.id)" B
check "again" wait_until is_original B
check "and it goes" espalier data rm "$(cat twice.id)"
check "two servers are there after that" wait_until servers 2

# ---- the original's server is down, and a replica is not ----
replica_on_b() {
    espalier data info "$(cat twice.id)" >shown && grep -Eq 'on +B .*replica' shown
}
for when in "has just been killed" "was lost" "stands still"; do
    espalier data put two.mtx -s A -m persistent >twice.id
    check "a copy" espalier data cp "$(cat twice.id)" B
    check "is a replica" wait_until replica_on_b
    if [ "$when" = "stands still" ]; then
        # shellcheck disable=SC2154
        kill -STOP "$pid_A"
    else
        stop A KILL
        [ "$when" != "was lost" ] || check "its agent notices" wait_until lost_to_agents A
    fi
    check "the original's server $when: the replica is shown" espalier data info "$(cat twice.id)" --timeout '3 s'
    check_says "and where the original is" 'original +on A, which cannot be reached'
    check_fails 3 "a deletion" espalier data rm "$(cat twice.id)" --timeout '3 s'
    check_says "says that it may be there still" 'could not be deleted on A,.*elsewhere it is deleted'
    check_fails 3 "one that comes after it" espalier data rm "$(cat twice.id)" --timeout '3 s'
    check_says "names it, too" 'server A[ ,]|A \(|A: '
    if [ "$when" = "stands still" ]; then
        kill -CONT "$pid_A"
        check "its agent notices" wait_until known_to_agents A
        espalier data rm "$(cat twice.id)" >rm.out 2>&1 # it may have heard of the first one
    else
        start_server A
        check "there it is" wait_until has_it A
        check "and goes" espalier data rm "$(cat twice.id)"
    fi
    check "it is deleted" wait_until is_gone A
    check "two servers are there" wait_until servers 2
done
check "a program saves what another one needs" "$steps" save file:saved
check "as a text" cat saved
check_says "with identity and shape" "^identity A:[0-9a-f]{32}$" "^type double$" "^dimensions 120 120$" "^mode GRPC_STICKY$"
check "which uses it, and deletes it" "$steps" load "file://$work/saved"
check_fails any "it is there once only" "$steps" load file:saved
check_says "which is reported" "deleted"
sed 's/^type double/type quaternion/' saved >wrong
check_fails any "a damaged file is refused" "$steps" load file:wrong
check_says "with its line" "wrong:3: expected a type"
check "one with several arrays in a container works, too" "$steps" save-all file:all
check "as a text, too" cat all
check_says "of all that is in it" '^container 3$' '^rank 0$' '^rank 2$' '^end$' '^mode GRPC_STICKY$' '^mode GRPC_PERSISTENT$'
sed '$d' all >wrong
check_fails any "one that is cut is refused" "$steps" load-all file:wrong
check_says "with what is missing" 'wrong:13: expected "rank R".*or "end"'
sed 's/^rank 2$/rank 3/' all >wrong
check_fails any "so is one with a rank too many" "$steps" load-all file:wrong
check "another program uses all of it, and deletes it" "$steps" load-all file:all
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
check_fails 2 "what is several arrays goes to a folder" espalier data get "$session:inputs" brought
check_says "which has to be there" 'expected a folder for 2 arrays, found brought, which is not there: make it'
check_fails 2 "a file is none" espalier data get "$session:inputs" two.mtx
check_says "which is reported" 'found two.mtx, which is none'
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
check_says "which is reported" 'has left no outputs named A'
check_fails 2 "nor such a side" espalier data cp "$session:both" B
check_says "with those that there are" 'session:ID:inputs'
check_fails 5 "nor such a session" espalier data get session:0123-77 brought
check_says "which is reported too" 'no session "0123-77"'
check_fails 2 "what is left has a name" espalier call product n=1 'A=[1]' 'B=[1]' --leave some
check_says "of three" 'inputs, outputs or all'
check_fails 2 "abstract problems leave nothing so" espalier call mul 'A=[1]' 'B=[1]' --leave all
check_says "and say what to do" 'name that one'
check "the servers forget them" espalier data rm "$session"
check_fails 5 "and the session" espalier data rm "$session"

# ---- and of a job ----
# shellcheck disable=SC2086
check "a job leaves what it takes and makes, too" espalier submit product $sizes -s A --leave all:persistent
job=$(cat "$log")
check "what it takes at once" espalier data get "session:$job:inputs:A" taken.csv
check "as it was" sh -c 'printf "1,2\n3,4\n" | cmp - taken.csv'
check_fails 5 "what it makes not before somebody has come for it" espalier data get "session:$job:outputs" brought
check "who does" espalier fetch "$job" --wait -o C=made.csv
check "gets it" sh -c 'printf "19,22\n43,50\n" | cmp - made.csv'
check "and it is there for orders" espalier data cp "session:$job:outputs" B
check "with what went in" espalier data get "session:$job" brought --format csv
check "all of it" cmp brought/C.csv made.csv
check "the job itself is forgotten" sh -c "! espalier jobs | grep -q $job"
check "its data go when it is said" espalier data rm "session:$job"
# shellcheck disable=SC2086
check "the JSON of a job" espalier submit product $sizes -s A --leave inputs --json
check_says "names what it has left" '"argument": "B"' '"side": "input"' '"id": "A:[0-9a-f]+"'
job=$(grep -Eo '"id": "[0-9a-f]+-[0-9]+"' "$log" | grep -Eo '[0-9a-f]+-[0-9]+')
check "what it makes is not left then" espalier fetch "$job" --wait
check_says "but comes" '^ +19 +22'
check "and its inputs stay until they are deleted" espalier data rm "session:$job"
check_fails 2 "a job of an abstract problem leaves nothing so" espalier submit mul 'A=[1]' 'B=[1]' --leave all
check_says "either" 'name that one'

nothing_left() {
    espalier data ls >left && ! grep ':' left
}
check "nothing is left on the servers" nothing_left

# ---- a server goes for good, and another one keeps what it has ----
ended() { # ended NAME
    eval "! alive \$pid_$1"
}
check "a datum is kept for good on two servers" "${steps%data_steps}stay_steps" twice
check "as is seen" wait_until both_have_it
espalier data put two.mtx -s A -m persistent >alone.id
espalier data put two.mtx -s B -m persistent >copied.id
check "another one on one of them, and a replica of a third" espalier data cp "$(cat copied.id)" A
check_fails 1 "that one is not removed" espalier admin remove A
check_says "for what it has alone" "1 data that are to stay would go with \"A\" .$(cat alone.id).:.*1 others would stay on B"
check_fails 1 "nor are both" espalier admin remove B A
check_says "as nobody else has it" 'data that are to stay would go with'
check "both are as they were" servers 2
espalier data rm "$(cat alone.id)" >rm.out
check_fails 1 "nor are both without that" espalier admin remove A B
check "one of them is" espalier admin remove A
check_says "and what stays is reported" '^A: removed, 1 data that it kept for good stay on B$'
check "it ends" wait_until ended A
check "it is there" espalier data get "$(cat twice.id)" back.csv
check "and goes" espalier data rm --force "$(cat twice.id)"
check "as the third one does" espalier data rm --force "$(cat copied.id)"
start_server A
check "two servers are there" wait_until servers 2
check "nothing is left on the servers" wait_until nothing_left

# ---- a server that is to have a datum in other pieces does not answer: it may make them when it goes on ----
espalier data put two.mtx -s A -m persistent >twice.id
check "a server is stopped again" pause_b STOP
check_fails 3 "nothing is laid otherwise there" espalier data cp "$(cat twice.id)" B --grid 2x1 --block 1 --timeout '2 s'
check_says "which is reported as of a move" 'server B, which is to have it, does not answer: nothing is lost, A has it still'
check "it goes on again" pause_b CONT
finish
