/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of a server: immutable data in sealed memory files and, if they are durable, in files on disk.
 *
 * The life of a datum: store_begin() reserves its memory immediately. Pieces arrive in any order
 * (store_area() to store_area_done(), or a worker writes all of it: store_put_memory(),
 * store_put_filled()). store_commit() makes it visible, after it has reached the disk if it is durable.
 * From then on it never changes. store_open() pins it; pinned memory stays until store_release().
 * store_delete() hides it immediately.
 *
 * Memory has a limit. Room is made by deleting replicas and volatile data, least recently used first; then
 * by freeing the memory of durable data (they are on disk, and are read again when needed). Pinned and
 * unfinished data stay. Durable data are never deleted to make room. A durable datum, or a replica, that
 * is larger than all the memory is streamed: its pieces go directly to its file, and come from there. The
 * file of a replica has a temporary name, ends with the process, and is deleted for others when the disk
 * limit is reached.
 *
 * The store has no threads and blocks only on the disk, in separate functions: when a call returns a
 * struct store_work, any thread calls store_work_do() without the owner's lock, and then store_work_end()
 * with it. All other functions are called by one thread at a time (the node's lock). Time comes from the
 * clock that is passed in.
 *
 * ESP_BUSY means "not now": memory is pinned, or the disk is busy with it. `changed` says when to try
 * again. Permanent failures have another status. */
#ifndef SERVICES_DATA_STORE_H
#define SERVICES_DATA_STORE_H

#include "core/data/datum.h"
#include "services/data/files.h"
#include "util/clock.h"
#include "util/ranges.h"
#include "util/segment.h"

#define STORE_MOST_DATA 1000000 /* most data in one store, unless options say less */

struct store;
struct store_work; /* reading or writing of one datum's file */
struct store_pin;

/* The caller on whose behalf the store acts. */
struct store_asker {
    const char *identity; /* name in the certificate; NULL or "" without TLS, where all are equal */
    bool trusted;         /* a server that pulls for a session, or an administrator: owners are not checked */
    uint64_t client[2];   /* for store_begin(): the client whose lease volatile data have; 0: no lease */
};

enum store_news {
    STORE_ARRIVED, /* became visible (data found at the start: store_each()) */
    STORE_GONE,    /* deleted, expired, or a replica whose file was damaged */
    STORE_DAMAGED  /* gone, and an original: its damaged file is quarantined */
};

struct store_options {
    const char *node;          /* this server's name: origin of the data created here */
    struct segments *segments; /* the pool for memory; must outlive the store */
    struct files *files; /* the state folder, which the store owns from now on even if it fails; NULL: none,
                            durable data are refused */
    const struct clock *clock;
    uint64_t memory_bytes; /* limit for all data (visible, pinned, deleted but pinned, unfinished) */
    uint64_t disk_bytes;   /* limit for files of data */
    uint64_t verify_bytes; /* bytes of data checked at the start; the rest are checked when first read */
    uint32_t most_data;    /* 0: STORE_MOST_DATA */
    int64_t
        client_lease_ns;  /* volatile data are deleted after their client was silent for so long; 0: never */
    int64_t passing_ns;   /* passing copies are deleted after being unused for so long; 0: never */
    int64_t put_lease_ns; /* unfinished data are deleted after receiving nothing for so long; 0: never */
    /* Called with the owner's lock held, from within a call of the store; must not call the store. May be
     * NULL. */
    void (*changed)(void *arg); /* callers that got ESP_BUSY may try again */
    void (*news)(void *arg, const struct datum_id *id, uint64_t bytes, enum store_news news);
    void *arg;
};

/* Opens the store and recovers its files: unfinished ones are removed, damaged ones quarantined (moved to
 * "damaged/", logged, counted). ESP_VERSION, ESP_REFUSED: the folder belongs to another version of the
 * format, to another node, or to a running process; nothing is changed then. ESP_SYSTEM: the disk. */
enum esp_status store_create(const struct store_options *options, struct store **store,
                             struct esp_error *error);
/* All pins must be released, all pieces returned, all work ended. Unfinished and volatile data are lost.
 * NULL is ignored. */
void store_destroy(struct store *store);

/* ---- putting ---- */

struct store_new {
    const struct datum_id *id; /* for a copy of a datum created elsewhere; NULL: draws a new identity */
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;    /* enum datum_flag */
    const char *owner; /* may use it unless it is shared; NULL: the asker's identity. For copies. */
    int64_t created_s; /* wall clock, seconds since 1970, for display */
    bool streamed;     /* stream it whatever its size, if possible, because there is no memory for it */
    bool passing;      /* a replica for one session: see store_options.passing_ns */
};

/* Reserves memory and disk for a new datum, and gives it its identity. ESP_INVALID: an invalid shape or
 * mode; ESP_NO_MEMORY: it is not durable and can never fit the memory limit, or the disk is full;
 * ESP_LIMIT: the disk limit or the number of data is reached; ESP_BUSY: it would fit, but pinned or
 * unfinished data are in the way now; ESP_REFUSED: durable without a state folder, or the identity exists
 * here already (or is being put). Has no effect when it fails. */
enum esp_status store_begin(struct store *store, const struct store_asker *asker,
                            const struct store_new *new_datum, struct datum_id *id, struct esp_error *error);

/* A moving part of a datum. A datum that is not in memory is streamed: the piece has its own memory, and
 * the caller must write or read it, without the lock. */
struct store_piece {
    uint64_t offset, bytes;
    void *memory; /* memory of its bytes, until the piece is given back */
    bool fresh;   /* memory whose pages are not populated yet (util/pages.h) */
    /* CRC32C of the piece (util/crc32c.h), if `summed`. For reading, the store may set it. A caller that
     * computed it sets it when giving the piece back, which spares later readers that. */
    bool summed;
    uint32_t crc32c;
    /* the store's own */
    struct datum_stream *stream;
    void *room;
    char *damage;
};

/* Returns the memory for a piece: [offset, offset + bytes) of the datum. The memory stays valid until the
 * matching store_area_done() in any case. Several pieces may be out at once. ESP_NOT_FOUND: no such
 * unfinished datum; ESP_REFUSED: another owner's; ESP_INVALID: beyond its end; ESP_NO_MEMORY. */
enum esp_status store_area(struct store *store, const struct store_asker *asker, struct datum_key key,
                           uint64_t offset, uint64_t bytes, struct store_piece *piece,
                           struct esp_error *error);
/* Writes a piece whose bytes have arrived, without the lock; waits for the disk if the datum is streamed.
 * ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status store_piece_write(struct store_piece *piece, struct esp_error *error);
/* Gives the piece back: `whole` if it has arrived and was written; otherwise it does not count. */
enum esp_status store_area_done(struct store *store, struct datum_key key, struct store_piece *piece,
                                bool whole, struct esp_error *error);
/* Does all three, and the copying. */
enum esp_status store_write(struct store *store, const struct store_asker *asker, struct datum_key key,
                            uint64_t offset, const void *data, uint64_t bytes, struct esp_error *error);

/* Finds the first gap at or after `from`, so that an interrupted put can resume. ESP_OK and an empty gap
 * (from == to): none. ESP_NOT_FOUND, ESP_REFUSED. */
enum esp_status store_missing(struct store *store, const struct store_asker *asker, struct datum_key key,
                              uint64_t from, struct range *gap, struct esp_error *error);

/* A range of memory: bytes [offset, offset + bytes) of `fd`, mapped at `data`. It ends at the end of a
 * page (util/segment.h), so that a worker can map it with a guard page after it. */
struct store_memory {
    int fd; /* the store's; callers duplicate it */
    uint64_t offset, bytes;
    uint8_t *data;
};

/* For a process that fills the whole datum (a worker's output): returns its memory, which counts as a
 * piece that is out until store_put_filled(). `whole`: every byte has been written. For a streamed datum,
 * it is its mapped file, whose disk space is reserved: ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status store_put_memory(struct store *store, const struct store_asker *asker, struct datum_key key,
                                 struct store_memory *memory, struct esp_error *error);
enum esp_status store_put_filled(struct store *store, struct datum_key key, bool whole,
                                 struct esp_error *error);

/* Changes the shape of an unfinished datum to the same value in pieces, or in one (datum_shape_spread()).
 * ESP_NOT_FOUND; ESP_INVALID: another value. */
enum esp_status store_put_shape(struct store *store, const struct store_asker *asker, struct datum_key key,
                                const struct datum_shape *shape, struct esp_error *error);

/* All pieces have arrived: makes the datum visible. A durable datum must be written first: the caller does
 * and ends *work, and the datum is visible (and may be acknowledged) when store_work_end() has returned
 * ESP_OK. After a failure (ESP_NO_MEMORY: disk full; ESP_SYSTEM) it is as before the commit, which may be
 * tried again. *work NULL: it is visible now. ESP_INVALID: pieces are missing (the text names the first);
 * ESP_BUSY: it is being committed already, or pieces are still moving (including repeated ones).
 * Committing a visible datum again is ESP_OK, so that a repeated request is harmless. */
enum esp_status store_commit(struct store *store, const struct store_asker *asker, struct datum_key key,
                             struct store_work **work, struct esp_error *error);

/* Marks the unfinished datum as unknown to its client: if the process ends before store_note_taken(), the
 * datum is removed at the next start. Has no effect on data that are not durable, because they end with
 * the process. ESP_SYSTEM, ESP_NO_MEMORY: the disk. */
enum esp_status store_note_untaken(struct store *store, struct datum_key key, struct esp_error *error);
/* The client knows the datum: after ESP_OK it survives as others do. ESP_SYSTEM. */
enum esp_status store_note_taken(struct store *store, struct datum_key key, struct esp_error *error);
/* Gives up an unfinished datum. Its memory is freed when no piece moves any more. ESP_NOT_FOUND,
 * ESP_REFUSED; ESP_BUSY while it is being committed. */
enum esp_status store_abort(struct store *store, const struct store_asker *asker, struct datum_key key,
                            struct esp_error *error);

/* ---- disk operations ---- */

/* Call it once, without the lock, in any thread; blocks. */
void store_work_do(struct store_work *work);
/* Call it with the lock. Frees the work; returns the outcome of the operation that created it. */
enum esp_status store_work_end(struct store *store, struct store_work *work, struct esp_error *error);

/* Returns work that checks the next recovered datum that was not read since the start (and quarantines it
 * if damaged); NULL: none. */
struct store_work *store_check_next(struct store *store);

/* ---- using ---- */

/* Pins a datum. *work NULL: the pin's memory is valid now. Otherwise the datum is only on disk (or another
 * caller is reading it): memory has been reserved, and is valid once the work has been done and ended with
 * ESP_OK. When store_work_end() fails (ESP_SYSTEM; ESP_NOT_FOUND: the file was damaged and is quarantined)
 * the pin is already gone. Works of one datum must be started in the order in which they were returned,
 * because later ones wait for the first. ESP_NOT_FOUND: no such datum, with its fate (deleted, expired,
 * damaged, never here, of another server); ESP_REFUSED: it has another owner; ESP_BUSY: memory is pinned;
 * ESP_NO_MEMORY: larger than the present memory limit. */
enum esp_status store_open(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_pin **pin, struct store_work **work, struct esp_error *error);
/* Pins a datum for reading in pieces: one that is only on disk takes no memory, and is not read before its
 * first piece. Errors as for store_open(), except those of memory; ESP_SYSTEM: the disk. */
enum esp_status store_open_reader(struct store *store, const struct store_asker *asker,
                                  const struct datum_id *id, struct store_pin **pin, struct esp_error *error);
/* Gets a piece for bytes [offset, offset + bytes) of the datum; they are valid once store_piece_read() has
 * returned ESP_OK. ESP_NO_MEMORY. */
enum esp_status store_pin_area(struct store_pin *pin, uint64_t offset, uint64_t bytes,
                               struct store_piece *piece, struct esp_error *error);
/* Reads the piece, from the disk if necessary, without the lock. ESP_NOT_FOUND: the file is damaged;
 * ESP_SYSTEM. */
enum esp_status store_piece_read(struct store_piece *piece, struct esp_error *error);
/* Gives the piece back (`whole`: all of it was read, which counts in the statistics). */
void store_pin_area_done(struct store *store, struct store_pin *pin, struct store_piece *piece, bool whole);

/* Returns the pin's memory, read-only: a worker must get a descriptor opened for reading
 * (store_pin_reader). Valid until store_release(). */
const struct store_memory *store_pin_memory(const struct store_pin *pin);
const struct datum_shape *store_pin_shape(const struct store_pin *pin);
/* Opens a separate read-only descriptor of the memory, close-on-exec; the caller closes it. `outside`: it
 * goes to another program's process (a client on this host), which may keep it, so the memory is never
 * reused. ESP_SYSTEM. */
enum esp_status store_pin_reader(struct store_pin *pin, bool outside, int *fd, struct esp_error *error);
/* The pin's memory could not be read. Returns true for a mapped file: if it has its final name, it will be
 * checked (store_check_next()), and quarantined if damaged. */
bool store_doubt(struct store *store, const struct store_pin *pin);
/* Releases the pin. `consumed`: a session that used it has ended, so strict data are deleted. NULL is
 * ignored. */
void store_release(struct store *store, struct store_pin *pin, bool consumed);

/* Hides the datum immediately, and removes it from the disk before it returns (a crash does not bring it
 * back); memory is freed with the last pin. ESP_NOT_FOUND, ESP_REFUSED as for store_open(); ESP_BUSY: it
 * is being written; ESP_SYSTEM: the disk failed: the datum is still here, or (according to the text) gone,
 * and may come back after a crash. */
enum esp_status store_delete(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             struct esp_error *error);

/* Deletes only the copy here: the datum lives on elsewhere, and may come back. `to`: the server to which
 * it has moved; NULL: none. */
enum esp_status store_depart(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             const char *to, struct esp_error *error);
/* Removes servers from the list of other holders of a datum that was deleted here, because they have
 * deleted it or no longer matter. Only for an asker that could delete it, or a trusted one. */
void store_settle_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                         const char *names, size_t bytes);
/* Returns the server to which the datum has moved from here, as long as it is remembered (durable data:
 * also after a restart; of the last 1,024 that have moved, or were deleted while other servers kept them);
 * NULL: it did not move, or it is here. */
