/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of what sessions have left on servers ('espalier call --leave'), one file for each session in a
 * folder of the user, so that later commands can give orders about them: "session:ID", "session:ID:outputs",
 * "session:ID:inputs:A" in place of the identity of a datum.
 */
#ifndef COMMAND_LEFT_NOTE_H
#define COMMAND_LEFT_NOTE_H

#include "core/data/datum.h"
#include "espalier.h"

#include <stdbool.h>

#define LEFT_NOTES_MOST 1000 /* sessions; the oldest are forgotten */

/* Data that a word means. */
struct meant {
    size_t n;
    struct meant_datum {
        char argument[64]; /* "": the word was an identity */
        bool is_output, own;
        char id[DATUM_TEXT];
    } * data;         /* for free() */
    bool is_session;  /* the word names a session, */
    bool is_all;      /* all of it, */
    char session[64]; /* this one */
};

/* Writes down what that session has left. ESP_SYSTEM. */
enum esp_status left_note_write(const struct esp_session_info *info, struct esp_error *error);

/* What a word means: an identity ("data:" in front may stay), or data of a session, which its id or the
 * beginning of it names. ESP_INVALID: it is neither; ESP_NOT_FOUND: no such session or argument is noted. */
enum esp_status left_note_expand(const char *word, struct meant *meant, struct esp_error *error);

/* The session's data are gone. */
void left_note_remove(const char *session);

#endif
