#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The site's directory: an LDIF file, and a real LDAP server of the test's own; what a server makes of it, and what it
# does when the directory is slow, gone, or holds nonsense.
. "${top_srcdir:?}/tests/e2e/harness.sh"
PATH=$PATH:/usr/sbin
needs espalier espalier-sed espalier-crd espalier-directory slapd slapadd ldapmodify openssl

# says CODE PATTERN COMMAND...: it ends with that code and writes a line like that.
says() {
    says_code=$1
    says_pattern=$2
    shift 2
    "$@" >said 2>&1
    says_found=$?
    cat said
    [ "$says_found" -eq "$says_code" ] && grep -Eq -e "$says_pattern" said
}

# ---- what servers know, as entries ----
mkdir -p state/models problems
cat >problems/scaled.esp <<'END2'
problem scaled "x := a x"
    in     int    n
    in     double a
    inout  double x[n]
    work   n
implementation blas
    fortran dscal_(n, a, x, 1) in libblas.so.3
END2
sed_conf() { # NAME LINE...
    printf 'name = "%s"\nslots = 1\nmemory = "64 MiB"\nlisten = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\n' "$1"
    printf 'address_file = "%s/%s.address"\nstate_dir = "%s/%s"\nlog_file = "%s/%s.log"\n' "$work" "$1" "$work" "$1" "$work" "$1"
    shift
    printf '%s\n' "$@"
}
sed_conf node7 'parent = "127.0.0.1:1"' 'parents = { "zeta", "alpha" }' "problems = { \"$work/problems\", \"$top_srcdir/problems/blas/level1.esp\" }" >node7.conf
mkdir node7
check "a model is measured" espalier calibrate --sed node7.conf --budget 1s --longest 5ms scaled
printf '%s\n' 'espalier-ranks 1' 'ranks 2' 'flops 1e+12' 'latency_s 1e-07' 'byte_s 1e-12' 'end a927eb61' >node7/ranks
echo 'ranks = 2' >>node7.conf
agent_for_clients
printf 'name = "MA"\nlisten = "%s"\n' "$agent" >master-agent.conf
check "files of daemons become LDIF" espalier directory export --output site.ldif node7.conf master-agent.conf
exported() {
    for entry in 'cn=scaled,ou=problems' 'cn=blas,cn=scaled,ou=problems' 'cn=scaled.esp,ou=descriptions' \
        'cn=node7,ou=machines' 'cn=scaled-blas-1-0,cn=node7,ou=machines' 'cn=MA,ou=entries'; do
        grep -qx "dn: $entry,ou=espalier" site.ldif || { echo "$entry is missing"; return 1; }
    done
    grep -q '^espalierRanks::' site.ldif
}
check "with problems, implementations, machines, models and addresses" exported
mkdir alike
sed 's/scaled/Scaled/' problems/scaled.esp | cat problems/scaled.esp - >alike/alike.esp
sed_conf alike 'parent = "127.0.0.1:1"' "problems = { \"$work/alike\" }" >alike.conf
check "a problem whose name differs from another's in capitals only is reported" says 1 \
    'cn=[Ss]caled,ou=problems: expected names that differ in more than capital .*found cn=[Ss]caled,ou=problems: it is left out' \
    espalier directory export --output alike.ldif alike.conf
check "what else there is is written" grep -q '^dn: cn=alike,ou=machines' alike.ldif

# An agent whose port is not in its file is found where it is now, and never left out without a word.
leader() { printf 'name = "LF"\nparent = "127.0.0.1:1"\naddress_file = "%s/LF.address"\n' "$work"; }
leader >leader.conf
check "an agent without an address is reported" says 1 'LF: expected a port in listen .*LF.address.*left out' \
    espalier directory export --output leader.ldif leader.conf
echo 127.0.0.1:4711 >LF.address
check "its address comes from its address_file" says 0 'its address is 127.0.0.1:4711 until it is started again' \
    espalier directory export --output leader.ldif leader.conf
check "and is written" grep -qx 'espalierAddress: 127.0.0.1:4711' leader.ldif