const char *store_moved_to(const struct store *store, struct datum_key key);
/* The owner has deleted a datum that is not here, or not yet: no copy of it will be accepted. */
void store_bar(struct store *store, const struct store_asker *asker, struct datum_key key);
/* Whether a copy of the datum with this owner and flags must be refused, because the datum was deleted:
 * remembered for the data that ended here last. */
bool store_is_barred(const struct store *store, struct datum_key key, const char *owner, uint32_t flags);
/* Whether the datum was here and its owner deleted it everywhere. */
bool store_was_deleted(const struct store *store, struct datum_key key);
/* Whether the datum was here and its damaged file is quarantined. */
bool store_has_lost(const struct store *store, struct datum_key key);

/* Makes the replica here the original (the other one is about to be deleted: a move to a server that had a
 * copy). Returns work, like a commit, when its mode is durable, or it is in a file, which is then synced
 * and checked: if it is damaged, store_work_end() quarantines it and returns ESP_NOT_FOUND. ESP_OK at once
 * if it is no replica; ESP_NOT_FOUND, ESP_REFUSED; ESP_LIMIT: the disk limit; ESP_BUSY: it is being
 * written already. */
enum esp_status store_promote(struct store *store, const struct store_asker *asker, struct datum_key key,
                              struct store_work **work, struct esp_error *error);

