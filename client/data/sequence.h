/* SPDX-License-Identifier: Apache-2.0
 *
 * Request sequencing. Between esp_sequence_begin() and esp_sequence_end() of a thread, arrays that its
 * calls have sent stay on their servers, and results stay where they were made. Both are found again by
 * their address.
 *
 * An entry is an array of the program: address, bytes, and its holding. For an input, a fingerprint shows
 * whether the program has written there since. For a result, the memory is guarded while the contents are
 * on a server only (client/data/distant.h). A result that later calls have taken, and that the program has
 * not accessed, stays so after the end of the sequence.
 */
#ifndef CLIENT_SEQUENCE_H
#define CLIENT_SEQUENCE_H

#include "client/arguments/invocation.h"
#include "client/data/distant.h"
#include "client/data/holding.h"
#include "client/session/engine.h"

/* Smaller arrays are sent and returned with the calls, which is cheaper than leaving them. */
#define SEQUENCE_LEAST_BYTES ((uint64_t)32 << 10)

/* Makes an argument of a call part of the thread's sequence, if there is one and the argument is suitable;
 * else fetches the contents that belong in its memory. The number of its bytes is known (`span`: of the
 * memory that it may lie in, at least as many). Called for all inputs, and then for all results. May
 * block. */
enum esp_status sequence_take_input(struct value *value, const struct argument *argument, uint64_t span,
                                    struct esp_error *error);
/* sequence_take_input() for an array of strings, packed as it travels (`in`), which the call only reads. */
enum esp_status sequence_take_strings(struct value *value, struct esp_error *error);
enum esp_status sequence_take_result(struct value *value, const struct problem *problem, uint64_t span,
                                     struct esp_error *error);
/* A function that makes a call of an abstract problem again, on any server. */
typedef enum esp_status sequence_abstract(struct engine *engine, struct invocation *invocation,
                                          struct esp_error *error);
/* Registers that function, before the first sequence begins. */
void sequence_set_abstract(sequence_abstract *call);

/* Fetches the results that belong in that memory, before other code reads or writes there. Any thread. */
enum esp_status sequence_sync(const void *memory, uint64_t bytes, struct esp_error *error);

/* A call of this thread is about to begin: remembers its inputs and results, so that the results can be
 * computed again. */
void sequence_note_call(const struct invocation *invocation);
/* The value of `holding` is lost on all servers, as `error` says. If it was a result of this sequence,
 * makes its call again, and sets the holding's datum. Returns ESP_OK; else `error` says why not. */
enum esp_status sequence_restore(struct holding *holding, struct esp_error *error);

/* Until resumed, calls of this thread are not part of the sequence (only the contents of their arguments
 * are fetched). Returns whether it was paused already, for sequence_resume(). */
bool sequence_pause(void);
void sequence_resume(bool was_paused);

/* Results of a sequence that are lost with their server are computed again: the calls that made them are
 * remembered with their inputs. An input is still on another server, or in the program's memory, or is a
 * result that can be computed again itself. */

#define SEQUENCE_MOST_CALLS                                                                                  \
    4096 /* calls that are remembered; results of earlier ones cannot be made again                          \
          */
/* Bytes of saved inputs that results overwrite; the latest ones are kept. */
#define SEQUENCE_MOST_SAVED ((uint64_t)512 << 20)

struct sequence_entry {
    char *memory;
    uint64_t bytes;
    enum base_type type;
    uint64_t print; /* of the memory, when its value was taken; not for a result */
    void *saved;    /* owned: contents of the memory before a result came there */
    bool taken;     /* a later call took the value from servers, or the program does not want it */
    struct holding *holding;
    struct distant *distant;            /* in use: it is a result; NULL: it is an input */
    struct sequence_entry *prev, *next; /* of the present or the former entries */
};

/* An array of strings that is an input. It is found by its strings, because the same pointers may lead to
 * other strings at the next call. */
struct sequence_strings {
    uint64_t bytes, print; /* of the packed strings (core/problem/texts.h) */
    struct holding *holding;
    struct sequence_strings *next;
};

/* Changed by the thread that began it, with its lock held; other threads that compute results again also
 * take the lock. It lives while one of its results is left on a server. */
struct sequence {
    struct engine *engine; /* NULL: it is gone */
    _Atomic unsigned users;
    pthread_mutex_t lock;
    struct sequence_entry *entries;
    struct sequence_entry *past; /* former entries, oldest first: deleted on servers at the end */
    uint64_t saved_bytes;        /* of all entries */
    struct sequence_strings *strings;
    bool paused;
    struct sequence_call *calls; /* in their order */
    unsigned n_calls;
};

/* Adds a use of the sequence, which the caller owns. */
void sequence_use(struct sequence *sequence);
void sequence_release(struct sequence *sequence);

/* Makes the call again that made this result, in the present thread, which may be any. First makes the
 * calls again whose lost results it takes. Then the holding has a datum. Returns ESP_NOT_FOUND if no such
 * call is remembered, or if an input is lost; else how the call failed. */
enum esp_status sequence_make_again(struct sequence *sequence, struct holding *holding,
                                    struct esp_error *error);

#endif
