/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the programs that a daemon starts. */
#ifndef SED_PROGRAM_H
#define SED_PROGRAM_H

/* Returns the path of one of Espalier's own programs, named by its place in the build tree
 * ("sed/espalier-crd"): there, when this program runs from the build tree too, else as installed. The
 * caller frees it. NULL without memory. */
char *program_find(const char *built);

#endif
