/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of the store, shared by its files. */
#ifndef SERVICES_DATA_STORE_STATE_H
#define SERVICES_DATA_STORE_STATE_H

#include "services/data/datum_file.h"
#include "services/data/store.h"
#include "services/data/store_sums.h"
#include "util/hash.h"

#include <pthread.h>

#define STORE_EPITAPHS 1024

enum datum_state {
    DATUM_PUTTING,    /* pieces arrive */
    DATUM_COMMITTING, /* complete, and being written to the disk */
    DATUM_VISIBLE,
    DATUM_LEAVING /* given up; its memory is freed with the last moving piece */
};

/* The list for making room that a datum is in. */
enum datum_line {
    LINE_NONE,   /* pinned, unfinished, or not in memory */
    LINE_DROP,   /* replicas and volatile data: deleted */
    LINE_LET_GO, /* durable: only the memory is freed */
    LINE_BORNE,  /* replicas in files: deleted when disk space is needed */
    N_LINES
};

/* A client with volatile data here. */
struct store_client {
    uint64_t id[2];
    int64_t seen_ns;
    struct datum *data;
    UT_hash_handle hh;
};

struct datum {
    struct datum_key key; /* of the hash */
    char *origin, *owner; /* the store's node, "", or their own */
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;
    int64_t created_s;
    enum datum_state state;
    bool gone; /* not in the hash any more: freed when nothing holds it */
    bool on_disk;
    bool verified;  /* its file was read, or written, since the start */
    bool charged;   /* its file is counted against the disk limit */
    bool exposed;   /* other processes may keep its memory */
    bool passing;   /* a replica that is deleted when it is not used */
    bool whole_out; /* a process that fills all of it has its memory */
    enum datum_line line;
    uint32_t pins; /* of users */
    uint32_t held; /* by works */
    uint32_t areas;
    struct store_work *loading; /* its memory is reserved, but its bytes are still being read */
    struct store_work *writing;
    struct segment *segment;
    uint64_t place; /* in the segment */
    uint64_t segment_owner[2];
    char *places; /* other servers with permanent copies: names, each with its NUL */
    size_t places_bytes;
    bool places_on_disk;
    bool untaken; /* has an extra file that says so (store.c) */
    struct ranges arrived;
    struct store_sums sums;      /* of pieces moved from and to its memory */
    struct datum_stream *stream; /* its file under a temporary name: of an unfinished datum whose pieces go
                                    there instead of memory; of a replica that is larger than the memory */
    void *filling;               /* that file, mapped for a process that fills all of it; else NULL */
    size_t filling_bytes;
    int64_t used_ns;
    int64_t spared_until_ns; /* it is not deleted before, because it may be the only intact copy; 0: no
                                protection */
    uint64_t puts, gets, bytes_in, bytes_out, disk_reads;
    struct store_client *client;
    struct datum *prev, *next; /* in its list, or among the unfinished */
    struct datum *prev_of_client, *next_of_client;
    UT_hash_handle hh;
};

enum store_end {
    END_DELETED,
    END_BARRED, /* it was not here, and the deleting asker may not have been its owner */
    END_DROPPED,
    END_EXPIRED,
    END_DAMAGED,
    END_CONSUMED,
    END_ABORTED,
    END_PASSED,
    END_DEPARTED, /* the copy here was deleted */
    END_MOVED,    /* the copy here was deleted; a trace has its new place */
    END_REMOVED,  /* the rest of it was removed after its file was damaged */
    N_ENDS
};

struct store_epitaph {
    struct datum_key key;
    uint64_t owner; /* a digest of the owner's name */
    enum store_end end;
};

/* A trace of a datum that is not here: servers that have it, or had it when it was deleted here. */
struct store_trace {
    struct datum_key key;
    uint64_t owner; /* a digest, as in an epitaph */
    bool moved;     /* else deleted */
    char *names;    /* each with its NUL; for a moved datum, its new place is the first */
    size_t bytes;
    bool on_disk;
    struct store_trace *prev, *next;
};

struct store {
    struct store_options options;
    char node[CAP_NAME + 1];
    struct datum *data; /* hash: visible, unfinished and leaving */
    bool sorted;        /* the order of the hash is that of the keys */
    struct datum *unfinished;
    struct datum *lines[N_LINES]; /* least recently used first */
    struct datum *unverified;     /* where store_check_next() continues; NULL: from the start */
    uint32_t n_unverified;
    uint32_t n_passing, n_spared;
    struct store_client *clients;
    struct store_counts counts;
    uint64_t movable_bytes; /* in lines */
    bool refused_busy;      /* a caller got ESP_BUSY and waits for a change */
    struct store_epitaph epitaphs[STORE_EPITAPHS];
    uint32_t n_epitaphs;
    struct store_trace *traces; /* the oldest first */
    uint32_t n_traces;
    struct store_aside **asides; /* in the order of their keys */
    uint32_t n_asides, asides_capacity;
};

