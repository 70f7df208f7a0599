#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Matrices in pieces between servers with certificates: by the plan, from porter to porter, and encrypted.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-crd openssl
TMPDIR=$work
export TMPDIR

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ours.key -out ours.pem \
    -subj "/CN=authority" -days 2
for name in master one two alice; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr -subj "/CN=$name" &&
        openssl x509 -req -in $name.csr -CA ours.pem -CAkey ours.key -CAcreateserial -out $name.pem -days 2
done
# certificates NAME: the lines of a file
certificates() {
    printf 'tls_ca = "%s"\ntls_certificate = "%s"\ntls_key = "%s"\n' "$work/ours.pem" "$work/$1.pem" "$work/$1.key"
}
cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
$(certificates master)
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
mkdir problems
cat >problems/square.esp <<END
problem square "The square of a vector's length"
    in      int     n
    in      double  x[n]
    out     double  s
implementation ours
    fortran s = ddot_(n, x, 1, x, 1) in libblas.so.3
END
# server NAME KEYS
server() {
    cat >"$1.conf" <<END
name = "$1"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
log_file = "$work/$1.log"
log_level = debug
store_memory = "64 MB"
data_servers = { "one", "two" }
problems = { "$work/problems" }
$(certificates "$1")
$2
END
    start "$1" espalier-sed --foreground "$work/$1.conf"
}
if command -v mpirun && [ -x "$top_builddir/sed/mpi/espalier-prd" ]; then
    server one 'ranks = 2'
    wait_until grep -q "ranks are ready" one.log
    porters=2
else
    server one ''
    porters=1
fi
server two ''
cat >client.conf <<END
agents = { "$(cat master.address)" }
$(certificates alice)
END
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
all_there() { espalier tree >tree && grep -qw one tree && grep -qw two tree; }
wait_until all_there

awk 'BEGIN { for (i = 1; i <= 143; i++) { for (j = 1; j <= 129; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + i * j) % 1009; print "" } }' >a.csv
same() { espalier data get "$1" got.csv && cmp got.csv a.csv; }
lies() { espalier data info "$1" | grep -q "over $2 ranks ($3)"; }
A=$(espalier data put a.csv --server one --grid 2x2 --block 4)
goes() { B=$(espalier data cp "$A" two --grid 2x3 --block 5x3) && lies "$B" "2 x 3" "5 x 3" && same "$B"; }
check "a matrix in pieces goes to another server with a certificate, to lie otherwise there" goes
check "from porter to porter, encrypted" grep -q "1 porters fetch pieces of a datum from $porters at .*, encrypted" two.log
back() { C=$(espalier data cp "$B" one --grid 1x4 --block 7) && lies "$C" "1 x 4" "7 x 7" && same "$C"; }
check "and back, to ranks" back
check "over encrypted connections too" grep -q "$porters porters fetch pieces of a datum from 1 at .*, encrypted" one.log
here() { D=$(espalier data cp "$C" one --grid 3x1 --block 2) && lies "$D" "3 x 1" "2 x 2" && same "$D"; }
check "and to lie otherwise where it is" here
finish
