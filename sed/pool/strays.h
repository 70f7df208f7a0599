/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that a routine or a command has put in a session of their own, and whose spawner was killed
 * before it could end them. Their environment names the spawner's folder, whose name no other process has:
 * commands have private folders below it as theirs, and the spawner itself has it in STRAYS_VARIABLE, which
 * all that is forked or started without a new environment takes over.
 */
#ifndef SED_STRAYS_H
#define SED_STRAYS_H

#define STRAYS_VARIABLE "ESPALIER_WORKERS"

/* Kills all processes of this user, but not the calling one, whose environment names the folder or something
 * in it, until there are no more. Returns how many. Any thread. */
unsigned strays_kill(const char *folder);

#endif
