#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules of abstract problems that compete: the forecast decides, of chains by the sum of their steps.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-calibrate cc

mkdir own first
copy() { # NAME WORK LIBRARY
    cat <<END
problem $1 "A copy that is said to take its time"
    in      int     n
    in      double  x[n, n]
    out     double  y[n, n]
    work    $2*n^2
implementation blas
    fortran dcopy_(n*n, x, 1, y, 1) in libblas.so.3
END
}
slow_copy() { # NAME WORK
    copy "$1" "$2" | sed '/^implementation/,$d'
    printf 'implementation slow\n    c slow_copy(n, x, y) in %s\n' "$work/libslow.so"
}
printf '%s\n' '#include <string.h>' '#include <unistd.h>' 'void slow_copy(int n, const double *x, double *y)' '{' \
    '    usleep(100000);' '    memcpy(y, x, sizeof *x * (size_t)n * (size_t)n);' '}' >slow.c
cc -shared -fPIC -o libslow.so slow.c || skip_all "the compiler fails"
rules() { # NAME RULE...
    printf 'abstract %s "A copy"\n    in int n\n    in double A[n, n]\n    out double X[n, n]\n' "$1"
    shift
    printf '    %s\n' "$@"
}
{
    copy dear 1e6
    copy middle 150000
    copy cheap 1e5
    # Nobody calls these before the checks that forecast them: what a call really took outvotes its description.
    copy single 1e5
    copy heavy 1e6
    copy light 1e5
    copy second 1e5
    copy slower 1e6
    copy quicker 1e5
    rules shorter 'take dear(x = A) giving X = y' 'or take cheap(x = A) giving F = y then cheap(x = F) giving X = y'
    rules told 'take slower(x = A) giving X = y' 'or take quicker(x = A) giving F = y then quicker(x = F) giving X = y'
    rules sum 'take single(x = A) giving F = y then single(x = F) giving X = y' 'or take middle(x = A) giving X = y'
    rules bound 'take heavy(x = A) giving X = y' 'or take light(x = A) giving F = y then light(x = F) giving X = y'
    rules absent 'take nowhere(x = A) giving X = y' 'or take dear(x = A) giving X = y'
    rules equal 'take cheap(x = A) giving X = y' 'or take cheap(x = A) giving F = y then cheap(x = F) giving X = y'
    rules apart 'take first(x = A) giving F = y then second(x = F) giving X = y'
    copy early '3e8 + 2'
    copy late 1e3
    rules whole 'take early(x = A) giving F = y then late(x = F) giving X = y'
} >own/own.esp
{ copy first 1e3; copy second 1e5; copy early '3e8 + 2'; slow_copy late 1e3; } >first/first.esp
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
printf 'problems = { "%s", "%s" }\nmaster "MA" { }\nserver "S" { parent = "MA" slots = 1 properties = { "gpu" } }\n' \
    "$top_srcdir/problems" "$work/own" >small.conf
printf 'server "F" { parent = "MA" slots = 1 state_dir = "%s" problems = { "%s" } }\n' "$work/state-F" "$work/first" >>small.conf
# F is known to be quick at one of two problems, for all that its description says, and slow at the other.
mkdir state-F
printf 'name = "F"\nparent = "127.0.0.1:1"\nlisten = "127.0.0.1:0"\nslots = 1\nstate_dir = "%s"\nproblems = { "%s" }\n' \
    "$work/state-F" "$work/first" >F.conf
check "a model" espalier calibrate --sed F.conf --budget 600ms early
check "another one" espalier calibrate --sed F.conf --budget 3s late
at_exit() {
    espalier down small --force >down.out 2>&1
}
check "a platform" espalier up small.conf
ESPALIER_CONFIG=$work/espalier/small/client.conf
export ESPALIER_CONFIG

