#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calibration: models are made, an interrupted run goes on, and wrong command lines give errors.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-crd espalier-calibrate espalier-agent espalier-sed
mkdir state

cat >sed.conf <<END
name = "here"
parent = "127.0.0.1:1"
slots = 1
threads = 1
state_dir = "$work/state"
problems = { "$top_srcdir/problems/blas" }
END

calibrate() {
    espalier calibrate --sed sed.conf "$@"
}

says() { # CODE TEXT COMMAND...
    code=$1
    text=$2
    shift 2
    "$@" >out 2>&1
    found=$?
    cat out
    [ "$found" -eq "$code" ] && grep -qF -- "$text" out
}

a_model_is_made() {
    calibrate --budget 2s --longest 20ms ddot || return 1
    ls state/models
    grep -q '^espalier-cost-model 1$' state/models/ddot-*-1-0.model && grep -q '^end ' state/models/ddot-*-1-0.model &&
        ! ls state/models/*.points 2>/dev/null
}

a_stopped_run_goes_on() {
    espalier calibrate --sed sed.conf --budget 600s --longest 20ms dasum >first 2>&1 &
    runner=$!
    wait_until some_points || return 1
    kill -TERM "$runner"
    wait "$runner"
    [ $? -eq 143 ] || return 1
    cat first
    grep -q 'the next one goes on' first || return 1
    before=$(wc -l <"$(echo state/models/dasum-*.points)")
    printf 'nonsense\n0123' >>"$(echo state/models/dasum-*.points)"
    says 0 "points:$((before + 1)): expected a measurement of this problem, whole, found another line; 2 of its lines are passed over" \
        calibrate --budget 1s --longest 20ms dasum || return 1
    after=$(grep -c '^measured' state/models/dasum-*-1-0.model)
    echo "$before points, then $after"
    [ "$after" -ge "$before" ]
}

some_points() {
    [ "$(cat state/models/dasum-*.points 2>/dev/null | wc -l)" -ge 8 ]
}

# Numbers that can be read, and cannot have been measured: they would outweigh all others in the fit.
absurd_notes_are_told() {
    espalier calibrate --sed sed.conf --budget 600s --longest 20ms dcopy >first 2>&1 &
    runner=$!
    wait_until sh -c '[ "$(cat state/models/dcopy-*.points 2>/dev/null | wc -l)" -ge 8 ]' || return 1
    kill -TERM "$runner"
    wait "$runner"
    journal=$(echo state/models/dcopy-*.points)
    before=$(wc -l <"$journal")
    cp "$journal" whole.points
    awk 'NR == 1 { $2 = "1e-15"; print } NR == 2 { $3 = "nan"; print } NR == 3 { $4 = "inf"; print } NR == 4 { $6 = "-7"; print }
        NR == 5 { $6 = $6 + 0.5; print } NR == 6 { $NF = ""; $(NF - 1) = "1e17"; print $0 "." }' whole.points >>"$journal"
    says 0 "points:$((before + 1)): expected a time, memory and sizes that can be, found a measurement that cannot; 6 of its lines are passed over" \
        calibrate --budget 1s --longest 20ms dcopy || return 1
    ! grep -Eq '^measured.*(1e-15|nan|inf|-7)' state/models/dcopy-*-1-0.model
}

# A size that took twenty times as long as all the others lead to expect is measured once more.
a_disturbed_size_is_measured_again() {
    espalier calibrate --sed sed.conf --budget 600s --longest 20ms dscal >first 2>&1 &
    runner=$!
    wait_until sh -c '[ "$(cat state/models/dscal-*.points 2>/dev/null | wc -l)" -ge 16 ]' || return 1
    kill -TERM "$runner"
    wait "$runner"
    journal=$(echo state/models/dscal-*.points)
    awk 'NR == 5 { $2 = 20 * $2 } { print }' "$journal" >slow.points && cp slow.points "$journal"
    slow=$(awk 'NR == 5 { printf "%.6e", $2 }' slow.points)
    sizes=$(sed -n '5s/^[^ ]* [^ ]* [^ ]* [^ ]* [^ ]* \(.*\) \.$/\1/p' slow.points)
    calibrate --budget 4s --longest 20ms dscal || return 1
    found=$(grep "^measured .* $sizes\$" state/models/dscal-*-1-0.model | awk '{ printf "%.6e", $2 }')
    echo "$sizes: $slow s in the journal, $found s in the model"
    awk -v slow="$slow" -v found="$found" 'BEGIN { exit !(found > 0 && found < slow / 5) }'
}

# What is whole in the journal of a problem.
whole_points() {
    cat state/models/"$1"-*.points 2>/dev/null | grep -c ' \.$'
}

# Killed after a random time, again and again, now and then with a line cut: each line that was whole is there
# afterwards, and in the end in the model.
has_more() {
    [ "$(whole_points dnrm2)" -gt "$had" ]
}
kills_lose_nothing() {
    had=0
    for i in 1 2 3 4 5 6; do
        espalier calibrate --sed sed.conf --budget 600s --longest 20ms dnrm2 >killed 2>&1 &
        runner=$!
        [ $((i % 3)) -ne 0 ] || wait_until has_more # a busy machine may not come to a size in that time
        sleep "0.$(shuf -i 20-60 -n 1)"
        kill -KILL "$runner"
        wait "$runner" 2>/dev/null
        now=$(whole_points dnrm2)
        echo "killed: $now sizes"
        [ "$now" -ge "$had" ] || return 1
        had=$now
        [ $((i % 2)) -eq 0 ] && [ -f "$(echo state/models/dnrm2-*.points)" ] &&
            printf '0123456789abcdef 0.1' >>"$(echo state/models/dnrm2-*.points)"
    done
    [ "$had" -ge 1 ] || return 1
    cp "$(echo state/models/dnrm2-*.points)" last.points
    calibrate --budget 1s --longest 20ms dnrm2 || return 1
    # Sizes are the columns behind the five of the measurement; those of the journal are all in the model.
    grep ' \.$' last.points | while read -r digest seconds spread bytes n sizes; do
        : "$digest $seconds $spread $bytes $n"
        grep -q " ${sizes% .}\$" state/models/dnrm2-*-1-0.model || { echo "lost: $sizes"; exit 1; }
    done && ! ls state/models/*.points 2>/dev/null
}

# Killed while it measures, fits or writes: the model of before serves until a new one is whole.
kills_leave_a_model() {
    # A busy machine measures too few sizes in that time now and then.
    wait_until calibrate --budget 100ms --longest 1ms dswap || return 1
    model=$(echo state/models/dswap-*-1-0.model)
    unfinished=0
    for i in $(seq 16); do
        espalier calibrate --sed sed.conf --again --budget 60ms --longest 1ms dswap >killed 2>&1 &
        runner=$!
        sleep "0.$(shuf -i 20-240 -n 1 | awk "{ printf \"%03d\", \$1 }")"
        kill -KILL "$runner" 2>/dev/null && unfinished=$((unfinished + 1))
        wait "$runner" 2>/dev/null
        espalier forecast --plot model.svg "$model" || { echo "after kill $i"; return 1; }
    done
    echo "$unfinished were killed at work"
    [ "$unfinished" -ge 3 ] && wait_until calibrate --again --budget 100ms --longest 1ms dswap && espalier forecast --plot model.svg "$model"
}

a_leftover_journal_goes() {
    model=$(echo state/models/ddot-*-1-0.model)
    for line in stale 'replaces 01234567 .'; do
        echo "$line" >"$model.points"
        touch -d "${1:-1 hour ago}" "$model.points"
        says 0 'is there already' calibrate ddot && ! ls state/models/*.points 2>/dev/null || return 1
    done
}

# A clock that has jumped back since the model was written changes nothing.
a_run_anew_goes_on() {
    espalier calibrate --sed sed.conf --again --budget 600s --longest 20ms dasum >first 2>&1 &
    runner=$!
    wait_until some_points || return 1
    kill -TERM "$runner"
    wait "$runner"
    journal=$(echo state/models/dasum-*.points)
    whole=$(grep -c ' \.$' "$journal")
    touch -d '1 day ago' "$journal"
    calibrate --budget 1s --longest 20ms dasum >second 2>&1
    cat second
    ! grep -E 'is there already|expected a measurement' second || return 1
    after=$(grep -c '^measured' state/models/dasum-*-1-0.model)
    new=$(sed -n 's/^dasum .* of \([0-9]*\) new calls.*/\1/p' second)
    echo "$whole lines, then $after sizes, $new of them new"
    [ "$after" -ge $((new + whole - 1)) ] # the first line names the model
}

