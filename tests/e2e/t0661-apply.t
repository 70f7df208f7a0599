#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A running tree becomes the one of a platform file, and gets nodes one by one, also on another machine: one that is
# reached by an ssh of the test's own.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed curl
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
at_exit() {
    espalier down small --force >down.out 2>&1
}
head='problems = { "'$top_srcdir'/problems/lapack", "'$top_srcdir'/problems/blas" }
redirector { }
master "MA" { }'
platform() { # platform FILE LINES...: all of these below the redirector and the master
    file=$1
    shift
    printf '%s\n' "$head" "$@" >"$file"
}
platform small.conf 'leader "LA1" { parent = "MA" }' 'leader "LA2" { parent = "MA" }' \
    'server "S" { parent = "LA1" slots = 1 }' 'server "T" { parent = "LA2" slots = 1 }'
check "a platform" espalier up small.conf
folder=$work/espalier/small
ESPALIER_CONFIG=$folder/client.conf
export ESPALIER_CONFIG
call() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
below() { # below NODE PARENT
    espalier tree --json | tr -d ' \n' | grep -o "{[^}]*\"name\":\"$1\"[^}]*}" | grep "\"parent\":\"$2\"" | grep -q '"unreachable":false'
}
gone() {
    ! espalier tree --json | tr -d ' \n' | grep -o "{[^}]*\"name\":\"$1\"[^}]*}" | grep -q '"unreachable":false'
}
process_of() { # process_of KIND NAME: the newest
    awk -v kind="$1" -v name="$2" '$1 == kind && $4 == name { print $2 }' "$folder/processes" | tail -n 1
}

# ---- a file that differs ----
check "a file that says what there is" espalier admin apply small.conf
check_says "changes nothing" 'The tree is as the file says'
platform other.conf 'leader "LA1" { parent = "LA2" }' 'leader "LA2" { parent = "MA" }' 'leader "LA3" { parent = "LA1" }' \
    'server "S" { parent = "LA3" slots = 2 }' 'server "U" { parent = "MA" slots = 1 }'
mv other.conf small.conf
check "what would be done is shown" espalier admin apply small.conf --dry-run --remove
check_says "in the order in which it is done" '^LA1: would be moved below LA2$' '^LA3: would be started below LA1$' \
    '^S: would be moved below LA3$' '^U: would be started below MA$' '^T: would be removed$' '^S: would be restarted, its settings are others$'
check "and not done" below S LA1
cp "$log" before
cp small.conf fresh.conf
check "so it is by a file of another name" espalier admin apply fresh.conf --dry-run
check_says "with the same steps" '^LA1: would be moved below LA2$'
printf '%s\n' 'master "Nobody" { }' >foreign.conf
check_fails 1 "the file of another platform is refused" espalier admin apply foreign.conf
check_says "with what it may be" 'is it the file of another platform?'
check_fails any "neither leaves a folder" sh -c 'ls -d "$1"/fresh || ls -d "$1"/foreign' - "$work/espalier"
check "without --remove" espalier admin apply small.conf
check_says "it is done" '^LA1: moved below LA2' '^LA3: started below LA1$' '^S: moved below LA3' '^U: started below MA' '^S: restarted'
check_says "but for what the file does not name" '^T: left alone, the file does not name it'
check "the server is where it was to be" below S LA3
check "and its agent" below LA1 LA2
check "and so is the new one" below U MA
check "the other one is where it was" below T LA2
check "calls go on" call
check "the new settings are in use" sh -c 'espalier tree | grep -Eq " S .*server.* 0/2 "'
check "with --remove" espalier admin apply small.conf --remove
check_says "it goes" '^T: removed$'
check "it is gone" gone T
check "again there is nothing to do" espalier admin apply small.conf --remove --json
check_says "for programs too" '^\[\]$'

