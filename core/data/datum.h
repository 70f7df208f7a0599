/* SPDX-License-Identifier: Apache-2.0
 *
 * A datum: an immutable value that lives on servers. Its identity, what it is, and how it is kept.
 *
 * All structs here are plain values: copied freely, no memory of their own.
 */
#ifndef CORE_DATUM_H
#define CORE_DATUM_H

#include "core/redistribution/block_cyclic.h"
#include "core/message/message.h"
#include "core/problem/problem.h"

/* ---- identity ---- */

#define DATUM_DIGITS 32                            /* of the key, hexadecimal */
#define DATUM_TEXT   (CAP_NAME + DATUM_DIGITS + 2) /* "NAME:<32 digits>" and the NUL */

/* 128 bits that nobody can guess: whoever knows them was told. All replicas of a datum have the same. */
struct datum_key {
    uint64_t high, low;
};

struct datum_id {
    struct datum_key key;
    char origin[CAP_NAME + 1]; /* the server that made it: where to ask when nobody knows better */
};

static inline bool datum_key_equal(struct datum_key a, struct datum_key b)
{
    return a.high == b.high && a.low == b.low;
}

/* No datum has the key 0. */
static inline bool datum_key_is_none(struct datum_key key)
{
    return key.high == 0 && key.low == 0;
}

/* A new identity of a datum made by server `origin`, from the system's random numbers. ESP_INVALID: the name
 * is empty, too long or has control characters; ESP_SYSTEM: no random numbers. */
enum esp_status datum_id_draw(const char *origin, struct datum_id *id, struct esp_error *error);

/* "node7:0123456789abcdef0123456789abcdef" into `text` of at least DATUM_TEXT bytes; returns it. */
const char *datum_id_text(const struct datum_id *id, char *text);
/* The same, shortened for logs and tables: "node7:01234567...": what a log says must not open the datum. */
const char *datum_id_short(const struct datum_id *id, char *text);

/* Reads what datum_id_text() wrote (digits of either case). ESP_INVALID says what was expected, what was
 * found, and where: no colon, too few or strange digits, the key 0, an origin that is no name. `text` may be
 * any bytes up to its NUL; at most DATUM_TEXT of them are looked at. */
enum esp_status datum_id_parse(const char *text, struct datum_id *id, struct esp_error *error);

/* A datum that was given up, and its owner ("": without a certificate), as EXTENSION_DISOWNED carries them:
 * each with its NUL. `bytes` lives as long as the extension. */
#define DATUM_GIVEN_UP_BYTES (DATUM_TEXT + CAP_NAME + 1)
struct extension datum_given_up_pack(const struct datum_id *id, const char *owner,
                                     char bytes[DATUM_GIVEN_UP_BYTES]);
/* False: it makes no sense. *owner points into the extension. */
bool datum_given_up_read(const struct extension *extension, struct datum_id *id, const char **owner);

/* ---- what it is ---- */

/* One array (or scalar: n_dims 0; or text or file: its bytes). Sparse matrices in compressed form are three
 * data, as they are three arguments of a problem. */
struct datum_shape {
    enum base_type type; /* not TYPE_STATE, TYPE_CALLBACK */
    uint32_t n_dims;     /* at most CAP_DIMS */
    int64_t dims[CAP_DIMS];
    enum storage storage; /* which elements of the matrix are there: FULL, PACKED, BANDED or PIECES; the
                           * values of a compressed matrix are a FULL vector */
    int64_t
        layout[3]; /* PACKED: 'U' or 'L' first; BANDED: diagonals below, above, rows in front; PIECES: rows of
                    * ranks * 2^32 + columns of ranks, rows of a block, columns of a block; else 0 */
    bool row_major; /* else column-major */
    uint64_t bytes; /* what is stored */
};

/* Works out `bytes` from the rest; of texts and files `bytes` is taken as it is. ESP_INVALID: negative
 * dimensions, too many, a storage that does not fit them, more than 2^62 bytes. */
enum esp_status datum_shape_complete(struct datum_shape *shape, struct esp_error *error);

/* Whether a shape from outside makes sense: what datum_shape_complete() would make of it is what it says.
 * ESP_INVALID tells what does not fit. */
enum esp_status datum_shape_check(const struct datum_shape *shape, struct esp_error *error);

/* A matrix or vector in pieces: how it lies. At most DATUM_MOST_PIECES, of ranks that are numbered row by
 * row, the first of which has the first block. False: it is in one piece. */
#define DATUM_MOST_PIECES 4096
bool datum_shape_layout(const struct datum_shape *shape, struct block_cyclic_matrix *layout);
/* Makes one that is stored in full one in pieces of that layout. ESP_INVALID: more than two dimensions,
 * another storage, by rows, or a layout that is not as above, or of other extents. */
enum esp_status datum_shape_spread(struct datum_shape *shape, const struct block_cyclic_matrix *layout,
                                   struct esp_error *error);
/* Where the elements of one that is packed or banded are: for layout_index(). False: it is stored otherwise.
 */
