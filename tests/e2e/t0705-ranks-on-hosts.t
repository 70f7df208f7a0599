#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server whose ranks are on two other hosts, by a hostfile: network namespaces, reached by a program in place of ssh,
# in which the folder with the server's socket is not there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs mpirun espalier espalier-agent espalier-sed espalier-crd ip unshare
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
[ "$(id -u)" -eq 0 ] || skip_all "network namespaces are root's"
at_exit() {
    stop_all
    for space in hub far1 far2; do
        ip netns pids "esp-$space-$$" 2>/dev/null | xargs -r kill -9
        ip netns del "esp-$space-$$" 2>/dev/null
    done
}
hub=esp-hub-$$
for space in hub far1 far2; do
    ip netns add "esp-$space-$$" 2>/dev/null || skip_all "no network namespaces can be made"
    ip -n "esp-$space-$$" link set lo up
done
ip -n $hub link add name bridge type bridge 2>/dev/null || skip_all "no bridges can be made"
ip -n $hub addr add 10.98.0.1/24 dev bridge
ip -n $hub link set bridge up
for n in 1 2; do
    ip -n $hub link add name "to$n" type veth peer name eth0 netns "esp-far$n-$$"
    ip -n $hub link set "to$n" master bridge up
    ip -n "esp-far$n-$$" addr add "10.98.0.1$n/24" dev eth0
    ip -n "esp-far$n-$$" link set eth0 up
done
mkdir sockets own
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
printf 'far1 slots=2\nfar2 slots=2 # the other one\n' >hosts

in_hub() { ip netns exec $hub "$@"; }
printf 'name = "master"\nlisten = "10.98.0.1:0"\ninsecure = yes\naddress_file = "%s"\n' "$work/master.address" >master.conf
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
cat >sed.conf <<END
name = "ranks"
parent = "$(cat master.address)"
listen = "10.98.0.1:0"
insecure = yes
address_file = "$work/sed.address"
http = "127.0.0.1:0"
log_file = "$work/sed.log"
log_level = debug
slots = 2
ranks = 4
hostfile = "$work/hosts"
grid = 2x2
block = 3
store_memory = "64 MB"
problems = { "$work/own" }
END
check "a hostfile is a key of servers" espalier config check sed.conf
start sed ip netns exec $hub espalier-sed --foreground "$work/sed.conf"
printf 'agents = { "%s" }\n' "$(cat master.address)" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
ready() { [ "$(grep -c "4 ranks are ready" sed.log)" -ge "$1" ]; }
wait_until ready 1
check "ranks come from two hosts" ready 1
served() { in_hub espalier problems | grep -q '^pmul '; }
wait_until served

# Whole numbers, so that results are exact.
matrix() { awk -v m="$1" -v n="$2" -v s="$3" 'BEGIN { for (i = 1; i <= m; i++) { for (j = 1; j <= n; j++)
    printf "%s%d", (j > 1 ? "," : ""), (i * 7 + j * j * 3 + s * i * j) % 11 - 5; print "" } }'; }
matrix 50 40 1 >a.csv
matrix 40 30 2 >b.csv
awk -F, 'NR == FNR { for (j = 1; j <= NF; j++) b[NR, j] = $j; cols = NF; next }
    { for (j = 1; j <= cols; j++) { s = 0; for (k = 1; k <= NF; k++) s += $k * b[k, j]; printf "%s%d", (j > 1 ? "," : ""), s }; print "" }' \
    b.csv a.csv >expected.csv
multiplies() { in_hub espalier call pmul "A=$1" "B=$2" -o C=c.csv && cmp c.csv expected.csv; }
on_grid() { grep "started: pmul" sed.log | tail -n 1 | grep "on 2 x 2 ranks"; }
check "they compute what they are sent" multiplies @a.csv @b.csv
check "all of them together" on_grid
A=$(in_hub espalier data put a.csv --server ranks --grid 2x2 --block 3)
B=$(in_hub espalier data put b.csv --server ranks --grid 4x1 --block 7)
check "data in pieces go to them, however they lie" multiplies "data:$A" "data:$B"
# Bytes of parts that were sent and kept since the last count.
count() { in_hub curl -sS --max-time 20 "http://$(cat sed.address.http)/metrics" |
    sed -n 's/^espalier_server_far_rank_\(.*\)_bytes_total /\1=/p' >counts && cat counts && . ./counts; }
since() { before=$((sent)) && before_kept=$((kept)) && "$@" && count &&
    sent_now=$((sent - before)) && kept_now=$((kept - before_kept)); }
nothing_is_sent() { since multiplies "data:$1" "data:$2" && [ "$sent_now" -eq 0 ]; }
check "what they needed is counted" count
check "data that they have are not sent again" nothing_is_sent "$A" "$B"
D=$(in_hub espalier data cp "$A" ranks --grid 1x4 --block 2)
laid() { nothing_is_sent "$D" "$B" && nothing_is_sent "$D" "$B"; }
check "nor are those that are laid otherwise on the server" laid
squares() { in_hub espalier call pmul "A=data:$1" "B=data:$1" -o C=data:pieces | grep -o 'ranks:[0-9a-f]*'; }
matrix 30 30 3 >e.csv
E=$(in_hub espalier data put e.csv --server ranks --grid 1x4 --block 3)
made() { F=$(squares "$E") && count && since squares "$F" >squared && [ "$sent_now" -eq 0 ] && [ "$kept_now" -gt 0 ]; }
check "nor is a result that they have made" made
keeps() { C=$(in_hub espalier call pmul "A=data:$A" B=@b.csv -o C=data:pieces | grep -o 'ranks:[0-9a-f]*') &&
    in_hub espalier data get "$C" c.csv && cmp c.csv expected.csv; }
check "and results that stay lie in pieces" keeps

ranks_of() { ip netns pids "esp-$1-$$" | while read -r pid; do [ "$(cat "/proc/$pid/comm")" = espalier-prd ] && echo "$pid"; done; }
no_list_shows_it() {
    secret=$(tr '\0' '\n' <"/proc/$(ranks_of far1 | head -n 1)/environ" | sed -n 's/^ESPALIER_RANKS_SECRET=//p')
    [ ${#secret} -eq 64 ] && ! grep -lqs "$secret" /proc/[0-9]*/cmdline
}
check "no list of processes shows the secret of the job" no_list_shows_it

# All that runs on a host stands still: its connections live, so that only questions show it.
calls_meanwhile() {
    multiplies @a.csv "data:$B" >called.out 2>&1 &
    calling=$!
    wait_until grep "rank [23] of 4 (process [0-9]* on far2) has not answered for .* and a call waits for it" sed.log
}
ip netns pids "esp-far2-$$" | xargs -r kill -STOP
check "a host that stands still while a call waits for it is reported" calls_meanwhile
ip netns pids "esp-far2-$$" | xargs -r kill -CONT
check "and the call ends well when it goes on" wait "$calling"
check "with the same ranks" [ "$(grep -c "4 ranks are ready" sed.log)" -eq 1 ]

ip netns pids "esp-far2-$$" | xargs -r kill -9
wait_until ready 2
told() { grep "ended and started again: rank [23] of 4 (process [0-9]* on far2) ended, or its host cannot be reached" sed.log; }
check "a host whose processes are killed is reported" told
check "and calls go on when it is there again" multiplies @a.csv "data:$B"
stop_all
nobody_left() { [ -z "$(ranks_of far1)$(ranks_of far2)" ]; }
wait_until nobody_left
check "no rank is left when the server has stopped" nobody_left
finish
