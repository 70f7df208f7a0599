#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed is what a C programmer needs: every example of the README and the manual compiles against the
# installed library, with nothing but pkg-config, and runs on a platform.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs pkg-config cc make

root=$work/root
unset MAKEFLAGS MFLAGS MAKELEVEL
install_to_root() {
    make -s -C "$top_builddir" install DESTDIR="$root" || return 1
    pc=$(find "$root" -name espalier.pc) && [ -n "$pc" ]
}

has_all() {
    missing=0
    for name; do
        [ -n "$(find "$root" -path "*/$name" \( -type f -o -type l \))" ] || { echo "$name is not installed"; missing=1; }
    done
    return $missing
}

# Nothing internal can be linked to by accident, and nothing public is forgotten.
exports_the_headers() {
    library=$(find "$root" -name libespalier.so)
    nm -D --defined-only "$library" | awk '$2 ~ /[TDBR]/ { sub(/@.*/, "", $3); print $3 }' | sort -u >exported
    grep -vE '^(grpc|esp|fast)_' exported && return 1
    for header in grpc espalier fast; do
        find "$root" -path "*/include/$header.h" -exec sed -e '/^ \*/d' -e '/^typedef/d' -e 's|/\*.*\*/||' {} + |
            grep -oE '\<(grpc|esp|fast)_[a-z_]+\(' | tr -d '('
    done | sort -u >declared
    [ -s declared ] && [ -z "$(comm -13 exported declared | tee /dev/stderr)" ]
}

has_soname() {
    readelf -d "$(find "$root" -name libespalier.so)" | grep -qE 'SONAME.*libespalier\.so\.[0-9]+'
}

check "make install" install_to_root
check "library, headers, pkg-config file, programs" has_all lib*/libespalier.so include/grpc.h include/espalier.h include/espalier.f90 \
    pkgconfig/espalier.pc bin/espalier sbin/espalier-agent sbin/espalier-redirector sbin/espalier-sed \
    espalier/espalier-crd
check "descriptions, sample configurations, manual" has_all problems/lapack/linear-systems/general.esp etc/sed.conf etc/platform.conf \
    man1/espalier.1 man3/grpc.3 man3/espalier.3 man3/grpc_call.3 man3/esp_sequence_begin.3 man5/espalier-sed.conf.5 man8/espalier-sed.8
check "completions for shells" has_all bash-completion/completions/espalier site-functions/_espalier \
    vendor_completions.d/espalier.fish
check "examples, matrices and the Octave package" has_all octave/espalier-octave.tar.gz examples/Makefile examples/README.md examples/farm.c matrices/README.md \
    matrices/lund_a.rsa matrices/pores_1.mtx
python_is_installed() {
    grep -q '^espalierpython_DATA = ' "$top_builddir/Makefile" || return 0
    has_all espalier/__init__.py espalier/_where.py || return 1
    package=$(dirname "$(find "$root" -path '*/espalier/_where.py')")
    for candidate in python3 /usr/bin/python3; do
        $candidate -c 'import numpy' 2>/dev/null || continue
        PYTHONPATH=$(dirname "$package") PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$(dirname "$(find "$root" -name libespalier.so)") \
            $candidate -c 'import espalier; espalier._library.lib.esp_type_name'
        return
    done
}
check "the Python package finds its library" python_is_installed
check "the library exports what its headers declare, and nothing else" exports_the_headers
check "the library has a versioned soname" has_soname

data=$(dirname "$(dirname "$(find "$root" -path '*/examples/farm.c')")")
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
LD_LIBRARY_PATH=$(dirname "$(find "$root" -name libespalier.so)")

# examples_of FILE PREFIX: the C programs of a page (after a line .\" example) or a README (```c).
examples_of() {
    awk -v prefix="$2" '
        /^\.\\" example/ { wanted = 1; next }
        (wanted && /^\.Bd/) || /^```c$/ { n++; on = 1; wanted = 0; next }
        /^\.Ed/ || /^```$/ { on = 0 }
        on { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print > (prefix n ".c") }' "$1"
}

compile() {
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror "$1.c" $(pkg-config --cflags --libs espalier) -lm -o "$1"
}

run() { # PROGRAM ARGUMENT...
    program=$1
    shift
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH "./$program" "$@"
}

examples_of "$top_srcdir/README.md" readme
examples_of "$top_srcdir/doc/man/grpc.3" grpc
examples_of "$top_srcdir/doc/man/espalier.3" espalier

up() {
    espalier up --name "$platform" --problems "$top_srcdir/problems" --problems "$work/programs/callback" --json >up.json &&
        ESPALIER_CONFIG=$(sed -n 's/.*"client_config": *"\([^"]*\)".*/\1/p' up.json) && [ -n "$ESPALIER_CONFIG" ] &&
        export ESPALIER_CONFIG
}
at_exit() {
    espalier down "$platform" >/dev/null 2>&1
}
platform=install-$$
# What examples/integrate.c calls is published as the examples' README says.
cp -R "$data/examples" programs
check "the installed examples are built by their Makefile" make -s -C programs
check "a platform" up
for example in readme[0-9].c grpc[0-9].c espalier[0-9].c; do
    example=${example%.c}
    check "example $example compiles against the installed library" compile "$example"
    check "example $example runs" run "$example"
    case $example in
    readme1) check_says "and prints the solution" '^x = 1 2$' ;;
    grpc1) check_says "and prints the solution" '^x = 1 1 1$' ;;
    grpc2) check_says "and prints sixteen results" '^session 16: ' ;;
    esac
done
for source in programs/*.c; do
    name=${source%.c}
    case $name in
    */pieces) check "pieces runs" run "$name" SeD1 ;;
    *) check "${name##*/} runs" run "$name" ;;
    esac
done
check "the installed matrices are solved" espalier solve programs/matrices/lund_a.rsa
finish
