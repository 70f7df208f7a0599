/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of a server: immutable data in sealed memory files and, if they are durable, in files.
 *
 * The life of a datum: store_begin() reserves its memory at once; pieces arrive in any order (store_area() to
 * store_area_done(), or a worker writes it all: store_put_memory(), store_put_filled()); store_commit() makes
 * it visible, after it has reached the disk if it is durable. From then on it never changes. store_open()
 * pins it; pinned memory stays until store_release(). store_delete() takes it out of sight at once.
 *
 * Memory has a limit. Room is made by dropping replicas and volatile data, least recently used first; then by
 * letting go of the memory of durable data (they are on the disk, and are read again when wanted). Pinned and
 * unfinished data stay. Durable data are never dropped. A durable datum, or a replica, that is larger than
 * all the memory is streamed: its pieces go straight to its file, and come from there. The file of a replica
 * has a temporary name, goes with the process, and makes room for others when the disk limit is reached.
 *
 * The store has no threads and does not block, except on the disk; that part is apart: where a call hands out
 * a struct store_work, store_work_do() is to be called without the owner's lock, by any thread, and then
 * store_work_end() with it. Everything else is called by one thread at a time (the node's lock). Time comes
 * from the clock that is passed in.
 *
 * ESP_BUSY means "not now": memory is pinned, or the disk is at it. `changed` tells when to try again; what
 * will never go has another status.
 */
#ifndef SERVICES_DATA_STORE_H
#define SERVICES_DATA_STORE_H

#include "core/data/datum.h"
#include "services/data/files.h"
#include "util/clock.h"
#include "util/ranges.h"
#include "util/segment.h"

#define STORE_MOST_DATA 1000000 /* in one store, unless options say less */

struct store;
struct store_work; /* reading or writing of one datum's file */
struct store_pin;

/* Who asks. */
struct store_asker {
    const char *identity; /* name in the certificate; NULL or "" without TLS, where all are the same */
    bool trusted;         /* a server that pulls for somebody, an administrator: owners do not matter */
    uint64_t client[2];   /* of begin: who holds the lease of volatile data; 0: nobody, no lease */
};

enum store_news {
    STORE_ARRIVED, /* visible from now on (what the start found again: store_each()) */
    STORE_GONE,    /* deleted, dropped, or expired; or a replica whose file was damaged */
    STORE_DAMAGED  /* gone as well: the file of what was an original is set aside */
};

struct store_options {
    const char *node;          /* this server's name: origin of the data made here */
    struct segments *segments; /* where memory comes from; outlives the store */
    struct files *files;       /* the state folder, the store's from now on also when it fails; NULL: none,
                                * durable data are refused */
    const struct clock *clock;
    uint64_t memory_bytes;   /* most that data (visible, pinned, deleted but pinned, unfinished) may have */
    uint64_t disk_bytes;     /* most that files of data may have */
    uint64_t verify_bytes;   /* of data that are checked at the start; the rest when they are read first */
    uint32_t most_data;      /* 0: STORE_MOST_DATA */
    int64_t client_lease_ns; /* volatile data of a client not heard of for so long go; 0: never */
    int64_t passing_ns;      /* passing copies that nobody has used for so long go; 0: never */
    int64_t put_lease_ns;    /* unfinished data to which nothing came for so long go; 0: never */
    /* With the owner's lock held, from within a call of the store; must not call it again. May be NULL. */
    void (*changed)(void *arg); /* who got ESP_BUSY may try again */
    void (*news)(void *arg, const struct datum_id *id, uint64_t bytes, enum store_news news);
    void *arg;
};

/* Opens the store and recovers what is in its files: unfinished ones are removed, damaged ones set aside
 * (moved to "damaged/", logged, counted). ESP_VERSION, ESP_REFUSED: the folder belongs to another version of
 * the format, to another node, or to a running process; nothing is touched then. ESP_SYSTEM: the disk. */
enum esp_status store_create(const struct store_options *options, struct store **store,
                             struct esp_error *error);
/* All pins released, no area out, all work ended. Unfinished and volatile data are forgotten. NULL is nothing
 * to do. */
void store_destroy(struct store *store);

/* ---- putting ---- */

struct store_new {
    const struct datum_id *id; /* a copy of a datum made elsewhere; NULL: a new identity is drawn */
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;    /* enum datum_flag */
    const char *owner; /* who may use it unless it is shared; NULL: the asker's identity. For copies. */
    int64_t created_s; /* wall clock, seconds since 1970, for people */
    bool streamed;     /* whatever its size, if it may be: there is no memory for it */
    bool passing;      /* a replica for one session: see store_options.passing_ns */
};

/* Reserves memory and disk for a new datum, and gives it its identity. ESP_INVALID: a shape or mode that
 * makes no sense; ESP_NO_MEMORY: it is not durable and can never fit the memory limit; ESP_LIMIT: the disk
 * limit or the number of data is reached; ESP_NO_MEMORY, too: the disk is full; ESP_BUSY: it would fit, but
 * what is pinned or unfinished is in the way now; ESP_REFUSED: durable without a state folder, or the
 * identity is here already (or being put). Has no effect when it fails. */
enum esp_status store_begin(struct store *store, const struct store_asker *asker,
                            const struct store_new *new_datum, struct datum_id *id, struct esp_error *error);

/* A part of a datum that moves. A datum that is not in memory is streamed: the piece has memory of its own,
 * and somebody has to write or read it, without the lock. */
struct store_piece {
    uint64_t offset, bytes;
    void *memory; /* where its bytes go, or are, until it is given back */
    bool fresh;   /* memory whose pages are not there yet (util/pages.h) */
    /* What is in it sums up to that (util/crc32c.h). Known of one that is read when it is given out; who has
     * summed it otherwise says so when it is given back, and spares others that. */
    bool summed;
    uint32_t crc32c;
    /* the store's own */
    struct datum_stream *stream;
    void *room;
    char *damage;
};

/* Where a piece goes: [offset, offset + bytes) of the datum. Its memory stays valid until the matching
 * store_area_done(), whatever else happens. Several pieces may be out at once. ESP_NOT_FOUND: no such
 * unfinished datum; ESP_REFUSED: another owner's; ESP_INVALID: beyond its end; ESP_NO_MEMORY. */
enum esp_status store_area(struct store *store, const struct store_asker *asker, struct datum_key key,
                           uint64_t offset, uint64_t bytes, struct store_piece *piece,
                           struct esp_error *error);
/* Its bytes are there. Without the lock; waits for the disk if the datum is streamed. ESP_NO_MEMORY: the disk
 * is full; ESP_SYSTEM. */
enum esp_status store_piece_write(struct store_piece *piece, struct esp_error *error);
/* The piece has arrived, and been written (`whole`), or has not: only what is whole counts. */
enum esp_status store_area_done(struct store *store, struct datum_key key, struct store_piece *piece,
                                bool whole, struct esp_error *error);
/* The three and the copying in one. */
enum esp_status store_write(struct store *store, const struct store_asker *asker, struct datum_key key,
                            uint64_t offset, const void *data, uint64_t bytes, struct esp_error *error);

/* What is still missing: the first gap at or behind `from`, so that an interrupted put resumes. ESP_OK and an
 * empty gap (from == to): nothing. ESP_NOT_FOUND, ESP_REFUSED. */
enum esp_status store_missing(struct store *store, const struct store_asker *asker, struct datum_key key,
                              uint64_t from, struct range *gap, struct esp_error *error);

/* A place in memory: bytes [offset, offset + bytes) of `fd`, mapped at `data`. They end at the end of a page
 * (util/segment.h), so that a worker can map them with a guard page behind. */
struct store_memory {
    int fd; /* the store's; duplicated by who keeps it */
    uint64_t offset, bytes;
    uint8_t *data;
};

/* For who fills the whole datum by himself (a worker's output): its memory, which counts as a piece that is
 * out until store_put_filled(). `whole`: every byte has been written. Of a streamed one it is its file,
 * mapped, which has its place on the disk then: ESP_NO_MEMORY: the disk is full; ESP_SYSTEM. */
enum esp_status store_put_memory(struct store *store, const struct store_asker *asker, struct datum_key key,
                                 struct store_memory *memory, struct esp_error *error);
enum esp_status store_put_filled(struct store *store, struct datum_key key, bool whole,
                                 struct esp_error *error);

/* Of an unfinished datum: it is the same value in pieces, or in one (datum_shape_spread()). ESP_NOT_FOUND;
 * ESP_INVALID: another value. */
enum esp_status store_put_shape(struct store *store, const struct store_asker *asker, struct datum_key key,
                                const struct datum_shape *shape, struct esp_error *error);

/* All has arrived: makes it visible. Durable data have to be written first: *work is then to be done and
 * ended, and the datum is visible (and may be acknowledged) when store_work_end() has returned ESP_OK; after
 * a failure (ESP_NO_MEMORY: disk full; ESP_SYSTEM) it is as it was before the commit, which may be tried
 * again. *work NULL: it is visible now. ESP_INVALID: pieces are missing (the text names the first); ESP_BUSY:
 * being committed already, or pieces are still moving (also such as were sent again meanwhile). Committing
 * again what is visible is ESP_OK, so that a repeated request does no harm. */
enum esp_status store_commit(struct store *store, const struct store_asker *asker, struct datum_key key,
                             struct store_work **work, struct esp_error *error);

/* Nobody knows yet that the unfinished datum is made: if the process ends before store_note_taken(), it is
 * not there at the next start. Only durable ones outlive their process, for the others this does nothing.
 * ESP_SYSTEM, ESP_NO_MEMORY: the disk. */
enum esp_status store_note_untaken(struct store *store, struct datum_key key, struct esp_error *error);
/* Somebody does: from ESP_OK on it survives as others do. ESP_SYSTEM. */
enum esp_status store_note_taken(struct store *store, struct datum_key key, struct esp_error *error);
/* Gives it up. Its memory goes when nothing moves in it any more. ESP_NOT_FOUND, ESP_REFUSED; ESP_BUSY while
 * it is being committed. */
enum esp_status store_abort(struct store *store, const struct store_asker *asker, struct datum_key key,
                            struct esp_error *error);

/* ---- the disk's part ---- */

/* Without the lock, any thread, blocks. Once. */
void store_work_do(struct store_work *work);
/* With the lock. Frees the work; the outcome of what it was for. */
enum esp_status store_work_end(struct store *store, struct store_work *work, struct esp_error *error);

/* The next recovered datum whose bytes nobody has read since the start, to be checked (and set aside if
 * damaged) at leisure; NULL: none. */
struct store_work *store_check_next(struct store *store);

/* ---- using ---- */

/* Pins a datum. *work NULL: the pin's memory is valid now. Else the datum is on the disk only (or somebody is
 * just reading it), memory for it has been reserved, and is valid once the work has been done and ended with
 * ESP_OK; when store_work_end() fails (ESP_SYSTEM; ESP_NOT_FOUND: the file was damaged and is set aside) the
 * pin is already gone. Works of one datum are to be begun in the order in which they were handed out: the
 * later ones wait for the first. ESP_NOT_FOUND: no such datum, with what became of it (deleted, dropped,
 * expired, damaged, never here, of another server); ESP_REFUSED: it belongs to somebody else; ESP_BUSY:
 * memory is pinned; ESP_NO_MEMORY: larger than the memory limit of today. */
enum esp_status store_open(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_pin **pin, struct store_work **work, struct esp_error *error);
/* Pins a datum to be read in pieces: one that is only on the disk takes no memory, and is not read before
 * its first piece is. Errors as store_open(), but those of memory; ESP_SYSTEM: the disk. */
enum esp_status store_open_reader(struct store *store, const struct store_asker *asker,
                                  const struct datum_id *id, struct store_pin **pin, struct esp_error *error);
/* Where the bytes [offset, offset + bytes) of it are, once store_piece_read() has returned ESP_OK. They are
 * within the datum. ESP_NO_MEMORY. */
enum esp_status store_pin_area(struct store_pin *pin, uint64_t offset, uint64_t bytes,
                               struct store_piece *piece, struct esp_error *error);
/* Without the lock; reads from the disk if need be. ESP_NOT_FOUND: the file is damaged; ESP_SYSTEM. */
enum esp_status store_piece_read(struct store_piece *piece, struct esp_error *error);
/* It has been read (`whole`: all of it, which counts in the statistics), or not. */
void store_pin_area_done(struct store *store, struct store_pin *pin, struct store_piece *piece, bool whole);

/* Read-only in all respects: a worker must get a descriptor opened for reading (store_pin_reader). Valid
 * until store_release(). */
const struct store_memory *store_pin_memory(const struct store_pin *pin);
const struct datum_shape *store_pin_shape(const struct store_pin *pin);
/* A descriptor of its own of the memory, close-on-exec, through which nobody can write; the caller closes it.
 * `outside`: it goes to a process that is not ours (a client on this host), which may keep it: the memory is
 * then never used again for anything else. ESP_SYSTEM. */
enum esp_status store_pin_reader(struct store_pin *pin, bool outside, int *fd, struct esp_error *error);
/* What the pin's memory is could not be read. Of a mapped file, true: one that has its name is looked at
 * again (store_check_next()), and set aside if it is damaged. */
bool store_doubt(struct store *store, const struct store_pin *pin);
/* The memory may go. `consumed`: a session used it and has ended: strict data are dropped then. NULL is
 * nothing to do. */
void store_release(struct store *store, struct store_pin *pin, bool consumed);

/* Out of sight at once, from the disk too before it returns (a crash does not bring it back); memory goes
 * with the last pin. ESP_NOT_FOUND, ESP_REFUSED as for store_open(); ESP_BUSY: it is being written;
 * ESP_SYSTEM: the disk failed: the datum is still here, or (the text says so) gone, but may come back after a
 * crash. */
enum esp_status store_delete(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             struct esp_error *error);

/* store_delete() of the copy here only: the datum lives on elsewhere, and may come back. `to`: the server to
 * which it has moved; NULL: none. */
enum esp_status store_depart(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             const char *to, struct esp_error *error);
/* What was deleted here has gone from those, too, or that does not matter any more: they are named no longer.
 * Of who could delete it, or a trusted one; nothing else happens. */
void store_settle_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                         const char *names, size_t bytes);
/* Where the datum has moved from here, as long as it is remembered (durable data: also after a restart; of
 * the last 1,024 that have moved, or were deleted while others kept them); NULL: it did not, or it is here.
 */