/* Protects the copy here from deletion for that long, because it may be the only intact one and cannot
 * become the original. No other node is informed. Repeated calls extend the time. It uses its memory, or
 * disk, meanwhile. */
void store_spare(struct store *store, struct datum_key key, int64_t for_ns);

/* Changes the copy here to that mode, whatever other copies exist: a replica, or a volatile datum, becomes
 * durable. Work and errors as for store_promote(); ESP_REFUSED: it is durable with another mode. */
enum esp_status store_keep(struct store *store, const struct store_asker *asker, struct datum_key key,
                           enum datum_mode mode, uint32_t flags, struct store_work **work,
                           struct esp_error *error);

/* Adds other servers with permanent copies of the datum: `bytes` of names, each with its NUL. The list is
 * as durable as the datum when it returns. ESP_NOT_FOUND, ESP_REFUSED; ESP_BUSY: it is being written;
 * ESP_PROTOCOL: no valid names; ESP_LIMIT: too many; ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status store_note_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                                  const char *names, size_t bytes, struct esp_error *error);
/* Returns the other holders of a datum that is here, that was deleted here while they kept it, or that has
 * moved to the first of them; valid until the next call of the store. NULL: none known. */
const char *store_places(const struct store *store, struct datum_key key, size_t *bytes);

/* Changes a passing copy to an ordinary replica. Ignored for other data, and missing ones. */
void store_stay(struct store *store, struct datum_key key);