# ---- the LDAP server ----
base='ou=espalier,dc=example,dc=org'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext 'subjectAltName = DNS:localhost,IP:127.0.0.1' -keyout ldap.key -out ldap.pem 2>openssl.out
mkdir slapd.d ldap.data
cat >slapd.ldif <<END2
dn: cn=config
objectClass: olcGlobal
cn: config
olcTLSCertificateFile: $work/ldap.pem
olcTLSCertificateKeyFile: $work/ldap.key
olcAuthzRegexp: uid=([^,]*),cn=[^,]*,cn=auth cn=\$1,dc=example,dc=org

dn: cn=module,cn=config
objectClass: olcModuleList
cn: module
olcModulePath: /usr/lib/ldap
olcModuleLoad: back_mdb

dn: cn=schema,cn=config
objectClass: olcSchemaConfig
cn: schema

include: file:///etc/ldap/schema/core.ldif

include: file://$top_srcdir/etc/espalier.ldif

dn: olcDatabase=mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: mdb
olcDbDirectory: $work/ldap.data
olcSuffix: dc=example,dc=org
olcRootDN: cn=admin,dc=example,dc=org
olcRootPW: secret
olcAccess: to * by dn.exact="cn=scribe,dc=example,dc=org" write by dn.exact="gidNumber=$(id -g)+uidNumber=$(id -u),cn=peercred,cn=external,cn=auth" write by * read
END2
check "the schema is one that OpenLDAP takes" slapadd -n 0 -F slapd.d -l slapd.ldif
port=$(awk 'BEGIN { srand(); print 20000 + int(20000 * rand()) }')
url="ldap://127.0.0.1:$port/$base"
ldapi="ldapi://$(echo "$work/ldapi" | sed 's|/|%2F|g')"
start_slapd() {
    start slapd slapd -d 0 -F slapd.d -h "ldap://127.0.0.1:$port $ldapi"
    wait_until ldapsearch -x -H "ldap://127.0.0.1:$port" -b '' -s base
}
start_slapd || skip_all "slapd does not start here"
printf 'dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n' |
    ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >ldapadd.out 2>&1
printf 'secret\n' >password
printf 'dn: cn=scribe,dc=example,dc=org\nobjectClass: person\ncn: scribe\nsn: scribe\nuserPassword: ink\n' |
    ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >>ldapadd.out 2>&1
printf 'ink\n' >scribe.password

directory() { # VERB [OPERAND]...: as the administrator
    directory_verb=$1
    shift
    espalier directory "$directory_verb" --url "$url" --bind cn=admin,dc=example,dc=org --password-file password "$@"
}
check "a refused write is reported" says 1 'bind: Invalid credentials|modifications require authentication|Insufficient access' \
    espalier directory import --url "$url" site.ldif
# One entry of a file is a file, too: what it lies in is made.
sed -n '/^dn: cn=MA,ou=entries,/,/^$/p' site.ldif >one.ldif
check "an entry alone is brought into LDAP" says 0 '[0-9]+ entries are in the directory' directory import one.ldif
check "and is there" says 0 '^cn=MA,ou=entries +Entry ' espalier directory show --url "$url"
check "a base that cannot be made is reported" says 4 'ou=x,dc=nowhere,dc=example,dc=org .is the base right.' \
    espalier directory import --url "ldap://127.0.0.1:$port/ou=x,dc=nowhere,dc=example,dc=org" \
    --bind cn=admin,dc=example,dc=org --password-file password one.ldif
check "one that is too high is reported once" says 4 'found them below "ou=espalier,dc=example,dc=org": name that' \
    espalier directory show --url "ldap://127.0.0.1:$port/dc=example,dc=org"
check "a password's file that is missing is reported" says 4 "password's file nofile cannot be read: No such file" \
    espalier directory show --url "$url" --bind cn=admin,dc=example,dc=org --password-file nofile
check "none at all, too" says 4 'expected a file with the password of "cn=admin' \
    espalier directory show --url "$url" --bind cn=admin,dc=example,dc=org
check "the entries are brought into LDAP" says 0 '[0-9]+ entries are in the directory' directory import site.ldif
check "again, encrypted by StartTLS" says 0 'entries are in' directory import --starttls --ca ldap.pem site.ldif
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other \
    -keyout other.key -out other.pem 2>openssl.out