const char *store_moved_to(const struct store *store, struct datum_key key);
/* Who may delete the datum does, and it is not here, or not yet: no copy of it is to be taken any more. */
void store_bar(struct store *store, const struct store_asker *asker, struct datum_key key);
/* Whether a copy of the datum, whose owner and flags these are, is not to be taken, as it was deleted:
 * remembered of the last data that have ended here. */
bool store_is_barred(const struct store *store, struct datum_key key, const char *owner, uint32_t flags);
/* The last word on a datum that is not here: it was here, and who may delete it did, everywhere. */
bool store_was_deleted(const struct store *store, struct datum_key key);
/* The same: its file was damaged, and is set aside. */
bool store_has_lost(const struct store *store, struct datum_key key);

/* The replica here becomes the original (the other one is about to be deleted: a move to a server that had a
 * copy). Gives work, as a commit does, when it is durable by its mode, or in a file, which is synced and read
 * through before: when it is damaged, store_work_end() sets it aside, and tells so (ESP_NOT_FOUND). ESP_OK at
 * once for what is no replica; ESP_NOT_FOUND, ESP_REFUSED; ESP_LIMIT: the disk limit; ESP_BUSY: being written
 * already. */
enum esp_status store_promote(struct store *store, const struct store_asker *asker, struct datum_key key,
                              struct store_work **work, struct esp_error *error);

