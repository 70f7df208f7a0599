#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Fortran module: its structs are those of the headers, its example runs, types, texts, sessions, data and errors.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc gfortran "$top_builddir/client/.libs/libespalier.so.0"
LD_LIBRARY_PATH=$top_builddir/client/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
OPENBLAS_NUM_THREADS=1
export LD_LIBRARY_PATH OPENBLAS_NUM_THREADS

# fortran PROGRAM SOURCE
fortran() {
    gfortran -O2 -std=f2018 -Wall -Wextra -Wno-compare-reals -Wno-function-elimination -Werror "$top_srcdir/bindings/fortran/espalier.f90" "$2" \
        -L"$top_builddir/client/.libs" -lespalier -o "$1"
}

# Prints size and offsets of the structs that the module declares, as the headers have them.
cat >structs.c <<'EOF2'
#include <espalier.h>
#include <stddef.h>
#include <stdio.h>
#define AT(member) offsetof(struct esp_argument, member)
int main(void)
{
    printf("%zu %zu %zu %zu %zu %zu %zu %zu %zu\n", sizeof(struct esp_argument), AT(n_dims), AT(dims), AT(completed),
           AT(value), AT(datum), AT(kept), AT(kept_mode), AT(stays));
    printf("%zu %zu\n", sizeof(struct esp_options), offsetof(struct esp_options, call_timeout_s));
    printf("%zu %zu\n", sizeof(struct esp_error), offsetof(struct esp_error, text));
    printf("%zu\n", sizeof(grpc_function_handle_t));
    printf("%d %d\n", ESP_TYPE_STRING, ESP_TYPE_DOUBLE_COMPLEX);
}
EOF2
# The types of the module are private: a program with the same declarations prints them.
sed -n -e '/type, bind(C) ::/,/end type/p' "$top_srcdir/bindings/fortran/espalier.f90" >types.inc
sed -n -e '/integer(c_int), parameter :: type_any/,/type_string/p' "$top_srcdir/bindings/fortran/espalier.f90" >>types.inc
cat >structs.f90 <<'EOF2'
program structs
    use, intrinsic :: iso_c_binding
    use espalier, only: grpc_function_handle_t
    implicit none
    include 'types.inc'
    type(c_argument), target :: a
    type(c_options), target :: o
    type(c_error), target :: e
    type(grpc_function_handle_t) :: h
    print '(*(i0,:,1x))', c_sizeof(a), at(c_loc(a%n_dims)), at(c_loc(a%dims)), at(c_loc(a%completed)), at(c_loc(a%value)), &
        at(c_loc(a%datum)), at(c_loc(a%kept)), at(c_loc(a%kept_mode)), at(c_loc(a%stays))
    print '(*(i0,:,1x))', c_sizeof(o), transfer(c_loc(o%call_timeout_s), 0_c_intptr_t) - transfer(c_loc(o), 0_c_intptr_t)
    print '(*(i0,:,1x))', c_sizeof(e), transfer(c_loc(e%text), 0_c_intptr_t) - transfer(c_loc(e), 0_c_intptr_t)
    print '(i0)', c_sizeof(h)
    print '(*(i0,:,1x))', type_string, type_double_complex
contains
    integer(c_intptr_t) function at(member)
        type(c_ptr), intent(in) :: member
        at = transfer(member, 0_c_intptr_t) - transfer(c_loc(a), 0_c_intptr_t)
    end function
end program
EOF2
same_structs() {
    cc -I"$top_srcdir/include" structs.c -o structs_c && ./structs_c >wanted &&
        gfortran "$top_srcdir/bindings/fortran/espalier.f90" structs.f90 -L"$top_builddir/client/.libs" -lespalier -o structs_f &&
        ./structs_f >found && diff wanted found
}
check "structs and numbers are those of the headers" same_structs

mkdir problems
cp "$top_srcdir/tests/e2e/kinds.esp" "$top_srcdir/tests/python/python.esp" problems
platform_of_all_problems "$work/problems"
check "the example compiles without warnings" fortran solve "$top_srcdir/examples/fortran/solve.f90"
check "and runs" timeout 60 ./solve
check_says "with the right results" '^one system: right' '^several systems: right' '^the cube: right'
check_says "and texts of errors" 'singular matrix: .*exactly zero' 'every other row: expected a contiguous array'
check "a program of the test compiles" fortran more "$top_srcdir/tests/fortran/more.f90"
check "and finds everything right" timeout 60 ./more S
sed -n '/^```fortran$/,/^```$/p' "$top_srcdir/doc/fortran.md" | sed '/^```/d' >manual.f90
check "the program of the manual compiles" fortran manual manual.f90
check "and runs" timeout 60 ./manual
check_says "with the solution that the manual says" '0\.8.*1\.4'
finish
