/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the problems that come with Espalier are.
 */
#ifndef UTIL_OWN_PROBLEMS_H
#define UTIL_OWN_PROBLEMS_H

/* The folder of their descriptions: that of the source, for a program that lies where it was built; else
 * where they are installed, whether they are there or not. Any thread. */
const char *own_problems(void);

#endif
