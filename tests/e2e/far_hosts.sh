# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A server whose ranks are on two other hosts, and one without ranks on a third, with an agent and clients beside the first
# daemon: network namespaces, in which the folder with that server's socket is not there; a program in place of ssh reaches them.
# To be read behind harness.sh. Before, a test may have said `secured=yes` for certificates.
needs mpirun espalier espalier-agent espalier-sed espalier-crd ip unshare
[ "${secured:-no}" = no ] || needs openssl
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
[ "$(id -u)" -eq 0 ] || skip_all "network namespaces are root's"
at_exit() {
    stop_all
    for space in hub far1 far2 other; do
        ip netns pids "esp-$space-$$" 2>/dev/null | xargs -r kill -9
        ip netns del "esp-$space-$$" 2>/dev/null
    done
}
hub=esp-hub-$$
for space in hub far1 far2 other; do
    ip netns add "esp-$space-$$" 2>/dev/null || skip_all "no network namespaces can be made"
    ip -n "esp-$space-$$" link set lo up
done
ip -n $hub link add name bridge type bridge 2>/dev/null || skip_all "no bridges can be made"
ip -n $hub addr add 10.98.0.1/24 dev bridge
ip -n $hub link set bridge up
n=0
for space in far1 far2 other; do
    n=$((n + 1))
    ip -n $hub link add name "to$n" type veth peer name eth0 netns "esp-$space-$$"
    ip -n $hub link set "to$n" master bridge up
    ip -n "esp-$space-$$" addr add "10.98.0.1$n/24" dev eth0
    ip -n "esp-$space-$$" link set eth0 up
done
mkdir sockets own alone
cat >rsh <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec "esp-\$host-$$" unshare -m -u sh -c \
    'hostname "\$0" && mount -t tmpfs none "$work/sockets" && exec sh -c "\$1"' "\$host" "\$*"
END
chmod 755 rsh
OMPI_MCA_plm_rsh_agent=$work/rsh
TMPDIR=$work/sockets
export OMPI_MCA_plm_rsh_agent TMPDIR
printf 'far1 slots=2\nfar2 slots=2\n' >hosts

# secrecy NAME: the lines of a file
secrecy() {
    if [ "${secured:-no}" = no ]; then
        echo 'insecure = yes'
        return
    fi
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" >&2 &&
        openssl x509 -req -in "$1.csr" -CA ours.pem -CAkey ours.key -CAcreateserial -out "$1.pem" -days 2 >&2
    printf 'tls_ca = "%s"\ntls_certificate = "%s"\ntls_key = "%s"\n' "$work/ours.pem" "$work/$1.pem" "$work/$1.key"
}
if [ "${secured:-no}" = yes ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ours.key -out ours.pem -subj "/CN=authority" -days 2
fi
cat >master.conf <<END
name = "master"
listen = "10.98.0.1:0"
probe = "none"
address_file = "$work/master.address"
$(secrecy master)
END
start master ip netns exec $hub espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
cat >own/pmul.esp <<END
problem pmul "C := A B"
    in      int     m, n, k
    in      double  A[m, k], B[k, n]
    out     double  C[m, n]
implementation ours
    parallel fortran pdgemm_('N', 'N', m, n, k, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0,
        C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2
END
cat >alone/smul.esp <<END
problem smul "C := A B"
    in      int     m, n, k
    in      double  A[m, k], B[k, n]
    out     double  C[m, n]
implementation ours
    fortran dgemm_('N', 'N', m, n, k, double 1, A, m, B, k, double 0, C, m) in libblas.so.3
END
# server NAME SPACE ADDRESS FOLDER KEYS; links are not probed, which would be counted, too
server() {
    cat >"$1.conf" <<END
name = "$1"
parent = "$(cat master.address)"
listen = "$3:0"
$(secrecy "$1")
probe = "none"
address_file = "$work/$1.address"
log_file = "$work/$1.log"
log_level = debug
store_memory = "64 MB"
$([ "${secured:-no}" = no ] || echo 'data_servers = { "ranks", "plain" }')
problems = { "$work/$4" }
$5
END
    start "$1" ip netns exec "esp-$2-$$" espalier-sed --foreground "$work/$1.conf"
}
server ranks hub 10.98.0.1 own "slots = 2
ranks = 4
hostfile = \"$work/hosts\"
grid = 2x2
block = 16"
server plain other 10.98.0.13 alone ''
{
    printf 'agents = { "%s" }\n' "$(cat master.address)"
    [ "${secured:-no}" = no ] || secrecy alice
} >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
in_hub() { ip netns exec $hub "$@"; }
wait_until grep -q "4 ranks are ready" ranks.log
served() { in_hub espalier problems | grep -q '^pmul ' && [ "$(in_hub espalier tree | grep -c 'ranks\|plain')" -ge 2 ]; }
wait_until served

# 320 x 320 doubles are 819200 bytes, on each of 2 x 2 ranks 204800.
awk 'BEGIN { for (i = 1; i <= 320; i++) { for (j = 1; j <= 320; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + i * j) % 1009; print "" } }' >a.csv
same() { in_hub espalier data get "$1" got.csv && cmp got.csv "${2:-a.csv}"; }
sent_by() { ip netns exec "esp-$1-$$" cat "/sys/class/net/$2/statistics/tx_bytes"; }
# What the hub only passes on between others does not count there.
count() { hub_bytes=$(sent_by hub bridge) && far1_bytes=$(sent_by far1 eth0) && far2_bytes=$(sent_by far2 eth0); }
# counted WHAT...: what it says, and what each host has sent meanwhile
counted() {
    count && from_hub=$hub_bytes from_far1=$far1_bytes from_far2=$far2_bytes &&
        said=$(in_hub espalier "$@") && count &&
        from_hub=$((hub_bytes - from_hub)) from_far1=$((far1_bytes - from_far1)) from_far2=$((far2_bytes - from_far2)) &&
        echo "sent by the daemon's host: $from_hub, by the two others: $from_far1 and $from_far2"
}
# copied ID SERVER ...
copied() { counted data cp "$@" && copy=$said && same "$copy"; }
# comes_to_ranks N ID: the matrix is copied to the server with ranks, of which N have fetched their pieces. They have 3 s for that when
# all else has come: on a machine with much to do they may need another copy of the same value.
comes_to_ranks() {
    for try in 1 2 3; do
        echo "copy $try"
        copied "$2" ranks --grid 2x2 --block 16 || return 1
        grep "ranks on other hosts have fetched" ranks.log | tail -n 1 | grep -q "$1 ranks" && return 0
    done
    return 1
}
