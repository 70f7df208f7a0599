/* SPDX-License-Identifier: Apache-2.0
 *
 * Kills processes that a routine or a command has put into their own session, and whose spawner was killed
 * before it could end them. Their environment contains the spawner's folder, whose name is unique:
 * commands have private folders below it, and the spawner itself has it in STRAYS_VARIABLE, which all its
 * descendants inherit unless they get a new environment. */
#ifndef SED_STRAYS_H
#define SED_STRAYS_H

#define STRAYS_VARIABLE "ESPALIER_WORKERS"

/* Kills all processes of this user, except the calling one, whose environment contains the folder or a
 * path in it, until there are no more. Returns how many. Any thread. */
unsigned strays_kill(const char *folder);

#endif