/* The copy here may be the only sound one, and cannot become the original: for so long it is not dropped, of
 * which nobody else hears. Again: for longer. It takes its memory, or disk, meanwhile. */
void store_spare(struct store *store, struct datum_key key, int64_t for_ns);

/* The copy here is kept by that mode from now on, whatever others there are: what was a replica, or volatile,
 * becomes durable. Gives work and errors as store_promote(); ESP_REFUSED: it is durable by another mode. */
enum esp_status store_keep(struct store *store, const struct store_asker *asker, struct datum_key key,
                           enum datum_mode mode, uint32_t flags, struct store_work **work,
                           struct esp_error *error);

/* Notes other servers that keep the datum for good, too: `bytes` of names, each with its NUL. As durable as
 * the datum is when it returns. ESP_NOT_FOUND, ESP_REFUSED; ESP_BUSY: it is being written; ESP_PROTOCOL: no
 * names; ESP_LIMIT: too many; ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status store_note_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                                  const char *names, size_t bytes, struct esp_error *error);
/* Those of a datum that is here, that was deleted here while they kept it, or that has moved to the first of
 * them; valid until the next call of the store. NULL: none are known. */
const char *store_places(const struct store *store, struct datum_key key, size_t *bytes);

/* A passing copy is no longer one: it stays as other replicas do. Others, and what is not here, are no error.
 */
