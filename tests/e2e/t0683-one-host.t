#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Between processes of one user on one host nothing is copied that need not be; between others it is.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed curl
steps=$top_builddir/tests/e2e/lend_steps
[ -x "$steps" ] || skip_all "built without the ORB"

cat >slow.esp <<EOF
problem fill_slowly "An array of ones"
    in  int    n
    out double x[n]
implementation here
    c fill_slowly(n, x) in $top_builddir/tests/e2e/.libs/libclientroutines.so
EOF
agent_for_clients
server_below_agent A A 'http = "127.0.0.1:0"' 'slots = 1' \
    "problems = { \"$top_srcdir/tests/e2e/product.esp\", \"$work/slow.esp\", \"$top_srcdir/problems/lapack/linear-systems\" }"
has() { # has PROBLEM
    espalier problems | grep -q "^$1 "
}
check "a server is there" wait_until has product
lent_so_far() {
    curl -sS --max-time 20 "http://$(cat A.address.http)/metrics" |
        awk '$1 == "espalier_server_lent_bytes_total" { printf "%d", $2 }'
}
lent() { # lent BYTES: so many have been since the start
    [ "$(lent_so_far)" -eq "$1" ]
}
check "memory of esp_alloc() is memory" "$steps" memory
check "its arrays are arguments and results" "$steps" product
# Three calls with all three, one whose result is not at the beginning, one with all.
check "which were used where they are" lent $(((3 * 3 + 2 + 3) * 256 * 256 * 8))
check "and overwritten arguments too" "$steps" solve
check "who cancels has the memory back" "$steps" cancel

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    chmod 755 "$work"
    before=$(lent_so_far)
    check "another user's calls are computed" \
        setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$steps" product
    check "from copies" lent "$before"
else
    echo "# only root can become another user: copies for others are not tried"
fi
finish
