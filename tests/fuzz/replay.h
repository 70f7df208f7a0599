/* SPDX-License-Identifier: Apache-2.0
 *
 * The header that each fuzz target includes. With clang -fsanitize=fuzzer its main comes from libFuzzer;
 * else replay.c gives one that runs the target over the files of a folder, so that `make check` keeps what
 * was found. */
#ifndef TESTS_FUZZ_REPLAY_H
#define TESTS_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
