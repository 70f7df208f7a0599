#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules of the code base that a compiler does not check: the includes that each folder may have, the files that may name
# CORBA, the first lines of every file. See ARCHITECTURE.md.
. "${top_srcdir:?}/tests/e2e/harness.sh"
cd "$top_srcdir" || exit 99

folders='agent bench bindings client command core daemon doc etc examples flow idl include m4 orb problems redirector sed services simulate solvers tests util'

# The files of the tree, also without git (in a release), and without what builds make beside them.
sources() {
    # shellcheck disable=SC2086
    find $folders -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.idl' -o -name '*.sh' -o -name '*.t' \
        -o -name '*.mk' -o -name '*.m4' \) ! -name 'libtool.m4' ! -name 'lt*.m4'
}

# nothing_matches PATTERN FILE...: prints the offending lines and fails when there are some.
nothing_matches() {
    pattern=$1
    shift
    ! grep -nEi "$pattern" "$@" /dev/null
}

# includes_only FOLDER ALLOWED...: every #include "x/..." of FOLDER starts with an allowed folder.
includes_only() {
    folder=$1
    shift
    allowed="config.h|$(echo "$@" | tr ' ' '|')"
    ! find "$folder" -name '*.[ch]' -exec grep -HnE '^#include "' {} + | grep -vE "#include \"($allowed)"
}

c_files=$(find include util core services simulate daemon agent sed client command flow redirector tests examples -name '*.[ch]' | sort)

# A room of client/ includes nothing of a room behind it in this order, and no source lies outside of the rooms.
client_rooms='arguments session data jobs abstract api'
client_rooms_are_in_order() {
    below=
    for room in $client_rooms; do
        below="$below client/$room/"
        # shellcheck disable=SC2086
        includes_only "client/$room" $below services/ core/ util/ orb/orb.h espalier.h fast.h grpc.h grpc_data.h ||
            { echo "client/$room/ includes a higher room"; return 1; }
    done
    rooms=$(echo "$client_rooms" | tr ' ' '|')
    ! find client -name '*.[ch]' | grep -vE "^client/($rooms)/"
}