# The file is damaged, or of a later version: the fault is reported, and nothing is lost.
an_unreadable_model_is_told() { # EDIT TEXT
    model=$(echo state/models/ddot-*-1-0.model)
    sed -i "$1" "$model"
    cp "$model" unreadable
    says 0 "$2" calibrate --budget 1s --longest 5ms ddot || return 1
    grep -F 'it is measured anew, and what is there is kept as' out && cmp unreadable "$model.damaged" &&
        espalier forecast --plot model.svg "$model"
}

one_at_a_time() {
    (flock 9 && says 1 'another calibration is at work there' calibrate ddot &&
        says 2 "no problem 'dodt': did you mean 'ddot'?" calibrate dodt) 9<state/models
}

# A server that calibrates by itself, and is asked for work meanwhile.
idle_server() {
    agent_for_clients
    server_below_agent idle idle "state_dir = \"$work/idle\"" 'slots = 1' 'sensors = no' 'calibrate = yes' \
        'calibrate_after = "1 s"' 'calibrate_longest = "20 ms"' "problems = { \"$top_srcdir/problems/blas\" }"
    wait_until measures
}
measures() {
    [ "$(cat idle/models/*.points 2>/dev/null | wc -l)" -ge 3 ] && calibrator >/dev/null
}
calibrator() { # prints its pid
    for child in $(descendants "$pid_idle"); do
        [ "$(cat "/proc/$child/comm" 2>/dev/null)" = espalier-calibr ] && alive "$child" && echo "$child" && return 0
    done
    return 1
}
work_stops_it() {
    before=$(cat idle/models/*.points | wc -l)
    espalier call daxpy n=3 alpha=2 'x=[1,2,3]' 'y=[1,1,1]' || return 1
    calibrator && return 1
    wait_until grep 'calibration stops, there is work' idle.log || return 1
    [ "$(cat idle/models/*.points | wc -l)" -ge "$before" ]
}

check "a model is made" a_model_is_made
# The longest vectors depend on the time: 20 ms are millions of elements.
long_vectors_are_measured() {
    grep '^measured' state/models/ddot-*-1-0.model | awk '{ if ($6 > most) most = $6 } END { print most; exit !(most > 200000) }'
}
check "with long vectors, too" long_vectors_are_measured
# Matrices are made for it, with so many elements in a column; what it takes is a function of both.
a_sparse_problem_is_measured() {
    sed "s|/problems/blas|/problems/sparse|" sed.conf >sparse.conf
    espalier calibrate --sed sparse.conf --budget 1s --longest 20ms dumfpack || return 1
    grep -E '^(variable|measured)' state/models/dumfpack-*-1-0.model | head -8
    grep -Eq '^variable.* nz' state/models/dumfpack-*-1-0.model
}
a_problem_with_a_state_is_measured() {
    espalier calibrate --sed sparse.conf --budget 1s --longest 20ms dic_cg || return 1
    grep -c '^measured' state/models/dic_cg-*-1-0.model
}
check "a problem with compressed matrices is measured" a_sparse_problem_is_measured
check "one that works on a state too, which another problem makes" a_problem_with_a_state_is_measured
check "one whose state cannot be made is reported" says 1 'dumfpack_solve is not measured: it has not all sizes of dumfpack_open' \
    espalier calibrate --sed sparse.conf dumfpack_solve
complex_scalars_are_made() {
    calibrate --budget 1s --longest 5ms zgemm caxpy || return 1
    grep -q '^measured' state/models/zgemm-*-1-0.model && grep -q '^measured' state/models/caxpy-*-1-0.model
}
check "problems with complex scalars are measured" complex_scalars_are_made
# With inputs that they do not refuse, and with one right-hand side among others.
positive_definite_tridiagonal_matrices_are_made() {
    sed "s|/problems/blas|/problems/lapack/linear-systems|" sed.conf >systems.conf
    espalier calibrate --sed systems.conf --budget 1s --longest 5ms dptsv zpttrf || return 1
    grep '^variable' state/models/dptsv-*-1-0.model
    grep -q '^variable [0-9]* nrhs 1 ' state/models/dptsv-*-1-0.model && grep -q '^measured' state/models/zpttrf-*-1-0.model
}
check "positive definite tridiagonal systems are measured" positive_definite_tridiagonal_matrices_are_made
check "a second run finds it there" says 0 'is there already' calibrate ddot
check "a run that was stopped goes on" a_stopped_run_goes_on
check "measurements that cannot be are reported, and left out" absurd_notes_are_told
check "a size that was disturbed is measured again" a_disturbed_size_is_measured_again
check "a calibration killed at random moments loses nothing" kills_lose_nothing
check "and leaves a whole model, whatever it was killed at" kills_leave_a_model
check "a journal older than its model goes" a_leftover_journal_goes
check "whatever the clock showed when it was written" a_leftover_journal_goes '1 hour'
check "one that was begun beside its model goes on" a_run_anew_goes_on
check "a model of a later version is reported and kept" an_unreadable_model_is_told '1s/ 1$/ 99/' ':1: expected a cost model of version 1 to '
check "so is one that is damaged" an_unreadable_model_is_told '/^measured/s/1/2/' '-1-0.model'
check "two calibrations of one folder are distinguished" one_at_a_time
check "a server that has nothing to do calibrates" idle_server
check "work stops that at once, and nothing is lost" work_stops_it
check "it goes on when the server is idle again" wait_until measures
# What has taken the most time here is measured first: zdotc was called more often, zswap took longer.
most_used_first() {
    { for _ in 1 2 3; do printf '1\tzdotc\t0.1\t0.1\n'; done; printf '1\tzswap\t0.2\t2.5\nnonsense\n1\tgone\t1\t9\n'; } >state/accuracy.tsv
    calibrate --models ordered --all --budget 300ms --longest 2ms | head -2 >first
    cat first
    sed -n 1p first | grep -q '^zswap ' && sed -n 2p first | grep -q '^zdotc '
}
check "of all problems those first that have taken the most time" most_used_first
# Programs have models as routines have.
mkdir programs
printf 'problem sorted "Numbers in ascending order"\n    in int n\n    inout double x[n]\n    work 20 * n\nimplementation sort\n    command sort "-g" "{x}"\n    stdout x\n' \
    >programs/sorted.esp
printf 'problem booked "A number in a ledger"\n    in int n\n    in double x[n]\n    out int k\n    work n\n    idempotent no\nimplementation sh\n    command sh "-c" "echo line >>%s; echo 1"\n    stdin x\n    stdout k\n' \
    "$work/ledger" >programs/booked.esp
sed "s|$top_srcdir/problems/blas|$work/programs|" sed.conf >programs.conf
a_command_is_measured() {
    espalier calibrate --sed programs.conf --budget 3s --longest 50ms sorted || return 1
    awk '$1 == "measured" { n++; if (!($2 > 1e-4 && $4 > 5e5)) bad = 1 } END { print n " sizes"; exit !(n >= 6 && !bad) }' state/models/sorted-sort-1-0.model
}
check "a command is measured" a_command_is_measured
# By the same worker as a routine, whose time must not count for all of its calls.
sed "s|{ \"$work/programs\"|{ \"$work/programs\", \"$top_srcdir/problems/blas\"|" programs.conf >mixed.conf
own_times_count() {
    wait_until espalier calibrate --sed mixed.conf --models mixed --budget 1s --longest 50ms daxpy sorted || return 1
    awk '$1 == "measured" { n++; if ($2 > most) most = $2; if (!least || $2 < least) least = $2 }
        END { print n " sizes, " least " to " most " s"; exit !(n >= 6 && most > 1.2 * least) }' mixed/sorted-sort-1-0.model
}
check "with its own times, behind a routine" own_times_count
check "but none that is not to be run twice" says 1 'booked is not measured: it is a command that is not to be run twice' \
    espalier calibrate --sed programs.conf booked
check "which was not run" sh -c '! ls ledger'

# A routine that crashes for some sizes has a model of the others; one that crashes for all has none.
routines=$top_builddir/tests/unit/.libs/libroutines.so
mkdir rough
{
    printf 'problem rough "Crashes for some sizes"\n    in int n\n    inout double x[n]\n    work 40 * n\n'
    printf 'implementation c\n    c rough(n, x) in %s\n' "$routines"
    printf 'problem broken "Crashes for all"\n    in int n\n    work 40 * n\nimplementation c\n    c null_write(n) in %s\n' "$routines"
} >rough/rough.esp
printf 'problem named "takes a text"\n    in string name\n    out int n\nimplementation c\n    c n = length_of(name) in %s\n' \
    "$routines" >rough/named.esp
sed "s|$top_srcdir/problems/blas|$work/rough|" sed.conf >rough.conf
crashes_are_left_out() {
    says 0 'which are left out, the first with n=' espalier calibrate --sed rough.conf --budget 4s --longest 2ms rough || return 1
    grep -Eq 'rough: calls of [0-9]+ sizes fail.*: .*crashed' out || return 1
    awk '$1 == "measured" { n++; if ($6 > 10000) bad = 1 } END { print n " sizes"; exit !(n >= 6 && !bad) }' state/models/rough-*-1-0.model
}
check "sizes for which a routine crashes are reported, and a model is made of the others" crashes_are_left_out
check "one that crashes for all sizes is reported" says 1 'broken is not measured: calls of 6 of 6 sizes fail, the first with n=' \
    espalier calibrate --sed rough.conf --budget 4s --longest 2ms broken
all_are_told() {
    says 1 'have models' espalier calibrate --sed rough.conf --all --budget 1s --longest 2ms || return 1
    grep -Eq '^rough +is there already' out && grep -Eq '^named +skipped: it takes or gives texts or files$' out &&
        grep -qx '1 of 3 problems have models; skipped: 1, failed: 1, each for the reason above' out
}
check "of all problems, what has no model is reported and counted" all_are_told
check "a problem that the server has not is reported" says 2 "no problem 'dnothing'" calibrate dnothing
check "a misspelt one, with the one that was meant" says 2 "no problem 'dodt': did you mean 'ddot'?" calibrate dodt
check "a folder for models that takes none is reported" says 1 'no file can be made in the folder for the models, /proc' calibrate --models /proc ddot
check "nothing to measure is reported" says 2 'expected names of problems, or --all' calibrate
check "a wrong time is reported" says 2 "budget: expected a time up to 24 h, such as 30s, found 'soon'" calibrate --budget soon ddot
check "or one of no length" says 2 "longest: expected a time up to 24 h, such as 1s, found '0s'" calibrate --longest 0s ddot
check "a file that is missing is reported" says 4 'nowhere.conf' espalier calibrate --sed nowhere.conf ddot
finish
