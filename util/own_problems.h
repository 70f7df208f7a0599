/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the problems that come with Espalier. */
#ifndef UTIL_OWN_PROBLEMS_H
#define UTIL_OWN_PROBLEMS_H

/* Returns the folder of their descriptions: that of the source, for a program in its build folder; else
 * the installation's, whether it exists or not. Any thread. */
const char *own_problems(void);

#endif
