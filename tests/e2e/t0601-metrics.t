#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Health and metrics of real daemons, as Prometheus' own tool reads them.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed curl
command -v promtool >/dev/null 2>&1 || skip_all "promtool is not there (Debian package: prometheus)"

node() { # node NAME KIND LINES...
    name=$1 kind=$2
    shift 2
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\n' "$name"
        printf 'address_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" "espalier-$kind" --foreground "$name.conf"
    eval "$name=\$(address_of $name.address)"
}
page() { # page NAME PAGE
    curl -sS --max-time 20 "http://$(cat "$1.address.http")/$2"
}
healthy() {
    curl -fsS --max-time 20 "http://$(cat "$1.address.http")/health"
}
node redirector redirector
check_fails 22 "a redirector without master agents is not healthy" healthy redirector
# shellcheck disable=SC2154
node MA agent "redirector = \"$redirector\""
# shellcheck disable=SC2154
node LA agent "parent = \"$MA\""
# shellcheck disable=SC2154
node SeD sed "parent = \"$LA\"" 'slots = 1' "problems = { \"$top_srcdir/problems/lapack\", \"$top_srcdir/problems/blas\" }"
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

for name in redirector MA LA SeD; do
    check "$name is healthy once the tree stands" wait_until healthy $name
done
call() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}
check "a call" wait_until call
awk 'BEGIN { for (i = 0; i < 200; i++) { for (j = 0; j < 200; j++) printf "%s%d", j ? "," : "", i == j; print "" } }' >large.csv
large() {
    espalier call dgemm A=@large.csv B=@large.csv -o C=large.out.csv
}
check "a larger one" large
singular() {
    espalier call dgesv A='[0,0;0,0]' B='[6;7]' -o B=-
}
check_fails 1 "a call that fails" singular

for name in redirector MA LA SeD; do
    page $name metrics >"$name.metrics"
    check "promtool finds nothing to say about the metrics of $name" promtool check metrics <"$name.metrics"
    check "and prints nothing" test ! -s "$log"
done
has() { # has FILE REGEX
    grep -Eq "$2" "$1" || { grep -v '^#' "$1"; return 1; }
}
check "the redirector counted clients" has redirector.metrics '^espalier_redirector_clients_total [1-9]'
check "the master agent counted requests" has MA.metrics '^espalier_agent_requests_total\{by="(memory|asking)"\} [1-9]'
check "and how long they took" has MA.metrics '^espalier_agent_answer_seconds_count [1-9]'
check "the leader agent knows its server" has LA.metrics '^espalier_agent_servers 1$'
check "the server counted sessions" has SeD.metrics '^espalier_server_sessions_done_total [1-9]'
check "and failures by their reason" has SeD.metrics '^espalier_server_sessions_failed_total\{reason="the routine reported a failure"\} 1$'
check "pieces of shared memory, made and used again" has SeD.metrics '^espalier_server_segments_recycled_total [0-9]+$'
check "and those that wait in the pool" has SeD.metrics '^espalier_server_segments\{state="idle"\} [1-9]'
check "data that live there" has SeD.metrics '^espalier_server_data 0$'
check "bytes" has SeD.metrics '^espalier_server_argument_bytes_total [1-9]'
check "and forecasts with their errors" has SeD.metrics '^espalier_server_forecast_ratio_count [1-9]'

# The grandparent would take the server in, so it is killed, too.
# shellcheck disable=SC2154
kill -KILL "$pid_LA" "$pid_MA"
unhealthy() {
    ! healthy SeD
}
check "a server without its parent is not healthy" wait_until unhealthy
page SeD health >"$log"
check_says "and says why" '^not ok SeD: no parent of this server is reached$'

sed "s/redirector/Twin/; s|^http = .*|http = \"$(cat redirector.address.http)\"|" redirector.conf >Twin.conf
check_fails 1 "a port that another daemon has is refused" espalier-redirector --foreground Twin.conf
check_says "with what to do" 'http: cannot listen at .*: the port is in use: .* choose another port'
finish
