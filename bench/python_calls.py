# SPDX-License-Identifier: Apache-2.0
"""What bench_python compares with C: python_calls.py CASE N prints the median of N calls in microseconds."""
import sys
import time

import numpy as np

import espalier

BYTES = 256_000_000


def median_us(operation, n):
    samples = []
    for i in range(n):
        start = time.perf_counter()
        operation(i)
        samples.append(time.perf_counter() - start)
    return sorted(samples)[n // 2] * 1e6


def main():
    case, n = sys.argv[1], int(sys.argv[2])
    if case == "small":
        add = espalier.bench_add
        add(1.0, 1.0)
        print(median_us(lambda i: add(1.0, float(i)), n))
    elif case == "blocking":  # of a thread that gets no signals
        import threading
        add, found = espalier.bench_add, []
        thread = threading.Thread(target=lambda: found.append(median_us(lambda i: add(1.0, float(i)), n)))
        thread.start()
        thread.join()
        print(found[0])
    elif case == "large":
        x, y = np.ones(BYTES // 8), np.ones(BYTES // 8)
        espalier.bench_copy(x, out={"y": y})
        print(median_us(lambda i: espalier.bench_copy(x, out={"y": y}), n))
    else:
        raise SystemExit(f"there is no case {case}")


main()
