#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What configure says on a machine where libraries are missing.
. "${top_srcdir:?}/tests/e2e/harness.sh"
[ -x "$top_srcdir/configure" ] || skip_all "configure was not made"
needs pkg-config cc

# A place where pkg-config finds nothing stands for a machine that lacks the libraries.
check_fails 1 "configure stops where libraries are missing" \
    env PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH= "$top_srcdir/configure" -q
check_says "it names each with its use and its Debian package" \
    'libconfuse \(configuration files\): apt-get install libconfuse-dev' \
    'jansson \(JSON output\): apt-get install libjansson-dev' \
    'cmocka \(unit tests\): apt-get install libcmocka-dev'
check_says "and one command for all" '^ +apt-get install .*libconfuse-dev .*libffi-dev'

packages_in_one_place() {
    grep -oE '\[lib[a-z0-9]+-dev\]|\[omniidl\]|\[uthash-dev\]|\[zlib1g-dev\]' "$top_srcdir/configure.ac" "$top_srcdir/m4/espalier.m4" |
        sed 's/.*\[\(.*\)\]/\1/' | sort -u >named
    [ -s named ] && while read -r package; do
        grep -qx "$package" "$top_srcdir/etc/packages.debian" || { echo "$package is not in etc/packages.debian"; exit 1; }
    done <named
}
check "quickstart installs every package that configure names" packages_in_one_place
finish
