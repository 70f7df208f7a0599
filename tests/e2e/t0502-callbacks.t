#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of a client inside routines of a server, and what can happen to the client meanwhile.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc
steps=$top_builddir/tests/e2e/callback_steps
[ -x "$steps" ] || skip_all "the client library is not built"

mkdir problems
cp "$top_srcdir/examples/callback/calc.esp" problems
cc -shared -fPIC -o problems/libcalc.so "$top_srcdir/examples/callback/calc.c" || skip_all "the compiler fails"
agent_for_clients
server_below_agent S S 'slots = 1' 'orphan_lease = "2 s"' "problems = \"$work/problems\""

there() {
    espalier problems | grep -q '^quad '
}
check "the server has the problems" wait_until there
check "their page shows the function" espalier problems quad
check_says "as it is to be" 'callback +f\(in double x\): double'
check "values are right, and calls counted" "$steps" values
check "asynchronous sessions have functions" "$steps" async
check "so have vectors" "$steps" vectors
check "a function that fails, or calls the library, is reported" "$steps" failures
check "a function may take its time" "$steps" slow
check "but not longer than the deadline" "$steps" deadline
check "a job is refused" "$steps" job
check_fails 2 "a function that is not given" espalier call quad a=0 b=1
check_says "is asked for" "quad: the function f.in double x.: double is missing: give it as an expression of its parameters, f='...'"
check "an expression is a function" espalier call quad a=0 b=3 f='x^2 + sin(0)'
check_says "with the integral" '^integral = (9|8.9999999)'
check "several are a vector" espalier call rk4 from=0 to=1 y='[1,0]' f='[y[2]; -y[1]]'
check_says "with the solution" '^ *0.54030' '^ *-0.84147'
check_fails 1 "what has no value" espalier call quad a=0 b=1 f='1/x'
check_says "fails the call" 'callback f failed in the client: f: 1/x: division by zero with x = 0'
check_fails 1 "a wrong number of results" espalier call rk4 from=0 to=1 y='[1,0]' f='y[1]'
check_says "is reported" 'f: expected 2 results, found 1 expressions'
check_fails 1 "an element beyond the vector" espalier call rk4 from=0 to=1 y='[1]' f='y[2]'
check_says "is reported" 'f: y.2.: it has 1 elements'
for wrong in 'x +:expected a value' 'z:unknown name .z.' 'x[1]:expected an element, from 1, of a vector that goes in' 'sinn(x):did you mean .sin.'; do
    check_fails 2 "the function ${wrong%%:*}" espalier call quad a=0 b=1 f="${wrong%%:*}"
    check_says "is refused before the call" "f.in double x.: double: .*${wrong#*:}"
done
check_fails 2 "the result of a function" espalier call rk4 from=0 to=1 y='[1]' f='slope[1]'
check_says "is no input of it" 'expected an element.*slope.1'
check "a sweep has several" espalier sweep quad a=0 b=2,4 f=x f='{b}'
check_says "with a row for each" '^4  *.b.  *(16|15.99999)' '^2  *x  *(2|1.99999)'
start client "$steps" hang "$work/asked"
check "a client is asked" wait_until test -f asked
stop client KILL
check "and killed: the server's slot is free again" "$steps" values
start patient "$steps" hang "$work/asked2"
check "a client that is long at work" wait_until test -f asked2
sleep 4
gave_up_once() {
    [ "$(grep -c 'is gone' S.log)" -eq 1 ]
}
check "is not given up as the dead one was" gave_up_once
is_running() {
    espalier tree --json | tr -d ' \n' | grep -q '"running":1'
}
check "its call goes on" wait_until is_running
stop patient KILL
check "until it ends" "$steps" values
finish