struct store_pin {
    struct datum *datum;
    struct store_memory memory;
    struct datum_stream *stream; /* read instead of the memory */
    void *mapped;                /* its mapped file, used as the memory; or NULL */
    size_t mapped_bytes;
};

enum work_kind {
    WORK_WRITE,
    WORK_SEAL,    /* moves to its temporary file */
    WORK_PROMOTE, /* becomes an original, and durable if its mode is */
    WORK_LOAD,
    WORK_CHECK,
    WORK_JOIN,
    WORK_MAP
};

static inline bool work_writes(enum work_kind kind)
{
    return kind == WORK_WRITE || kind == WORK_SEAL || kind == WORK_PROMOTE;
}

/* Callers that open a datum while it is being read wait here for the reader. */
struct latch {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open; /* guarded by the lock, like the following members */
    enum esp_status status;
    struct esp_error error;
    uint32_t users; /* works; with the owner's lock */
};

struct store_work {
    enum work_kind kind;
    struct files *files;
    struct datum *datum;
    struct store_pin *pin; /* WORK_LOAD, WORK_JOIN, WORK_MAP: their pin */
    struct latch *latch;   /* the same */
    struct datum_header record;
    void *data;
    enum esp_status status;
    struct esp_error error;
};

static inline int64_t store_now(const struct store *store)
{
    return clock_now_ns(store->options.clock);
}

/* ---- store.c ---- */
static inline bool datum_in_memory(const struct datum *datum)
{
    return datum->segment || datum->shape.bytes == 0;
}
struct datum *store_find(const struct store *store, struct datum_key key);
/* Adds the datum to the hash. False without memory. */
bool store_add(struct store *store, struct datum *datum);
/* Makes an entry from the record; NULL without memory. */
struct datum *store_make_entry(struct store *store, const struct datum_header *record);
void store_free_entry(struct store *store, struct datum *datum);
void store_fill_record(const struct datum *datum, struct datum_header *record);
/* Checks that the asker may use the datum. ESP_REFUSED. */
enum esp_status store_check_owner(const struct store_asker *asker, const struct datum *datum,
                                  struct esp_error *error);
/* Finds a visible datum that the asker may use; fails with the reason. */
enum esp_status store_find_visible(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct datum **datum, struct esp_error *error);
/* Removes the datum from the hash and all lists; it is freed when nothing holds it. Reports this, and
 * records why. The caller has removed its file. */
