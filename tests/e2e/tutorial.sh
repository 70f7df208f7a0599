# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Following a tutorial of doc/ word by word: its files are written, its commands run, and what it shows must appear.

# follow_tutorial PAGE PLATFORM RUNS FILES OUTPUTS: at least so many of each are in it. The platform is ended afterwards.
follow_tutorial() {
    page=$1
    platform=$2
    XDG_RUNTIME_DIR=$work/run
    export XDG_RUNTIME_DIR
    mkdir -m 700 run tutorial pieces bin
    at_exit() {
        espalier down "$platform" --force >down.out 2>&1
    }
    installed_library
    split_page
    check "the tutorial has files, commands and what they show" \
        sh -c "test \$(ls pieces | grep -c run) -ge $3 -a \$(ls pieces | grep -c file) -ge $4 -a \$(ls pieces | grep -c output) -ge $5"
    for piece in "$work"/pieces/*; do
        follow_piece
    done
}

# What an installed library tells, for the one that was built.
installed_library() {
    cat >bin/pkg-config <<END
#!/bin/sh
echo "-I$top_srcdir/include -L$top_builddir/client/.libs -Wl,-rpath,$top_builddir/client/.libs -lespalier"
END
    chmod +x bin/pkg-config
    PATH=$work/bin:$PATH
}

# One piece a block, in order: NN-kind or NN-file-NAME.
split_page() {
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
        on { print >out }' "$page"
    # What the last command printed has the lines of the file, whatever the white space.
    cat >shows <<'END'
tr -s ' ' <"$1" | sed 's/ $//' >seen
while read -r line; do
    grep -qF -e "$(echo "$line" | tr -s ' ')" seen || { echo "expected: $line"; cat seen; exit 1; }
done <"$2"
END
}

in_tutorial() {
    (cd "$work/tutorial" && sh -e "$1")
}

follow_piece() {
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
}