check "a certificate of another authority is refused, and why is reported" \
    says 1 'StartTLS: Connect error; expected a certificate .* by an authority that other.pem has: .*--ca' \
    espalier directory show --url "$url" --starttls --ca other.pem
check "a file of authorities that is missing is reported" says 4 'the file nofile.pem .* cannot be read: No such file' \
    espalier directory show --url "$url" --starttls --ca nofile.pem
check "SASL proves who one is" says 0 'entries are in' \
    espalier directory import --url "$ldapi/$base" --sasl EXTERNAL site.ldif
for mechanism in SCRAM-SHA-256 DIGEST-MD5; do
    ldapsearch -x -H "ldap://127.0.0.1:$port" -b '' -s base supportedSASLMechanisms | grep -q "$mechanism" || continue
    check "also by a password ($mechanism)" says 0 'entries are in' \
        espalier directory import --url "$url" --sasl $mechanism --sasl-user scribe --password-file scribe.password site.ldif
    check "another one is reported" says 1 'bind: Invalid credentials' \
        espalier directory import --url "$url" --sasl $mechanism --sasl-user scribe --password-file password site.ldif
done
check "a mechanism that is none is reported" says 1 'bind: Unknown authentication method' \
    espalier directory show --url "$url" --sasl NOSUCH
check "people are shown the entries" says 0 '^cn=scaled,ou=problems +Problem +Digest=[0-9a-f]{16} description=x := a x' \
    espalier directory show --url "$url"
check "one of them, with what is below it" says 0 'cn=scaled-blas-1-0,cn=node7,ou=machines +CostModel' \
    espalier directory show --url "$url" node7
check "what is not there is reported" says 1 'no such entry' espalier directory show --url "$url" nobody

same_again() {
    espalier directory export --url "$url" --output again.ldif &&
        grep -v -e '^dn: ou=espalier' -e '^ou: espalier' again.ldif >a && grep -v -e '^dn: ou=espalier' -e '^ou: espalier' site.ldif >b &&
        cmp a b
}
check "what comes back is what was brought" same_again
shown_alike() {
    espalier directory show --json --url "$url" >shown.ldap && espalier directory show --json --url "file:$work/site.ldif" >shown.file &&
        grep -c '"class"' shown.ldap && cmp shown.ldap shown.file
}
check "and is shown alike, wherever it is" shown_alike
# The first parent is the preferred one, whatever LDAP makes of the others' order.
in_order() {
    espalier directory show --url "$1" node7 >parents && cat parents &&
        grep -q '^cn=node7,ou=machines .*Parent=127.0.0.1:1,zeta:4780,alpha:4780 *' parents
}
check "parents keep their order in LDAP" in_order "$url"
check "and in a file" in_order "file:$work/site.ldif"
printf 'dn: ou=espalier\nobjectClass: organizationalUnit\nou: espalier\n' >nobody.ldif
check "a file is a directory too" says 0 'entries are in' espalier directory import --url "file:$work/file.ldif" site.ldif
check "and is shown as the other one" says 0 '^cn=MA,ou=entries +Entry +Role=master Address=' \
    espalier directory show --url "file:$work/file.ldif"

# ---- a server that stands on it: its parent, its problem and its models are there, its file has none ----
mkdir empty
printf 'dn: cn=node8,ou=machines,%s\nobjectClass: espalierMachine\ncn: node8\nespalierParent: %s\n' "$base" "$agent" >node8.ldif
sed -n '/^dn: cn=scaled-blas-1-0,/,/^$/p' site.ldif | sed "s/cn=node7,ou=machines,ou=espalier/cn=node8,ou=machines,$base/" >>node8.model
{ cat node8.ldif; echo; cat node8.model; } |
    ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >ldapadd2.out 2>&1
sed_conf node8 "problems = { \"$work/empty\" }" "directory = \"$url\"" 'directory_timeout = "1 s"' \
    'directory_refresh = "200 ms"' >node8.conf
start node8 espalier-sed --foreground node8.conf
address_of node8.address >/dev/null
solves() {
    espalier problems 2>/dev/null | grep -q '^scaled '
}
check "a server finds its parent and its problems there" wait_until solves
measured() {
    espalier forecast scaled n=100000 a=2 >forecast 2>&1 || return 1
    grep -Eq '^node8 .* (measured|extrapolated)' forecast
}
check "and its cost models" wait_until measured

