/* SPDX-License-Identifier: Apache-2.0
 *
 * An invocation: the arguments of one call, gathered from C's variable arguments or from a vector, checked
 * against the problem's description, and ready to be sent from their places in memory.
 */
#ifndef CLIENT_INVOCATION_H
#define CLIENT_INVOCATION_H

#include "client/arguments/function.h"
#include "core/data/datum.h"
#include "core/message/message.h"
#include "core/problem/section.h"
#include <stdarg.h>

struct distant;
struct engine;
struct grid_bytes;
struct grid_data;
struct holding;

#define ROOM_LARGE_BYTES (UINT64_C(64) << 20) /* for smaller calls it is not worth asking for room */

/* The target of a call, for the question whether any server can hold it (hooks.h, check_room). */
struct room {
    struct engine *engine;
    const char *server; /* name of the server that the call is bound to; NULL: any */
};

/* A value that a session will make of an array (client/data/holding.h). Sessions wait only for values of
 * earlier turns. So no wait is circular, however many sessions take each other's results. */
struct holding_due {
    uint64_t turn; /* of holding_enter(), one for all results of a session */
    bool listed;   /* other sessions know of it */
    struct holding_due *prev, *next;
};

/* How a value lies in the caller's memory. */
enum value_form {
    VALUE_MEMORY,   /* elements: scalars by address, arrays */
    VALUE_SECTION,  /* whole arrays, of which some elements are sent and returned */
    VALUE_TEXTS,    /* arrays of texts, or of names of files: a char ** */
    VALUE_TEXT,     /* results go to malloc'ed text, through a char ** */
    VALUE_FUNCTION, /* a function of the program, at `in`; it is not sent */
    VALUE_FILE      /* contents of files, read before and written after */
};

struct value {
    uint32_t index; /* of its argument in the problem's description */
    enum value_form form;
    const void *in; /* source of the value; NULL: none */
    void *out;      /* destination of the result; NULL: not wanted */
    uint64_t bytes; /* of `in`; for VALUE_MEMORY also of `out`; for VALUE_SECTION of the elements */
    bool unread;    /* an inout array that this call does not read: it has no input, whatever was given */
    bool bulk;      /* `in` travels in chunks, if it travels (there is no `datum`) */
    bool lent;      /* `in` does not travel: the server uses it, or writes the result, in place */
    bool lent_out;  /* and this is a result (client/data/lend.h) */
    uint64_t fetch; /* bytes of a result that is still on the server */
    void *loaded;   /* owned: contents of a sent file, elements of a section, or scalars for a function */
    struct section *section; /* owned, for VALUE_SECTION */
    uint64_t n_texts;        /* for VALUE_TEXTS: elements */
    void *received;          /* owned: text or contents for the caller */
    uint64_t n_received;
    char *datum; /* owned: it lives on servers: its identity, followed by addresses of holders */
    char holder[CAP_NAME + 1]; /* one of the holders, by name */
    bool is_unique;            /* and the only permitted one */
    bool is_strict;            /* it is deleted after the first session that uses it */
    /* Arrays that also live on servers. The room of data binds them (client/data/binding.h) and releases
     * them: */
    struct grid_data *grid;    /* passed in place of the array */
    struct grid_bytes *loan;   /* its memory, if that is `in` and the library owns it */
    struct holding *held;      /* the input is this holding's value, and stays on the server */
    struct holding *result;    /* the result is the next value of this holding */
    struct holding_due due;    /* its turn is the call's */
    struct distant *distant;   /* the result stays on the server by itself, and is fetched when needed */
    bool wants_edges;          /* the server sends both ends of a result that stays */
    uint64_t head, tail;       /* of so many bytes */
    void *edges;               /* owned: both ends, which came with the answer; NULL: they did not */
    struct datum_shape *shape; /* owned: of the argument, if it is one of these */
    bool reads;                /* the session may want the present value of `grid` on servers */
    int stays;                 /* enum esp_session_side: the input, or the result, is left on the server */
    bool is_kept;              /* the result stays on the server */
    char **kept;               /* destination of its identity */
    uint32_t kept_flags;       /* of enum datum_flag */
    char *stayed;              /* owned: the identity of the result that stayed */
    uint32_t kept_mode;        /* enum datum_mode */
    union {
        int64_t integer;
        double real;
        unsigned char bytes[16];
    } scalar; /* of scalars passed by value; `in` points here */
};

