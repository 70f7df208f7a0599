/* SPDX-License-Identifier: Apache-2.0
 *
 * What the configuration files of Espalier's programs say, as plain structs.
 *
 * The tables behind them (services/settings.c) are the one place for each key's name, type, default, bounds
 * and text; manual pages are checked against them. Durations are nanoseconds, sizes are bytes. Addresses are
 * "host:port", with SETTINGS_PORT where the file gave none. Strings are NULL where nothing was given.
 */
#ifndef SERVICES_SETTINGS_H
#define SERVICES_SETTINGS_H

#include "util/arena.h"
#include "util/config.h"
#include "util/log.h"

#define SETTINGS_PORT      "4780" /* of redirectors and agents, where an address names none */
#define SETTINGS_HTTP_PORT "4790"
/* The file in a daemon's state_dir that has the address at which it was last. */
#define SETTINGS_FORMER_ADDRESS "address"

enum settings_kind {
    SETTINGS_CLIENT,
    SETTINGS_REDIRECTOR,
    SETTINGS_AGENT,
    SETTINGS_SED,
    SETTINGS_PLATFORM,
    SETTINGS_N_KINDS
};

/* Mutual TLS when all three are given; all NULL: none. */
struct settings_tls {
    char *ca;          /* PEM file of the authority that signs every node and client */
    char *certificate; /* PEM file with this node's certificate */
    char *key;         /* PEM file with its private key */
};

/* What all daemons have. */
struct settings_node {
    char *file; /* that this was read from, by a daemon for itself; NULL: a text, or a platform */
    char *name; /* in logs and in the tree; never NULL after loading */
    char *listen;
    char *publish;      /* "host:port" that others are told; port 0: that of `listen`; NULL: as listen says */
    char *http;         /* address of loopback for health and metrics; NULL: none */
    char *address_file; /* gets the address in use, once the daemon answers there */
    char *log_file;
    int log_level; /* enum log_level */
    char *state_dir;
    struct settings_tls tls;
    char *host; /* in a platform: the machine where it runs, as ssh knows it; NULL: this one */
    struct config_strings administrators; /* names in the certificates of those who may administer it */
    bool insecure;                        /* may listen beyond loopback without TLS */
    int64_t connections, connections_per_peer;
    uint64_t message_bytes;
    int64_t connect_timeout_ns, call_timeout_ns;
    int64_t first_message_timeout_ns, stall_timeout_ns; /* of those who connect */
    char
        *probe; /* of agents and servers: address of the port where links are measured; NULL: beside listen */
    int64_t probe_every_ns;
    int64_t heartbeat_ns, lease_ns; /* of redirectors and agents: what those below keep to */
};

/* Where the site's static knowledge is (services/directory/directory.h); url NULL: nowhere. */
struct settings_directory {
    char *url;
    char *bind;          /* name to bind as; NULL: anonymous */
    char *password_file; /* its first line is the password */
    char *sasl;          /* mechanism; NULL: a simple bind */
    char *sasl_user;
    bool starttls;
    char *ca;   /* PEM file */
    bool write; /* what a server measures goes there */
    int64_t timeout_ns, refresh_ns;
};

struct settings_redirector {
    struct arena arena; /* owns what the struct points to; first in each kind */
    struct settings_node node;
};