health_says() {
    curl -s "http://$(cat node8.address.http)/health" | grep -Eq "$1"
}
ldap_change() {
    ldapmodify -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >>ldapmodify.out 2>&1
}
printf 'dn: cn=odd-blas-1-0,cn=node8,ou=machines,%s\nchangetype: add\nobjectClass: espalierCostModel\ncn: odd-blas-1-0\nespalierProblemName: odd\nespalierDigest: 0123\nespalierModel: rubbish\n' \
    "$base" | ldap_change
log_says() {
    grep -Eq "$1" node8.log
}
check "an entry that is nonsense is reported and left out" wait_until log_says 'odd-blas-1-0.*expected 16 hexadecimal digits, found "0123"; it is left out'
# Models of problems that nobody else has.
mkdir strange strange.esp
for name in unknown nobody; do sed "s/problem scaled/problem $name/" problems/scaled.esp; done >strange.esp/strange.esp
sed_conf strange 'parent = "127.0.0.1:1"' "problems = { \"$work/strange.esp\" }" >strange.conf
# (A busy machine measures too few sizes in that time now and then.)
check "other models are measured" wait_until espalier calibrate --sed strange.conf --budget 500ms --longest 5ms unknown nobody
check "and exported" espalier directory export --output strange.ldif strange.conf
model_for() { # NAME MACHINE
    sed -n "/^dn: cn=$1-blas-1-0,/,/^\$/p" strange.ldif | sed "s/cn=strange/cn=$2/"
}
model_for unknown node8 | sed "s/,ou=espalier\$/,$base/" |
    ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >>ldapmodify.out 2>&1
check "a model of a problem that nobody knows is reported" wait_until log_says 'cost model of "unknown", which this server does not solve'

# One that becomes nonsense does not take away what was good: it stays, until it is good again or deleted.
make_nonsense() { # NAME ATTRIBUTE
    printf 'dn: %s,%s\nchangetype: modify\nreplace: %s\n%s: nonsense\n' "$1" "$base" "$2" "$2" | ldap_change
}
make_nonsense cn=scaled.esp,ou=descriptions espalierText
check "a description that becomes nonsense is reported, and left as it was" \
    wait_until log_says 'cn=scaled.esp.*expected a description that can be read, found "nonsense"; it is left as it was before'
make_nonsense cn=scaled-blas-1-0,cn=node8,ou=machines espalierModel
check "a model, too" wait_until log_says 'cn=scaled-blas-1-0,cn=node8.*expected a whole cost model of this version.*left as it was before'
check "the problem is still solved, by its description of before" solves
check "and forecast, by its model of before" measured
good_again() {
    sed -n '/^dn: cn=scaled.esp,/,/^$/p' site.ldif | sed "s/ou=espalier\$/$base/" >scaled.ldif
    for entry in cn=scaled.esp,ou=descriptions cn=scaled-blas-1-0,cn=node8,ou=machines; do
        printf 'dn: %s,%s\nchangetype: delete\n\n' "$entry" "$base"
    done | ldap_change
    wait_until gone || return 1
    { cat scaled.ldif; echo; cat node8.model; } |
        ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >>ldapmodify.out 2>&1
    wait_until solves && wait_until measured
}
gone() {
    ! solves
}
check "what is deleted is gone, until it is there again" good_again

# ---- clients find their way by it ----
clients_find() {
    espalier directory client --url "$url" >found.conf && cat found.conf && grep -qx "agents = { \"$agent\" }" found.conf &&
        ESPALIER_CONFIG=found.conf espalier problems | grep -q '^scaled '
}
check "a client's file can be written by what it says" wait_until clients_find
printf 'dn: cn=R,ou=entries,%s\nchangetype: add\nobjectClass: espalierEntry\ncn: R\nespalierRole: redirector\nespalierAddress: x"_y:4780\n' "$base" |
    ldap_change