# By what a problem is solved, and where.
solved_by() { espalier problems "$1" >page && cat page && grep -A 2 '^Solved by:' page | grep -Eq "$2"; }
check "an implementation is shown with its servers" solved_by second '^  blas +fortran +dcopy_ in libblas.so.3 +F, S$'
check "and with the only one" solved_by first '^  blas +fortran +dcopy_ in libblas.so.3 +F$'
offered_by() { espalier problems shorter >page && cat page && grep -q '^Offered by S$' page; }
check "who offers an abstract one is, too" offered_by
tells_programs() {
    espalier problems second --json >page && cat page &&
        jq -e '.untold == [] and (.implementations | length == 1 and .[0].servers == ["F", "S"] and .[0].way == "fortran")' page
}
command -v jq >/dev/null && check "the JSON output has them, too" tells_programs

matrix() { # N DIAGONAL
    awk -v n="$1" -v d="$2" 'BEGIN { for (i = 1; i <= n; i++) { for (j = 1; j <= n; j++)
        printf "%s%g", (j > 1 ? "," : ""), (i == j ? d : 1 / (i + j)); print "" } }'
}
awk 'BEGIN { for (i = 1; i <= 100; i++) { printf "%d", i; for (j = 2; j <= 100; j++) printf ",%d", i * j; print "" } }' >a.csv
matrix 150 -300 >indefinite.csv
matrix 150 300 >definite.csv
awk 'BEGIN { for (i = 1; i <= 150; i++) print 1 }' >b.csv
awk 'BEGIN { n = 400; print "%%MatrixMarket matrix coordinate real general\n" n, n, 2*n
    for (i = 1; i <= n; i++) { print i, i, 4; print (i + 99) % n + 1, i, -1 } }' >sparse.mtx
awk 'BEGIN { for (i = 1; i <= 400; i++) print 1 }' >ones.csv

check "a chain that is quicker than one step" espalier call -v shorter A=@a.csv -o X=x.csv
check_says "is taken" 'shorter: weighed: dear [0-9.e+-]+ s, cheap [+] cheap [0-9.e+-]+ s' 'shorter: done by cheap, cheap on S' \
    '^step +server +forecast +[+]- +took +computation +took$' '^cheap +S +[0-9.]+ [mu]?s ' '^all  .* [mu]?s +[0-9.]+ [mun]?s$'
check_says "each against its forecast" '^cheap +S +[1-9][0-9.]* [mu]?s .*[mu]?s +[1-9]'
cp "$log" steps
every_step_is_forecast() {
    awk '/^(cheap|all) / { n++; forecast = $1 == "cheap" ? $3 : $2; if (forecast + 0 <= 0) exit 1 } END { exit n != 3 }' steps
}
check "all of them" every_step_is_forecast
kept_states_too() {
    espalier call -v itersolve A=@spd.mtx B=@ones.csv -o X=x.csv >kept.out && cat kept.out &&
        awk '/^(dic_open|dic_cg|sparse_close) +S / { n++; if ($3 + 0 <= 0) exit 1 } END { exit n != 3 }' kept.out
}
bound_ones_too() {
    espalier call -v --server S bound A=@a.csv -o X=x.csv >kept.out && [ "$(grep -c '^Forecast  *[0-9.]* [mu]*s: computation [0-9.]* [mu]*s, queue and transfer [0-9.]*\( [mu]*s\)\{0,1\}$' kept.out)" -eq 2 ] &&
        espalier solve --server S definite.csv b.csv -o x.mtx | grep -q '^Forecast  *[0-9.]* [mu]*s:'
}
steps_are_told() {
    [ "$(grep -c '^cheap  *S ' steps)" -eq 2 ] && [ "$(grep -c '^Server  *S, session' steps)" -eq 2 ]
}
check "all its steps are reported" steps_are_told
check "gives what the other would" cmp a.csv x.csv
check "all steps of a chain count" espalier call sum A=@a.csv -o X=x.csv
check_says "so one step is taken" 'sum: done by middle on S'
check "a rival that no server has" espalier call -v absent A=@a.csv -o X=x.csv
check_says "comes last" 'weighed: nowhere not known, dear ' 'absent: done by dear on S'
check "a small matrix" espalier call -v shorter A='[1,2;3,4]'
check_says "goes by the order of the description" 'shorter: done by dear on S'
check "what is not quicker" espalier call equal A=@a.csv -o X=x.csv
check_says "goes by it too" 'equal: done by cheap on S'
check "programs hear what was weighed" espalier call --json told A=@a.csv
cp "$log" told.json
check_says "in JSON" '"weighed": "slower [0-9.e+-]+ s, quicker [+] quicker [0-9.e+-]+ s"' '"steps": ' '"sums": [{]"forecast_s": '
sums_are_sums() {
    tr -d '\n' <told.json | sed 's/.*"steps": //' | tr '{,' '\n\n' | awk '
        /"candidates"/ { within = 1 }
        /"data"/ { within = 0 }
        /"compute_s"/ && !within { gsub(/[^0-9.e+-]/, "", $2); value[++n] = $2 }
        END { print n, value[1], value[2], value[3]; sum = value[1] + value[2]
              exit !(n == 3 && sum > 0 && value[3] > 0.999 * sum && value[3] < 1.001 * sum) }'
}
check "with both steps and their sums" sums_are_sums

