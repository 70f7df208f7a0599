/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the store, shared by its own files.
 */
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
    DATUM_COMMITTING, /* all is there, and on its way to the disk */
    DATUM_VISIBLE,
    DATUM_LEAVING /* given up; its memory goes with the last piece that moves */
};

/* Which list of what can go it is in. */
enum datum_line {
    LINE_NONE,   /* pinned, unfinished, or not in memory */
    LINE_DROP,   /* replicas and volatile data: go altogether */
    LINE_LET_GO, /* durable: only the memory goes */
    LINE_BORNE,  /* replicas in files: go when the disk is wanted */
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
    bool gone; /* not in the hash any more: lives as long as it is held */
    bool on_disk;
    bool verified;  /* its file has been read, or written, since the start */
    bool charged;   /* its file counts as used of the disk limit */
    bool exposed;   /* other processes may keep its memory */
    bool passing;   /* a replica that goes when it is not used */
    bool whole_out; /* its memory is with who fills all of it */
    enum datum_line line;
    uint32_t pins; /* of users */
    uint32_t held; /* by works */
    uint32_t areas;
    struct store_work *loading; /* its memory is there, but not its bytes */
    struct store_work *writing;
    struct segment *segment;
    uint64_t place; /* in the segment */
    uint64_t segment_owner[2];
    char *places; /* other servers that keep it for good: names, each with its NUL */
    size_t places_bytes;
    bool places_on_disk;
    bool untaken; /* has a file that says so (store.c) */
    struct ranges arrived;
    struct store_sums sums;      /* of what moved from and to its memory */
    struct datum_stream *stream; /* its file under a temporary name: of an unfinished one, whose pieces go
                                  * there and not to memory; of a replica that is larger than the memory */
    void *filling;               /* that file, mapped for who fills all of it; NULL */
    size_t filling_bytes;
    int64_t used_ns;
    int64_t spared_until_ns; /* it is not dropped before, as it may be the only sound one; 0: as others */
    uint64_t puts, gets, bytes_in, bytes_out, disk_reads;
    struct store_client *client;
    struct datum *prev, *next; /* in its line, or among the unfinished */
    struct datum *prev_of_client, *next_of_client;
    UT_hash_handle hh;
};

enum store_end {
    END_DELETED,
    END_BARRED, /* it was not here, and who asked for that may not have been its owner */
    END_DROPPED,
    END_EXPIRED,
    END_DAMAGED,
    END_CONSUMED,
    END_ABORTED,
    END_PASSED,
    END_DEPARTED, /* the copy here was deleted */
    END_MOVED,    /* the same; a trace tells where to */
    END_REMOVED,  /* what was left of it after its file was damaged, too */
    N_ENDS
};

struct store_epitaph {
    struct datum_key key;
    uint64_t owner; /* a digest of the name of who could delete it */
    enum store_end end;
};

/* Of a datum that is not here: servers that keep it, or kept it when it was deleted here. */
struct store_trace {
    struct datum_key key;
    uint64_t owner; /* as of an epitaph */
    bool moved;     /* else deleted */
    char *names;    /* each with its NUL; of one that has moved its place is the first */
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
    struct datum *lines[N_LINES]; /* the one used longest ago first */
    struct datum *unverified;     /* where store_check_next() goes on; NULL: from the start */
    uint32_t n_unverified;
    uint32_t n_passing, n_spared;
    struct store_client *clients;
    struct store_counts counts;
    uint64_t movable_bytes; /* in lines */
    bool refused_busy;      /* somebody waits to be told that something changed */
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
    struct datum_stream *stream; /* is read in place of the memory */
    void *mapped;                /* its file, or NULL: that is the memory then */
    size_t mapped_bytes;
};

enum work_kind {
    WORK_WRITE,
    WORK_SEAL,    /* what is to stay in its temporary file */
    WORK_PROMOTE, /* becomes an original, and durable if that is its mode */
    WORK_LOAD,
    WORK_CHECK,
    WORK_JOIN,
    WORK_MAP
};

