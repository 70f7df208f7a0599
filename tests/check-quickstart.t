#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which packages quickstart installs, with stand-ins for the programs that would.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs awk sed

mkdir stand-ins
stand_in() {
    { echo '#!/bin/sh'; cat; } >"stand-ins/$1"
    chmod +x "stand-ins/$1"
}
stand_in dpkg-query <<'EOF'
for package; do :; done
case " $ABSENT " in *" $package "*) exit 1 ;; *" $package-removed "*) echo config-files ;; *) echo installed ;; esac
EOF
stand_in apt-get <<'EOF'
echo "$@" >>"$APT_CALLS"
echo "chatter of apt-get"
[ -z "${APT_FAILS:-}" ] || { echo "E: no route to the mirror"; exit 100; }
EOF
stand_in id <<'EOF'
echo "$WHO"
EOF
stand_in sudo <<'EOF'
echo sudo >>"$APT_CALLS"
exec "$@"
EOF
path=$work/stand-ins:$PATH
PATH=$path
# A copy, as the log is written beside it.
mkdir -p tree/etc
cp "$top_srcdir/quickstart" tree/
cp "$top_srcdir/etc/packages.debian" tree/etc/
APT_CALLS=$work/apt-calls
export PATH APT_CALLS

# quickstart WHO ABSENT ARGUMENT...
quickstart() {
    : >"$APT_CALLS"
    who=$1 absent=$2
    shift 2
    WHO=$who ABSENT=$absent tree/quickstart "$@"
}
installs() {
    sed -n 's/.* install //p' "$APT_CALLS" | tr ' ' '\n' | grep -v '^$' | sort | tr '\n' ' ' >found
    [ "$(cat found)" = "$1" ] || { echo "expected \"$1\", found \"$(cat found)\""; return 1; }
}
calls_nothing() {
    [ ! -s "$APT_CALLS" ] || { cat "$APT_CALLS"; return 1; }
}
by_sudo() {
    grep -qx sudo "$APT_CALLS"
}

check "nothing missing" quickstart 0 "" packages
check "then nothing is called" calls_nothing
check "two missing, one removed before" quickstart 0 "libffi-dev uthash-dev jansson libjansson-dev-removed" packages
check_says "it says what it installs" 'missing: libjansson-dev libffi-dev uthash-dev'
cp "$log" said
check "and installs exactly that" installs "libffi-dev libjansson-dev uthash-dev "
check "with the output of both commands of apt-get in the log" test "$(grep -c chatter tree/build/packages.log)" = 2
check_fails 1 "and not on the terminal" grep chatter said
APT_FAILS=yes
export APT_FAILS
check_fails 1 "a failure of apt-get" quickstart 0 libffi-dev packages
check_says "shows the end of the log, and where it is" 'no route to the mirror' 'all of it in .*/build/packages.log'
unset APT_FAILS
check "somebody else than root" quickstart 1000 libffi-dev packages
check "uses sudo" by_sudo
check "the developers' packages" quickstart 0 "shellcheck libffi-dev" packages developers
check "are a group of their own" installs "shellcheck "
rm stand-ins/sudo
# A PATH without sudo, wherever this machine has one.
mkdir plain
for program in awk cat dirname env find grep ln mkdir nproc sed sh sort tail tr; do
    ln -s "$(command -v "$program")" plain/
done
PATH=$work/stand-ins:$work/plain
check_fails 1 "without sudo it gives up" quickstart 1000 "libffi-dev uthash-dev" packages
check_says "and says both commands that root must run" '^    apt-get update$' \
    '^    apt-get -y --no-install-recommends install libffi-dev uthash-dev *$'
PATH=$path
check_fails 2 "an unknown group is refused" quickstart 0 "" packages games
check_fails 2 "an unknown verb is refused" quickstart 0 "" dance
check_fails 2 "no verb is refused" quickstart 0 ""
finish