check "an indefinite matrix" espalier call -v solve A=@indefinite.csv B=@b.csv -o X=x.csv
check_says "may be solved in two ways" 'solve: weighed: dsysv [0-9.e+-]+ s, dgesv [0-9.e+-]+ s'
check "a definite one" espalier call -v solve A=@definite.csv B=@b.csv -o X=x.csv
check_says "in three" 'solve: weighed: dposv [0-9.e+-]+ s, dsysv [0-9.e+-]+ s, dgesv [0-9.e+-]+ s'
check "a sparse one" espalier call -v linsolve A=@sparse.mtx B=@ones.csv -o X=x.csv
check_says "by factors, or a preconditioner and iterations" 'weighed: dumfpack [0-9.e+-]+ s, dilu_open [+] dilu_gmres [+] sparse_close [0-9.e+-]+ s'

awk 'BEGIN { n = 400; print "%%MatrixMarket matrix coordinate real symmetric\n" n, n, n+n-150
    for (i = 1; i <= n; i++) { print i, i, 4; if (i + 150 <= n) print i + 150, i, -1 } }' >spd.mtx
check "a sparse definite one" espalier call -v linsolve A=@spd.mtx B=@ones.csv -o X=x.csv
check_says "too, all steps of the chain counted" 'weighed: dcholmod [0-9.e+-]+ s, dic_open [+] dic_cg [+] sparse_close [0-9.e+-]+ s'

check "steps that take a state are forecast" kept_states_too
check "and those that are bound to a server" bound_ones_too
check "constraints hold for all steps" espalier call bound A=@a.csv --property gpu -o X=x.csv
check_says "of a chain" 'bound: done by light, light on S'
check_fails 3 "what no server has" espalier call shorter A=@a.csv --property tape -o X=x.csv
check_says "is reported" 'is wanted on a server with "tape"'

