# SPDX-License-Identifier: Apache-2.0
# Completion of espalier for fish: verbs, options, and what the platform tells of problems and arguments.
function __espalier_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for candidate in (espalier __complete $words[2..] "$current" 2>/dev/null)
        if string match -q 'files:*' -- $candidate
            set -l prefix (string replace 'files:' '' -- $candidate)
            for path in (__fish_complete_path (string replace -- "$prefix" '' "$current"))
                echo "$prefix$path"
            end
        else
            echo $candidate
        end
    end
end
complete -c espalier -f -a '(__espalier_complete)'