/* ---- queries ---- */

struct store_entry {
    struct datum_id id;
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;
    char owner[CAP_NAME + 1];
    int64_t created_s;
    bool in_memory, on_disk;
    uint32_t pins;
    /* since it came here, or since this start: */
    uint64_t puts; /* pieces that arrived */
    uint64_t gets; /* times it was opened */
    uint64_t bytes_in, bytes_out;
    uint64_t disk_reads; /* times its memory was read from the disk */
    double idle_s;       /* since its last use */
};

/* Gets the entry of a datum. ESP_NOT_FOUND, ESP_REFUSED as for store_open(). Does not count as use. */
enum esp_status store_look(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_entry *entry, struct esp_error *error);
/* Whether the datum is here and visible. O(1), for estimates. */
bool store_has(const struct store *store, struct datum_key key);
/* Lists up to `capacity` visible data that the asker may use, in the order of their keys, after `after`
 * (key 0: from the start). Returns how many; fewer than `capacity`: the list is complete. */
size_t store_list(struct store *store, const struct store_asker *asker, struct datum_key after,
                  struct store_entry *entries, size_t capacity);
/* Visits every visible datum, in any order, to announce them all. */
void store_each(const struct store *store,
                void (*visit)(void *arg, const struct datum_id *id, uint64_t bytes), void *arg);