# ---- what dies is started again, at its place ----
pid=$(awk '$4 == "S" && $1 == "server" { print $2 }' "$folder/processes" | tail -n 1)
kill -9 "$pid"
wait_until gone S
cp "$folder/S.log" died.log
check "a server that has died is started by the file" espalier admin apply small.conf
check_says "at its place" '^S: started below LA3'
check "why it died can be read" sh -c 'head -c "$(wc -c <died.log)" "'"$folder"'/S.log" | cmp - died.log'
check "calls are served" call

# ---- where to go is known over restarts ----
check "a node keeps where to go" wait_until grep -q '^refuge 127' "$folder/S/place"
kill -9 "$(process_of server S)" "$(process_of leader LA3)"
wait_until gone LA3
start again espalier-sed --foreground "$folder/S.conf"
check "a server that starts when its parent is gone goes there" wait_until below S LA1
stop again
wait_until gone S
start again espalier-sed --foreground "$folder/S.conf"
check "and there again, as long as its parent is gone" wait_until below S LA1
stop again
wait_until gone S
check "all is as the file says again" espalier admin apply small.conf
check "below its parent" wait_until below S LA3

# ---- several redirectors ----
cp small.conf one.conf
sed 's/^redirector { }/redirector { }\nredirector { name = "way2" }/' one.conf >small.conf
check "what a second redirector takes is shown" espalier admin apply small.conf --dry-run
check_says "as steps" '^way2: would be started$'
check "a second redirector" espalier admin apply small.conf
check_says "is started, and the master registers with it" '^way2: started at 127' '^MA: restarted'
check "the client's file gets the new address" grep -q '^redirectors *= { *"127' "$folder/client.conf"
check "both are in the tree" sh -c 'espalier tree | grep -c " redirector " | grep -qx 2'
kill -9 "$(process_of redirector redirector)"
check "calls go on without the first one" call
check "and the tree is seen" sh -c 'espalier tree | grep -Eq "^way2 +redirector" && espalier tree | grep -Eq "redirector +127.*unreachable"'
check "apply starts it again" espalier admin apply small.conf
check_says "where it was" 'redirector: started at 127.*where it was'
kill -9 "$(process_of redirector way2)"
check "calls go on without the second one" call
registered() {
    espalier tree | grep -Eq "^redirector +redirector" && below MA redirector
}
check "the master has registered again" wait_until registered
cp one.conf small.conf

# ---- two master agents: what one cannot serve, the other one does ----
{
    cat one.conf
    echo 'master "MC" { }'
    echo 'server "W" { parent = "MA" slots = 1 }'
} >small.conf
check "a second master agent" espalier admin apply small.conf
second=$(cat "$folder/MC.address")
check "which has no servers passes calls on" espalier call --agent "$second" dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
check_says "to its peer" '^2 1$' '^1$' '^2$'
pages() { # pages NODE: its metrics
    curl -sS --max-time 20 "http://$(cat "$folder/$1.address.http")/metrics"
}
check "some were" test "$(pages MC | awk '/^espalier_agent_passed_on_total/ { print $2 }')" -gt 0
check "each came to the peer once" test "$(pages MC | awk '/^espalier_agent_passed_on_total/ { print $2 }')" -eq \
    "$(pages MA | awk '/^espalier_agent_passed_here_total/ { print $2 }')"
check_fails 2 "what nobody solves is reported" espalier call --agent "$second" nosuchproblem x=1
check "a server moves to the other tree" espalier admin move S --to MC
check "where it is" wait_until below S MC
# MA hears that it has gone in a moment.
check "and back" wait_until espalier admin move S --to LA3
check "to its place" wait_until below S LA3

# ---- one of two master agents dies: what was below it is at a refuge, and belongs where it was ----
kill -9 "$(process_of master MA)" "$(process_of leader LA1)"
check "what was below it goes to the other one" wait_until below LA2 MC
check "servers too" wait_until below U MC
check "and another one" wait_until below W MC
check "from further below, too" wait_until below LA3 LA2
kill -9 "$(process_of leader LA2)"
wait_until gone LA2
check "and from there again" wait_until below LA3 MC
for life in first second; do
    start again espalier-agent --foreground "$folder/LA2.conf"
    check "an agent finds its refuge again in its $life life there" wait_until below LA2 MC
    stop again
    wait_until gone LA2
