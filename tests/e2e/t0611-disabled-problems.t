#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Problems are disabled and enabled: names that nobody has are refused, what cannot be done changes nothing, and a restart
# right behind it does not wait for what is not solved any more.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed timeout

mkdir one two
problem() { # problem NAME
    printf 'problem %s "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "echo 1"\n    stdout j\n\n' "$1"
}
{
    problem alpha
    problem beta
    problem gamma
} >one/one.esp
{
    problem alpha
    problem delta
} >two/two.esp
agent_for_clients "state_dir = \"$work/MA\""
server_below_agent first S1 "problems = { \"$work/one\" }" "state_dir = \"$work/S1\""
server_below_agent second S2 "problems = { \"$work/two\" }" # and no state_dir
all_there() {
    for name in alpha beta gamma delta; do
        espalier call $name || return 1
    done
}
check "all are solved" wait_until all_there
solves() { # solves SERVER PROBLEM
    espalier call --server "$1" "$2"
}
not_solved() {
    ! solves "$@"
}

check_fails 2 "a name that nobody has is refused" espalier admin disable gama
check_says "with the nearest one" "no server has a problem named 'gama'; did you mean 'gamma'\?.* nothing is changed"
check_fails 2 "so is it among others" espalier admin disable beta gama
check "which stay as they were" solves S1 beta
check_fails 2 "and one that the named server has not" espalier admin disable beta --on S2
check_says "with that server" "no server below 'S2' has a problem named 'beta'"
check_fails 2 "nor is one enabled that nobody has" espalier admin enable epsilon

check "one is disabled everywhere" espalier admin disable alpha
check_says "which a server keeps or not" '^S1: does not solve them any more$' '^S2: does not solve them any more, until it is started again'
check "when that is said, it is not solved" not_solved S1 alpha
check "by neither" not_solved S2 alpha
quickly() { # as nobody is waited for
    timeout 5 "$@"
}
check_fails 3 "who calls it" quickly espalier call alpha
check_says "gets an error with the command that enables it" 'alpha is disabled on server "S[12]", "S[12]", and no other' \
    "espalier admin enable alpha" 'espalier tree'
check "the error does not suggest another name" sh -c "! grep 'did you mean' '$log'"
check_fails 3 "espalier problems reports it, too" quickly espalier problems alpha
check_fails 2 "a misspelt name gives an error" espalier call alphaa
check "the list" espalier problems
check_says "has it with those words" '^alpha +0 +alpha is disabled on server' '^beta +1 +Say it'
check "the tree" espalier tree
check_says "has how many there are" ' S1 .* 0 \(1 disabled\)' ' S2 .* \(1 disabled\)'
check "as JSON" espalier tree --json
check_says "too" '"disabled": 1'
check "it may be disabled twice" espalier admin disable alpha
check "and enabled" espalier admin enable alpha
check "by both" solves S1 alpha
check "then it is solved" solves S2 alpha
check "it is disabled on one of them" espalier admin disable alpha --on S1
check "by the other one it is solved" solves S2 alpha
check_fails any "a call to the first one" espalier call --server S1 alpha
check_says "shows that it was disabled" 'alpha was disabled on server S1'
check "it is enabled there" espalier admin enable alpha --on S1
check "and solved" solves S1 alpha

# A description that cannot be read: a server could not start again with it.
cp one/one.esp good
echo 'problem broken "no end' >>one/one.esp
check_fails any "with a description that is wrong nothing is disabled" espalier admin disable beta
check_says "with file and line" '"S1" stays as it was: .*one.esp:[0-9]+'
cp good one/one.esp
check "it is solved" solves S1 beta
check_fails any "nor is everything that a server has" espalier admin disable alpha delta --on S2
check_says "with the reason" '"S2" stays as it was: .*all are disabled'
check "all stays" solves S2 delta
stop first
start_server first
check "a restart shows that nothing was kept of it" wait_until solves S1 beta

# The agents may not have heard of it when the restart begins.
check "one is disabled" espalier admin disable gamma
check "and the servers are started again right then" timeout 50 espalier admin restart S1 S2
check "it is disabled still" not_solved S1 gamma
sed -i '/^problem beta/,/^$/d' one/one.esp
check "one is left out of a file" espalier admin reload S1
check "and the servers are started again right then" timeout 50 espalier admin restart S1 S2
check "it is not solved any more" not_solved S1 beta
check "what was disabled without a state_dir ended with the process" solves S2 delta
finish