void store_stay(struct store *store, struct datum_key key);

/* ---- knowing ---- */

struct store_entry {
    struct datum_id id;
    struct datum_shape shape;
    enum datum_mode mode;
    uint32_t flags;
    char owner[CAP_NAME + 1];
    int64_t created_s;
    bool in_memory, on_disk;
    uint32_t pins;
    /* since it came here, or since this start */
    uint64_t puts; /* pieces that arrived */
    uint64_t gets; /* times it was opened */
    uint64_t bytes_in, bytes_out;
    uint64_t disk_reads; /* times its memory had to be read from the disk */
    double idle_s;       /* since its last use */
};

/* ESP_NOT_FOUND, ESP_REFUSED as for store_open(). No use counts. */
enum esp_status store_look(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_entry *entry, struct esp_error *error);
/* Whether it is here and visible. O(1), for estimates. */
bool store_has(const struct store *store, struct datum_key key);
/* Up to `capacity` visible data that the asker may use, in the order of their keys, behind `after` (key 0:
 * from the start). Returns how many; fewer than `capacity`: that was all. */
size_t store_list(struct store *store, const struct store_asker *asker, struct datum_key after,
                  struct store_entry *entries, size_t capacity);
/* Every visible datum, in any order, for announcing them all. */
void store_each(const struct store *store,
                void (*visit)(void *arg, const struct datum_id *id, uint64_t bytes), void *arg);