# objects_of FOLDER PREFIX: the objects below FOLDER that have a source: a build folder keeps those of sources that
# are gone. PREFIX: what automake puts before the names of objects.
objects_of() {
    find "$top_builddir/$1" -name "$2*.o" 2>/dev/null | while read -r object; do
        source=$1/${object#"$top_builddir/$1/"}
        source=$(echo "$source" | sed "s,/$2\\([^/]*\\)\\.o\$,/\\1.c,")
        [ ! -f "$source" ] || echo "$object"
    done
}

# calls_are_in_order FOLDER PREFIX MOST ROOM...: of the calls in the objects of these rooms of FOLDER, prints each call
# of a higher room, and each circle of more than MOST files of one room. A circle of files is one module in pieces:
# none of them can be understood or linked without the others.
calls_are_in_order() {
    top=$1 prefix=$2 most=$3
    shift 3
    objects_of "$top" "$prefix" | grep -E "/$top/($(echo "$*" | tr ' ' '|'))/" >"$work/objects"
    [ -s "$work/objects" ] || return 0
    # shellcheck disable=SC2046
    ! nm -gA $(cat "$work/objects") | awk -v rooms="$*" -v most="$most" -v top="$top" -v prefix="$prefix" '
        BEGIN { n = split(rooms, list, " "); for (i = 1; i <= n; i++) level[list[i]] = i }
        { file = $1; sub(/:[^:]*$/, "", file); sub(".*" top "/", "", file); sub(prefix, "", file); sub(/\.o$/, "", file)
          if ($2 ~ /^[Uwv]$/) { taken[file, $3] = 1 } else { owner[$3] = file; files[file] = 1 } }
        function room(file) { sub(/\/.*/, "", file); return file }
        function visit(from, file,    other, k, parts, count) {
            count = split(next_to[file], parts, " ")
            for (k = 1; k <= count; k++) {
                other = parts[k]
                if (!((from, other) in reach)) { reach[from, other] = 1; visit(from, other) }
            }
        }
        END {
            for (pair in taken) {
                split(pair, of, SUBSEP)
                to = owner[of[2]]
                if (to == "" || to == of[1]) continue
                if (level[room(to)] > level[room(of[1])]) print of[1] " calls " of[2] "() of " to
                if (room(to) == room(of[1])) next_to[of[1]] = next_to[of[1]] " " to
            }
            for (file in files) visit(file, file)
            for (file in files) {
                size = 0; circle = ""
                for (other in files)
                    if (((file, other) in reach) && ((other, file) in reach)) { size++; circle = circle " " other }
                if (size > most) print "a circle of " size " files:" circle
            }
        }' | sort -u | grep .
}

# shellcheck disable=SC2086
no_corba() {
    # An entry point chooses the transport by including orb/orb.h: that line, and no other, names the folder.
    nothing_matches 'corba|omniorb|omni_|omnithread' $c_files
}

orb_is_chosen_by_entry_points() {
    ! find util core services simulate flow -name '*.[ch]' -exec grep -HE '#include "orb/' {} +
}

cxx_only_in_orb() {
    # shellcheck disable=SC2086
    test -z "$(find $folders \( -name '*.cc' -o -name '*.cpp' -o -name '*.hh' \) ! -path 'orb/*' \
        ! -path 'solvers/*' ! -path 'bench/*' | tee /dev/stderr)"
}

every_file_has_a_licence() {
    missing=0
    for file in $(sources) configure.ac Makefile.am quickstart .ci/run .ci/distribution bootstrap; do
        [ -f "$file" ] || continue
        head -n 5 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$file"; missing=1; }
    done
    return "$missing"
}

no_file_is_too_long() {
    long=0
    for file in $(sources . | grep -E '\.(c|h|cc)$'); do
        lines=$(wc -l <"$file")
        [ "$lines" -lt 1500 ] || { echo "$file has $lines lines"; long=1; }
    done
    return "$long"
}

no_leftovers() {
    # shellcheck disable=SC2086
    nothing_matches '\b(TODO|FIXME|XXX)\b' $c_files
}

library_code_does_not_exit_or_print() {
    # daemon.c is what all main functions share, and answers --help.
    ! find util core services simulate flow -name '*.c' ! -name 'daemon*.c' -exec grep -HnE '(^|[^a-z_>.])(exit|abort|printf|puts|perror)\(' {} +
}

# The command links the archive of the client library, for a quick start: no include tells what it takes of it.
command_takes_public_functions() {
    command=$top_builddir/command/libcommand.a client=$top_builddir/client/libclient.a
    [ -f "$command" ] && [ -f "$client" ] || return 0 # before anything is built
    nm -u "$command" | awk '$1 == "U" { print $2 }' | sort -u >"$work/taken"
    nm -g --defined-only "$client" | awk 'NF == 3 { print $3 }' | sort -u >"$work/defined"
    [ -s "$work/taken" ] && [ -s "$work/defined" ] || return 1
    ! comm -12 "$work/taken" "$work/defined" | grep -vE '^(grpc|esp|fast)_'
}

# What verbs share must not lean on the table of them.
verbs_are_known_by_few() {
    ! grep -l '#include "command/verbs.h"' command/*.[ch] | grep -vE '/(verb_[a-z_]*|verbs|options|complete|main)\.c$'
}

each_number_is_one_test() {
    twice=$(ls tests/e2e/t[0-9]*.t | sed 's,.*/\(t[0-9]*\)-.*,\1,' | sort | uniq -d)
    [ -z "$twice" ] || { echo "numbers of several tests: $twice"; return 1; }
}

each_test_is_named_once() {
    twice=$(grep -v '^nightly_tests' tests/local.mk | grep -o 'tests/e2e/t[0-9][^ ]*\.t' | sort | uniq -d)
    [ -z "$twice" ] || { echo "named several times in tests/local.mk: $twice"; return 1; }
}

check "nothing outside idl/, orb/ and bench/ names CORBA" no_corba
check "util/ leans on nothing but the public headers" includes_only util util/ espalier.h grpc.h
check "core/ leans on util/" includes_only core core/ util/ espalier.h espalier_scheduler.h grpc.h config.h
check "services/ leans on core/ and util/" includes_only services services/ core/ util/ espalier.h grpc.h
check "simulate/ leans on core/ and util/" includes_only simulate simulate/ core/ util/ espalier.h config.h
check "daemon/ leans on services/ and chooses the ORB" includes_only daemon daemon/ services/ core/ util/ orb/orb.h
check "flow/ leans on core/ and util/, and on the client library's public headers" \
    includes_only flow flow/ core/ util/ espalier.h config.h
check "agent/ leans on services/, not on other programs" \
    includes_only agent agent/ daemon/program.h services/ core/ util/ espalier.h grpc.h
check "redirector/ leans on services/, not on other programs" \
    includes_only redirector redirector/ daemon/program.h services/ core/ util/ espalier.h grpc.h
check "sed/ leans on services/, not on other programs" \
    includes_only sed sed/ daemon/program.h services/ core/ util/ espalier.h espalier_server.h grpc.h
check "sed/data/ knows nothing of the server" includes_only sed/data sed/data/ sed/porter/ services/ core/ util/ \
    espalier.h grpc.h
check "sed/forecast/ and sed/sessions/ know nothing of the server" sh -c '! grep -nE "#include \"sed/(server|data|states)/" \
    sed/forecast/*.[ch] sed/sessions/*.[ch]'
check "sed/states/ knows nothing of the server" includes_only sed/states sed/states/ sed/sessions/ sed/pool/ services/ \
    core/ util/
check "no room of sed/ calls a higher one, and its circles have five files at most" \
    calls_are_in_order sed '' 5 forecast sessions data states server
check "client/ leans on services/, not on other programs" \
    includes_only client client/ services/ core/ util/ orb/orb.h espalier.h fast.h grpc.h grpc_data.h
check "the rooms of client/ lean on those before them: $client_rooms" client_rooms_are_in_order
check "no room of client/ calls a higher one, and its circles have six files at most" \
    calls_are_in_order client libclient_a- 6 $client_rooms
check "command/ leans on flow/, simulate/, services/ and the public headers, not on client/" \
    includes_only command command/ flow/ simulate/ services/ core/ util/ espalier.h fast.h grpc.h
check "command/ takes nothing of the client library but its public functions" command_takes_public_functions
check "only verbs and their table know the verbs" verbs_are_known_by_few
check "only programs and the client library choose the ORB" orb_is_chosen_by_entry_points
check "solvers/ leans on nothing of ours but the public contract and core/unequal/" \
    includes_only solvers solvers/ core/unequal/ espalier_server.h
check "C++ stays in orb/, and in solvers/ behind C" cxx_only_in_orb
check "every file names its licence" every_file_has_a_licence
check "every file is shorter than 1,500 lines" no_file_is_too_long
check "nothing is left to be done later" no_leftovers
check "a number of tests/e2e/ is one test" each_number_is_one_test
check "and each of them is named once" each_test_is_named_once
check "libraries neither exit nor print" library_code_does_not_exit_or_print
finish
