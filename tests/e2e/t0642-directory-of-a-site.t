#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A directory of a whole site on an LDAP server as it comes, which gives 500 entries to a search: more of them are read all
# the same. Description files of one name have entries of their own, and agents see while they run what changes.
. "${top_srcdir:?}/tests/e2e/harness.sh"
PATH=$PATH:/usr/sbin
needs espalier espalier-sed espalier-agent espalier-directory slapd slapadd ldapmodify

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

# ---- an LDAP server with the limits that it comes with ----
base='ou=espalier,dc=example,dc=org'
mkdir slapd.d ldap.data
cat >slapd.ldif <<END
dn: cn=config
objectClass: olcGlobal
cn: config

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
olcDbMaxSize: 268435456
olcDbEnvFlags: nosync
olcSuffix: dc=example,dc=org
olcRootDN: cn=admin,dc=example,dc=org
olcRootPW: secret
olcAccess: to * by * read
END
slapadd -n 0 -F slapd.d -l slapd.ldif >slapadd.out 2>&1 || skip_all "slapd does not take the schema"
port=$(awk 'BEGIN { srand(); print 40000 + int(15000 * rand()) }')
url="ldap://127.0.0.1:$port/$base"
start slapd slapd -d 0 -F slapd.d -h "ldap://127.0.0.1:$port"
wait_until ldapsearch -x -H "ldap://127.0.0.1:$port" -b '' -s base || skip_all "slapd does not start here"
printf 'dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n' |
    ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >ldapadd.out 2>&1
printf 'secret\n' >password
import() {
    espalier directory import --url "$url" --bind cn=admin,dc=example,dc=org --password-file password "$@"
}

# ---- all installed problems ----
sed_conf() { # NAME PROBLEMS...
    printf 'name = "%s"\nslots = 1\nlisten = "127.0.0.1:0"\nparent = "127.0.0.1:1"\nstate_dir = "%s/%s.state"\n' "$1" "$work" "$1"
    shift
    printf 'problems = {'
    separator=' '
    for problems; do
        printf '%s"%s"' "$separator" "$problems"
        separator=', '
    done
    printf ' }\n'
}
sed_conf all "$top_srcdir/problems" >all.conf
check "the installed problems are exported" espalier directory export --output all.ldif all.conf
entries_of() { # FILE UNIT
    grep -c "^dn: cn=.*,ou=$2,ou=espalier" "$1"
}
texts_of() { # FILE: the checksums of all descriptions in it
    awk 'NF == 0 { text = "" } /^espalierText:: / { inside = 1; sub(/^espalierText:: /, ""); printf "%s", $0; next }
        inside && /^ / { printf "%s", substr($0, 2); next } inside { print ""; inside = 0 } END { print "" }' "$1" |
        while read -r text; do printf '%s' "$text" | base64 -d 2>/dev/null | cksum; done | sort
}
texts_in() { # FOLDER: those of all description files in it
    find "$1" -name '*.esp' | while read -r file; do cksum <"$file"; done | sort -u
}
none_is_lost() {
    texts_of all.ldif >exported
    texts_in "$top_srcdir/problems" >files
    wc -l exported files
    [ "$(wc -l <files)" -gt 20 ] && [ -z "$(comm -13 exported files)" ]
}
check "each description file, also those of one name" none_is_lost
check "and brought into LDAP" says 0 '^[0-9]+ entries are in the directory' import all.ldif
refused() {
    says 4 'Size limit exceeded' ldapsearch -x -H "ldap://127.0.0.1:$port" -b "$base" -E pr=200/noprompt 1.1
}
check "which gives nobody all of them at once" refused
all_come_back() {
    espalier directory export --url "$url" --output back.ldif || return 1
    for file in all back; do
        grep -v -e '^dn: ou=espalier' -e '^ou: espalier' $file.ldif >$file.lines
        grep -c '^dn:' $file.ldif
    done
    [ "$(grep -c '^dn:' all.ldif)" -gt 1500 ] && cmp all.lines back.lines
}
check "all come back" all_come_back
# More of one level than are given, whose names differ late.
many_of_one_beginning() {
    awk -v base="$base" 'BEGIN { for (i = 0; i < 1200; i++)
        printf "dn: cn=computer-of-the-lab-%d,ou=machines,%s\nobjectClass: espalierMachine\ncn: computer-of-the-lab-%d\n\n", i, base, i }' >many.ldif
    ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret -f many.ldif >many.out 2>&1 || return 1
    espalier directory export --url "$url" --output many.back || return 1
    [ "$(grep -c '^dn: cn=computer-of-the-lab-' many.back)" -eq 1200 ]
}
check "also those whose names differ late only" many_of_one_beginning
finds_them() {
    ldapdelete -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret "cn=computer-of-the-lab-7,ou=machines,$base" &&
        espalier directory show --url "$url" >shown 2>&1 && [ "$(grep -c '^cn=computer-of-the-lab-' shown)" -eq 1199 ]
}
check "one that is deleted is gone" finds_them

