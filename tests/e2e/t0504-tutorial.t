#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/tutorial-publish.md, word by word: its files are written, its commands run, and what it shows must appear.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run tutorial pieces bin

at_exit() {
    espalier down mine >down.out 2>&1
}

# What an installed library tells, for the one that was built.
cat >bin/pkg-config <<END
#!/bin/sh
echo "-I$top_srcdir/include -L$top_builddir/client/.libs -Wl,-rpath,$top_builddir/client/.libs -lespalier"
END
chmod +x bin/pkg-config
PATH=$work/bin:$PATH

# One piece a block, in order: NN-kind or NN-file-NAME.
awk '
    /^```/ && on { on = 0; close(out); next }
    /^```[a-z]/ {
        on = 1
        language = substr($1, 4)
        kind = language == "sh" ? ($2 == "fails" ? "fails" : "run") : language == "output" ? "output" : "file-" $2
        out = sprintf("pieces/%03d-%s", ++n, kind)
        printf "" >out
        next
    }
    on { print >out }' "$top_srcdir/doc/tutorial-publish.md"

# What the last command printed has the lines of the file, whatever the white space.
cat >shows <<'END'
tr -s ' ' <"$1" | sed 's/ $//' >seen
while read -r line; do
    grep -qF -e "$(echo "$line" | tr -s ' ')" seen || { echo "expected: $line"; cat seen; exit 1; }
done <"$2"
END

in_tutorial() {
    (cd "$work/tutorial" && sh -e "$1")
}

check "the tutorial has files, commands and what they show" \
    sh -c 'test $(ls pieces | grep -c run) -ge 7 -a $(ls pieces | grep -c file) -ge 4 -a $(ls pieces | grep -c output) -ge 6'
for piece in "$work"/pieces/*; do
    case $piece in
    *-file-*) cp "$piece" "tutorial/${piece##*-file-}" ;;
    *-run) check "it works: $(head -n 1 "$piece")" in_tutorial "$piece" ;;
    *-fails)
        in_tutorial "$piece" >"$log" 2>&1
        code=$?
        check "it fails: $(tail -n 1 "$piece")" test $code -ne 0
        in_tutorial "$piece" >"$log" 2>&1
        ;;
    *-output)
        cp "$log" shown
        check "it shows: $(head -n 1 "$piece")" sh shows shown "$piece"
        ;;
    esac
done
finish
