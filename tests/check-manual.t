#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual is code: every public symbol, configuration key and long option has its place in it, and its
# examples compile.
. "${top_srcdir:?}/tests/e2e/harness.sh"
man=$top_srcdir/doc/man

# all_in FILE: every word on standard input stands in the page.
all_in() {
    missing=0
    while read -r word; do
        grep -qE "(^|[^a-zA-Z0-9_])$word([^a-zA-Z0-9_]|\$)" "$1" || { echo "$word is not in ${1##*/}"; missing=1; }
        seen=yes
    done
    [ -n "${seen:-}" ] && [ $missing -eq 0 ]
}

# The names that a header gives: functions, types, constants (not include guards, not members).
header_symbols() {
    sed -e 's|//.*||' "$1" | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/| |g' |
        grep -oE '\<((grpc|esp|fast)_[a-z0-9_]+ *\(|(struct|enum) (esp|fast)_[a-z_]+|grpc_[a-z_]+_[te]\>|(GRPC|ESP|FAST)_[A-Z0-9_]+)' |
        sed -e 's/ *($//' -e 's/^\(struct\|enum\) //' | grep -vE '_H$' | sort -u
}

header_is_described() {
    header_symbols "$top_srcdir/include/$1.h" >symbols
    [ -s symbols ] && all_in "$man/$1.3" <symbols
}

every_header_has_a_page() {
    for header in "$top_srcdir"/include/*.h; do
        name=${header##*/}
        [ -f "$man/${name%.h}.3" ] || { echo "$name has no page"; return 1; }
    done
}

every_program_has_a_page() {
    sed -nE 's/^(bin|sbin|pkglibexec)_PROGRAMS \+= .*\/(.*)$/\2/p' "$top_srcdir"/*/local.mk >programs
    [ -s programs ] || return 1
    bad=0
    while read -r program; do
        [ -f "$man/$program.1" ] || [ -f "$man/$program.8" ] || { echo "$program has no page"; bad=1; }
    done <programs
    for page in "$man"/*.[18]; do
        grep -q "dist_man_MANS += .*doc/man/${page##*/}" "$top_srcdir/doc/local.mk" || { echo "$page is not installed"; bad=1; }
    done
    return $bad
}

# entry PAGE KEY: the text of a key's entry in a page.
entry() {
    awk -v key="$2" '
        /^\.It / { on = ($2 == "Ic" && $3 == key) }
        /^\.(El|Sh|Ss)/ { on = 0 }
        on' "$1"
}

# The entry of a key has its type, bounds and default as the program's own table has them.
key_is_described() {
    text=$(entry "$1" "$2")
    bounds=''
    [ "$5" != - ] && [ "$6" != - ] && bounds="From $5 to $6."
    [ "$5" != - ] && [ "$6" = - ] && bounds="At least $5."
    [ "$5" = - ] && [ "$6" != - ] && bounds="At most $6."
    type=$(echo "$3" | sed -e 's/, / | /g' -e '/|/!s/ /-/g')
    for wanted in "No = Ar $type" "$bounds" "${4:+Default: $4.}"; do
        [ "$wanted" = "Default: -." ] && continue
        case $text in *"$wanted"*) ;; *) echo "${1##*/}: $2: expected \"$wanted\", found: $text"; return 1 ;; esac
    done
}

# A platform's sections have the keys of the daemons' own files, described there.
page_of() {
    case $1.$2 in
    platform.redirector) echo espalier-redirector.conf.5 ;;
    platform.master | platform.leader) echo espalier-agent.conf.5 ;;
    platform.server) echo espalier-sed.conf.5 ;;
    *) echo "espalier-$1.conf.5" ;;
    esac
}

keys_are_described() {
    "$top_builddir/tests/list_settings" >keys && [ -s keys ] || return 1
    tr '\t' '~' <keys >fields
    bad=0
    while IFS='~' read -r kind section key type initial least most text; do
        page=$(page_of "$kind" "$section")
        case $kind.$section.$key in
        platform.*.parent | platform.*.cpu_quota | platform.*.host) page=espalier-platform.conf.5 ;;
        esac
        key_is_described "$man/$page" "$key" "$type" "$initial" "$least" "$most" || bad=1
    done <fields
    return $bad
}

