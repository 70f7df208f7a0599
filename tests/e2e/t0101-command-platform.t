#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A platform from up to down with the espalier command: tree, problems, call, solve.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
matrices=$top_srcdir/examples/matrices

at_exit() {
    espalier down >down.out 2>&1
}

# The platform's processes by the list that up wrote.
running() {
    n_running=0
    while read -r _ pid _ _; do
        [ "$pid" -gt 1 ] && alive "$pid" && n_running=$((n_running + 1))
    done <"$1"
    [ "$n_running" -eq "$2" ] || { echo "$n_running processes run, expected $2"; return 1; }
}

# The last checked command's JSON, a value by its key: json_number KEY
json_number() {
    grep -v '^espalier' "$log" | grep -o "\"$1\": [^,}]*" | head -n 1 | sed 's/.*: //'
}

at_most() {
    awk -v x="$1" -v most="$2" 'BEGIN { exit !(x != "" && x + 0 <= most + 0) }' || { echo "$1 > $2"; return 1; }
}

no_cgroup_left() {
    ! find /sys/fs/cgroup -maxdepth 2 -name "espalier-*-$1-*" 2>/dev/null | grep -q .
}

check "the default platform starts, also where nothing is installed" espalier up
check_says "with each daemon and the one that is slowed" 'redirector +redirector +at 127' 'master +MA1' \
    'leader +LA2' 'server +SeD3 .*, (at most|about) [0-9]+ % of a processor' "Platform 'default' is up: 7 daemons"
if grep -q 'at most [0-9]* % of a processor' "$log"; then
    check "what its control group leaves it" espalier weather --summary --json
    check_says "counts from the first call on" '"name": "SeD3", "role": "server", "availableCpu": [{]"now": 0[.][0-3]'
else
    echo "# no control groups here: the slowed server has a competing load, which the sensor has not seen yet"
fi
cp espalier/default/processes processes
check_fails 1 "a second one of that name is refused" espalier up
check_says "and how to stop the first is reported" "is up already: 'espalier down' stops it"

check "the tree" espalier tree
check_says "shows who is below whom" '^redirector ' '^ *MA1 +master agent' '^ +LA1 +leader agent' '^ +SeD3 +server .*flop/s' '>?done +failed$'
espalier tree | awk '{ print $1 }' >names
check "in the order of names" sh -c 'grep -E "^(LA|SeD)" names | paste -sd" " | grep -Eq "LA1 SeD1.* LA2"'
check "the tree as JSON" espalier tree --json
check_says "with parents and speeds" '"name": "SeD1", "parent": "LA1", "role": "server"' '"speed_flops": [1-9]'

check "problems are listed" espalier problems
check_says "with servers and what they do" '^dgesv +D2a1 +3 +Solve A X = B for a general matrix'
check "one problem is shown" espalier problems dgesv
check_says "with arguments, conditions, work and a call" 'inout +double +A\[n, n\]' 'n >= 0' 'Work +.*n' \
    'espalier call dgesv A=@A.mtx B=@B.mtx'
check "one problem as JSON" espalier problems dgesv --json
check_says "with its arguments" '"name": "A".*"dims": \["n", "n"\]'

check "a call with typed matrices" espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
check_says "gives the solution" '^2 1$' '^1(\.0+1|$)|^0\.99999' '^2$|^1\.99999|^2\.00000'
check "a call whose outputs are shown" espalier call dgesv A='[0,2;3,0]' B='[2;3]'
check_says "as short tables" '^A \(2 x 2\):' '^ipiv \(2\):' '^B \(2 x 1\):'
check "a call as JSON" espalier call --json dgesv A='[2,0;0,4]' B='[2;4]'
check_says "with outputs and session" '"B": \[\[1.0\], \[1.0\]\]' '"ipiv": \[1, 2\]' '"server": "SeD[123]"' '"compute_s": '
check "scalars and defaults" espalier call dgemm A='[1,2;3,4]' B='[5;6]' C='[0;0]' alpha=2 -o C=c.mtx
check "are taken" grep -qx 34 c.mtx
check "a call that tells where it went" espalier call -v --server SeD2 dgesv A='[1]' B='[1]'
check_says "to the server that was named" '^Server +SeD2,' '^Took '
check_says "with what was forecast for it" '^Forecast +[0-9.]+ [mu]?s: computation [0-9.]+ [mun]?s, queue and transfer [0-9.]+( [mun]?s)?$'
bound_is_forecast_in_json() {
    espalier call --json --server SeD2 dgesv A='[1]' B='[1]' | tr -d '\n' >bound.json
    cat bound.json
    sed -n 's/.*"forecast_compute_s": \([0-9.e+-]*\).*/\1/p' bound.json | awk '{ found = $1 > 0 } END { exit !found }'
}
check "in JSON, too" bound_is_forecast_in_json
address=$(espalier tree --json | tr -d '\n' | sed 's/.*"name": "SeD2"[^}]*"address": "\([^"]*\)".*/\1/')
check "a call to an address" espalier call -v --server "$address" dgesv A='[1]' B='[1]'
check_says "is forecast as well" "^Server +$address," '^Forecast +[0-9.]+ [mu]?s: computation'
check "a matrix from a file and back" espalier call dgemm A=@"$matrices/pores_1.mtx" B=@"$matrices/pores_1.mtx" C=@"$matrices/pores_1.mtx" -o C=square.mtx
check "is a matrix file again" espalier matrix info square.mtx
check_says "of that size" '30 x 30'