# Sizes alone: every rule, each step, chains by the extents of what the steps before gave.
rules_are_shown() {
    espalier forecast shorter n=300 >rules.out || return 1
    cat rules.out
    grep -Eq '^dear +S .* 1$' rules.out && grep -Eq '^rule 1: .*take dear\(x = A\)' rules.out && [ "$(grep -Ec '^cheap +S ' rules.out)" -eq 2 ]
}
sparse_ones_too() {
    espalier forecast linsolve m=500 n=500 nrhs=1 nz=2500 >rules.out || return 1
    cat rules.out
    grep -Eq '^dgesv +S ' rules.out && grep -Eq '^dumfpack +S ' rules.out && grep -Eq '^dilu_gmres +S ' rules.out &&
        espalier forecast --json linsolve m=500 n=500 nrhs=1 nz=2500 | grep -q '"problem": "dumfpack"'
}
what_is_missing_is_told() {
    espalier forecast absent n=300 >rules.out && cat rules.out && grep -Eq '^nowhere +unknown +1$' rules.out && grep -Eq '^unknown: .*nowhere' rules.out
}
sizes_are_wanted() {
    espalier forecast solve n=300 >rules.out 2>&1
    found=$?
    cat rules.out
    [ $found -eq 2 ] && grep -q 'm' rules.out
}
# What a step takes goes there; what nobody takes is not left out in silence.
nobody_takes_it() {
    espalier forecast linsolve m=500 n=500 nrhs=1 nzz=2500 >rules.out 2>&1
    found=$?
    cat rules.out
    [ $found -eq 2 ] && grep -q "linsolve has no argument 'nzz'" rules.out
}
# What is given: the rule that it would take, and those that compete with it.
foresees() { # foresees COUNT PATTERN OPERAND...
    foreseen_n=$1
    foreseen_pattern=$2
    shift 2
    espalier forecast "$@" >rules.out 2>&1 || { cat rules.out; return 1; }
    cat rules.out
    [ "$(grep -Ec '^[a-z_]+ .* [0-9]+$' rules.out)" -eq "$foreseen_n" ] && grep -Eq "$foreseen_pattern" rules.out
}
matrix 150 300 | awk -F, 'BEGIN { OFS = "," } { for (j = 1; j < NR; j++) $j = 0; print }' >upper.csv
check "of a matrix, the rules that would be weighed are shown" foresees 3 '^dposv +S ' solve A=@definite.csv B=@b.csv
check "of another one, others" foresees 1 '^rule [0-9]+: .*dtrtrs.* when A upper' solve A=@upper.csv B=@b.csv
check "of a sparse one, chains with their steps" foresees 4 '^dilu_gmres +S ' linsolve A=@sparse.mtx B=@ones.csv
kept_ones_too() {
    id=$(espalier data put definite.csv --server S) || return 1
    foresees 3 '^dposv +S ' solve "A=data:$id" B=@b.csv
}
check "of a datum that lives on a server too" kept_ones_too
# Only F makes the first step; it has no dgemm that would show how quick it is, and S would be quicker for the second.
in_one_place() {
    espalier forecast second n=300 >second.out || return 1
    cat second.out
    grep -E '^[FS] ' second.out | head -1 | grep -q '^S ' || return 1
    espalier forecast apart n=300 >rules.out || return 1
    cat rules.out
    grep -Eq '^first +F ' rules.out && grep -Eq '^second +F ' rules.out
}
check "steps of a chain are forecast where the call makes them" in_one_place
check "which is in one place" espalier call apart A=@a.csv -o X=x.csv
check_says "the first one's" 'apart: done by first, second on F'
# The first step would be over first on F, and both of them on S.
by_all_steps() {
    espalier forecast early n=100 >early.out && cat early.out && grep -E '^[FS] ' early.out | head -1 | grep -q '^F ' || return 1
    espalier forecast whole n=100 >rules.out || return 1
    cat rules.out
    grep -Eq '^early +S ' rules.out && grep -Eq '^late +S ' rules.out && grep -Eq '^rule 1 [(]in all [0-9.]+ [mu]?s[)]: take early' rules.out
}
check "the server of a chain is chosen by all its steps" by_all_steps
check "as the call goes" espalier call -v whole A=@a.csv -o X=x.csv
check_says "there" 'whole: done by early, late on S' '^early +S ' '^late +S '
check "it gives what it is to give" cmp a.csv x.csv
check "a small one goes where the first step is over first" espalier call -v whole A='[1,2;3,4]'
check_says "which is not worth asking" 'whole: done by early, late on F'
check "a forecast of an abstract problem shows all rules" rules_are_shown
check "those for sparse matrices too" sparse_ones_too
check "and which steps nobody has" what_is_missing_is_told
check "a size that is missing is reported" sizes_are_wanted
check "and one that nobody takes" nobody_takes_it
finish
