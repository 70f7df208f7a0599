/* SPDX-License-Identifier: Apache-2.0
 *
 * Which problems the servers below an agent can solve. A server sends only the digest of its list. The
 * agent requests the list (catalogue) and its descriptions once and shares them among all servers with the
 * same digest.
 *
 * Two signatures under one name are two variants: a request selects one by its digest. */
#ifndef CORE_CATALOG_H
#define CORE_CATALOG_H

#include "core/message/message.h"
#include "core/choice/server_index.h"
#include "util/hash.h"

/* One signature of one problem. */
/* Begins the comment in a description that says which servers have which signature of one name. */
#define DESCRIBE_SIGNATURES "# signatures: "

struct variant {
    char *problem;
    uint64_t digest;
    char *text;                      /* canonical description; NULL: not received yet */
    char *title, *gams;              /* from the text; "" before */
    struct known_catalog **catalogs; /* that contain it */
    uint32_t n_catalogs;
    int64_t asked_ns;          /* when the text was last requested; 0: never */
    bool wanted;               /* a parent asked for it before it was here */
    struct problem_name *name; /* all variants of that name */
    struct variant *next;      /* of that name */
    UT_hash_handle hh;         /* by digest */
};

struct problem_name {
    char *problem;
    struct variant *variants;
    UT_hash_handle hh;
};

/* A list of problems. It exists while a server has it, or while a server that had it is expected back. */
struct known_catalog {
    uint64_t digest;
    bool known;       /* the list was received */
    int64_t asked_ns; /* when the list was last requested; 0: never */
    bool wanted;      /* a parent asked for it before it was here */
    struct variant **variants;
    uint32_t n_variants;
    uint32_t users;            /* number of nodes with this catalogue */
    uint32_t holds;            /* holds for servers that are expected back */
    struct server_index index; /* servers with this catalogue that accept sessions */
    UT_hash_handle hh;
};

struct catalog_store;

enum esp_status catalog_store_create(struct catalog_store **store, struct esp_error *error);
void catalog_store_destroy(struct catalog_store *store);

/* Returns the catalogue of that digest and adds a user. A new catalogue is created without its list. NULL
 * without memory. */
struct known_catalog *catalog_acquire(struct catalog_store *store, uint64_t digest);
/* Removes a user. The last one frees the catalogue, unless it is held. NULL is ignored. */
void catalog_release(struct catalog_store *store, struct known_catalog *catalog);
/* Keeps the catalogue without being a user, and returns it. NULL is ignored. */
struct known_catalog *catalog_hold(struct known_catalog *catalog);
void catalog_let_go(struct catalog_store *store, struct known_catalog *catalog);
struct known_catalog *catalog_find(struct catalog_store *store, uint64_t digest);

/* Stores the received list. True when the list was wanted and is now known. */
bool catalog_learn(struct catalog_store *store, const struct catalog *list);
/* Stores a received description. True when it was wanted. Reads title and GAMS class from the text. */
bool catalog_learn_text(struct catalog_store *store, const struct described *described);

/* Builds the list as a message in `arena`; false without memory. */
bool catalog_tell(const struct known_catalog *catalog, struct arena *arena, struct catalog *list);

struct variant *catalog_variant(struct catalog_store *store, uint64_t digest);
/* Returns the first variant of a name, or NULL; follow `next`. */
struct variant *catalog_problem(struct catalog_store *store, const char *problem);
/* Counts the servers that can solve the variant, including draining ones. */
uint32_t variant_servers(const struct variant *variant);
/* Returns the variant with that name and digest (0: the variant with most servers); NULL when no server
 * has it. */
struct variant *catalog_choose(struct catalog_store *store, const char *problem, uint64_t digest);

/* Returns the known name most similar to this one, or NULL. */
const char *catalog_closest(struct catalog_store *store, const char *problem);
/* Lists the names after `after`, in order, as pointers into the store that are valid until it changes.
 * Returns how many of at most `limit`; *more says whether further names follow. */
size_t catalog_names(struct catalog_store *store, const char *after, const char **names, size_t limit,
                     bool *more);

/* Returns the first catalogue; follow hh.next. */
struct known_catalog *catalog_first(struct catalog_store *store);

#endif
