/* SPDX-License-Identifier: Apache-2.0
 *
 * Reserves the descriptors 0, 1 and 2 in a program that was started without one of them. */
#ifndef UTIL_STANDARD_FILES_H
#define UTIL_STANDARD_FILES_H

/* Opens standard input, output and error if the caller of the program has closed them. Otherwise the next
 * file or socket would get that number, and be used as standard input or output. Reading or writing them
 * fails as with a closed descriptor (EBADF). */
void standard_files_hold(void);

/* For the file of main(): calls standard_files_hold() before the constructors of shared libraries, which
 * open pipes. */
#define STANDARD_FILES_HOLD                                                                                  \
    __attribute__((section(".preinit_array"), used)) static void (*const standard_files_first)(void) =       \
        standard_files_hold

#endif