bool datum_shape_places(const struct datum_shape *shape, struct layout *places);
/* The same value stored in full. */
struct datum_shape datum_shape_joined(const struct datum_shape *shape);

/* What the datum is that is, or becomes, argument `index` of a call of the problem: whole arrays of numbers
 * and characters. `shape` and `scope` as problem_bind() gives them. ESP_INVALID: as problem_layout(). */
enum esp_status datum_shape_of_argument(const struct problem *problem, uint32_t index,
                                        const struct number *scope, const struct shape *shape,
                                        struct datum_shape *datum, struct esp_error *error);

/* Whether elements of the one type can be those of the other: the same, or both of 64 bits. */
bool datum_types_fit(enum base_type a, enum base_type b);

/* Whether a datum of shape `found` can be the argument that `expected` describes: type, storage (in pieces is
 * as good as in full; the elements of a packed or banded matrix may be an array), order, and dimensions
 * (trailing ones of extent 1 do not count). ESP_INVALID: "A: expected double[100, 100], the datum is int[5]",
 * with `what` in front. */
enum esp_status datum_shape_fits(const struct datum_shape *expected, const struct datum_shape *found,
                                 const char *what, struct esp_error *error);

/* "double[1000, 1000]", "double complex[4, 4] packed (U)", "file", cut to fit `size` bytes; returns text. */
#define DATUM_SHAPE_TEXT 256
const char *datum_shape_text(const struct datum_shape *shape, char *text, size_t size);

/* ---- how it is kept ---- */

/* The persistence modes of DIET. The numbers are part of the durable format and of the contract on the wire.
 */
enum datum_mode {
    DATUM_VOLATILE = 0,          /* may be dropped when memory is short, or when its client is gone */
    DATUM_PERSISTENT = 1,        /* durable; may move between servers */
    DATUM_PERSISTENT_RETURN = 2, /* the same, and (as a result) a copy goes back to the client */
    DATUM_STICKY = 3,            /* durable; stays on its server */
    DATUM_STICKY_RETURN = 4      /* the same, and a copy goes back to the client */
};
#define DATUM_N_MODES 5

/* What else is said of a datum, a set of bits. */
enum datum_flag {
    DATUM_REPLICA = 1 << 0, /* this copy is one of several and may be dropped: the original is elsewhere */
    DATUM_UNIQUE = 1 << 1,  /* no copies may be made of it on other servers */
    DATUM_STRICT = 1 << 2,  /* dropped as soon as the first session that used it has ended */
    DATUM_SHARED = 1 << 3   /* may be used by everybody who knows its identity, not by its owner only */
};
#define DATUM_ALL_FLAGS 0xfu
/* Said beside these of a result that is to stay: in the pieces in which ranks have computed it. */
#define DATUM_AS_IT_LIES 0x10u

/* Said beside these in a pull: a copy is wanted that is kept by the mode, while others stay as they are. */
#define DATUM_KEPT_COPY 0x20u

/* "volatile", "persistent", "persistent-return", "sticky", "sticky-return"; "unknown" beyond. */
const char *datum_mode_name(enum datum_mode mode);
/* ESP_INVALID names the nearest one. */
enum esp_status datum_mode_parse(const char *name, enum datum_mode *mode, struct esp_error *error);

/* Durable: acknowledged only when it is on the disk. Replicas never are. */
static inline bool datum_is_durable(enum datum_mode mode, uint32_t flags)
{
    return mode != DATUM_VOLATILE && !(flags & DATUM_REPLICA);
}
/* Results of that mode also go back to the client. */
static inline bool datum_mode_returns(enum datum_mode mode)
{
    return mode == DATUM_PERSISTENT_RETURN || mode == DATUM_STICKY_RETURN;
}
static inline bool datum_mode_sticks(enum datum_mode mode)
{
    return mode == DATUM_STICKY || mode == DATUM_STICKY_RETURN;
}

/* Whether a copy may go to another server (`move`: and this one be deleted then). ESP_REFUSED tells why not:
 * sticky data never move but may be copied, unique ones neither. Clients may always read. */
enum esp_status datum_may_leave(enum datum_mode mode, uint32_t flags, bool move, struct esp_error *error);

/* The modes of the GridRPC data management API (GFD.186), in its order, and what they mean here:
 *   GRPC_VOLATILE           volatile
 *   GRPC_STRICTLY_VOLATILE  volatile, strict
 *   GRPC_STICKY             sticky
 *   GRPC_UNIQUE_STICKY      sticky, unique
 *   GRPC_PERSISTENT         persistent */
enum datum_grid_mode {
    DATUM_GRID_VOLATILE,
    DATUM_GRID_STRICTLY_VOLATILE,
    DATUM_GRID_STICKY,
    DATUM_GRID_UNIQUE_STICKY,
    DATUM_GRID_PERSISTENT
};
/* `flags` gets the bits that belong to the mode. False for a number that is none. */
bool datum_of_grid_mode(enum datum_grid_mode grid, enum datum_mode *mode, uint32_t *flags);
/* The GridRPC mode that says most of what these say. */
enum datum_grid_mode datum_to_grid_mode(enum datum_mode mode, uint32_t flags);

#endif
