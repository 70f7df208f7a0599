/* SPDX-License-Identifier: Apache-2.0
 *
 * Data as grpc_data.h has them: descriptions of arrays, found by the address of the caller's struct, and
 * where their values are.
 */
#ifndef CLIENT_GRID_DATA_H
#define CLIENT_GRID_DATA_H

#include "client/arguments/invocation.h"
#include "client/data/holding.h"
#include "client/session/engine.h"
#include "core/data/datum.h"
#include "grpc_data.h"

/* Places of data as grpc_data.h names them: "memory:KEY", "file:PATH", "server:NAME", "data:IDENTITY". */

enum grid_place { GRID_MEMORY, GRID_FILE, GRID_SERVER, GRID_DATUM };

struct grid_uri {
    enum grid_place place;
    char *rest; /* owned: the key, the path, the name, the identity */
    grpc_data_mode_t mode;
};

struct grid_uris {
    struct grid_uri *items;
    size_t n;
};

#define GRID_MOST_URIS 64

/* Reads a list that ends with NULL (NULL: an empty one). `outputs`: with their modes (NULL: all volatile),
 * and without data; else without servers. ESP_INVALID. *uris is for grid_uris_clear() in any case. */
enum esp_status grid_uris_read(struct grid_uris *uris, const char **list, const grpc_data_mode_t *modes,
                               bool outputs, struct esp_error *error);
void grid_uris_clear(struct grid_uris *uris);
/* One URI; `rest` is for free(). */
enum esp_status grid_uri_read(const char *text, enum grid_place *place, char **rest, struct esp_error *error);
/* They as text, by blanks; for free(), NULL without memory. */
char *grid_uris_text(const struct grid_uris *uris);

/* "GRPC_PERSISTENT"; and how a value of that mode is kept. ESP_INVALID: it is none. */
const char *grid_mode_name(grpc_data_mode_t mode);
enum esp_status grid_mode_check(grpc_data_mode_t mode, struct esp_error *error);
/* It stays on servers for later calls. */
bool grid_mode_stays(grpc_data_mode_t mode);

struct grid_bytes; /* memory of the library's own, with those who read it */

struct grid_data {
    uint64_t number;
    struct datum_shape shape; /* of an array */
    bool is_container;
    struct grid_uris inputs, outputs;
    grpc_data_mode_t first_mode; /* without outputs */
    struct holding *holding;     /* of an array: its value on servers */
    /* Under the registry's lock: */
    unsigned users;
    void *memory;             /* that has the value; NULL: none has */
    uint64_t sent;            /* fingerprint of what was sent from there last; 0: none has been made */
    struct grid_bytes *owned; /* memory of ours, for what comes from a file */
    uint64_t *items;          /* of a container: numbers, 0: none */
    size_t n_items;
    bool is_named; /* the program has, or had, a struct for it */
    /* It was freed, while sessions may have wanted its value, which goes with the last of them; else NULL. */
    _Atomic(struct engine *) freed_by;
};

#define GRID_MOST_RANKS ((size_t)1 << 20) /* of a container */

/* The one behind the caller's struct, for use until grid_release(); NULL: none. */
struct grid_data *grid_use(const grpc_data_t *data);
/* The one whose struct is at that address. NULL: it is an array, or (`was_freed`) a struct whose data were
 * freed or unbound. */
struct grid_data *grid_at(const void *address, bool *was_freed);
struct grid_data *grid_use_number(uint64_t number);
void grid_release(struct grid_data *grid);

/* Makes it known under *data, and takes over the caller's use of it. NULL: without a name, for a container,
 * with which it goes. */
enum esp_status grid_add(struct grid_data *grid, grpc_data_t *data, struct esp_error *error);
/* *data names it, too. */
void grid_name(struct grid_data *grid, grpc_data_t *data);
/* It is found no more. What is in a container and has no name goes with it. */
void grid_remove(struct grid_data *grid);
/* The item of a container makes room for another: it goes when it has no name. */
void grid_remove_unnamed(uint64_t number);
/* All of them, and all names of memory: the library's life ends. */
void grid_clear(void);

