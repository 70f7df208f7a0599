#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How far the forecast that ./quickstart demo shows is from what happened: runs the demo ten times, and prints a line for
# each and how many were within 25 %. Nine of ten are expected on a machine that has nothing else to do.
#
#   top_srcdir=. top_builddir=build sh bench/demo.sh [RUNS]
set -eu
top=$(cd "${top_srcdir:-.}" && pwd)
BUILD=$(cd "${top_builddir:-build}" && pwd)
export BUILD
runs=${1:-10}
for _ in $(seq "$runs"); do
    "$top/examples/demo" 2>&1
done | awk -v runs="$runs" '
    function seconds(number, unit) {
        sub(/:.*/, "", unit)
        return number * (unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : unit == "min" ? 60 : 1e-9)
    }
    $1 == "Forecast" { forecast = seconds($2, $3) }
    $1 == "Took" {
        took = seconds($2, $3)
        ratio = forecast / took
        good += ratio >= 0.75 && ratio <= 1.25
        printf "run %d: forecast %.3f s, took %.3f s: %+.0f %%\n", ++n, forecast, took, 100 * (ratio - 1)
        fflush()
    }
    END {
        printf "%d of %d within 25 %%\n", good, runs
        exit !(n == runs && good >= 0.9 * runs)
    }'
