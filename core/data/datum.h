/* SPDX-License-Identifier: Apache-2.0
 *
 * A datum: an immutable value that lives on servers. This header has its identity, its shape, and its
 * modes of persistence.
 *
 * All structs here are plain values, which may be copied and own no memory. */
#ifndef CORE_DATUM_H
#define CORE_DATUM_H

#include "core/redistribution/block_cyclic.h"
#include "core/message/message.h"
#include "core/problem/problem.h"

/* ---- identity ---- */

#define DATUM_DIGITS 32                            /* of the key, hexadecimal */
#define DATUM_TEXT   (CAP_NAME + DATUM_DIGITS + 2) /* "NAME:<32 digits>" and the NUL */

/* 128 random bits: a program that knows them was given them. All replicas of a datum have the same key. */
struct datum_key {
    uint64_t high, low;
};

struct datum_id {
    struct datum_key key;
    char origin[CAP_NAME + 1]; /* the server that created it: the last resort when its location is unknown */
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

/* Draws a new identity for a datum created by server `origin`, from the system's random numbers.
 * ESP_INVALID: the name is empty, too long or has control characters; ESP_SYSTEM: no random numbers. */
enum esp_status datum_id_draw(const char *origin, struct datum_id *id, struct esp_error *error);

/* Writes "node7:0123456789abcdef0123456789abcdef" into `text` of at least DATUM_TEXT bytes; returns it. */
const char *datum_id_text(const struct datum_id *id, char *text);
/* Writes the identity shortened for logs and tables, "node7:01234567...": a reader of the log must not be
 * able to use the datum. */
const char *datum_id_short(const struct datum_id *id, char *text);

/* Parses an identity from datum_id_text() (digits in either case). ESP_INVALID says what was expected,
 * what was found, and where: no colon, too few or invalid digits, the key 0, an invalid origin. `text` may
 * be any bytes up to its NUL; at most DATUM_TEXT of them are read. */
enum esp_status datum_id_parse(const char *text, struct datum_id *id, struct esp_error *error);

/* Packs a given-up datum and its owner ("": without a certificate) as the value of EXTENSION_DISOWNED:
 * each with its NUL. `bytes` must live as long as the extension. */
#define DATUM_GIVEN_UP_BYTES (DATUM_TEXT + CAP_NAME + 1)
struct extension datum_given_up_pack(const struct datum_id *id, const char *owner,
                                     char bytes[DATUM_GIVEN_UP_BYTES]);
/* Reads such a value; false when it is malformed. *owner points into the extension. */
bool datum_given_up_read(const struct extension *extension, struct datum_id *id, const char **owner);

/* ---- shape ---- */

/* One array (or scalar: n_dims 0; or text or file: its bytes). A compressed sparse matrix is three data,
 * as it is three arguments of a problem. */
struct datum_shape {
    enum base_type type; /* not TYPE_STATE, TYPE_CALLBACK */
    uint32_t n_dims;     /* at most CAP_DIMS */
    int64_t dims[CAP_DIMS];
    enum storage storage; /* which elements of the matrix are stored: FULL, PACKED, BANDED or PIECES; the
                             values of a compressed matrix are a FULL vector */
    int64_t
        layout[3]; /* PACKED: 'U' or 'L' first; BANDED: diagonals below, above, rows in front; PIECES: rows of
                    * ranks * 2^32 + columns of ranks, rows of a block, columns of a block; else 0 */
    bool row_major; /* else column-major */
    uint64_t bytes; /* of the stored elements */
};

/* Computes `bytes` from the other members; for texts and files `bytes` is kept. ESP_INVALID: negative
 * dimensions, too many, a storage that does not fit them, more than 2^62 bytes. */
enum esp_status datum_shape_complete(struct datum_shape *shape, struct esp_error *error);

/* Checks that a received shape equals the result of datum_shape_complete(). ESP_INVALID says what does not
 * fit. */
enum esp_status datum_shape_check(const struct datum_shape *shape, struct esp_error *error);

/* Returns the layout of a matrix or vector in pieces: at most DATUM_MOST_PIECES, of ranks that are
 * numbered row by row, the first of which has the first block. False: it is in one piece. */
#define DATUM_MOST_PIECES 4096
bool datum_shape_layout(const struct datum_shape *shape, struct block_cyclic_matrix *layout);
/* Changes a full shape to one in pieces with that layout. ESP_INVALID: more than two dimensions, another
 * storage, by rows, or a layout that is not as above, or of other extents. */
enum esp_status datum_shape_spread(struct datum_shape *shape, const struct block_cyclic_matrix *layout,
                                   struct esp_error *error);
/* Returns the layout of a packed or banded datum for layout_index(). False: another storage. */
bool datum_shape_places(const struct datum_shape *shape, struct layout *places);
/* Returns the shape of the same value stored in full. */
struct datum_shape datum_shape_joined(const struct datum_shape *shape);

/* Computes the shape of the datum that is, or becomes, argument `index` of a call of the problem: whole
 * arrays of numbers and characters. `shape` and `scope` come from problem_bind(). ESP_INVALID: as
 * problem_layout(). */
enum esp_status datum_shape_of_argument(const struct problem *problem, uint32_t index,
                                        const struct number *scope, const struct shape *shape,
                                        struct datum_shape *datum, struct esp_error *error);

/* Whether elements of one type may be used as the other: equal types, or both integers of 64 bits. */
bool datum_types_fit(enum base_type a, enum base_type b);

/* Checks that a datum of shape `found` can be the argument that `expected` describes: type, storage (in
 * pieces is equivalent to in full; the elements of a packed or banded matrix may be an array), order, and
 * dimensions (trailing ones of extent 1 are ignored). ESP_INVALID: "A: expected double[100, 100], the
 * datum is int[5]", with `what` in front. */
enum esp_status datum_shape_fits(const struct datum_shape *expected, const struct datum_shape *found,
                                 const char *what, struct esp_error *error);

/* Writes "double[1000, 1000]", "double complex[4, 4] packed (U)", "file", cut to fit `size` bytes; returns
 * text. */
#define DATUM_SHAPE_TEXT 256
const char *datum_shape_text(const struct datum_shape *shape, char *text, size_t size);

/* ---- modes ---- */

/* The persistence modes of DIET. The numbers are part of the durable format and of the contract on the wire.
 */
enum datum_mode {
    DATUM_VOLATILE = 0,          /* may be deleted when memory is short, or when its client is gone */
    DATUM_PERSISTENT = 1,        /* durable; may move between servers */
    DATUM_PERSISTENT_RETURN = 2, /* like persistent; as a result, a copy also goes to the client */
    DATUM_STICKY = 3,            /* durable; stays on its server */
    DATUM_STICKY_RETURN = 4      /* like sticky; as a result, a copy also goes to the client */
};
#define DATUM_N_MODES 5

/* Further properties of a datum, a set of bits. */
enum datum_flag {
    DATUM_REPLICA = 1 << 0, /* this copy is one of several and may be deleted: the original is elsewhere */
    DATUM_UNIQUE = 1 << 1,  /* it must not be copied to other servers */
    DATUM_STRICT = 1 << 2,  /* deleted as soon as the first session that used it has ended */
    DATUM_SHARED = 1 << 3   /* any user that knows the identity may use it, not only its owner */
};
#define DATUM_ALL_FLAGS 0xfu
/* Added to the flags of a result that stays: it is stored in the pieces in which ranks have computed it. */
#define DATUM_AS_IT_LIES 0x10u

/* Added to the flags in a pull: a copy with that mode is wanted, while other copies stay unchanged. */
#define DATUM_KEPT_COPY 0x20u

/* Returns "volatile", "persistent", "persistent-return", "sticky", "sticky-return"; "unknown" for other
 * values. */
const char *datum_mode_name(enum datum_mode mode);
/* Parses the name of a mode. ESP_INVALID suggests the nearest one. */
enum esp_status datum_mode_parse(const char *name, enum datum_mode *mode, struct esp_error *error);

/* Whether the datum is acknowledged only when it is on disk. Replicas never are. */
static inline bool datum_is_durable(enum datum_mode mode, uint32_t flags)
{
    return mode != DATUM_VOLATILE && !(flags & DATUM_REPLICA);
}
/* Whether results with that mode also go back to the client. */
static inline bool datum_mode_returns(enum datum_mode mode)
{
    return mode == DATUM_PERSISTENT_RETURN || mode == DATUM_STICKY_RETURN;
}
static inline bool datum_mode_sticks(enum datum_mode mode)
{
    return mode == DATUM_STICKY || mode == DATUM_STICKY_RETURN;
}

/* Whether a copy may go to another server (`move`: and this one be deleted then). ESP_REFUSED says why
 * not: sticky data never move but may be copied, unique ones neither. Clients may always read. */
enum esp_status datum_may_leave(enum datum_mode mode, uint32_t flags, bool move, struct esp_error *error);

/* The modes of the GridRPC data management API (GFD.186), in its order, and their equivalents here:
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
/* Converts a GridRPC mode; `flags` gets its bits. False for an invalid number. */
bool datum_of_grid_mode(enum datum_grid_mode grid, enum datum_mode *mode, uint32_t *flags);
/* Returns the nearest GridRPC mode. */
enum datum_grid_mode datum_to_grid_mode(enum datum_mode mode, uint32_t flags);

#endif