check "a system from a file" espalier solve "$matrices/utm300.rua" -o x.mtx
check_says "with candidates, the chosen server, times and error" 'A .*300 x 300' 'B +ones' 'Problem +dumfpack' \
    'Candidates for dumfpack, of 3 servers' 'SeD[123].*<- chosen' 'Forecast +' 'Took ' 'Backward error' 'written to x.mtx'
check "X is a matrix file" espalier matrix info x.mtx
check_says "of one column" '300 x 1'
for name in utm300.rua pores_1.mtx lund_a.rsa lund_a.mtx; do
    check "$name is solved" espalier solve --json "$matrices/$name"
    case $name in
    # The forecast decides, and depends on earlier times on a busy machine.
    lund*) check_says "a positive definite sparse matrix by CHOLMOD, or its rival" '"problem": "(dcholmod|dumfpack)"' ;;
    pores*) check_says "one that is as good as dense by dgesv" '"problem": "dgesv"' ;;
    *) check_says "another sparse one by UMFPACK" '"problem": "dumfpack"' ;;
    esac
    check "to a backward error of a few roundings" at_most "$(json_number backward_error)" 1e-14
done
check_fails any "a file beyond --max-input" espalier solve "$matrices/utm300.rua" --max-input 1kB
check_says "and how to raise the limit" 'more than the limit of 1 kB .--max-input sets the limit'
check "the file's own right-hand side" espalier solve "$matrices/utm300.rua" --own-rhs
check_says "is taken when asked for" 'B +in the same file'
check "B from a file" espalier solve "$matrices/pores_1.mtx" "$matrices/pores_1.mtx" --json
check "may have many columns" at_most "$(json_number backward_error)" 1e-14
printf '%%%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n1\n' >indefinite.mtx
check "a symmetric matrix that is not positive definite" espalier solve indefinite.mtx
check_says "is solved with dsysv, and said so" '^dposv on SeD[123]: .*not positive definite.*: solved with dsysv instead' 'Problem +dsysv'
check "a problem that the user names" espalier solve "$matrices/lund_a.rsa" --problem dposv
check_says "takes a sparse file as well" 'Problem +dposv' 'Backward error'
printf '%%%%MatrixMarket matrix array complex hermitian\n2 2\n4 0\n1 -1\n3 0\n' >hermitian.mtx
check "a Hermitian matrix" espalier solve hermitian.mtx
check_says "is solved with zposv, in the right word" 'complex Hermitian' 'Problem +zposv' 'Backward error.* = [0-9.]+e-1[5-9]|= 0'
check "the same with X on standard output" sh -c 'espalier solve hermitian.mtx -o - >x-alone.mtx'
check_says "tells the rest on standard error" '^A +hermitian' '^Problem +zposv' '^Took .*own work'
check "and standard output is a matrix" espalier matrix info x-alone.mtx
check_says "as it should be" '2 x 1'
check_fails 1 "a place where X cannot be written" espalier solve hermitian.mtx -o none/x.mtx
check_says "is reported by name" 'cannot write none/x.mtx: No such'
cp "$log" said
check_fails 1 "before anything is computed" grep -E 'Problem|written to' said
parts_add_up() {
    espalier solve --json "$1" | tr -d '\n' | sed 's/"candidates": \[[^]]*\]//g' | grep -o '"[a-z]*_s": [^,}]*' | tr -d '":' | awk '
        { v[$1] = $2 } END { s = v["submit_s"] + v["wait_s"] + v["transfer_s"] + v["fetch_s"] + v["queue_s"] + v["compute_s"] + v["other_s"]
        exit !(v["total_s"] > 0 && s > 0.999 * v["total_s"] && s < 1.001 * v["total_s"]) }'
}
check "the times of a session add up to its total" parts_add_up "$matrices/utm300.rua"
printf '%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n1 1 1\n' >huge.mtx
check_fails 4 "a matrix whose dense form no memory holds is not given to a problem that takes dense ones" espalier solve -P dgesv huge.mtx
check_says "as the limit tells" 'a dense matrix of .* needs more than the limit'
check "on a server of one's choice" espalier solve "$matrices/pores_1.mtx" --server SeD3
check_says "it is" '^Server +SeD3,'
cp "$log" said
check_fails 1 "without a table of candidates" grep Candidates said
client=$work/espalier/default/client.conf
check "the client file works for programs" env ESPALIER_CONFIG="$client" espalier tree
check "addresses may be given" espalier tree --redirector "$(sed -n 's/^redirector = "\(.*\)"/\1/p' "$client")"

check "the platform stops" espalier down
check_says "every daemon of it" '7 daemons stopped$'
check "no process of it is left" running processes 0
check "nor its folder" test ! -e espalier/default
check "nor a control group" no_cgroup_left SeD3-0
check_fails 1 "there is nothing to stop any more" espalier down
finish