static inline bool work_writes(enum work_kind kind)
{
    return kind == WORK_WRITE || kind == WORK_SEAL || kind == WORK_PROMOTE;
}

/* Where those who open a datum while it is read wait for who reads it. */
struct latch {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open; /* with the lock, as what follows */
    enum esp_status status;
    struct esp_error error;
    uint32_t users; /* works; with the owner's lock */
};

struct store_work {
    enum work_kind kind;
    struct files *files;
    struct datum *datum;
    struct store_pin *pin; /* WORK_LOAD, WORK_JOIN, WORK_MAP: whose */
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
/* Into the hash. False without memory. */
bool store_add(struct store *store, struct datum *datum);
/* A new entry that says what the record says; NULL without memory. */
struct datum *store_make_entry(struct store *store, const struct datum_header *record);
void store_free_entry(struct store *store, struct datum *datum);
void store_fill_record(const struct datum *datum, struct datum_header *record);
/* Whether that asker may use it. ESP_REFUSED. */
enum esp_status store_check_owner(const struct store_asker *asker, const struct datum *datum,
                                  struct esp_error *error);
/* The visible datum, which the asker may use; or why not. */
enum esp_status store_find_visible(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct datum **datum, struct esp_error *error);
/* Out of the hash, all lists and sight; freed when nobody holds it. Says so, and remembers why. Its file is
 * the caller's to remove before. */
void store_end(struct store *store, struct datum *datum, enum store_end end);
/* Frees what is gone and not held any more. */
void store_settle(struct store *store, struct datum *datum);
/* Notes that somebody was told ESP_BUSY; what may have ended that is told by store_changed(). */
enum esp_status store_busy(struct store *store, struct esp_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void store_changed(struct store *store);

/* Why a datum is not here: half a sentence, perhaps in `text`. */
#define STORE_EPITAPH_TEXT (CAP_NAME + 32)
const char *store_epitaph(const struct store *store, const struct datum_id *id,
                          char text[STORE_EPITAPH_TEXT]);
/* Notes the end of a datum, here or not. */
void store_note_end(struct store *store, struct datum_key key, const char *owner, enum store_end end);
/* Of a name, as epitaphs have it. */
uint64_t store_owner_digest(const char *name);

/* ---- store_recover.c ---- */
/* The datum is about to go, to that server, or (NULL) deleted while others keep it: durable ones leave that
 * in their file of places. NULL without memory. Then what came of it; NULL is nothing to do. */
struct store_trace *store_trace_begin(struct store *store, struct datum *datum, const char *to);
void store_trace_end(struct store *store, struct store_trace *trace);
/* Takes one over that is known from its file. */
void store_add_trace(struct store *store, struct store_trace *trace);
/* Whether that first line of a file of places makes it one of a trace, and which kind. */
bool store_trace_head(const char *line, struct store_trace *trace);
/* NULL: there is none. */
struct store_trace *store_find_trace(const struct store *store, struct datum_key key);
/* An original is here again. */
void store_forget_trace(struct store *store, struct datum_key key);
/* What has moved away was deleted, if it is that one's. */
void store_trace_deleted(struct store *store, struct datum_key key, const char *identity);
void store_forget_traces(struct store *store);

/* ---- store_room.c ---- */
#define PLACES_HEAD_BYTES 48 /* of the first line of a file of places, with its NUL */
/* The file beside the datum's, or in its place: a first line, and names. Errors as of the disk. */
enum esp_status store_write_places(struct store *store, struct datum_key key, const char *head,
                                   const char *names, size_t bytes, struct esp_error *error);
void store_remove_places(struct store *store, struct datum_key key);
/* The datum goes: so does the file of its other places. */
void store_forget_places(struct store *store, const struct datum *datum);
/* After the data. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status store_recover_places(struct store *store, struct esp_error *error);

/* ---- store.c ---- */
/* Before the data: those of which nobody knows are removed. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status store_recover_untaken(struct store *store, struct esp_error *error);

/* ---- store_room.c ---- */
/* Memory for all of the datum. ESP_NO_MEMORY, ESP_BUSY, ESP_SYSTEM. */
enum esp_status store_take_memory(struct store *store, struct datum *datum, struct esp_error *error);
void store_give_memory(struct store *store, struct datum *datum);
/* Whether it could be taken at all, ever and now. */
enum esp_status store_check_memory(struct store *store, uint64_t bytes, struct esp_error *error);
/* Whether the disk can take the file of a datum of so many bytes. ESP_LIMIT: not this store's part of it;
 * ESP_NO_MEMORY: it is full; ESP_REFUSED: there is none. */
enum esp_status store_check_disk(const struct store *store, uint64_t bytes, struct esp_error *error);
/* Makes room on the disk, by dropping replicas that are there, and counts it as used by the datum. Errors as
 * above: nothing was done. */
enum esp_status store_take_disk(struct store *store, struct datum *datum, struct esp_error *error);
void store_give_disk(struct store *store, struct datum *datum);
/* Puts it into the line where it belongs now, as the one used last, or out of all. */
void store_line_up(struct store *store, struct datum *datum);
void store_fill_memory(const struct datum *datum, struct store_memory *memory);

/* ---- store_recover.c ---- */
/* The folder is ours and of this version, or becomes it; then all data in it. */
enum esp_status store_recover(struct store *store, struct esp_error *error);
/* Of a file beside that of a datum: its 32 digits and an ending. */
#define STORE_BESIDE_NAME (DATUM_DIGITS + 16)
const char *store_beside_name(struct datum_key key, const char *ending, char name[STORE_BESIDE_NAME]);
struct store_keys {
    struct datum_key *items; /* the caller's to free, also after a failure */
    size_t n, capacity;
};
/* The data that have a file of that ending, whether they are there or not. ESP_NO_MEMORY, ESP_SYSTEM. */
enum esp_status store_list_beside(struct files *files, const char *ending, struct store_keys *keys,
                                  struct esp_error *error);

/* ---- store_room.c ---- */
#define DAMAGED_FOLDER "damaged"
/* Moves the datum's damaged file out of the way. */
void store_set_aside(struct store *store, const char *name, const char *why);
/* Whether a damaged file of that datum is there, set aside since this start or an earlier one. */
bool store_is_set_aside(const struct store *store, struct datum_key key);
/* Those that earlier starts have set aside. ESP_SYSTEM. */
enum esp_status store_recover_asides(struct store *store, struct esp_error *error);
void store_forget_asides(struct store *store);

/* ---- store.c ---- */
int store_compare_keys(struct datum_key a, struct datum_key b);

/* ---- store_room.c ---- */
struct datum_id store_id_of(struct datum_key key);
/* The unfinished datum, which the asker may touch. */
enum esp_status store_find_unfinished(struct store *store, const struct store_asker *asker,
                                      struct datum_key key, struct datum **datum, struct esp_error *error);
/* What has not arrived at or behind `from`; empty: nothing. */
struct range store_first_gap(const struct datum *datum, uint64_t from);

/* ---- store.c ---- */
/* The datum has been written to the disk, or could not be. Of one that is not gone. */
void store_written(struct store *store, struct datum *datum, bool well);

/* A WORK_LOAD, WORK_JOIN or WORK_MAP has ended. Not `usable`: its pin goes, and the memory if it could not be
 * read. */
void store_loaded(struct store *store, struct store_work *work, bool usable);

/* ---- store_room.c ---- */
struct store_work *store_make_work(struct store *store, struct datum *datum, enum work_kind kind);
/* For a WORK_LOAD. False without memory. */
bool store_make_latch(struct store_work *work);
enum esp_status store_tell_damaged(const struct store *store, const struct datum_id *id, const char *why,
                                   struct esp_error *error);
/* Its file is set aside, and it is gone, unless it was before. */
void store_lose_damaged(struct store *store, struct datum *datum, const char *why);
/* A work that never was to be done after all. */
void store_drop_work(struct store *store, struct store_work *work);

/* ---- store.c ---- */

#endif