/* A description without a value. NULL without memory. */
struct grid_data *grid_create(const struct datum_shape *shape, size_t n_items, grpc_data_mode_t mode);

/* Of its first output; without outputs how the value stays where calls bring it. */
grpc_data_mode_t grid_mode(const struct grid_data *grid);
/* Where the value is in memory; NULL: nowhere. */
void *grid_memory(struct grid_data *grid);
/* The same for who reads it: it stays until grid_return(), also where another value takes its place meanwhile
 * and the memory is the library's own. *loan: what has been borrowed in its place before goes back; NULL:
 * what is the program's stays by itself. */
const void *grid_borrow(struct grid_data *grid, struct grid_bytes **loan);
void grid_return(struct grid_bytes *loan);
/* In place of what was there. */
void grid_set_memory(struct grid_data *grid, void *memory);

/* All of its memory has been sent to a server: whether it is as it was is known from now on. */
void grid_note_sent(struct grid_data *grid);
/* Servers have lost `datum`, its value. True: the memory from which that was sent has it still, and the value
 * is nowhere but there now. False: there is none, or (*changed) it has been written over. */
bool grid_send_again(struct grid_data *grid, const char *datum, bool *changed);

/* The memory behind "memory:KEY"; NULL: none. */
void *grid_mapping(const char *key);
enum esp_status grid_map(const char *key, void *memory, struct esp_error *error);

/* Results of this thread's sequence that belong in the memory the value is taken from come. May block. */
enum esp_status grid_sync(struct grid_data *grid, struct esp_error *error);
/* Takes the value from the inputs, when it has none yet or `anew`. May block. ESP_NOT_FOUND. */
enum esp_status grid_take_in(struct grid_data *grid, struct engine *engine, bool anew,
                             struct esp_error *error);
/* How a call leaves its value: as it is to stay, but for what could not leave the call's server again. */
void grid_left_mode(const struct grid_data *grid, enum datum_mode *mode, uint32_t *flags);
/* A call has made the value: brings it to the outputs, and away from the call's own server where another one
 * alone is to have it. Blocks. */
enum esp_status grid_bring_result(struct grid_data *grid, struct engine *engine, struct esp_error *error);
/* The memory that a result may go to straight away; NULL: it stays on its server first. */
void *grid_only_memory(const struct grid_data *grid);

/* Forgets the data of the parent, before a new life of the library in a forked child. False: another thread
 * of the parent was in the middle of a change at the fork. */
bool grid_after_fork(void);

/* Transfers of data (grpc_data.h), and deletions, in the background. */

/* Takes the value in (`anew`: also when it has one) and brings it out: begun when this returns, after those
 * before it. Its end, and how, is that of the holding. ESP_NO_MEMORY. */
enum esp_status grid_transfer(struct grid_data *grid, struct engine *engine, bool anew,
                              struct esp_error *error);
/* Deletes, in the background, values of an array on servers that others have taken the place of and nobody
 * else has a name for; those that a session may still want (unless `even_read`) later. Of a container:
 * nothing. */
void grid_drop_old(struct grid_data *grid, struct engine *engine, bool even_read);
/* Returns when none is under way in this process. */
void grid_transfers_end(void);

/* Forgets the transfers of the parent, before a new life of the library in a forked child. False: another
 * thread of the parent was in the middle of a change at the fork. */
bool grid_transfers_after_fork(void);

/* Descriptions of data in files, for other programs:
 *
 *     espalier data 1
 *     identity node7:0123456789abcdef0123456789abcdef
 *     type double
 *     dimensions 100 200
 *     mode GRPC_PERSISTENT
 *
 * and of a container, with such lines from "identity" on for each rank at which there are data:
 *
 *     espalier data 1
 *     container 3
 *     rank 0
 *     identity ...
 *     rank 2
 *     identity ...
 *     end */

/* ESP_NOT_FOUND: the value, or one of the container, is on no server; ESP_SYSTEM: the file cannot be written.
 * The file is whole or not there. */
enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error);
/* A description with that value, which has one user. What is in a container has no names (grid_add()).
 * ESP_NOT_FOUND: no file; ESP_SYNTAX tells the line. */
enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error);

#endif