/* Visits every original that is not here and whose damaged file is quarantined, since this start or an
 * earlier one. ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status store_each_damaged(const struct store *store, void (*visit)(void *arg, struct datum_key key),
                                   void *arg, struct esp_error *error);

/* A damaged file that lies in "damaged/", since this start or an earlier one. */
struct store_aside {
    struct datum_id id; /* if not `readable`: the origin is assumed to be this server */
    bool finished;      /* false: it has a temporary name */
    bool readable;      /* its header is intact, so the following members are valid */
    struct datum_shape shape;
    enum datum_mode mode;
    char owner[CAP_NAME + 1];
    int64_t created_s;
    uint64_t file_bytes;
};

/* Lists damaged files like store_list(); files with an unknown owner only for trusted askers. At most
 * 10,000 are known. */
size_t store_list_asides(const struct store *store, const struct store_asker *asker, struct datum_key after,
                         struct store_aside *asides, size_t capacity);
/* Removes the files of that datum in "damaged/". ESP_NOT_FOUND: there are none; ESP_REFUSED; ESP_SYSTEM. */
enum esp_status store_remove_aside(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct esp_error *error);

struct store_counts {
    uint32_t data, unfinished, pinned;
    uint64_t memory_bytes, memory_limit; /* in use, of all kinds */
    uint64_t pinned_bytes;               /* that cannot be freed now: pinned or unfinished */
    uint64_t disk_bytes, disk_limit;
    uint64_t committed, deleted, dropped, expired, recovered, damaged, disk_reads; /* since the start */
    uint32_t aside;       /* damaged files that still exist, */
    uint64_t aside_bytes; /* and their bytes on the disk, besides disk_bytes */
};
void store_count(const struct store *store, struct store_counts *counts);
/* Returns the store's memory that a datum of that many bytes uses. */
uint64_t store_memory_of(uint64_t bytes);
/* Whether such a datum is larger than the store's memory, and can live on its disk alone: it is durable,
 * or a replica. `wanted`: also a smaller one. */
bool store_is_streamed(const struct store *store, uint64_t bytes, enum datum_mode mode, uint32_t flags,
                       bool wanted);

/* ---- time ---- */

/* The client is alive: renews the lease of its volatile data. Unknown clients are ignored. */
void store_client_seen(struct store *store, const uint64_t client[2]);
/* Ends expired leases. Returns when to call it next (clock's time), CLOCK_NEVER: no need. */
int64_t store_tick(struct store *store);

#endif