check "an address that is none is reported and left out" says 0 'cn=R,ou=entries: espalierAddress: expected HOST:PORT' espalier directory client --url "$url"
printf 'dn: cn=R,ou=entries,%s\nchangetype: modify\nreplace: espalierAddress\nespalierAddress: hub.example.org:4780\n' "$base" | ldap_change
check "redirectors go before agents" says 0 '^redirector = "hub.example.org:4780"$' espalier directory client --url "$url"
printf 'dn: cn=S,ou=entries,%s\nchangetype: add\nobjectClass: espalierEntry\ncn: S\nespalierRole: redirector\nespalierAddress: spare.example.org:4780\n' "$base" |
    ldap_change
check "further ones behind the first" says 0 '^redirectors = \{ "spare.example.org:4780" \}$' espalier directory client --url "$url"
is_a_client_s_file() {
    espalier directory client --url "$url" >found.conf && espalier config check --as client found.conf
}
check "in a file that clients can read" is_a_client_s_file
printf 'dn: cn=R,ou=entries,%s\nchangetype: delete\n\ndn: cn=S,ou=entries,%s\nchangetype: delete\n' "$base" "$base" | ldap_change
check "without either it says so" says 4 'expected entries of redirectors or master agents' \
    espalier directory client --url "file:$work/nobody.ldif"

# ---- what a server measures goes there by itself, if it may ----
mkdir -p node9
cp -r node7/models node9/
sed_conf node9 "parent = \"$agent\"" "problems = { \"$work/problems\" }" "directory = \"$url\"" 'directory_write = yes' \
    'directory_refresh = "200 ms"' >node9.conf
start node9 espalier-sed --foreground node9.conf
not_written() {
    grep -Eq 'measured here are not written into the directory: .*([Aa]uthentication|access)' node9.log
}
check "a server that may not write says so" wait_until not_written
check "once" sh -c "sleep 1; [ \$(grep -c 'not written into the directory' node9.log) -eq 1 ]"
stop node9
printf 'directory_bind = "cn=admin,dc=example,dc=org"\ndirectory_password_file = "%s/password"\n' "$work" >>node9.conf
rm -f node9.address
start node9 espalier-sed --foreground node9.conf
brought() {
    espalier directory show --url "$url" node9 >brought 2>&1
    cat brought
    grep -Eq '^cn=scaled-blas-1-0,cn=node9,ou=machines +CostModel' brought
}
check "one that may brings its models in" wait_until brought
check "and its machine, which was not there" grep -Eq '^cn=node9,ou=machines +Machine' brought
brought_anew() { # after another calibration
    before=$(espalier directory export --url "$url" | sed -n '/^dn: cn=scaled-blas-1-0,cn=node9,/,/^$/p' | cksum)
    espalier calibrate --sed node9.conf --again --budget 1s --longest 5ms scaled || return 1
    wait_until is_another "$before"
}
is_another() {
    [ "$(espalier directory export --url "$url" | sed -n '/^dn: cn=scaled-blas-1-0,cn=node9,/,/^$/p' | cksum)" != "$1" ]
}
check "and what is measured anew" brought_anew
stop node9

# ---- an agent that finds its parent there ----
printf 'dn: cn=LA,ou=entries,%s\nchangetype: add\nobjectClass: espalierEntry\ncn: LA\nespalierRole: leader\nespalierAddress: 127.0.0.1:4790\nespalierParent: %s\n' \
    "$base" "$agent" | ldap_change
