#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The shared library shows the public functions, all of them, and nothing else.
. "$top_srcdir/tests/e2e/harness.sh"

library=$top_builddir/client/.libs/libespalier.so.0
exported() {
    nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}
declared() {
    cat "$top_srcdir/include/grpc.h" "$top_srcdir/include/espalier.h" "$top_srcdir/include/fast.h" \
        "$top_srcdir/include/grpc_data.h" | sed 's,/\*.*\*/,,' |
        grep -Ev '^ ?\*|^/\*|^typedef' | grep -oE '\b(grpc|esp|fast)_[a-z_]+\(' | tr -d '(' | sort -u
}
same_names() {
    exported >exported
    declared >declared
    [ -s exported ] && diff declared exported
}
has_version() {
    nm -D --with-symbol-versions "$library" | grep 'grpc_call@@ESPALIER_' &&
        readelf -d "$library" | grep 'SONAME.*libespalier\.so\.[0-9]'
}

[ -e "$library" ] || skip_all "built without the ORB"
check "exactly the functions of the public headers are exported" same_names
check "the library and its symbols have versions" has_version
finish
