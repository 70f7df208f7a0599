/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration files of Espalier's programs as plain structs.
 *
 * The tables behind them (services/settings.c) define each key's name, type, default, bounds and text;
 * manual pages are checked against them. Durations are nanoseconds, sizes are bytes. Addresses are
 * "host:port", with SETTINGS_PORT if the file has no port. Missing strings are NULL. */
#ifndef SERVICES_SETTINGS_H
#define SERVICES_SETTINGS_H

#include "util/arena.h"
#include "util/config.h"
#include "util/log.h"

#define SETTINGS_PORT      "4780" /* default port of redirectors and agents */
#define SETTINGS_HTTP_PORT "4790"
/* The file in a daemon's state_dir with its last address. */
#define SETTINGS_FORMER_ADDRESS "address"

enum settings_kind {
    SETTINGS_CLIENT,
    SETTINGS_REDIRECTOR,
    SETTINGS_AGENT,
    SETTINGS_SED,
    SETTINGS_PLATFORM,
    SETTINGS_N_KINDS
};

/* Files of mutual TLS: all three, or all NULL for none. */
struct settings_tls {
    char *ca;          /* PEM file of the authority that signs every node and client */
    char *certificate; /* PEM file with this node's certificate */
    char *key;         /* PEM file with its private key */
};

/* Settings of all daemons. */
struct settings_node {
    char *file; /* path of the file, for a daemon's own one; NULL: a text, or a platform */
    char *name; /* in logs and in the tree; never NULL after loading */
    char *listen;
    char *publish; /* "host:port" published for other nodes; port 0: that of `listen`; NULL: as in listen */
    char *http;    /* address of loopback for health and metrics; NULL: none */
    char *address_file; /* the daemon writes its address there once it answers */
    char *log_file;
    int log_level; /* enum log_level */
    char *state_dir;
    struct settings_tls tls;
    char *host; /* in a platform: the machine where it runs, as ssh knows it; NULL: this one */
    struct config_strings administrators; /* names in the certificates of administrators */
    bool insecure;                        /* may listen beyond loopback without TLS */
    int64_t connections, connections_per_peer;
    uint64_t message_bytes;
    int64_t connect_timeout_ns, call_timeout_ns;
    int64_t first_message_timeout_ns, stall_timeout_ns; /* limits for incoming connections */
    char *probe; /* of agents and servers: address of the port for measuring links; NULL: beside listen */
    int64_t probe_every_ns;
    int64_t heartbeat_ns, lease_ns; /* of redirectors and agents: for their children */
};

/* The directory with the site's static knowledge (services/directory/directory.h); url NULL: none. */
struct settings_directory {
    char *url;
    char *bind;          /* name to bind as; NULL: anonymous */
    char *password_file; /* a file whose first line is the password */
    char *sasl;          /* mechanism; NULL: a simple bind */
    char *sasl_user;
    bool starttls;
    char *ca;   /* PEM file */
    bool write; /* a server writes its measurements there */
    int64_t timeout_ns, refresh_ns;
};

struct settings_redirector {
    struct arena arena; /* owns all pointers of the struct; first in each kind */
    struct settings_node node;
};

struct settings_agent {
    struct arena arena;
    struct settings_node node;
    char *parent;                        /* address; set for a leader agent */
    struct config_strings parents;       /* addresses to try when the parent does not answer */
    char *redirector;                    /* address; set for a master agent that clients find by it */
    struct config_strings redirectors;   /* addresses of further ones, with which it registers too */
    int64_t breadth;                     /* candidates in one answer to the parent */
    int64_t candidates;                  /* candidates in a reply to a client */
    int64_t ahead;                       /* requests of a stream that one reply decides; 0: none */
    int64_t children;                    /* most children */
    int64_t requests;                    /* most requests waiting for answers of children */
    int64_t freshness_ns;                /* how long knowledge may be used without asking; 0: never */
    int64_t answer_timeout_ns;           /* how long to wait for children */
    int64_t placement_lease_ns;          /* how long a placement counts before the call arrives */
    char *scheduler;                     /* a name, or the path of a library */
    struct settings_directory directory; /* its agents are to be joined */
};

/* A master agent is one without a parent. */
static inline bool settings_agent_is_master(const struct settings_agent *settings)
{
    return !settings->parent;
}

