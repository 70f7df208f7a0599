/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors 0, 1 and 2 of a program that was started without one of them.
 */
#ifndef UTIL_STANDARD_FILES_H
#define UTIL_STANDARD_FILES_H

/* Opens standard input, output and error where the caller of the program has closed them. Otherwise the next
 * file or socket gets that number, and is read or written in place of the closed one. Reading or writing them
 * fails as it does with a closed descriptor (EBADF). */
void standard_files_hold(void);

/* In the file of main(): calls it before the constructors of shared libraries, which open pipes. */
#define STANDARD_FILES_HOLD                                                                                  \
    __attribute__((section(".preinit_array"), used)) static void (*const standard_files_first)(void) =       \
        standard_files_hold

#endif
