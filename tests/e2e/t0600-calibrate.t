#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calibration: models are made, an interrupted run goes on, and wrong command lines are told.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-crd espalier-calibrate
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
    calibrate --budget 4s --longest 20ms ddot || return 1
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
    cat first
    grep -q 'the next one goes on' first || return 1
    before=$(wc -l <"$(echo state/models/dasum-*.points)")
    printf 'nonsense\n0123' >>"$(echo state/models/dasum-*.points)"
    calibrate --budget 1s --longest 20ms dasum || return 1
    after=$(grep -c '^measured' state/models/dasum-*-1-0.model)
    echo "$before points, then $after"
    [ "$after" -ge "$before" ]
}

some_points() {
    [ "$(cat state/models/dasum-*.points 2>/dev/null | wc -l)" -ge 8 ]
}

check "a model is made" a_model_is_made
check "a second run finds it there" says 0 'is there already' calibrate ddot
check "a run that was stopped goes on" a_stopped_run_goes_on
check "a problem that the server has not is told" says 2 "no problem 'dnothing'" calibrate dnothing
check "nothing to measure is told" says 2 'expected names of problems, or --all' calibrate
check "a wrong time is told" says 2 "expected a time up to 24 h, such as 30s, found 'soon'" calibrate --budget soon ddot
check "a file that is missing is told" says 4 'nowhere.conf' espalier calibrate --sed nowhere.conf ddot
finish
