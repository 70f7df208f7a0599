# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Completion of espalier for bash: verbs, options, and what the platform tells of problems and arguments.
_espalier() {
    local line=${COMP_LINE:0:COMP_POINT} candidate current prefix cut
    local -a words=()
    read -ra words <<<"$line"
    [[ $line == *[[:blank:]] ]] && words+=("")
    current=${words[${#words[@]} - 1]}
    # bash takes '=', '@' and ':' for ends of words: what is before the last of them stays as it is.
    cut=${current%"${current##*[=@:]}"}
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
        files:*)
            prefix=${candidate#files:}
            compopt -o filenames 2>/dev/null
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${current#"$prefix"}")
            ;;
        *)
            [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("${candidate#"$cut"}")
            ;;
        esac
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _espalier espalier
