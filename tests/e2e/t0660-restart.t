#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A whole platform is restarted, daemon by daemon, under a stream of calls, none of which fails.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
at_exit() {
    espalier down small --force >down.out 2>&1
}
{
    printf 'problems = { "%s/problems/lapack", "%s/problems/blas" }\n' "$top_srcdir" "$top_srcdir"
    echo 'redirector { }'
    echo 'master "MA" { }'
    echo 'leader "LA" { parent = "MA" }'
    for name in S T; do
        echo "server \"$name\" { parent = \"LA\" slots = 1 }"
    done
} >small.conf
check "a platform" espalier up small.conf
ESPALIER_CONFIG=$work/espalier/small/client.conf
export ESPALIER_CONFIG
folder=$work/espalier/small
for name in redirector MA LA S T; do
    cat "$folder/$name.address"
done >addresses
cp "$folder/processes" processes

call() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
call_on() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=- --server "$1"
}
stream() {
    while [ ! -e "$work/enough" ]; do
        call >>"$work/stream" 2>&1 || echo failed >>"$work/failures"
        echo call >>"$work/calls"
    done
}
stream &
streams=$!
stream &
streams="$streams $!"
wait_until test -s "$work/calls"
check "all of it is restarted" espalier admin restart
check_says "from below" '^S: restarted, ' '^T: restarted, ' '^LA: restarted, ' '^MA: restarted, ' '^redirector: restarted, '
espalier tree --json | tr -d ' \n' >tree.json
at_home() { # at_home NODE PARENT: and nowhere else
    grep -o "\"name\":\"$1\",\"parent\":\"[^\"]*\"" tree.json | sort -u >shown.out
    [ "$(wc -l <shown.out)" -eq 1 ] && grep -q ":\"$2\"\$" shown.out
}
for name in S T; do
    check "$name is below its parent, and not at a refuge" at_home $name LA
done
touch "$work/enough"
# shellcheck disable=SC2086
wait $streams
cat "$work/failures" "$work/stream" >"$log" 2>/dev/null
check "no call has failed" test ! -e "$work/failures"
check "calls were made meanwhile" test "$(wc -l <"$work/calls")" -ge 10
for name in redirector MA LA S T; do
    cat "$folder/$name.address"
done >now
check "each is where it was" cmp addresses now
check "and is the same process" cmp processes "$folder/processes"
again() {
    for name in redirector MA LA S T; do
        [ "$(grep -c ' ready address=' "$folder/$name.log")" -eq 2 ] || { echo "$name"; return 1; }
    done
}
check "that was started once more" again
check "a call" call
# ---- results of jobs that nobody has fetched outlive a process, and not its state_dir ----
job=$(espalier submit -s S dgesv A='[4,1;1,3]' B='[6;7]')
has_ended() { espalier jobs "$job" | awk -v id="$job" '$1 == id { print $4 }' | grep -qx "done"; }
check "a job ends" wait_until has_ended
check_fails 1 "to remove its server would lose the result" espalier admin remove S
check_says "which is reported" 'results of 1 jobs that nobody has fetched' '\(dgesv\)' '[-]-force'
check "no daemon was restarted" again
check_fails 1 "nor does the platform go down" espalier down small
check_says "which is reported" 'results of 1 jobs that nobody has fetched' '\(dgesv\)' '[-]-force'
results=$folder/S/results
check "its server is restarted" espalier admin restart S
has_file() { find "$results" -name '*.result' | grep -q .; }
check "where it has a file" has_file
check "the job is still done" has_ended
check "and again" espalier admin restart S
check "the result is there" espalier fetch "$job" -o B=-
check_says "as it was" '^1$' '^2$'
check "with its end the file goes" sh -c "! find '$results' -type f | grep ."
check "what was fetched is in nobody's way" espalier admin restart S
printf 'not one' >"$results/x.result"
job=$(espalier submit -s S dgesv A='[4,1;1,3]' B='[6;7]')
check "one that ends" wait_until has_ended
check "may be fetched before" espalier fetch --keep "$job" -o B=-
check "beside a file that is none" espalier admin restart S
check "the log tells" grep -q "expected a result of a job, found something else" "$folder/S.log"
check "it is fetched afterwards" espalier fetch "$job" -o B=-
check_says "as before" '^1$' '^2$'
rm -r "$results"
: >"$results"
job=$(espalier submit -s S dgesv A='[4,1;1,3]' B='[6;7]')
check "another one ends" wait_until has_ended
for order in restart "restart S" "stop S"; do
    # shellcheck disable=SC2086
    check_fails 1 "where there is no place for it, $order would lose it" espalier admin $order
    check_says "which is reported" 'results of 1 jobs that nobody has fetched' '\(dgesv\)' '[-]-force'
done
check "nor is what is meant to be lost" espalier admin restart S --force
check "which its log names" grep -q "warning .*results of 1 jobs that nobody has fetched end with this process (sessions .*dgesv" "$folder/S.log"

