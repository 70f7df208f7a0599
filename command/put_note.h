/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of what is being put: the identity under which a file goes to a server, kept until it is there, so
 * that a command that is killed is followed by one that goes on.
 */
#ifndef COMMAND_PUT_NOTE_H
#define COMMAND_PUT_NOTE_H

#include "core/data/datum.h"

#include <limits.h>

struct put_note {
    char path[PATH_MAX];   /* of the note; "": there can be none */
    char id[DATUM_TEXT];   /* "": nothing was noted */
    char server[CAP_NAME]; /* to which the datum goes; "": nothing was noted */
    int lock;              /* of the note, which is this process's while it lives; -1: there is none */
};

/* The note of that file as it is now (name, which file it is, length, times of writing and of change) and of
 * what is wanted of it (`what`: any text). While another process that puts the same lives there can be none:
 * its datum is not gone on with. put_note_close() in any case. */
void put_note_find(struct put_note *note, const char *file, const char *what);
/* Notes note->id and note->server. Where nothing can be noted, a put that is killed begins anew. */
void put_note_write(const struct put_note *note);
/* It is there. */
void put_note_remove(const struct put_note *note);
/* What is noted stays, for the next put. */
void put_note_close(struct put_note *note);

#endif
