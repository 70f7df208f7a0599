#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Servers below two master agents have different signatures of one name: 'problems' and 'forecast' show both, and say which
# servers have which. Errors name master agents.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pid_of() {
    sed -n "s/^$1 \([0-9]*\) .* $2\$/\1/p" run/espalier/two/processes
}
at_exit() {
    kill -CONT "$(pid_of master MB)" 2>>down.out
    espalier down two --force >>down.out 2>&1
}
mkdir one other
cat >one/pair.esp <<'EOF'
problem pair "One number from one"
    in int j
    out int k
implementation sh
    command sh "-c" "echo 1"
    stdout k
EOF
cat >other/pair.esp <<'EOF'
problem pair "One number from two"
    in int j, m
    out int k
implementation sh
    command sh "-c" "echo 2"
    stdout k
EOF
printf '%s\n' 'redirector { }' 'master "MA" { }' 'master "MB" { }' \
    "server \"S\" { parent = \"MA\" slots = 1 problems = { \"$work/one\" } }" \
    "server \"T\" { parent = \"MB\" slots = 1 problems = { \"$work/other\" } }" >two.conf
check "two master agents, with a server each" espalier up two.conf
ESPALIER_CONFIG=$work/run/espalier/two/client.conf
export ESPALIER_CONFIG
both_listed() {
    espalier problems >list && cat list && [ "$(grep -c '^pair .* 1 ' list)" -eq 2 ]
}
check "the list has both" wait_until both_listed
says_which() {
    espalier problems pair >page && cat page &&
        grep -Eq '^ *S +int j, int \*k$' page && grep -Eq '^ *T +int j, int m, int \*k$' page
}
check "the page says which server has which" wait_until says_which
known() { # known WORD...: of one of the signatures, the server of the other one is excluded
    espalier forecast pair "$@" >foreseen
    cat foreseen
    grep -Eq "^[ST]  *excluded: it has another signature of pair" foreseen && grep -Eq '^[ST] +[0-9]' foreseen
}
forecast() { known j=1 || known j=1 m=1; }
check "a forecast has both servers" wait_until forecast
kill -STOP "$(pid_of master MB)"
check_fails any "with one master agent stopped, the list is not whole" sh -c 'espalier problems 2>&1; exit 1'
check_says "which names the master agent, and its address once" '^espalier problems: not the whole list: master agent "MB": no Espalier daemon answers at [^ ]*:[0-9]*: '
finish
