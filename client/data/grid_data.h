/* SPDX-License-Identifier: Apache-2.0
 *
 * Data of grpc_data.h: descriptions of arrays, found by the address of the program's struct, and the
 * places of their values.
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
 * and without "data:"; else without "server:". Returns ESP_INVALID on failure. The caller calls
 * grid_uris_clear() in any case. */
enum esp_status grid_uris_read(struct grid_uris *uris, const char **list, const grpc_data_mode_t *modes,
                               bool outputs, struct esp_error *error);
void grid_uris_clear(struct grid_uris *uris);
/* Reads one URI; `rest` is for free(). */
enum esp_status grid_uri_read(const char *text, enum grid_place *place, char **rest, struct esp_error *error);
/* The URIs as text, separated by blanks; for free(), NULL without memory. */
char *grid_uris_text(const struct grid_uris *uris);

/* The name of the mode ("GRPC_PERSISTENT"), and how a value of that mode is kept. Returns ESP_INVALID for
 * an unknown mode. */
const char *grid_mode_name(grpc_data_mode_t mode);
enum esp_status grid_mode_check(grpc_data_mode_t mode, struct esp_error *error);
/* Whether a value of that mode stays on servers for later calls. */
bool grid_mode_stays(grpc_data_mode_t mode);

struct grid_bytes; /* memory that the library owns, with its readers */

struct grid_data {
    uint64_t number;
    struct datum_shape shape; /* of an array */
    bool is_container;
    struct grid_uris inputs, outputs;
    grpc_data_mode_t first_mode; /* used if there are no outputs */
    struct holding *holding;     /* of an array: its value on servers */
    /* Under the registry's lock: */
    unsigned users;
    void *memory;             /* with the value; NULL: none has it */
    uint64_t sent;            /* fingerprint of the value that was sent from there last; 0: none */
    struct grid_bytes *owned; /* the library's memory, for a value from a file */
    uint64_t *items;          /* of a container: numbers, 0: none */
    size_t n_items;
    bool is_named; /* the program has, or had, a struct for it */
    /* Set when it was freed while sessions still wanted its value, which is deleted after the last of
     * them; else NULL. */
    _Atomic(struct engine *) freed_by;
};

#define GRID_MOST_RANKS ((size_t)1 << 20) /* of a container */

/* Returns the data behind the program's struct, for use until grid_release(); NULL: none. */
struct grid_data *grid_use(const grpc_data_t *data);
/* Returns the data whose struct is at that address. NULL: the address is an array, or (`was_freed`) a
 * struct whose data were freed or unbound. */
struct grid_data *grid_at(const void *address, bool *was_freed);
struct grid_data *grid_use_number(uint64_t number);
void grid_release(struct grid_data *grid);

/* Registers the data under *data, and takes over the caller's use. `data` NULL: without a name, for a
 * container, with which the data are removed. */
enum esp_status grid_add(struct grid_data *grid, grpc_data_t *data, struct esp_error *error);
/* Makes *data another name. */
void grid_name(struct grid_data *grid, grpc_data_t *data);
/* Removes the data from the registry. Items of a container without a name are removed with it. */
void grid_remove(struct grid_data *grid);
/* Another item replaces this one in a container: it is removed if it has no name. */
void grid_remove_unnamed(uint64_t number);
/* Removes all data, and all names of memory, at the end of the library's life. */
void grid_clear(void);

/* Creates a description without a value. Returns NULL without memory. */
struct grid_data *grid_create(const struct datum_shape *shape, size_t n_items, grpc_data_mode_t mode);

/* The mode of the first output; without outputs, how the value stays where calls bring it. */
grpc_data_mode_t grid_mode(const struct grid_data *grid);
/* The memory with the value; NULL: none. */
void *grid_memory(struct grid_data *grid);
/* Borrows that memory for reading until grid_return(), even if another value replaces it meanwhile and the
 * library owns the memory. *loan: an earlier loan is returned; NULL: the program owns the memory. */
const void *grid_borrow(struct grid_data *grid, struct grid_bytes **loan);
void grid_return(struct grid_bytes *loan);
/* Replaces the memory with the value. */
void grid_set_memory(struct grid_data *grid, void *memory);

/* All of the memory has been sent to a server: from now on, changes to it can be detected. */
void grid_note_sent(struct grid_data *grid);
/* Servers have lost `datum`, the value. Returns true if the memory that it was sent from still has it;
 * then the value is only there. Returns false if there is no such memory, or (*changed) if it was
 * overwritten. */
bool grid_send_again(struct grid_data *grid, const char *datum, bool *changed);

/* The memory behind "memory:KEY"; NULL: none. */
void *grid_mapping(const char *key);
enum esp_status grid_map(const char *key, void *memory, struct esp_error *error);

/* Fetches results of this thread's sequence that belong in the memory of the input. May block. */
enum esp_status grid_sync(struct grid_data *grid, struct esp_error *error);
/* Takes the value from the inputs, if there is none yet or if `anew`. May block. Returns ESP_NOT_FOUND on
 * failure. */
enum esp_status grid_take_in(struct grid_data *grid, struct engine *engine, bool anew,
                             struct esp_error *error);
/* How a call leaves its value: in the final mode, unless that would keep it from leaving the call's
 * server. */
void grid_left_mode(const struct grid_data *grid, enum datum_mode *mode, uint32_t *flags);
/* A call has made the value: brings it to the outputs, and away from the call's server if another server
 * is the only output. Blocks. */
enum esp_status grid_bring_result(struct grid_data *grid, struct engine *engine, struct esp_error *error);
/* The memory that a result may go to directly; NULL: the result first stays on its server. */
void *grid_only_memory(const struct grid_data *grid);

/* Drops the parent's data before the library is initialized in a forked child. Returns false if another
 * thread of the parent was changing them during the fork. */
bool grid_after_fork(void);

/* Transfers of data (grpc_data.h), and deletions, in the background. */

/* Takes in the value (`anew`: also if there is one) and brings it out, in the background, after earlier
 * transfers. The holding reports its end. Returns ESP_NO_MEMORY on failure. */
enum esp_status grid_transfer(struct grid_data *grid, struct engine *engine, bool anew,
                              struct esp_error *error);
/* Deletes, in the background, an array's former values on servers that have no other name. Values that a
 * session may still want are deleted later (`even_read`: at once). Does nothing for a container. */
void grid_drop_old(struct grid_data *grid, struct engine *engine, bool even_read);
/* Waits until no transfer is under way in this process. */
void grid_transfers_end(void);

/* Drops the parent's transfers before the library is initialized in a forked child. Returns false if
 * another thread of the parent was changing them during the fork. */
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

/* Returns ESP_NOT_FOUND if the value, or one of the container, is on no server; ESP_SYSTEM if the file
 * cannot be written. The file is written as a whole or not at all. */
enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error);
/* Creates a description with that value, which has one user. Items of a container have no names
 * (grid_add()). Returns ESP_NOT_FOUND without a file, ESP_SYNTAX with the line of the error. */
enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error);

#endif