leader_conf() { # NAME LINE...
    printf 'name = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nstate_dir = "%s/%s.state"\nlog_file = "%s/%s.log"\n' \
        "$1" "$work" "$1" "$work" "$1" "$work" "$1"
    printf 'directory = "%s"\ndirectory_timeout = "1 s"\n' "$url"
}
leader_conf LA >LA.conf
leader_conf LB >LB.conf
joins() { # so often in all
    [ "$(grep -c 'joined "' LA.log)" -eq "$1" ]
}
start LA espalier-agent --foreground LA.conf
check "an agent finds its parent in the directory" wait_until joins 1
stop LA

# ---- away ----
stop slapd
start LA espalier-agent --foreground LA.conf
check "and joins it when the directory is gone, by what that last said" wait_until joins 2
check "which the log tells" grep -q 'the directory is away: .*what it last said serves' LA.log
stop LA
start LB espalier-agent --foreground LB.conf
check "one that has never read it, and has no parent, does not become a master agent" \
    wait_until grep -Eq "waits for the directory.*(Can.t contact|cannot be reached)" LB.log
check "but waits for it" sh -c "! [ -e LB.address ]"
stop LB
check "when the directory is gone, health says so" wait_until health_says '^ok node8: .*the directory is away .*what it last said serves'
check "the log says it once" sh -c "sleep 1; [ \$(grep -c 'the directory is away' node8.log) -eq 1 ]"
check "the problem is still solved" solves
check "a calibration finds it too" espalier calibrate --sed node8.conf --models calibrated --budget 300ms --longest 2ms scaled
stop node8
rm -f node8.address
printf '1\tscaled\t1\t9\n' >node8/accuracy.tsv # so it is measured first
printf '%s\n' 'sensors = no' 'calibrate = yes' 'calibrate_after = "1 s"' 'calibrate_budget = "1 s"' 'calibrate_longest = "10 ms"' >>node8.conf
start node8 espalier-sed --foreground node8.conf
address_of node8.address >/dev/null
check "also by a server that starts meanwhile" wait_until solves
check "with its models" wait_until measured
is_calibrated() {
    ls node8/models/scaled-*.model
}
check "which it measures when it is idle" wait_until is_calibrated
check "it comes back" start_slapd
check "and the server notices" wait_until log_says 'the directory is there again'

# One that takes connections and never says a word.
kill -STOP "$pid_slapd"
check "a directory that says nothing has its time" says 3 'Timed out|Can.t contact' \
    timeout 20 espalier directory show --timeout 300ms --url "$url"
check "also with StartTLS," says 3 'Timed out|Can.t contact' \
    timeout 20 espalier directory show --timeout 300ms --starttls --url "$url"
check "and when TLS comes first" says 3 'Timed out|Can.t contact' \
    timeout 20 espalier directory show --timeout 300ms --url "ldaps${url#ldap}"
check "a server that waits says so" wait_until health_says 'the directory is away \(.*(Timed out|contact)'
kill -CONT "$pid_slapd"

# One that refuses, and one that speaks another language.
check "one that does not listen is reported" says 3 "ldap://127.0.0.1:1/.*Can't contact" espalier directory show --url "ldap://127.0.0.1:1/$base"
another_language() {
    says 3 "Can't contact|Timed out" timeout 20 espalier directory show --timeout 1s --url "ldap://$(cat node8.address.http)/$base"
}
check "and what is no LDAP server" another_language

# A resolver that takes questions and never answers: libldap asks it for this host's own name, whatever the URL. (Nothing comes
# back from a device of which nobody reads.)
cat >deaf.sh <<'END2'
ip link set lo up && ip tuntap add dev deaf mode tun && ip addr add 192.0.2.1/24 dev deaf && ip link set deaf up &&
    mount --bind deaf.conf /etc/resolv.conf && hostname nobody-knows-it || exit 99
exec "$@"
END2
echo 'nameserver 192.0.2.53' >deaf.conf
if [ "$(id -u)" -eq 0 ] && unshare -mnu sh deaf.sh true 2>/dev/null; then
    check "a resolver that does not answer has no more time" says 3 'resolver has not told' \
        unshare -mnu sh deaf.sh timeout 8 espalier directory show --timeout 1s --url "ldap://ldap.example.org/$base"
fi

# ---- bad input ----
check "a time that is none is reported with its verb" says 2 "^espalier directory show: --timeout: .*found 'abc'.*directory show --help" \
    espalier directory show --timeout abc
check "no URL is reported" says 2 'expected --url URL' espalier directory show
check "a URL of another kind" says 4 'expected "ldap://HOST/BASE".*found "http:' espalier directory show --url http://x/
check "an address without a base" says 4 'expected "ldap://HOST/BASE"' espalier directory show --url ldap://127.0.0.1
check "a file that is missing" says 4 'there is no file' espalier directory show --url "file:$work/nothing"
check "what lies beside a file is not spoken of" says 4 "^espalier directory import: $work/no/x.ldif cannot be written: there is no folder $work/no\$" \
    espalier directory import --url "file:$work/no/x.ldif" site.ldif
check "nor beside what is exported" says 4 "^espalier directory export: no/x.ldif cannot be written: there is no folder no\$" \
    espalier directory export -o no/x.ldif master-agent.conf
sed -n '1,/^espalierRanks::/p' site.ldif | sed 's/^\(espalierRanks:: ...\).*/\1/' >bad.ldif
check "a text that is cut is reported, and by nobody else" says 4 '^espalier directory import: bad.ldif:[0-9]+: expected a whole text in base64' \
    espalier directory import --url "file:$work/file.ldif" bad.ldif
check "in one line" sh -c '[ "$(wc -l <said)" -eq 1 ]'
printf 'dn: ou=espalier\nobjectClass: organizationalUnit\nou: espalier\n\nnonsense\n' >bad.ldif
check "a line that is none, with its place" says 4 'bad.ldif:5: expected "ATTRIBUTE: VALUE", found "nonsense"' \
    espalier directory import --url "file:$work/file.ldif" bad.ldif
{ printf 'dn: ou=espalier\n' && yes 'ou: espalier' | head -n 1001; } >bad.ldif
check "an entry that is too large, with its place" says 4 'bad.ldif:1: the base: expected a directory of at most' \
    espalier directory import --url "file:$work/file.ldif" bad.ldif
printf 'dn: ou=espalier\nou: espalier\njpegPhoto:< file:///etc/passwd\n' >bad.ldif
check "a value in another file is not fetched" says 4 'expected values in the file itself' \
    espalier directory import --url "file:$work/file.ldif" bad.ldif
printf 'dn: ou=espalier\nobjectClass: top\n\ndn: ou=entries,ou=espalier\nobjectClass: organizationalUnit\nou: entries\n\ndn: cn=x,ou=entries,ou=espalier\nobjectClass: espalierEntry\ncn: x\nespalierRole: king\nespalierAddress: here\n' >bad.ldif
cp file.ldif before.ldif
check "an entry that is wrong: nothing is written" says 4 'espalierRole: expected redirector, master, leader or server, found "king"' \
    espalier directory import --url "file:$work/file.ldif" bad.ldif
check "the file is as it was" cmp file.ldif before.ldif
{
    printf 'dn: ou=espalier\nobjectClass: organizationalUnit\nou: espalier\n\ndn: ou=machines,ou=espalier\nobjectClass: organizationalUnit\nou: machines\n\n'
    printf 'dn: cn=%s,ou=espalier\nobjectClass: %s\ncn: x\n\n' 'a,ou=lost' espalierMachine b espalierMachine 'c,ou=machines' espalierMachin
} >bad.ldif
check "an entry without its place" says 4 'cn=a,ou=lost: what it lies below is missing' \
    espalier directory import --url "file:$work/file.ldif" bad.ldif
cp said bad.said
check "one in a place where nobody looks" grep -q 'cn=b: expected a place below ou=machines' bad.said
check "one of a class that is none" grep -q 'cn=c,ou=machines: objectClass: expected .* found "espalierMachin"' bad.said
check "how many" grep -q 'bad.ldif: 3 mistakes, as told above; nothing was written' bad.said
check "and nothing is written" cmp file.ldif before.ldif
# Of a problem that only the directory has, and of one that nobody has.
{
    printf 'dn: ou=espalier\nobjectClass: organizationalUnit\nou: espalier\n\ndn: ou=machines,ou=espalier\nobjectClass: organizationalUnit\nou: machines\n\n'
    printf 'dn: cn=other,ou=machines,ou=espalier\nobjectClass: espalierMachine\ncn: other\n\n'
    sed -n '/^dn: cn=scaled-blas-1-0,/,/^$/p' site.ldif | sed 's/cn=node7/cn=other/'
    model_for nobody other
} >models.ldif
check "a model of a problem that nobody has" says 1 'cn=nobody-blas-1-0,cn=other.*a cost model of "nobody", .*it is left out' \
    espalier directory import --url "file:$work/file.ldif" models.ldif
check "is left out, and the others come in" says 0 'cn=scaled-blas-1-0,cn=other' espalier directory show --url "file:$work/file.ldif" other
check "without it" sh -c "! grep -q nobody $work/file.ldif"
printf 'cut' >>file.ldif
check "a directory that is damaged is not written over" says 4 'expected "ATTRIBUTE: VALUE", found "cut"' \
    espalier directory import --url "file:$work/file.ldif" site.ldif
finish
