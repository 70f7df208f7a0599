#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two cities, 100 Mbit/s and 10 ms apart: programs in one, an agent and two servers in the other. The experiment of figure
# H.5 (a product of complex matrices as four real products and two additions) and a chain LU, solve, solve, residual:
# what crosses the link with and without a sequence; and a chain of which a server is killed in the middle.
# CITY_N is the order of the matrices; the printed seconds are of this machine as it is.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed ip
link=$top_builddir/tests/e2e/slow_link
steps=$top_builddir/tests/e2e/city_steps
[ -x "$steps" ] || skip_all "built without the ORB"
[ "$(id -u)" -eq 0 ] && [ -c /dev/net/tun ] || skip_all "network namespaces and /dev/net/tun are root's"
here=esp-here-$$
there=esp-there-$$
at_exit() {
    stop_all
    ip netns del $here 2>/dev/null
    ip netns del $there 2>/dev/null
}
ip netns add $here 2>/dev/null && ip netns add $there 2>/dev/null || skip_all "no network namespaces can be made"
n=${CITY_N:-300}

start link "$link" $here $there 100 10 "$work/passed"
wait_until test -s passed
for city in "$here 1" "$there 2"; do
    # shellcheck disable=SC2086
    set -- $city
    ip netns exec "$1" ip link set lo up
    ip netns exec "$1" ip addr add 10.99.0.$2/24 dev slow0
    ip netns exec "$1" ip link set slow0 up
done

printf 'name = "MA"\nlisten = "10.99.0.2:0"\ninsecure = true\naddress_file = "%s/agent.address"\n' "$work" >agent.conf
start agent ip netns exec $there espalier-agent --foreground agent.conf
agent=$(address_of agent.address)
printf 'agents = { "%s" }\n' "$agent" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
for name in A B; do
    printf 'name = "%s"\nparent = "%s"\nlisten = "10.99.0.2:0"\ninsecure = true\naddress_file = "%s/%s.address"\n' \
        $name "$agent" "$work" $name >$name.conf
    printf 'state_dir = "%s/state-%s"\nslots = 1\nstore_memory = "256 MiB"\n' "$work" $name >>$name.conf
    printf 'problems = { "%s/tests/e2e/product.esp", "%s/problems/lapack/linear-systems", "%s/problems/elementwise" }\n' \
        "$top_srcdir" "$top_srcdir" "$top_srcdir" >>$name.conf
    start $name ip netns exec $there espalier-sed --foreground $name.conf
    address_of $name.address >/dev/null
done
servers() {
    ip netns exec $here espalier problems | grep -Eq "^product .* 2 "
}
check "two servers are in the other city" wait_until servers

crossed() { # bytes that have crossed the link, both ways together
    sleep 0.2
    awk '{ print $1 + $2 }' passed
}
measured() { # measured FILE STEPS...: runs them here; FILE gets the seconds and the bytes
    measured_file=$1
    shift
    before=$(crossed)
    ip netns exec $here "$steps" "$@" >"$measured_file" && echo $(($(crossed) - before)) >>"$measured_file"
}
# less PART FILE1 FILE2: fewer bytes than PART hundredths in the first of them
less() {
    echo "# $2: seconds, bytes: $(tr '\n' ' ' <"$2")"
    echo "# $3: seconds, bytes: $(tr '\n' ' ' <"$3")"
    [ $((100 * $(tail -n 1 "$2"))) -lt $(($1 * $(tail -n 1 "$3"))) ]
}
# Eighteen matrices cross the link call by call, and six when each crosses once.
check "a complex product call by call" measured complex.plain complex "$n"
check "and as a sequence" measured complex.sequence complex "$n" sequence
check "sends a third" less 40 complex.sequence complex.plain
cat "$log"
# LU there and back, twice LU and the right-hand side there and the solution back, three and three: fourteen; with a
# sequence a, the copy that is factored, two right-hand sides there, two results back.
check "a chain call by call" measured chain.plain chain "$n"
check "and as a sequence" measured chain.sequence chain "$n" sequence
check "sends less than half" less 50 chain.sequence chain.plain
cat "$log"

start killed ip netns exec $here "$steps" killed "$n"
check "factors are made, and copied within the other city" wait_until test -e factored
stop A KILL
touch killed
chain_ends() {
    # shellcheck disable=SC2154
    wait "$pid_killed"
}
check "when their server is killed the chain goes on with the copy" chain_ends
finish
