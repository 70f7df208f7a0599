/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks on other hosts, by a hostfile. The hosts are this machine under other names, which mpirun reaches by
 * a program in place of ssh: it hides the folder with the daemon's socket, so that ranks there have to come
 * over TCP, as they would from elsewhere. "gone" is not there, "silent" does not answer.
 */
#ifndef TESTS_FAR_RIG_H
#define TESTS_FAR_RIG_H

#include "tests/mpi/ranks_rig.h"

#include <sys/types.h>

/* Whether hosts can be played here; else says that the test is skipped. */
bool far_is_possible(void);
/* A folder, with the program in place of ssh; and its end. */
void far_begin(void);
int far_end(void);
const char *far_folder(void);
/* A file there. */
void far_write(const char *name, const char *text, mode_t mode);
/* A pool with that hostfile; NULL: one that is not there. */
void far_open(struct rig *to, const char *hosts, struct ranks_options options);

#endif
