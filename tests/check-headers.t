#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Programs of every age and of both languages can include the public headers.
. "${top_srcdir:?}/tests/e2e/harness.sh"

# shellcheck disable=SC2086
compiles_as() { # LANGUAGE FILE STANDARD...
    language=$1 file=$2 compiler=${CC:-cc}
    shift 2
    [ "$language" = c ] || compiler=${CXX:-c++}
    for standard; do
        $compiler -x "$language" -std="$standard" -pedantic-errors -Wall -Wextra -Werror \
            -I "$top_srcdir/include" -fsyntax-only "$file" || { echo "not with -std=$standard"; return 1; }
    done
}

header_compiles() {
    echo "#include <$1>" >one.c
    compiles_as c one.c c89 c99 c11 && compiles_as c++ one.c c++98 c++11 c++17
}

# The conformance tests of the standard assign these numbers to error codes.
cpp_program_of_the_reference_compiles() {
    cat >program.cc <<'EOF'
#include <grpc.h>
#include <grpc_data.h>

static const char *name(int code)
{
    return grpc_error_string(code);
}

int main()
{
    grpc_error_t error = GRPC_NO_ERROR;
    int number = grpc_initialize(0);
    error = number;
    error = -1;
    error |= grpc_finalize();
    switch (error) {
    case GRPC_INVALID_DATA:
    case GRPC_SESSION_FAILED:
        error = 1000;
    }
    return name(error) == 0;
}
EOF
    compiles_as c++ program.cc c++98 c++17
}

for header in "$top_srcdir"/include/*.h; do
    check "${header##*/} compiles as C89, as C++98 and as later versions" header_compiles "${header##*/}"
done
check "a C++ program that assigns numbers to error codes compiles" cpp_program_of_the_reference_compiles
finish