struct settings_agent {
    struct arena arena;
    struct settings_node node;
    char *parent;                      /* address; given for a leader agent */
    struct config_strings parents;     /* addresses to try when the parent does not answer */
    char *redirector;                  /* address; given for a master agent that should be found by clients */
    struct config_strings redirectors; /* addresses of further ones, with which it registers too */
    int64_t breadth;                   /* candidates that one answer carries up */
    int64_t candidates;                /* candidates that a client gets */
    int64_t ahead;                     /* requests of a stream that one answer decides; 0: none */
    int64_t children;                  /* at most */
    int64_t requests;                  /* that may wait for answers from below */
    int64_t freshness_ns;              /* how long knowledge may answer from memory; 0: never */
    int64_t answer_timeout_ns;         /* how long to wait for children */
    int64_t placement_lease_ns;        /* how long a placement counts before the call arrives */
    char *scheduler;                   /* a name, or the path of a library */
    struct settings_directory directory; /* names agents to join */
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
        data_servers;              /* names in the certificates of servers that fetch for their clients */
    char *porter;                  /* address of the porter's port; NULL: beside listen */
    int64_t threads;               /* BLAS threads of one slot */
    int64_t slots;                 /* calls at a time; never 0 after loading */
    int64_t spares;                /* warm workers beyond the slots */
    int64_t ranks;                 /* that compute together; 0: none */
    char *mpirun;                  /* program that starts them; NULL: the one in PATH */
    char *hostfile;                /* where they are; NULL: on this host */
    uint64_t rank_keeps_bytes;     /* for parts of data, of each rank on another host */
    char *grid;                    /* "2x4", of ranks; NULL: as the models say */
    uint32_t grid_rows, grid_cols; /* what it says; 0: as the models say */
    int64_t block;                 /* of distributed matrices; 0: as the models say */
    uint64_t memory_bytes;         /* for arguments and results of all calls; 0: a share of the machine's */
    uint64_t worker_memory_bytes;  /* that a routine may allocate; 0: as memory_bytes, but not little */
    uint64_t worker_keeps_bytes;   /* of it, after a call */
    bool sensors;                  /* of processor, memory and disk */
    bool calibrate;                /* measures problems without a model while it has nothing to do, */
    int64_t calibrate_after_ns;    /* for so long, */
    int64_t calibrate_budget_ns;   /* for each about so long, */
    int64_t calibrate_longest_ns;  /* with calls of this at most */
    int64_t price;                 /* of an hour of a slot */
    struct config_strings properties; /* words that requests may ask for */
    int64_t queue;                    /* waiting calls, at most */
    int64_t sessions_per_client;
    int64_t state_lease_ns;   /* how long a state is kept that nobody uses */
    int64_t result_lease_ns;  /* how long a result waits for its client */
    int64_t job_lease_ns;     /* how long the result of a job waits to be fetched */
    int64_t return_ns;        /* how long it is expected back when its process is ended; 0: not at all */
    int64_t orphan_lease_ns;  /* how long calls of a client that seems gone go on */
    int64_t receive_lease_ns; /* how long a half-received call waits for its next piece */
    uint64_t kept_bytes_per_client; /* of unfetched results; never 0 after loading */
    uint64_t inline_bytes;          /* up to here a value travels inside the call */
    uint64_t store_memory_bytes;    /* for data that live here; 0: none do */
    int64_t data_lease_ns;          /* of volatile data whose client is not heard of */
    int64_t replicas;               /* of each datum that lives here, on other servers; 0: none stay there */
    int64_t replica_asks;           /* that make a datum worth them */
    uint64_t replica_bytes;         /* of all of them; 0: no limit */
    int64_t replica_rest_ns;        /* other copies of data go when unused for so long */
    uint64_t store_disk_bytes;      /* for their files, in the folder "data" of state_dir */
    struct settings_directory directory;
};

struct settings_client {
    struct arena arena;
    char *redirector;                  /* address; */
    struct config_strings redirectors; /* of further ones, asked when that one does not answer; or */
    struct config_strings agents; /* addresses of master agents, tried in this order; a program may also name
                                     its own, so that neither in the file is no error of the file */
    struct settings_tls tls;
    int64_t connect_timeout_ns;
    int64_t call_timeout_ns;     /* for each single remote call */
    int64_t agent_patience_ns;   /* with a hierarchy that has lost its agents or servers; 0: none */
    int64_t answer_patience_ns;  /* with a server that says nothing while others are there; 0: as any call */
    int64_t silence_patience_ns; /* with nodes that take connections and say nothing; 0: as if gone */
    int64_t session_timeout_ns;  /* for a whole session; 0: none */
    int64_t connections;         /* to one node */
    uint64_t message_bytes, inline_bytes;
    uint64_t job_arguments; /* kept on disk with a job, at most */
    bool remember_links;    /* what transfers tell of links, in the user's cache folder */
    bool sound_links;       /* measure those that are not known before great requests */
};

struct platform_agent {
    struct settings_agent agent; /* its `parent` and `redirector` are left for `espalier up` to fill in */
    char *parent;                /* name of a master or leader of the same file; NULL for a master */
};

struct platform_server {
    struct settings_sed sed;
    char *parent;     /* name of a master or leader of the same file */
    double cpu_quota; /* in processors: 0.3 lets it use 30 % of one; 0: no limit */
};

/* A whole platform, on this machine unless daemons name others, for `espalier up`. Names are unique among all
 * daemons, parents exist and lead to a master. The structs inside share the arena of the platform. */