struct settings_sed {
    struct arena arena;
    struct settings_node node;
    char *parent;
    struct config_strings parents;
    struct config_strings problems; /* description files, and folders of them */
    struct config_strings
        data_servers;          /* names in the certificates of servers that fetch data for their clients */
    char *porter;              /* address of the porter's port; NULL: beside listen */
    int64_t threads;           /* BLAS threads of one slot */
    int64_t slots;             /* calls at a time; never 0 after loading */
    int64_t spares;            /* warm workers beyond the slots */
    int64_t ranks;             /* ranks that compute together; 0: none */
    char *mpirun;              /* program that starts them; NULL: the one in PATH */
    char *hostfile;            /* hosts of the ranks; NULL: this host */
    uint64_t rank_keeps_bytes; /* memory for parts of data on each rank on another host */
    char *grid;                /* "2x4", of ranks; NULL: chosen by models */
    uint32_t grid_rows, grid_cols; /* parsed from it; 0: chosen by models */
    int64_t block;                 /* block size of distributed matrices; 0: chosen by models */
    uint64_t memory_bytes;        /* for arguments and results of all calls; 0: a fraction of the machine's */
    uint64_t worker_memory_bytes; /* most that a routine may allocate; 0: memory_bytes, with a minimum */
    uint64_t worker_keeps_bytes;  /* kept of it after a call */
    bool sensors;                 /* of processor, memory and disk */
    bool calibrate;               /* measure problems without a model while idle, */
    int64_t calibrate_after_ns;   /* after being idle for so long, */
    int64_t calibrate_budget_ns;  /* for about so long each, */
    int64_t calibrate_longest_ns; /* with calls of at most so long */
    int64_t price;                /* of an hour of a slot */
    struct config_strings properties; /* words that requests may ask for */
    int64_t queue;                    /* most waiting calls */
    int64_t sessions_per_client;
    int64_t state_lease_ns;  /* how long an unused state is kept */
    int64_t result_lease_ns; /* how long a result waits for its client */
    int64_t job_lease_ns;    /* how long the result of a job is kept */
    int64_t return_ns;       /* how long clients wait for its return after its process ended; 0: not at all */
    int64_t orphan_lease_ns; /* how long calls of an absent client continue */
    int64_t receive_lease_ns;       /* how long a partly received call waits for its next piece */
    uint64_t kept_bytes_per_client; /* of unfetched results; never 0 after loading */
    uint64_t inline_bytes;          /* largest value that travels inside the call */
    uint64_t store_memory_bytes;    /* for data that live here; 0: none do */
    int64_t data_lease_ns;          /* of volatile data whose client is absent */
    int64_t replicas;               /* of each datum that lives here, on other servers; 0: none */
    int64_t replica_asks;           /* requests after which a datum is replicated */
    uint64_t replica_bytes;         /* of all replicas; 0: no limit */
    int64_t replica_rest_ns;        /* other copies are deleted when unused for so long */
    uint64_t store_disk_bytes;      /* for files of data, in the folder "data" of state_dir */
    struct settings_directory directory;
};

struct settings_client {
    struct arena arena;
    char *redirector;                  /* address; */
    struct config_strings redirectors; /* of further ones, asked when that one does not answer; or */
    struct config_strings agents; /* addresses of master agents, tried in this order; a program may also name
                                     its own, so a file with neither is valid */
    struct settings_tls tls;
    int64_t connect_timeout_ns;
    int64_t call_timeout_ns;     /* for each single remote call */
    int64_t agent_patience_ns;   /* wait for a hierarchy that has lost its agents or servers; 0: none */
    int64_t answer_patience_ns;  /* wait for a silent server while there are others; 0: as for any call */
    int64_t silence_patience_ns; /* wait for nodes that accept connections but do not answer; 0: as if gone */
    int64_t session_timeout_ns;  /* for a whole session; 0: none */
    int64_t connections;         /* to one node */
    uint64_t message_bytes, inline_bytes;
    uint64_t job_arguments; /* most bytes saved with a job */
    bool remember_links;    /* measurements of links by transfers, in the user's cache folder */
    bool sound_links;       /* measure unknown links before large requests */
};

struct platform_agent {
    struct settings_agent agent; /* `espalier up` fills in its `parent` and `redirector` */
    char *parent;                /* name of a master or leader of the same file; NULL for a master */
};

struct platform_server {
    struct settings_sed sed;
    char *parent;     /* name of a master or leader of the same file */
    double cpu_quota; /* in processors: 0.3 limits it to 30 % of one; 0: no limit */
};

/* A whole platform, on this machine unless daemons name others, for `espalier up`. Names are unique among
 * all daemons, parents exist and lead to a master. The structs inside share the arena of the platform. */
struct settings_platform {
    struct arena arena;
    char *state_dir;                /* logs, addresses, files of the daemons; NULL: a folder of the user */
    char *command;                  /* path of the espalier command on other machines; NULL: on their PATH */
    struct config_strings problems; /* for servers without their own */
    struct settings_redirector *redirectors;
    struct platform_agent *masters, *leaders;
    struct platform_server *servers;
    size_t n_redirectors, n_masters, n_leaders, n_servers;
};