done
check "it would be brought back" espalier admin apply small.conf --dry-run --remove
check_says "by starting what is dead" '^MA: would be started$' '^LA2: would be started below MA$' '^LA1: would be started below LA2$'
check_says "and waiting for the others" '^U: would be waited for until it has returned below MA$' \
    '^LA3: would be waited for until it has returned below LA1$'
sed 's/"S" { parent = "LA3"/"S" { parent = "MC"/' small.conf >bad.conf
check_fails 1 "the tree where it is now is not the one where it belongs" espalier admin apply bad.conf --platform small
check_says "so much is reported" "'S' belongs below the master agent 'MA', and the file has it below 'MC'"
check "and nothing was done" gone MA
sed -i 's/"W" { parent = "MA"/"W" { parent = "MC"/' small.conf
check "one may stay at its refuge" espalier admin apply small.conf --dry-run
check_says "when the file names that" '^W: would stay below MC$'
check "it is brought back" espalier admin apply small.conf
check_says "by both" '^MA: started$' '^LA1: started below LA2$' '^U: has returned below MA, was below MC$' \
    '^LA3: has returned below LA1'
check_says "but for the one that stays" '^W: stays below MC, it would have gone back below MA$'
check "which keeps that" grep -qx "parent $(cat "$folder/MC.address")" "$folder/W/place"
check "where it is" below W MC
check "and is as the file has it" espalier admin apply small.conf
check_says "for good" '^The tree is as the file says'
check "to where it was" below LA2 MA
check "all of it" below LA3 LA1
check "it is removed again" espalier admin apply one.conf --platform small --remove
cp one.conf small.conf

# ---- files that would cut the tree ----
platform bad.conf 'server "S" { parent = "LA9" slots = 1 }'
check_fails 4 "a parent that is nowhere" espalier admin apply bad.conf --platform small
check_says "is reported" 'expected a master or leader as parent, found "LA9"'
platform bad.conf 'server "LA1" { parent = "MA" slots = 1 }'
check_fails 1 "a role that changes" espalier admin apply bad.conf --platform small
check_says "is refused" "'LA1' is a leader agent in the tree and a server.* in the file"
{
    echo 'master "X" { }'
    echo 'server "Y" { parent = "X" slots = 1 }'
} >bad.conf
check_fails 1 "the file of another platform" espalier admin apply bad.conf --platform small --remove
check_says "is refused" 'not one node of the file is in the running tree'
{
    echo 'master "MA" { }'
    echo 'master "MB" { }'
    echo 'server "S" { parent = "MB" slots = 1 }'
} >bad.conf
check_fails 1 "a way from tree to tree" espalier admin apply bad.conf --platform small
check_says "is refused before anything is done, with the way" "espalier admin move S --to MB"
check "nothing was done" gone MB

# ---- one more ----
printf 'name = "V"\nslots = 1\nproblems = { "%s/problems/blas" }\n' "$top_srcdir" >sed.conf
check "a server is added" espalier admin add sed.conf --to LA2
check_says "and told" '^V: server at 127.0.0.1:'
check "it is where it was to be" below V LA2
check_fails 1 "a second one of that name" espalier admin add sed.conf --to LA2
check_says "is refused" "has a server.* named 'V' already"
check_fails 2 "a parent that is not there" espalier admin add sed.conf --to LA8
check_says "is reported" "no node named 'LA8'"
check "it is removed" espalier admin remove V
wait_until gone V
check "and added again" espalier admin add sed.conf --to LA1
check "it takes sessions, as it was removed and not drained" sh -c 'espalier tree | grep " V " | grep -qv draining'
check "one that is drained" espalier admin drain V
kill -9 "$(process_of server V)"
wait_until gone V
check "and has died" espalier admin add sed.conf --to LA1
check_says "takes sessions again when it is added" 'takes sessions again'
check "it is removed again" espalier admin remove V
wait_until gone V
{
    cat sed.conf
    printf 'parent = "%s"\n' "$(cat "$folder/LA1.address")"
} >placed.conf
check "one whose file names its parent" espalier admin add placed.conf --to LA2
check "is where it was to be all the same" below V LA2
check_fails 4 "a file that is none" espalier admin add nowhere.conf --to LA1
check_fails 4 "a file of something else" espalier admin add client.conf --to LA1