void store_end(struct store *store, struct datum *datum, enum store_end end);
/* Frees the datum if it is gone and not held any more. */
void store_settle(struct store *store, struct datum *datum);
/* Returns ESP_BUSY and notes it; store_changed() then says when to try again. */
enum esp_status store_busy(struct store *store, struct esp_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void store_changed(struct store *store);

/* Explains why a datum is not here: half a sentence, possibly in `text`. */
#define STORE_EPITAPH_TEXT (CAP_NAME + 32)
const char *store_epitaph(const struct store *store, const struct datum_id *id,
                          char text[STORE_EPITAPH_TEXT]);
/* Records the end of a datum, whether it was here or not. */
void store_note_end(struct store *store, struct datum_key key, const char *owner, enum store_end end);
/* Returns the digest of an owner's name. */
uint64_t store_owner_digest(const char *name);

/* ---- store_recover.c ---- */
/* The datum is about to move to that server, or (NULL) to be deleted while other servers keep it: for a
 * durable one, writes a trace into its file of places. NULL without memory. store_trace_end() then says
 * whether it happened; NULL is ignored. */
struct store_trace *store_trace_begin(struct store *store, struct datum *datum, const char *to);
void store_trace_end(struct store *store, struct store_trace *trace);
/* Adds a trace read from its file. */
void store_add_trace(struct store *store, struct store_trace *trace);
/* Whether that first line of a file of places is that of a trace, and its kind. */
bool store_trace_head(const char *line, struct store_trace *trace);
/* Returns the trace of a datum; NULL: there is none. */
struct store_trace *store_find_trace(const struct store *store, struct datum_key key);
/* An original is here again: removes the trace. */
void store_forget_trace(struct store *store, struct datum_key key);
/* A datum that has moved away was deleted by that identity, if it is the owner. */
void store_trace_deleted(struct store *store, struct datum_key key, const char *identity);
void store_forget_traces(struct store *store);

/* ---- store_room.c ---- */
#define PLACES_HEAD_BYTES 48 /* of the first line of a file of places, with its NUL */
/* Writes the file of places: a first line, and names. Errors of the disk. */
enum esp_status store_write_places(struct store *store, struct datum_key key, const char *head,
                                   const char *names, size_t bytes, struct esp_error *error);
void store_remove_places(struct store *store, struct datum_key key);
/* The datum is deleted, and with it the file of its places. */
void store_forget_places(struct store *store, const struct datum *datum);
/* Reads the files of places, after the data. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status store_recover_places(struct store *store, struct esp_error *error);

/* ---- store.c ---- */
/* Removes untaken data, before the others are recovered. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status store_recover_untaken(struct store *store, struct esp_error *error);

/* ---- store_room.c ---- */
/* Allocates memory for the whole datum. ESP_NO_MEMORY, ESP_BUSY, ESP_SYSTEM. */
enum esp_status store_take_memory(struct store *store, struct datum *datum, struct esp_error *error);
void store_give_memory(struct store *store, struct datum *datum);
/* Checks whether that much memory could be allocated, ever and now. */
enum esp_status store_check_memory(struct store *store, uint64_t bytes, struct esp_error *error);
/* Checks whether the disk can hold the file of a datum of that many bytes. ESP_LIMIT: the store's limit is
 * reached; ESP_NO_MEMORY: the disk is full; ESP_REFUSED: there is no folder. */
enum esp_status store_check_disk(const struct store *store, uint64_t bytes, struct esp_error *error);
/* Makes room on the disk by deleting replicas, and counts the file as used by the datum. Errors as above:
 * then nothing was done. */
enum esp_status store_take_disk(struct store *store, struct datum *datum, struct esp_error *error);
void store_give_disk(struct store *store, struct datum *datum);
/* Moves the datum to its present list, as the most recently used one, or out of all lists. */
void store_line_up(struct store *store, struct datum *datum);
void store_fill_memory(const struct datum *datum, struct store_memory *memory);

/* ---- store_recover.c ---- */
/* Checks that the folder is this node's and of this version, or claims it; then reads all data in it. */
enum esp_status store_recover(struct store *store, struct esp_error *error);
/* Returns the name of a file beside that of a datum: its 32 digits and an ending. */
#define STORE_BESIDE_NAME (DATUM_DIGITS + 16)
const char *store_beside_name(struct datum_key key, const char *ending, char name[STORE_BESIDE_NAME]);
struct store_keys {
    struct datum_key *items; /* the caller frees it, also after a failure */
    size_t n, capacity;
};
/* Lists the data that have a file with that ending, whether they are here or not. ESP_NO_MEMORY,
 * ESP_SYSTEM. */
enum esp_status store_list_beside(struct files *files, const char *ending, struct store_keys *keys,
                                  struct esp_error *error);

/* ---- store_room.c ---- */
#define DAMAGED_FOLDER "damaged"
/* Moves the datum's damaged file to the quarantine. */
void store_set_aside(struct store *store, const char *name, const char *why);
/* Whether a damaged file of that datum is quarantined, since this start or an earlier one. */
bool store_is_set_aside(const struct store *store, struct datum_key key);
/* Lists the files quarantined before this start. ESP_SYSTEM. */
enum esp_status store_recover_asides(struct store *store, struct esp_error *error);
void store_forget_asides(struct store *store);

/* ---- store.c ---- */
int store_compare_keys(struct datum_key a, struct datum_key b);

/* ---- store_room.c ---- */
struct datum_id store_id_of(struct datum_key key);
/* Finds an unfinished datum that the asker may write. */
enum esp_status store_find_unfinished(struct store *store, const struct store_asker *asker,
                                      struct datum_key key, struct datum **datum, struct esp_error *error);
/* Returns the first gap at or after `from`; empty: none. */
struct range store_first_gap(const struct datum *datum, uint64_t from);

/* ---- store.c ---- */
/* The datum (not gone) has been written to the disk, or could not be. */
void store_written(struct store *store, struct datum *datum, bool well);

/* A WORK_LOAD, WORK_JOIN or WORK_MAP has ended. Not `usable`: its pin is freed, and the memory if it could
 * not be read. */
void store_loaded(struct store *store, struct store_work *work, bool usable);

/* ---- store_room.c ---- */
struct store_work *store_make_work(struct store *store, struct datum *datum, enum work_kind kind);
/* Creates the latch of a WORK_LOAD. False without memory. */
bool store_make_latch(struct store_work *work);
enum esp_status store_tell_damaged(const struct store *store, const struct datum_id *id, const char *why,
                                   struct esp_error *error);
/* Quarantines its file and removes the datum, unless it is gone already. */
void store_lose_damaged(struct store *store, struct datum *datum, const char *why);
/* Frees a work that was never done. */
void store_drop_work(struct store *store, struct store_work *work);

/* ---- store.c ---- */

#endif
