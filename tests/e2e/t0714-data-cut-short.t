#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Moves of data that are deleted meanwhile, and puts whose client is killed: at any moment, nothing stays behind.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" 'slots = 1' 'store_memory = "64 MiB"' \
        "problems = { \"$top_srcdir/tests/e2e/product.esp\" }"
done
servers() {
    espalier problems | grep -Eq '^product .* 2 '
}
check "two servers are there" wait_until servers

# A vector of 60 MB, so that a server's memory has one.
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': True, 'shape': (7500000,), }"
    head -c 60000000 /dev/zero | tr '\000' '\077'
} >x.npy
put() { # put SERVER: the identity goes into the file id
    espalier data put x.npy -s "$1" -m persistent --timeout '5 s' >id
}

# ---- deleted while it moves ----
delete_meanwhile() { # delete_meanwhile SECONDS
    espalier data mv "$(cat id)" B >mv.out 2>&1 &
    tap_mover=$!
    sleep "$1"
    espalier data rm "$(cat id)" || return 1
    wait "$tap_mover" || grep -q deleted mv.out
}
for delay in 0.02 0.03 0.04 0.05 0.07 0.09; do
    check "there is room for a datum" put A
    check "which is deleted $delay s after its move began" delete_meanwhile "$delay"
    check_fails any "and is gone" espalier data get "$(cat id)" y.npy
done
check "there is room for one at the end" put A
check "and for a copy" espalier data cp "$(cat id)" B --timeout '5 s'
check "it goes" espalier data rm "$(cat id)"

# ---- a put whose client is killed ----
kill_meanwhile() { # kill_meanwhile SECONDS
    espalier data put x.npy -s A -m persistent >killed.out 2>&1 &
    tap_putter=$!
    sleep "$1"
    kill -9 "$tap_putter"
    wait "$tap_putter"
    # One that was whole before its client ended stays, as it is persistent.
    espalier data ls --json | grep -o '"id": *"[^"]*"' | cut -d'"' -f4 >whole
    [ ! -s whole ] || xargs espalier data rm <whole
}
for delay in 0.03 0.05 0.07 0.1; do
    check "a put is killed after $delay s" kill_meanwhile "$delay"
    check "the next one goes on" put A
    check "it is there" espalier data get "$(cat id)" y.npy
    check "as it was put" cmp x.npy y.npy
    check "and goes" espalier data rm "$(cat id)"
done
finish