# ---- on another machine ----
host=$(hostname -I 2>/dev/null | awk '{ print $1 }')
if [ -n "$host" ]; then
    mkdir bin there away
    cat >bin/ssh <<EOF
#!/bin/sh
# ssh -o BatchMode=yes -o ConnectTimeout=10 -- HOST LINE: on the machines "far" and "away", with a folder of its own each.
case \$6 in
far) folder=there ;;
away) folder=away ;;
slow) # what it starts is there long before it says so
    folder=there
    case \$7 in *"'add'"*) XDG_RUNTIME_DIR=$work/there ESPALIER_CONFIG= sh -c "\$7" && exec sleep 20 ;; esac ;;
mute) # it never says anything; of 'down', once what runs here has ended
    case \$7 in *"'down'"*) while kill -0 \$(cat "$work/master"); do sleep 0.1; done 2>/dev/null; echo ended >>"$work/beside" ;; esac
    [ -e "$work/speaks" ] && exit 0
    exec sleep 600 ;;
*) echo "no route to \$6" >&2; exit 255 ;;
esac
echo "\$7" >>"$work/said"
echo begin >>"$work/turns"
XDG_RUNTIME_DIR=$work/\$folder ESPALIER_CONFIG= sh -c "\$7"
code=\$?
echo end >>"$work/turns"
exit \$code
EOF
    chmod 755 bin/ssh
    PATH=$work/bin:$PATH
    espalier down small >/dev/null
    near="listen = \"$host:0\" insecure = yes"
    {
        printf 'problems = { "%s/problems/lapack" }\n' "$top_srcdir"
        echo "redirector { $near }"
        echo "master \"MA\" { $near }"
        echo "server \"S\" { parent = \"MA\" slots = 1 host = \"far\" $near }"
        echo "server \"S2\" { parent = \"MA\" slots = 1 host = \"away\" $near }"
    } >small.conf
    sed 's/"away"/"nowhere"/' small.conf >half.conf
    check_fails 1 "a platform of which one machine is not reached" espalier up half.conf --name small
    check_says "is not started" 'no route to nowhere' 'All that was started has been stopped'
    check "and what ran on another one is stopped" test ! -e there/espalier/small
    : >turns
    check "a platform on three machines" espalier up small.conf
    check_says "says where" "server +S +at $host:[0-9]+ on far" "server +S2 +at $host:[0-9]+ on away"
    check "they were started at the same time" sh -c 'head -n 2 turns | grep -cx begin | grep -qx 2'
    check "calls go there" call
    there=$(awk '$1 != "host" { print $2 }' there/espalier/small/processes)
    {
        cat small.conf
        echo "server \"T\" { parent = \"MA\" slots = 1 host = \"far\" $near }"
        echo "server \"U\" { parent = \"MA\" slots = 1 host = \"away\" $near }"
    } >more.conf
    mv more.conf small.conf
    : >turns
    check "two more by the file" espalier admin apply small.conf
    check_says "are started there" '^T: started below MA' '^U: started below MA'
    check "at the same time" sh -c 'head -n 2 turns | grep -cx begin | grep -qx 2'
    check_fails 4 "one more that would listen there only" espalier admin add sed.conf --to MA --host far
    check_says "is refused" '"V" is to run on far: expected listen'
    printf '%s\n' "$near" | sed 's/ insecure/\ninsecure/' >>sed.conf
    check "one more by hand" espalier admin add sed.conf --to MA --host far
    check "three run there" test "$(grep -c ' ' there/espalier/small/processes)" -eq 3
    check_fails 3 "a machine that is not reached" env ESPALIER_CONFIG="$ESPALIER_CONFIG" sh -c 'sed s/V/W/ sed.conf >sed2.conf; espalier admin add sed2.conf --to MA --host nowhere'
    check_says "is reported, with what ssh says" 'no route to nowhere' "'ssh nowhere true' must work"
    {
        cat small.conf
        echo "server \"M\" { parent = \"MA\" slots = 1 host = \"mute\" $near }"
        echo "server \"N\" { parent = \"MA\" slots = 1 $near }"
    } >mute.conf
    check_fails 3 "a machine that never answers is waited for no longer than is said" \
        timeout 50 espalier admin apply mute.conf --platform small --timeout '5 s'
    check_says "is reported, and the others are started" 'mute: the command there did not end in time' '^N: started below MA'
    sed -i "s/host = \"far\" listen = \"$host:0\"/host = \"far\"/" small.conf
    check_fails 4 "a daemon there that listens here only" espalier admin apply small.conf
    check_says "is refused" 'run on different machines: expected listen'
    there="$there $(awk '$1 != "host" { print $2 }' there/espalier/small/processes | tr '\n' ' ')"
    there="$there $(awk '$1 != "host" { print $2 }' away/espalier/small/processes | tr '\n' ' ')"
    awk '$1 == "master" { print $2 }' espalier/small/processes >master
    check_fails 3 "down ends what runs there too, and waits for a machine that never answers no longer than is said" \
        timeout 55 espalier down small --timeout '15 s'
    check_says "which is reported" 'mute: the command there did not end in time' "mute: 'espalier down small' tries again"
    ended() {
        # shellcheck disable=SC2086
        ! alive $there
    }
    check "nothing of the others is left" wait_until ended
    check "what runs here has not waited for it" test -s beside
    touch speaks
    check "once that machine answers, down is done" espalier down small
    check "and leaves nothing" test ! -e espalier/small

    # ---- by a command of its own there; with another file; killed in the middle ----
    printf '#!/bin/sh\nexec espalier "$@"\n' >bin/espalier-there
    chmod 755 bin/espalier-there
    {
        printf 'problems = { "%s/problems/lapack" }\ncommand = "%s"\n' "$top_srcdir" "$work/bin/espalier-there"
        echo "redirector { $near }"
        echo "master \"MA\" { $near }"
        echo "server \"S\" { parent = \"MA\" slots = 1 host = \"far\" $near }"
    } >own.conf
    check "a platform whose file names the command there" espalier up own.conf
    {
        cat own.conf
        echo "server \"T\" { parent = \"MA\" slots = 1 $near }"
    } >tomorrow.conf
    check "what another file adds" env ESPALIER_CONFIG="$work/espalier/own/client.conf" espalier admin apply tomorrow.conf
    check_says "is started" '^T: started below MA'
    check "and belongs to the platform that runs" test ! -e espalier/tomorrow
    there=$(awk '$1 != "host" { print $2 }' there/espalier/own/processes espalier/own/processes)
    : >said
    check "down finds the command there by itself" espalier down own
    check "says which" grep -q "^'$work/bin/espalier-there' 'down' 'own'" said
    check "nothing of that is left" wait_until ended
    sed 's/"far"/"slow"/; /^command/d' own.conf >killed.conf
    espalier up killed.conf >up.out 2>&1 &
    up=$!
    check "a machine on which something has been started" wait_until test -s there/espalier/killed/S.address
    kill -KILL $up
    there=$(awk '$1 != "host" { print $2 }' there/espalier/killed/processes espalier/killed/processes)
    check "is asked by down, also where up was killed before it heard of that" espalier down killed
    check "and nothing is left there" wait_until ended
fi
finish
