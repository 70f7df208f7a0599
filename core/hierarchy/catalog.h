/* SPDX-License-Identifier: Apache-2.0
 *
 * Which problems the servers below an agent can solve. A server tells only the digest of its list; the list
 * (catalogue) and the descriptions in it are asked for once and shared by all servers that have the same.
 *
 * Two signatures under one name are two variants: a request says by digest which one it means.
 */
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
    char *text;                      /* canonical description; NULL: asked for, not here yet */
    char *title, *gams;              /* from the text; "" before */
    struct known_catalog **catalogs; /* that contain it */
    uint32_t n_catalogs;
    int64_t asked_ns;          /* when the text was last asked for; 0: never */
    bool wanted;               /* from above, before it was here */
    struct problem_name *name; /* all variants of that name */
    struct variant *next;      /* of that name */
    UT_hash_handle hh;         /* by digest */
};

struct problem_name {
    char *problem;
    struct variant *variants;
    UT_hash_handle hh;
};

/* A list of problems. Lives while a server has it, or one that had it is expected back. */
struct known_catalog {
    uint64_t digest;
    bool known;       /* the list is here */
    int64_t asked_ns; /* when it was last asked for; 0: never */
    bool wanted;      /* from above, before it was here */
    struct variant **variants;
    uint32_t n_variants;
    uint32_t users;            /* nodes that have it */
    uint32_t holds;            /* of it for those that are expected back */
    struct server_index index; /* of those among them that take sessions */
    UT_hash_handle hh;
};

struct catalog_store;

enum esp_status catalog_store_create(struct catalog_store **store, struct esp_error *error);
void catalog_store_destroy(struct catalog_store *store);

/* The catalogue of that digest, made (without its list) when it is new; one more user. NULL without
 * memory. */
struct known_catalog *catalog_acquire(struct catalog_store *store, uint64_t digest);
/* One user less; the last one takes the catalogue with it, unless it is held. NULL is nothing to do. */
void catalog_release(struct catalog_store *store, struct known_catalog *catalog);
/* Keeps it without being a user. NULL is nothing to do. Returns it. */
struct known_catalog *catalog_hold(struct known_catalog *catalog);
void catalog_let_go(struct catalog_store *store, struct known_catalog *catalog);
struct known_catalog *catalog_find(struct catalog_store *store, uint64_t digest);

/* The list behind a digest arrived. True when it was wanted and is now known. */
bool catalog_learn(struct catalog_store *store, const struct catalog *list);
/* A description arrived. True when it was wanted. Its title and GAMS class are read from the text. */
bool catalog_learn_text(struct catalog_store *store, const struct described *described);

/* The list as a message, built in `arena`; false without memory. */
bool catalog_tell(const struct known_catalog *catalog, struct arena *arena, struct catalog *list);

struct variant *catalog_variant(struct catalog_store *store, uint64_t digest);
/* The variants of a name, or NULL: follow `next`. */
struct variant *catalog_problem(struct catalog_store *store, const char *problem);
/* Servers that can solve it, draining ones too. */
uint32_t variant_servers(const struct variant *variant);
/* The variant meant by a name and a digest (0: that with most servers), NULL when no server has it. */
struct variant *catalog_choose(struct catalog_store *store, const char *problem, uint64_t digest);

/* A known name like this one, or NULL. */
const char *catalog_closest(struct catalog_store *store, const char *problem);
/* The names behind `after`, in order: pointers into the store, valid until it changes. Returns how many of at
 * most `limit`; *more tells whether there are further ones. */
size_t catalog_names(struct catalog_store *store, const char *after, const char **names, size_t limit,
                     bool *more);

/* Every catalogue; follow hh.next. */
struct known_catalog *catalog_first(struct catalog_store *store);

#endif