/* Every original that is not here and whose damaged file is set aside, since this start or an earlier one.
 * ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status store_each_damaged(const struct store *store, void (*visit)(void *arg, struct datum_key key),
                                   void *arg, struct esp_error *error);

/* A file that was damaged, and lies in "damaged/" since this start or an earlier one. */
struct store_aside {
    struct datum_id id; /* not `readable`: the origin is a guess, this server */
    bool finished;      /* else one under a temporary name */
    bool readable;      /* its header is whole, which tells what follows */
    struct datum_shape shape;
    enum datum_mode mode;
    char owner[CAP_NAME + 1];
    int64_t created_s;
    uint64_t file_bytes;
};

/* store_list() of damaged files; those whose owner is not known are for who is trusted. At most 10,000 are
 * known one by one. */
size_t store_list_asides(const struct store *store, const struct store_asker *asker, struct datum_key after,
                         struct store_aside *asides, size_t capacity);
/* Removes what is left of that datum in "damaged/". ESP_NOT_FOUND: nothing is; ESP_REFUSED; ESP_SYSTEM. */
enum esp_status store_remove_aside(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct esp_error *error);

struct store_counts {
    uint32_t data, unfinished, pinned;
    uint64_t memory_bytes, memory_limit; /* in use, of all kinds */
    uint64_t pinned_bytes;               /* that cannot go now: pinned or unfinished */
    uint64_t disk_bytes, disk_limit;
    uint64_t committed, deleted, dropped, expired, recovered, damaged, disk_reads; /* since the start */
    uint32_t aside;       /* damaged files that are there still, */
    uint64_t aside_bytes; /* and what they take on the disk, besides disk_bytes */
};
void store_count(const struct store *store, struct store_counts *counts);
/* Of the store's memory, what a datum of so many bytes takes. */
uint64_t store_memory_of(uint64_t bytes);
/* Whether such a datum is larger than the memory of the store, and may live on its disk alone: it is durable,
 * or a replica. `wanted`: also a smaller one. */
bool store_is_streamed(const struct store *store, uint64_t bytes, enum datum_mode mode, uint32_t flags,
                       bool wanted);

/* ---- time ---- */

/* That client is alive: renews the lease of its volatile data. Unknown clients are no error. */
void store_client_seen(struct store *store, const uint64_t client[2]);
/* Ends leases that are over. Returns when to be called next (clock's time), CLOCK_NEVER: no need. */
int64_t store_tick(struct store *store);

#endif