# ---- files of one name ----
mkdir p1 p2 p3
described() { # FILE NAME TITLE
    printf 'problem %s "%s"\n    in     int    n\n    inout  double x[n]\nimplementation blas\n    fortran dscal_(n, 1, x, 1) in libblas.so.3\n' "$2" "$3" >"$1"
}
described p1/mine.esp first "of the first"
described p2/mine.esp second "of the second"
described p3/mine.esp third "of the third"
sed_conf both "$work/p1" "$work/p2" >both.conf
espalier directory export --output both.ldif both.conf
check "two files of one name have an entry each" sh -c \
    "grep -qx 'dn: cn=mine.esp,ou=descriptions,ou=espalier' both.ldif && grep -qx 'dn: cn=mine_2.esp,ou=descriptions,ou=espalier' both.ldif"
is_kept() { # ENTRY FILE
    espalier directory export --url "$url" | awk -v dn="dn: cn=$1,ou=descriptions,ou=espalier" '$0 == dn { on = 1 } NF == 0 { on = 0 } on' >entry.ldif
    { echo; cat entry.ldif; echo; } >one.ldif
    texts_of one.ldif | grep -qxF "$(cksum <"$2")"
}
both_come_back() {
    import both.ldif && is_kept mine.esp p1/mine.esp && is_kept mine_2.esp p2/mine.esp
}
check "and both come into LDAP whole" both_come_back
another_one() { # of another server, by its own name
    sed_conf third "$work/p3" >third.conf
    espalier directory export --output third.ldif third.conf && grep -qx 'dn: cn=mine.esp,ou=descriptions,ou=espalier' third.ldif &&
        import third.ldif && is_kept mine.esp p1/mine.esp && is_kept mine_2.esp p2/mine.esp && is_kept mine_3.esp p3/mine.esp
}
check "another server's file of that name takes nobody's place" another_one
described p3/mine.esp third "of the third, mended"
again() {
    espalier directory export --output third.ldif third.conf && import third.ldif && is_kept mine_3.esp p3/mine.esp &&
        is_kept mine.esp p1/mine.esp && ! espalier directory export --url "$url" | grep -q '^dn: cn=mine_4.esp'
}
check "and takes its own when it comes again, changed" again

# ---- agents read it again while they run ----
ldap_change() {
    ldapmodify -x -H "ldap://127.0.0.1:$port" -D cn=admin,dc=example,dc=org -w secret >>ldapmodify.out 2>&1
}
agent_conf() { # NAME LINE...
    printf 'name = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nstate_dir = "%s/%s.agent"\nlog_file = "%s/%s.log"\n' \
        "$1" "$work" "$1" "$work" "$1" "$work" "$1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@"
}
for name in first second; do
    agent_conf $name >$name.conf
    start $name espalier-agent --foreground $name.conf
done
agent_conf leader "parent = \"$(address_of first.address)\"" "directory = \"$url\"" 'directory_timeout = "2 s"' \
    'directory_refresh = "200 ms"' 'heartbeat = "200 ms"' >leader.conf
start leader espalier-agent --foreground leader.conf
address_of leader.address >/dev/null
log_says() {
    grep -Eq "$1" leader.log
}
check "an agent joins the one of its file" wait_until log_says 'joined "first"'
printf 'dn: cn=leader,ou=entries,%s\nchangetype: add\nobjectClass: espalierEntry\ncn: leader\nespalierRole: leader\nespalierAddress: 127.0.0.1:4790\nespalierParent: %s\n' \
    "$base" "$(address_of second.address)" | ldap_change
check "another one that the directory names meanwhile is noticed" wait_until log_says 'the directory names 1 more agents for "leader" to join'
check "once" sh -c "sleep 1; [ \$(grep -c 'more agents for' leader.log) -eq 1 ]"
stop first
check "and joined when the first is lost" wait_until log_says 'joined "second"'
stop slapd
check "that the directory is away is reported" wait_until log_says 'the directory is away: .*what it last said serves'
start slapd slapd -d 0 -F slapd.d -h "ldap://127.0.0.1:$port"
check "and that it is there again" wait_until log_says 'the directory is there again'
finish