struct settings_platform {
    struct arena arena;
    char *state_dir; /* logs, addresses, files of the daemons; NULL: a place of the user's own */
    char *command;   /* the espalier command on other machines; NULL: on their PATH */
    struct config_strings problems; /* for servers that name none */
    struct settings_redirector *redirectors;
    struct platform_agent *masters, *leaders;
    struct platform_server *servers;
    size_t n_redirectors, n_masters, n_leaders, n_servers;
};

/* Reads a file. ESP_NOT_FOUND, ESP_SYSTEM, ESP_CONFIG ("file:line: ..."), ESP_LIMIT as config_load() has
 * them; ESP_SECURITY when a daemon would listen beyond loopback without TLS and without `insecure = yes`.
 * On success the struct is the caller's (settings_destroy(&settings->arena)), on failure it is all zero. */
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
    struct arena arena; /* of all of them the first member */
    struct settings_client client;
    struct settings_redirector redirector;
    struct settings_agent agent;
    struct settings_sed sed;
    struct settings_platform platform;
};
enum esp_status settings_load(enum settings_kind kind, const char *path, union settings_any *settings,
                              struct esp_error *error);

/* The same from a text, which `path` names in messages. */
enum esp_status settings_parse(enum settings_kind kind, const char *text, const char *path, void *settings,
                               struct esp_error *error);

/* Frees what the settings point to. The struct is not to be used afterwards. */
void settings_destroy(struct arena *arena);

/* Writes a file (0640, first under a temporary name) that settings_load_* reads back to the same. Not for
 * platforms. ESP_SYSTEM when it cannot be written. */
enum esp_status settings_save(enum settings_kind kind, const void *settings, const char *heading,
                              const char *path, struct esp_error *error);

struct problem_set;
/* The problems of these files and folders. Where the settings name a directory, which has others, folders may
 * be empty, and so the set. Else as problem_load_all() has it. */
enum esp_status settings_load_problems(const struct settings_sed *settings, const struct config_strings *own,
                                       struct problem_set **problems, struct esp_error *error);

/* Whether the files are there and fit each other, if they are named: ESP_CONFIG. */
enum esp_status settings_check_certificates(const struct settings_tls *tls, struct esp_error *error);

/* Loads the file as that kind and lets go of it: ESP_OK, or what is wrong with it or with the certificates
 * and problem descriptions that it names. */
enum esp_status settings_check(enum settings_kind kind, const char *path, struct esp_error *error);

/* Whether "host:port" is reached from this machine only. */
bool settings_is_loopback(const char *address);
/* Whether others may not reach a daemon with these settings though its file does not say loopback: it listens
 * at a name that means loopback here, as "127.0.1.1 node" in /etc/hosts has it, or the name that others are
 * told means loopback, no address of this machine, or nothing. `why` then says so. Asks the resolver. */
#define SETTINGS_WHY 600
bool settings_is_shut_in(const struct settings_node *node, char why[SETTINGS_WHY]);
/* What is odd about a good file on this machine: settings_is_shut_in(), or a host that cannot be resolved; ""
 * for nothing. Asks the resolver. */
void settings_remark(enum settings_kind kind, const char *path, char remark[SETTINGS_WHY]);
/* Whether that host of a platform's section is this machine: NULL, a name of loopback, or this machine's own
 * (of node7.example.org also node7). */
bool settings_is_here(const char *host);

/* Which kind of file this is: the one in whose files fewest of its keys would be unknown; of several such the
 * one that a word of its name says ("sed.conf", "espalier-agent.conf", "master.conf"), else an agent's file
 * before a redirector's, and the first of others. `by`: how that is
 * known, for people. Errors only when it cannot be read. */
#define SETTINGS_BY 200
enum esp_status settings_guess_kind(const char *path, enum settings_kind *kind, char by[SETTINGS_BY],
                                    struct esp_error *error);

/* "server daemon", "platform". */
const char *settings_kind_title(enum settings_kind kind);
/* The word in file names: "sed", "platform". */
const char *settings_kind_name(enum settings_kind kind);

/* The table, for documentation and its test. */
const struct config_schema *settings_schema(enum settings_kind kind);

/* The client's file where the caller names none: $ESPALIER_CONFIG, else espalier/client.conf in the user's
 * configuration folder ($XDG_CONFIG_HOME or ~/.config) if it exists, else client.conf in the system's.
 * Written into `path`. */
void settings_client_path(char *path, size_t size);

#endif
