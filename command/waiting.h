/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading from what has no end of its own: people are told when it takes long.
 */
#ifndef COMMAND_WAITING_H
#define COMMAND_WAITING_H

/* About to read that file ('-': standard input): where it is a FIFO, a terminal or another device, and has
 * not been read after two seconds, standard error says what is waited for. To be ended by waiting_end(); one
 * at a time. */
void waiting_begin(const char *verb, const char *path);
/* The same for an argument of a call: only "NAME=@FILE" reads one. */
void waiting_begin_argument(const char *verb, const char *word);
void waiting_end(void);

#endif