check_fails 2 "what is not there" espalier admin restart U
check_says "is reported" "no node named 'U'"
check "it reads its file again" espalier admin reload redirector
candidates() { # candidates N: of a call
    espalier call --json dgesv A='[4,1;1,3]' B='[6;7]' | tr '}' '\n' | grep -c '"compute_s".*"address"\|"address".*"compute_s"' | grep -qx "$1"
}
cp "$folder/MA.conf" MA.conf
check "an agent offers two servers" wait_until candidates 2
printf 'candidates = 1\nheartbeat = "300 ms"\nlease = "3 s"\nmessage_bytes = "1 MiB"\nstall_timeout = "1 min"\n' >>"$folder/MA.conf"
check "it reads its file again" espalier admin reload MA
check_says "which names what it does not take over" '^MA: reads its files again, what needs a restart to count: stall_timeout, message_bytes$'
check "and takes the others over" candidates 1
sed -i "s/^scheduler/# /" "$folder/MA.conf"
printf 'scheduler = "%s/none.so"\n' "$work" >>"$folder/MA.conf"
check_fails 1 "what it cannot take over" espalier admin reload MA
check_says "leaves all as it was" '"MA" stays as it was: .*none.so'
cp MA.conf "$folder/MA.conf"
check "its file as it began" espalier admin reload MA
check_says "waits for nothing" '^MA: reads its files again$'
check "and it offers two again" candidates 2
mkdir own
printf 'problem version "Which LAPACK it is"\n out int major\n out int minor\n out int patch\nimplementation a\n fortran ilaver_(major, minor, patch) in liblapack.so.3\n' >own/a.esp
cp "$folder/T.conf" T.conf
sed -i "s|^problems = {|&\"$work/own\", |" "$folder/T.conf"
check "its file names a folder more" grep -q "$work/own" "$folder/T.conf"
check "a server reads the list of its problems again" espalier admin reload T
new_is_known() { espalier problems version; }
check "the agents learn what is new" wait_until new_is_known
check "and serves what is new" espalier call version
check_says "with its results" "^major = 3"
printf 'problem wrong "It"\n in doubel x\n' >own/b.esp
check_fails 1 "a wrong description" espalier admin reload T
check_says "is refused with its place" "\"T\" stays as it was: .*own/b.esp:2:5: expected a type"
check_fails 1 "nor is the server stopped to start again" espalier admin restart T
check_says "for the same reason" "\"T\" stays as it was: .*own/b.esp:2:5: expected a type"
kill -USR2 "$(awk '$NF == "T" { print $2 }' "$folder/processes")"
wait_until grep -q 'SIGUSR2: does not start again.*own/b.esp:2:5' "$folder/T.log"
check "and serves all that it did" espalier call version
sed 's/slots = 1/slots = 2/' small.conf | sed "s|problems = {|& \"$work/own\",|" >more.conf
check_fails 4 "nor does a platform's file that names it" espalier admin apply --platform small more.conf
check_says "lead to a stop" 'more.conf: .*own/b.esp:2:5: expected a type'
cp T.conf "$folder/T.conf"
check "a list without the folder" espalier admin reload T
gone() {
    espalier problems --search 'Which LAPACK' >"$log" 2>&1
    grep -q 'none of the' "$log"
}
check "withdraws what it had" wait_until gone
echo 'nosuchkey = 1' >>"$folder/T.conf"
check_fails 1 "a file with a mistake" espalier admin restart T
check_says "is reported with the line" '"T" stays as it was: .*T.conf:[0-9]*: .*nosuchkey'
cp T.conf "$folder/T.conf"
silent=$(awk '$NF == "T" { print $2 }' "$folder/processes")
kill -STOP "$silent"
is_silent() {
    espalier tree >"$log" 2>&1
    grep -q ' T .*unreachable since' "$log"
}
check "one that says nothing is seen" wait_until is_silent
check_fails 3 "it cannot be removed" espalier admin remove T
check_says "for that reason" '"T" was below "MA", and cannot be reached'
check_fails 3 "nor restarted" espalier admin restart T
check_says "as it has to be started" "'T' at .* does not answer, .*'espalier admin add FILE'"
check_fails 3 "an order that it did not get has failed" espalier admin drain T S
check_says "which is reported, and the others get it" "'T' at .* does not answer, and was not told" '^S: takes no new sessions'
check "they take sessions again" espalier admin undrain S
check_fails 3 "nor is it left out of a restart without a word" espalier admin restart
check_says "beside the others" '^S: restarted, ' "'T' at .* does not answer, and was not restarted: .*espalier admin add FILE"
kill -CONT "$silent"
check "and is there again" wait_until call_on T

check "down ends all of it" espalier down small
check_says "as it was started" '5 daemons stopped'
finish