no_key_is_invented() {
    bad=0
    for page in "$man"/espalier-*.conf.5; do
        kind=${page##*/espalier-}
        kind=${kind%.conf.5}
        for key in $(awk '/^\.It Ic/ { print $3 }' "$page" | sort -u); do
            cut -f 1,3 keys | grep -qx "$kind	$key" || { echo "${page##*/}: there is no key $key"; bad=1; }
        done
    done
    return $bad
}

# options_are_described PAGE COMMAND...: each --option of the help text is in the page.
options_are_described() {
    page=$1
    shift
    "$@" --help >help 2>&1 || { cat help; return 1; }
    grep -oE '(^|[ ,\[|])--[a-z][a-z-]+' help | grep -oE '[a-z][a-z-]+' | sort -u >options
    [ -s options ] || { echo "no option in the help of $*"; return 1; }
    bad=0
    while read -r option; do
        grep -qE "Fl -$option( |\$)" "$man/$page" || { echo "$*: --$option is not in $page"; bad=1; }
    done <options
    return $bad
}

command_is_described() {
    espalier --help >verbs || return 1
    bad=0
    # The verbs stand in a block of lines "  verb operands  text".
    awk '/^Verbs:/ { on = 1; next } /^$/ { on = 0 } on' verbs |
        sed -E 's/^  ([a-z]+( [a-z]+)?)( .*)?$/\1/' >names
    [ -s names ] || return 1
    while read -r verb; do
        grep -qE "^\.(Ss|It Ic|It Nm espalier Cm|It Cm) $verb( |\$)" "$man/espalier.1" ||
            { echo "the verb \"$verb\" is not in espalier.1"; bad=1; }
        # shellcheck disable=SC2086
        options_are_described espalier.1 espalier $verb || bad=1
    done <names
    return $bad
}

# examples_of FILE: writes the C programs in a page (after a line .\" example) or a README (```c) to exampleN.c.
examples_of() {
    rm -f example*.c
    awk '
        /^\.\\" example/ { wanted = 1; next }
        (wanted && /^\.Bd/) || /^```c$/ { n++; on = 1; wanted = 0; next }
        /^\.Ed/ || /^```$/ { on = 0 }
        on { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print > ("example" n ".c") }' "$1"
    ls example*.c >/dev/null 2>&1
}

examples_compile() {
    examples_of "$1" || { echo "no example in $1"; return 1; }
    for example in example*.c; do
        # shellcheck disable=SC2086
        ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -I "$top_srcdir/include" \
            -fsyntax-only "$example" || return 1
    done
}

pages_are_well_formed() {
    for page in "$man"/*.[1-8]; do
        groff -mandoc -Tascii -ww -z "$page" 2>&1
    done >warnings
    cat warnings
    [ ! -s warnings ]
}

# In the table a name may lack what it has in common with the first one of its row: "..._slots".
metrics_are_described() {
    grep -rhoE '"espalier_(node|healthy|agent|server|redirector)[a-z_]*"' "$top_srcdir/agent" "$top_srcdir/sed" \
        "$top_srcdir/services" "$top_srcdir/redirector" --include='*.c' | tr -d '"' | sort -u >metrics
    [ "$(wc -l <metrics)" -gt 50 ] || return 1
    bad=0
    while read -r metric; do
        rest=$(echo "$metric" | sed -E 's/^espalier_(server|agent|redirector)//')
        grep -qE "\`($metric|\.\.\.$rest)[\`{]" "$top_srcdir/doc/administration.md" ||
            { echo "$metric is not in the table of metrics"; bad=1; }
    done <metrics
    return $bad
}

check "every metric is in the manual" metrics_are_described
check "every public header has a page" every_header_has_a_page
check "every program has a page" every_program_has_a_page
for header in "$top_srcdir"/include/*.h; do
    name=${header##*/}
    check "$name: every symbol is in the manual" header_is_described "${name%.h}"
done
check "every configuration key is in the manual, with its type, bounds and default" keys_are_described
check "the manual invents no key" no_key_is_invented
for program in espalier-redirector espalier-agent espalier-sed; do
    command -v $program >/dev/null 2>&1 &&
        check "every option of $program is in the manual" options_are_described $program.8 $program
done
command -v espalier >/dev/null 2>&1 && check "every verb and option of espalier is in the manual" command_is_described
for page in grpc.3 espalier.3 espalier_scheduler.3 fast.3; do
    check "the examples of $page compile" examples_compile "$man/$page"
done
check "the examples of the README compile" examples_compile "$top_srcdir/README.md"
if command -v groff >/dev/null 2>&1; then
    check "the pages are well formed" pages_are_well_formed
fi
finish
