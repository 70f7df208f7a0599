/* SPDX-License-Identifier: Apache-2.0
 *
 * An invocation: the arguments of one call, gathered from C's variable arguments or from a vector, checked
 * against the problem's description, and ready to be sent from where they lie.
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

#define ROOM_LARGE_BYTES (UINT64_C(64) << 20) /* smaller calls are not worth a question for room */

/* Where a call is to be made, for the question whether any server can hold it (hooks.h, check_room). */
struct room {
    struct engine *engine;
    const char *server; /* by name, that the call is bound to; NULL: any */
};

/* A session that is to make another value of an array (client/data/holding.h). Sessions wait for those only
 * whose turn is before their own: however many take each other's results, none waits in a circle. */
struct holding_due {
    uint64_t turn; /* of holding_enter(), one for all results of a session */
    bool listed;   /* others know of it */
    struct holding_due *prev, *next;
};

/* How a value lies in the caller's memory. */
enum value_form {
    VALUE_MEMORY,   /* elements: scalars by address, arrays */
    VALUE_SECTION,  /* whole arrays, of which some elements are sent and come back */
    VALUE_TEXTS,    /* arrays of texts, or of the names of files: a char ** */
    VALUE_TEXT,     /* results go to malloc'ed text, through a char ** */
    VALUE_FUNCTION, /* a function of the caller, at `in`; nothing of it is sent */
    VALUE_FILE      /* contents of files, read before and written after */
};

struct value {
    uint32_t index; /* of its argument in the problem's description */
    enum value_form form;
    const void *in; /* what is sent; NULL: nothing */
    void *out;      /* where results go; NULL: nobody wants them */
    uint64_t bytes; /* of `in`; of `out` too when VALUE_MEMORY; of the elements when VALUE_SECTION */
    bool unread;    /* of an inout array that this call does not read: nothing goes in, whatever was given */
    bool bulk;      /* `in` travels in chunks, if it travels (there is no `datum`) */
    bool lent;      /* ... not: the server uses it, or writes the result, where it is, */
    bool lent_out;  /* and this is a result (client/data/lend.h) */
    uint64_t fetch; /* bytes of a result that is still on the server */
    void *loaded;   /* owned: the contents of a file that is sent, the elements of a section, the scalars that
                     * the   sizes of a function use */
    struct section *section; /* owned, of VALUE_SECTION */
    uint64_t n_texts;        /* of VALUE_TEXTS: elements */
    void *received;          /* owned: text or contents on their way to the caller */
    uint64_t n_received;
    char *datum;               /* owned: it lives on servers: its identity, then addresses of who has it */
    char holder[CAP_NAME + 1]; /* one of them, by name */
    bool is_unique;            /* and the only one that may have it */
    bool is_strict;            /* it goes with the first session that uses it */
    /* Arrays that also live on servers. The room of data binds them (client/data/binding.h) and releases
     * them: */
    struct grid_data *grid;    /* what was passed in place of the array */
    struct grid_bytes *loan;   /* its memory, where `in` is that and it is the library's own */
    struct holding *held;      /* what goes in is this holding's value, and is to stay where it goes */
    struct holding *result;    /* what comes out is the next value of this holding; */
    struct holding_due due;    /* its turn is the call's */
    struct distant *distant;   /* the result stays there without being asked for, and comes when needed */
    bool wants_edges;          /* the server is to send the ends of the result that stays, */
    uint64_t head, tail;       /* of so many bytes */
    void *edges;               /* owned: both ends, which came with the answer; NULL: they did not */
    struct datum_shape *shape; /* owned: of the argument, when it is any of these */
    bool reads;                /* the session may want the present value of `grid` on servers */
    int stays;                 /* enum esp_session_side: what goes in is left there, what comes out is */
    bool is_kept;              /* the result stays on the server: */
    char **kept;               /* where its identity goes */
    uint32_t kept_flags;       /* of enum datum_flag */
    char *stayed;              /* owned: the identity of the result that stayed */
    uint32_t kept_mode;        /* enum datum_mode */
    union {
        int64_t integer;
        double real;
        unsigned char bytes[16];
    } scalar; /* of scalars passed by value; `in` points here */
};

/* Whether a value of this argument goes in. */
static inline bool value_goes_in(const struct value *value, const struct argument *argument)
{
    return argument_is_input(argument) && !value->unread;
}

struct invocation {
    struct function *function; /* used */
    struct value *values;      /* one for each argument that callers pass, in the description's order */
    uint32_t n_values;
    double work_flop;
    uint64_t memory_bytes; /* arguments, work arrays and what the description adds */
    char
        home[CAP_NAME + 1]; /* the server that keeps what cannot leave it, a state or unique data; "": none */
    bool home_by_datum;     /* it is for unique data only */
    int64_t until_ns;       /* on the engine's clock; 0: no limit to looking for its data, and none begun */
    bool consumed;          /* a result may lie over an input already, which cannot be sent again */
};

/* Makes a value for each argument that callers pass, with nothing in it yet. */
enum esp_status invocation_begin(struct invocation *invocation, struct function *function,
                                 struct esp_error *error);

/* Takes the arguments from a grpc_call()'s list. What they point to must live as long as the invocation.
 * Contents of arrays are read only after all extents were compared and, with `room` (NULL: without),
 * check_room (hooks.h) has said that a server can hold them. ESP_INVALID names the argument and what is wrong
 * with it; else as check_room. The invocation is then empty. */
enum esp_status invocation_from_list(struct invocation *invocation, struct function *function,
                                     const struct room *room, va_list arguments, struct esp_error *error);

/* invocation_from_list() from a vector with one entry for each passed argument. */
enum esp_status invocation_from_vector(struct invocation *invocation, struct function *function,
                                       const struct room *room, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error);

/* Fills `inputs` for problem_bind() of a call that was made before, of whose inputs only plain scalars are
 * known. Texts and files were there, and no expression looks into them. Both arrays have
 * PROBLEM_MAX_ARGUMENTS. */
void invocation_known_inputs(const struct problem *problem, const void *const *scalars, const void **inputs);

/* One that takes the results of a call that was made before, with these scalar inputs (by the description's
 * index, NULL: none); the vector's outputs say where they go. ESP_INVALID: as the others. */
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

/* The request for servers, without the session; arrays lie in the message's arena. */
enum esp_status invocation_request(const struct invocation *invocation, struct message *submit,
                                   struct esp_error *error);

/* Whether argument `index` is a compressed input whose fill the costs of the problem depend on. The client
 * tells agents the work and the memory that follow from the fill before anything is promised, and tells the
 * server the fill with the call. */
bool invocation_fill_matters(const struct problem *problem, uint32_t index);

/* Decides which inputs travel in chunks (`bulk`): those above `inline_bytes`, and those that would make the
 * call too large. */
void invocation_split(struct invocation *invocation, uint64_t inline_bytes);

/* The arguments of a call: small ones in it, bulk ones announced. */
enum esp_status invocation_arguments(const struct invocation *invocation, struct message *call,
                                     struct esp_error *error);

/* Takes results over: those that are here go to the caller's memory, of the others `fetch` is set.
 * ESP_PROTOCOL when they do not fit the description. */
enum esp_status invocation_results(struct invocation *invocation, const struct call_result *results,
                                   uint32_t n_results, struct esp_error *error);

/* Whether what comes into that output's memory may write over something that goes in, and so cannot be sent
 * again: programs may pass one array for an input and an output. */
bool invocation_overwrites(const struct invocation *invocation, const struct value *output);

/* All results have come: hands texts out and writes files. */
enum esp_status invocation_finish(struct invocation *invocation, struct esp_error *error);

#endif