/* Whether a value of this argument is sent. */
static inline bool value_goes_in(const struct value *value, const struct argument *argument)
{
    return argument_is_input(argument) && !value->unread;
}

struct invocation {
    struct function *function; /* in use */
    struct value *values;      /* one for each argument that callers pass, in the description's order */
    uint32_t n_values;
    double work_flop;
    uint64_t memory_bytes;   /* arguments, work arrays and additional memory of the description */
    char home[CAP_NAME + 1]; /* the server of a state or of unique data, which cannot leave it; "": none */
    bool home_by_datum;      /* because of unique data only */
    int64_t until_ns;        /* on the engine's clock; 0: no limit for finding its data, and not begun */
    bool consumed;           /* a result may have overwritten an input, which cannot be sent again */
};

/* Makes an empty value for each argument that callers pass. */
enum esp_status invocation_begin(struct invocation *invocation, struct function *function,
                                 struct esp_error *error);

/* Takes the arguments from the list of a grpc_call(). Their targets must live as long as the invocation.
 * Contents of arrays are read only after all extents were compared and, with `room` (NULL: without),
 * check_room (hooks.h) has said that a server can hold them. Returns ESP_INVALID with the argument and the
 * error in it; else errors of check_room. The invocation is empty after an error. */
enum esp_status invocation_from_list(struct invocation *invocation, struct function *function,
                                     const struct room *room, va_list arguments, struct esp_error *error);

/* invocation_from_list() from a vector with one entry for each passed argument. */
enum esp_status invocation_from_vector(struct invocation *invocation, struct function *function,
                                       const struct room *room, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error);

/* Fills `inputs` for problem_bind() of an earlier call. Only plain scalars of its inputs are known.
 * Texts and files count as present; no expression reads them. Both arrays have PROBLEM_MAX_ARGUMENTS. */
void invocation_known_inputs(const struct problem *problem, const void *const *scalars, const void **inputs);

/* Makes an invocation that takes the results of an earlier call with these scalar inputs (by the
 * description's index, NULL: none). The vector's outputs are the destinations. Returns ESP_INVALID as the
 * others do. */
enum esp_status invocation_for_results(struct invocation *invocation, struct function *function,
                                       const void *const *scalars, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error);

/* See esp_arguments_complete(). */
enum esp_status invocation_complete(const struct problem *problem, struct esp_argument *arguments,
                                    size_t n_arguments, struct esp_error *error);
/* esp_arguments_elements(). */
enum esp_status invocation_elements(const struct problem *problem, const struct esp_argument *arguments,
                                    size_t n_arguments, uint64_t *elements, struct esp_error *error);

void invocation_release(struct invocation *invocation);

/* Makes the request for servers, without the session; arrays lie in the message's arena. */
enum esp_status invocation_request(const struct invocation *invocation, struct message *submit,
                                   struct esp_error *error);

/* Whether argument `index` is a compressed input whose fill the costs of the problem depend on. The client
 * sends agents the work and the memory that follow from the fill, and sends the server the fill with the
 * call. */
bool invocation_fill_matters(const struct problem *problem, uint32_t index);

/* Decides which inputs travel in chunks (`bulk`): those above `inline_bytes`, and those that would make the
 * call too large. */
void invocation_split(struct invocation *invocation, uint64_t inline_bytes);

/* Writes the arguments of a call: small ones inline, bulk ones announced. */
enum esp_status invocation_arguments(const struct invocation *invocation, struct message *call,
                                     struct esp_error *error);

/* Takes results: those in the message go to the caller's memory; for the others, sets `fetch`. Returns
 * ESP_PROTOCOL if they do not fit the description. */
enum esp_status invocation_results(struct invocation *invocation, const struct call_result *results,
                                   uint32_t n_results, struct esp_error *error);

/* Whether writing that output's memory may overwrite an input, which then cannot be sent again: programs
 * may pass one array as an input and an output. */
bool invocation_overwrites(const struct invocation *invocation, const struct value *output);

/* All results have arrived: hands out texts and writes files. */
enum esp_status invocation_finish(struct invocation *invocation, struct esp_error *error);

#endif