/* Reads a file. ESP_NOT_FOUND, ESP_SYSTEM, ESP_CONFIG ("file:line: ..."), ESP_LIMIT as for config_load();
 * ESP_SECURITY when a daemon would listen beyond loopback without TLS and without `insecure = yes`. On
 * success the caller owns the struct (settings_destroy(&settings->arena)), on failure it is all zero. */
enum esp_status settings_load_client(const char *path, struct settings_client *settings,
                                     struct esp_error *error);
enum esp_status settings_load_redirector(const char *path, struct settings_redirector *settings,
                                         struct esp_error *error);
enum esp_status settings_load_agent(const char *path, struct settings_agent *settings,
                                    struct esp_error *error);
enum esp_status settings_load_sed(const char *path, struct settings_sed *settings, struct esp_error *error);
enum esp_status settings_load_platform(const char *path, struct settings_platform *settings,
                                       struct esp_error *error);

/* Settings of any kind. */
union settings_any {
    struct arena arena; /* first member of all kinds */
    struct settings_client client;
    struct settings_redirector redirector;
    struct settings_agent agent;
    struct settings_sed sed;
    struct settings_platform platform;
};
enum esp_status settings_load(enum settings_kind kind, const char *path, union settings_any *settings,
                              struct esp_error *error);

/* Like the functions above, from a text, called `path` in messages. */
enum esp_status settings_parse(enum settings_kind kind, const char *text, const char *path, void *settings,
                               struct esp_error *error);

/* Frees everything in the settings, which must not be used afterwards. */
void settings_destroy(struct arena *arena);

/* Writes a file (0640, first under a temporary name) that settings_load_* reads back identically. Not for
 * platforms. ESP_SYSTEM when it cannot be written. */
enum esp_status settings_save(enum settings_kind kind, const void *settings, const char *heading,
                              const char *path, struct esp_error *error);

struct problem_set;
/* Loads the problems of these files and folders. If the settings name a directory, which has further ones,
 * folders may be empty, and so may the set. Otherwise as problem_load_all(). */
enum esp_status settings_load_problems(const struct settings_sed *settings, const struct config_strings *own,
                                       struct problem_set **problems, struct esp_error *error);

/* Checks that the files, if named, exist and fit each other: ESP_CONFIG. */
enum esp_status settings_check_certificates(const struct settings_tls *tls, struct esp_error *error);

/* Loads the file as that kind and frees it: ESP_OK, or the error in it, or in the certificates and problem
 * descriptions that it names. */
enum esp_status settings_check(enum settings_kind kind, const char *path, struct esp_error *error);

/* Whether "host:port" is reachable from this machine only. */
bool settings_is_loopback(const char *address);
/* Whether other nodes may not reach a daemon with these settings, although its file does not name
 * loopback: it listens at a name that resolves to loopback here, as in "127.0.1.1 node" in /etc/hosts, or
 * its published name resolves to loopback, to no address of this machine, or not at all. `why` has the
 * reason. Asks the resolver. */
#define SETTINGS_WHY 600
bool settings_is_shut_in(const struct settings_node *node, char why[SETTINGS_WHY]);
/* Describes what is unusual about a valid file on this machine: settings_is_shut_in(), or a host that
 * cannot be resolved; "" for nothing. Asks the resolver. */
void settings_remark(enum settings_kind kind, const char *path, char remark[SETTINGS_WHY]);
/* Whether that host in a platform's section is this machine: NULL, a name of loopback, or this machine's
 * own name (also node7 for node7.example.org). */
bool settings_is_here(const char *host);

/* Guesses the kind of a file: that with the fewest unknown keys; among equals the one named by a word in
 * the file name ("sed.conf", "espalier-agent.conf", "master.conf"), else an agent's before a redirector's,
 * and the first of others. `by`: the reason, for users. Fails only when the file cannot be read. */
#define SETTINGS_BY 200
enum esp_status settings_guess_kind(const char *path, enum settings_kind *kind, char by[SETTINGS_BY],
                                    struct esp_error *error);

/* Returns "server daemon", "platform". */
const char *settings_kind_title(enum settings_kind kind);
/* Returns the word in file names: "sed", "platform". */
const char *settings_kind_name(enum settings_kind kind);

/* Returns the table, for documentation and its test. */
const struct config_schema *settings_schema(enum settings_kind kind);

/* Writes the path of the client's default file into `path`: $ESPALIER_CONFIG, else espalier/client.conf in
 * the user's configuration folder ($XDG_CONFIG_HOME or ~/.config) if it exists, else client.conf in the
 * system's. */
void settings_client_path(char *path, size_t size);

#endif
