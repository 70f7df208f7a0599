/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside an agent: the state that its files share, and the functions that each file offers to the others.
 *
 *     agent.c          operations of the endpoint, creation and destruction
 *     up.c             towards the parent: membership, reports
 *     registered.c     a master agent's memberships with its redirectors
 *     peers.c          requests that a master agent passes on to its peers
 *     down.c           towards the children: membership, reports, catalogues; requests that peers pass on
 *     submit.c         a client's request, answered from memory; placements
 *     learning.c       warm-up: requests that arrive before the nodes below are known
 *     explain.c        why no server takes a request
 *     lost.c           nodes that were lost
 *     awaited.c        servers that are expected back
 *     disabled.c       problems that were disabled
 *     decide.c         choosing servers from the children's answers
 *     queries.c        questions of people (greet, describe, list, tree), and questions to children
 *     administer.c     orders from administrators for this agent and the nodes below
 *     data.c           locations of data, and data to be deleted when their servers return
 *     given_up_peers.c exchange of the latter with the peers
 *     links.c          measurements of links
 *     figures.c        metrics and health
 */
#ifndef AGENT_AGENT_INTERNAL_H
#define AGENT_AGENT_INTERNAL_H

#include "agent/agent.h"
#include "agent/awake.h"
#include "services/scheduler_library.h"
#include "core/forecast/told_links.h"
#include "core/hierarchy/absent.h"
#include "core/choice/aggregate.h"
#include "core/hierarchy/catalog.h"
#include "core/hierarchy/children.h"
#include "core/hierarchy/knowledge.h"
#include "core/forecast/link_graph.h"
#include "core/hierarchy/location.h"
#include "core/hierarchy/lost_problems.h"
#include "core/hierarchy/returning.h"
#include "core/hierarchy/membership.h"
#include "core/choice/scheduler.h"
#include "services/duty.h"
#include "services/disowned.h"
#include "util/log.h"
#include "util/metrics.h"
#include "util/random.h"
#include "util/timer.h"
#include "util/told.h"

/* Delay of reports of urgent changes: a server was lost, or a busy one became free. */
#define URGENT_MS 5
/* A catalogue or description that was asked for and has not arrived is asked for again after this. */
#define WANT_AGAIN_NS NS_PER_S

/* Counters that only metrics use (figures.c). */
struct agent_counts {
    struct histogram answered_s; /* from the arrival of a request to its candidates */
    struct status_counts refused;
    uint64_t asks, unanswered; /* asks from the parent; children that did not answer in time */
    uint64_t children_joined, children_lost;
    uint64_t passed_on, passed_here; /* requests sent to peers, and received from peers */
    uint64_t ahead;                  /* placements made ahead */
};

/* Refused sessions that are remembered. A client may ask again many times; the log mentions each refusal
 * once.
 */
#define REFUSALS 64
struct told_refusal {
    struct session_id session;
    enum esp_status status;
};

struct agent {
    struct agent_options options; /* only the numbers; strings are copied below */
    char *name;
    bool is_master;
    const struct esp_scheduler *scheduler;
    void *library;       /* library of the scheduler; NULL: a built-in scheduler */
    bool told_no_number; /* the log has said that the scheduler returns NaN */
    struct transport *transport;
    const struct clock *clock;
    struct endpoint *endpoint;      /* NULL until it is open */
    struct membership *membership;  /* with the parent; NULL: a master agent */
    struct membership **registered; /* of a master agent, one with each of its redirectors */
    size_t n_registered;
    struct passing *passing; /* requests sent on to peers, by id */
    uint64_t next_passing;
    struct awake awake;         /* which peers respond */
    double peer_way_s;          /* round trip to a peer; 0: not measured yet */
    struct passed_call *passed; /* requests received from peers */
    size_t n_passed;
    struct children *children;
    struct absentees absentees; /* lost nodes, for the tree */
    uint32_t absent_told;       /* number of lost nodes in the last report to the parent */
    struct lost_problems lost_problems;
    struct returning returning; /* servers below that restart, or may */
    struct timer keep_awaited;  /* writes them to the state folder */
    struct knowledge *knowledge;
    struct catalog_store *catalogs;
    struct location *location; /* locations of data below */
    struct reach *reaches;     /* children that hold data */
    struct disowned *disowned; /* data to be deleted when their servers return; NULL: no master agent */
    struct timer look_again;   /* checks which of these data are still below */
    int64_t look_pause_ns;     /* pause until the next check */
    struct timer tell_peers;   /* announces to the peers that data are to be deleted */
    uint64_t given_up_ticket;  /* the number by which peers answer the announcement */
    struct given_up_sent {
        char address[CAP_ADDRESS + 1];
        int64_t sent_ns;
    } given_up_sent[MOST_REFUGES]; /* peers that asked for the list, and when it was sent to each */
    struct timers timers;
    struct random random;
    struct index_search search;
    struct index_own own[CAP_TOLD_LINKS]; /* of the last query */

    uint64_t placements;       /* number of the last one */
    int64_t announce_ns;       /* when placements are sent to the children; CLOCK_NEVER: none waits */
    uint32_t reported_servers; /* master: number of servers in the last report to redirectors */

    struct question *questions; /* by id */
    struct group *groups;       /* groups of equal requests that are being asked */
    uint32_t undecided;         /* requests that wait for answers */
    uint64_t next_question;
    struct waiting *waiting; /* calls that wait for descriptions */
    uint32_t n_waiting;
    int64_t learning_ns, learned_ns; /* begin and end of the warm-up */
    struct timer learned;
    struct early *early; /* requests received during the warm-up */
    uint32_t n_early;
    uint64_t from_memory, asked; /* requests answered from memory, and after asking children */
    struct agent_counts counts;

    struct path link;        /* from the parent, last measurement */
    bool link_told;          /* the parent has this measurement */
    struct link_graph links; /* between children, and from this agent to them */

    struct duty duty; /* handles orders to this agent itself */
    struct errand *errands, *shaping;
    uint64_t next_errand, generation; /* generation: number of changes of the tree that were ordered here */
    struct log_quota refused_lines;
    struct told_refusal refusals[REFUSALS]; /* the newest, in a ring */
    uint32_t next_refusal;
    struct refusals shared; /* nodes whose names are also used below another master agent */
    struct told shared_told;
};

static inline int64_t agent_now(const struct agent *agent)
{
    return clock_now_ns(agent->clock);
}

/* agent.c */
void agent_post(void *agent, const char *address, uint64_t to_incarnation, const struct message *message);
/* Returns this agent's own record, for its parent. */
struct node_record agent_own_record(const struct agent *agent);
/* Answers a client's request with an error, and logs it. */
void agent_refuse(struct agent *agent, struct call *call, const struct submit *submit,
                  const struct esp_error *error);
/* Operations of the endpoint, for calls that arrive by a peer (down.c). */
void agent_on_call(void *agent, struct call *call, const struct message *request);
void agent_abandon(void *agent, struct call *call);

/* administer.c */
enum esp_status administer_create(struct agent *agent, const struct agent_options *options,
                                  struct esp_error *error);
void administer_on_call(struct agent *agent, struct call *call, const struct administer *asked);
void administer_on_order(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                         const struct order *order);
void administer_on_obeyed(struct agent *agent, const struct obeyed *obeyed);
/* If this agent drains, the server, which takes sessions and has just joined, is ordered to drain, too. */
void administer_joined(struct agent *agent, const char *server);
/* The child has left or died: an order to stop it is carried out. */
void administer_child_lost(struct agent *agent, const char *name);
/* True when the call was one that waited for an order to be carried out. */
bool administer_abandon(struct agent *agent, const struct call *call);
void administer_clear(struct agent *agent);

/* Text "; did you mean \"S8\"?" for a name that no node below has or had; "" if no known name is close.
 * `servers`: compares with servers only. */
#define CLOSEST_TEXT (CAP_NAME + 32)
const char *closest_node(struct agent *agent, const char *name, bool servers, char text[CLOSEST_TEXT]);

/* up.c */
/* How the membership with a parent is made. */
/* Operations of each membership (core/hierarchy/membership.h). */
void up_on_changed(void *agent, bool joined, const char *parent, const char *why);
void up_on_ancestors(void *agent);
void up_membership(struct agent *agent, const struct agent_options *options,
                   struct membership_options *membership, const struct membership_ops **ops);
enum esp_status up_create(struct agent *agent, const struct agent_options *options, struct esp_error *error);
/* The knowledge of the nodes below has changed: schedules a report. */
void up_changed(struct agent *agent, bool urgent);
/* Whether the message comes from the parent of this membership; NULL: there is none. */
bool up_is_parent(const struct membership *tie, const struct envelope *envelope);
void up_on_want(struct agent *agent, const struct membership *tie, const struct want *want);
/* Sends lists and texts that the parent asked for before they had arrived here. */
void up_tell_catalog(struct agent *agent, struct known_catalog *catalog);
void up_tell_text(struct agent *agent, struct variant *variant);

/* registered.c: a leader agent, or a master without redirectors, has no redirectors, and these functions
 * do nothing
 */
enum esp_status registered_create(struct agent *agent, const struct agent_options *options,
                                  struct esp_error *error);
void registered_start(struct agent *agent, const char *own_address);
void registered_leave(struct agent *agent, const char *reason);
void registered_clear(struct agent *agent);
/* True if the message came from a redirector and was handled. */
bool registered_post(struct agent *agent, const struct envelope *envelope, const struct message *message);
void registered_undelivered(struct agent *agent, const char *address, const struct esp_error *why);
void registered_hung_up(struct agent *agent, const struct envelope *from);
int64_t registered_due(const struct agent *agent);
void registered_tick(struct agent *agent);
/* The knowledge of the nodes below has changed: schedules a report to the redirectors. */
void registered_changed(struct agent *agent);
/* Returns the name of the first redirector that has registered this agent; NULL: none. */
const char *registered_name(const struct agent *agent);
/* Returns what redirectors say of a node with the same name below another master agent; NULL: no such
 * node. */
const char *registered_shares(const struct agent *agent, const struct knowledge_node *node);
/* Whether at least one redirector has registered this agent; if not, `why` says the reason. */
bool registered_settled(const struct agent *agent, char *why, size_t size);
/* Adds the other master agents that the redirectors have named. */
void registered_refuges(const struct agent *agent, struct refuges *refuges);
/* Adds the redirectors themselves, which refer nodes without a master agent to one. */
void registered_redirectors(const struct agent *agent, struct refuges *refuges);

/* renew.c */
void renew_defaults(struct agent_options *options);
/* On ESP_CONFIG the scheduler stays unchanged. */
enum esp_status renew_scheduler(struct agent *agent, const char *name, struct esp_error *error);
/* Logs once if the score of the best server is NaN: then the scheduler ranks no server. */
void renew_check_score(struct agent *agent, const struct esp_server_view *best);

/* down.c */
enum esp_status down_create(struct agent *agent, struct esp_error *error);
void down_on_catalog(struct agent *agent, const struct catalog *catalog);
void down_on_texts(struct agent *agent, const struct texts *texts);
/* Refuses a descendant whose name is already taken, as the parent has found out. */
void down_refuse(struct agent *agent, const struct namesake *namesake);
struct child *down_child(const struct branch *branch);

/* submit.c */
void submit_on_call(struct agent *agent, struct call *call, const struct submit *submit);
/* Whether the request is for a problem or a server that is not known here. */
bool submit_is_strange(struct agent *agent, const struct submit *submit);
/* Does what submit_on_call() does, for a request that no peer can serve. */
void submit_again(struct agent *agent, struct call *call, const struct submit *submit);
/* Selects the best servers for the request from memory: at most `most` into `found`. */
size_t submit_select(struct agent *agent, const struct variant *variant, const struct request *request,
                     struct index_entry **found, size_t most, struct index_query *query);
uint32_t submit_capable(const struct variant *variant, const struct request *request);
/* Which requirement of a request the server lacks, apart from those that change with its load. */
enum misfit { FITS, LACKS_PROPERTY, LACKS_RANKS, TAKES_TOO_MUCH };
enum misfit submit_misfit(const struct knowledge_node *node, const struct request *request);
/* Seconds that a session would wait at the server, without its transfers: the total minus the transfers
 * and the computation. */
double submit_queue_s(const struct esp_server_view *view);
/* Counts the request's session on the server from now on, with the seconds of estimate_count_s(). Returns
 * the number of the placement, or 0 if it cannot be counted. */
uint64_t submit_place(struct agent *agent, struct knowledge_node *node, const struct request *request,
                      double seconds);
/* The result is valid until the next call. */
struct index_query submit_query(struct agent *agent, const struct variant *variant,
                                const struct request *request);
/* Sets the server as a candidate, and its costs at `told`. Returns false without memory. */
bool submit_candidate(const struct request *request, const struct index_entry *entry,
                      const struct index_query *query, struct arena *arena, struct candidate *candidate,
                      uint8_t *told);
/* forecast.c: the answer to a request with EXTENSION_FORECAST. The first function answers from memory. The
 * second one completes `message`, whose candidates come from the servers' own answers (`merged`), best
 * first; servers that may not fetch the data are not among them. It removes candidates that end too late,
 * and adds excluded servers with the reason. It takes over `message`, which may be NULL. Both return NULL
 * without memory. */
struct message *forecast_answer(struct agent *agent, const struct variant *variant,
                                const struct request *request);
struct message *forecast_complete(struct agent *agent, const struct request *request,
                                  const struct response *merged, struct message *message);
/* Adds to a reply from memory the placements that the request asks to be made ahead, and the candidates
 * that they need. `candidates` and `costs` (as in EXTENSION_COSTS) have room for at least AHEAD_SERVERS. */
void ahead_decide(struct agent *agent, const struct variant *variant, const struct request *request,
                  struct message *reply, uint8_t *costs);
bool submit_is_free(const struct agent *agent, const struct request *request);
/* Makes room in a reply for the costs of n candidates (EXTENSION_COSTS, its first extension). Returns NULL
 * without memory. */
uint8_t *submit_tell_costs(struct submit_reply *reply, uint32_t n, struct arena *arena);
/* Makes room in a forecast for the computing node of each candidate (EXTENSION_COMPUTED_BYS, its second
 * extension). Returns NULL without memory. */
uint8_t *submit_tell_by(struct submit_reply *reply, uint32_t n, struct arena *arena);
/* Logs where a session was placed. */
void submit_log(const struct request *request, const struct submit_reply *reply);
/* Sends placements to the children that do not know them yet. */
void submit_announce(struct agent *agent);
/* Takes placements from the parent. */
void submit_on_place(struct agent *agent, const struct place *place);

/* learning.c: warm-up, in which an unknown node or problem may still appear */
enum esp_status learning_begin(struct agent *agent, struct esp_error *error);
/* Starts a warm-up: servers have left and may return below another parent, or a server has joined and its
 * catalogue has not arrived yet. */
void learning_expect(struct agent *agent);
/* Starts a longer warm-up, because a server has left that announced its restart. */
void learning_expect_back(struct agent *agent);
/* Whether the agent is warming up, and may not know all nodes below. */
bool learning_is(const struct agent *agent);
/* The request is for an unknown problem, or, if `is_known`, for an unknown server. Returns true if the
 * agent is warming up; then the call waits. A call that waits for a problem is sent to the peers every
 * LEARNING_ASK_NS. */
#define LEARNING_ASK_NS NS_PER_S
bool learning_keeps(struct agent *agent, struct call *call, const struct submit *submit, bool is_known);
/* Answers waiting calls where possible: new knowledge has arrived, or the warm-up is over. */
void learning_go_on(struct agent *agent);
/* True if the call was waiting here. */
bool learning_abandon(struct agent *agent, const struct call *call);
void learning_clear(struct agent *agent);

/* awaited.c: servers that are being restarted */

/* Expects the servers that the previous process of this agent expected, for the rest of their time. */
void awaited_begin(struct agent *agent);
/* Writes what is not in the state file yet. */
void awaited_end(struct agent *agent);
/* The node has returned. */
void awaited_back(struct agent *agent, const char *node);
/* The server was ordered to restart, and obeys. Its connection may end before its own announcement
 * arrives. */
void awaited_ordered(struct agent *agent, const char *server);
/* A child has left. If it announced a restart, or a possible one, it is expected back. If it fell silent,
 * it is expected back with all servers that were reached through it, as far as there is room. `branch`
 * still holds what was known through it. */
void awaited_lost(struct agent *agent, const struct child *child, const struct branch *branch);
/* Adds to the report the servers that are expected back: all of them if the report is complete, else those
 * among the nodes it names as gone. False without memory. */
bool awaited_tell(struct agent *agent, bool complete, struct message *report);
/* Takes the expected servers from a child's report. The branch is still as it was before the report. */
void awaited_heard(struct agent *agent, const struct branch *branch, const struct report *report);
/* Returns the name of an expected server that would take the request, if no present server can; NULL:
 * none. */
const char *awaited_server(struct agent *agent, const struct request *request);
/* Returns the name of an expected server that solves the problem; NULL: none. */
const char *awaited_solver(struct agent *agent, const char *problem);
/* Returns the tag of the extension that names that server in the reply; 0: no such server. */
uint32_t awaited_mark(struct agent *agent, const struct request *request);
/* Says in words what has become of the server. */
const char *awaited_words(struct agent *agent, const char *server);
/* Sets *error to ESP_UNREACHABLE with the server's name. Returns false if there is no such server. */
bool awaited_explain(struct agent *agent, const struct request *request, struct esp_error *error);

/* explain.c: why no server can take a request, for a known and for an unknown problem. */
void submit_explain(struct agent *agent, const struct variant *variant, const struct request *request,
                    struct esp_error *error);
void submit_explain_unknown(struct agent *agent, const struct request *request, struct esp_error *error);
/* Whether the server solves the problem, draining or not. */
bool submit_knows(const struct knowledge_node *node, const struct variant *variant);
/* Text that is added to the memory of a server if other programs on its machine hold some of it; else "". */
#define HELD_TEXT 100
const char *held_words(const struct knowledge_node *node, char text[HELD_TEXT]);
/* Returns what limits the memory of a server: other programs (see held_words()), or the key of its
 * configuration file. */
const char *limit_words(const struct knowledge_node *node, char text[HELD_TEXT]);
/* lost.c: nodes that were lost without taking leave, here and below */
/* Text that is added to "no server solves this problem" if a lost node may have solved it, or if a server
 * that is being restarted solves it; else "". */
#define LOST_TEXT (CAP_NAME + 100)
const char *lost_words(struct agent *agent, const char *problem, char text[LOST_TEXT]);
/* Calls `visit` with each node that was lost here or below and may solve the problem, in a record as in a
 * tree reply. Returns false without memory. */
bool lost_solvers(struct agent *agent, const char *problem, struct arena *arena,
                  void (*visit)(const struct node_record *lost, void *arg), void *arg);
/* Whether the node was lost here or below. */
bool lost_has(struct agent *agent, const char *node);
/* A child was lost; `branch` still holds what was known through it. */
void lost_note(struct agent *agent, const struct child *child, const struct branch *branch);
/* Takes the record of an agent below the child. If that agent lists nodes as lost that now live elsewhere
 * below this agent, the function informs it. Otherwise it would never know, and would list these nodes again
 * after they have ended. */
void lost_found(struct agent *agent, struct child *child, const struct node_record *record);
/* The verb of that order, which carries the names of the nodes; an agent that does not know the verb
 * refuses it. */
#define LOST_FORGET "forget"
void lost_forget(struct agent *agent, const struct order *order);
/* Sets the extensions of the agent's own record that describe lost nodes, at most 2. Returns how many. */
uint32_t lost_tell(struct agent *agent, struct arena *arena, struct extension *extensions);
/* Adds to `all` the problems of the nodes that were lost here or by agents below. */
void lost_inherit(struct agent *agent, struct lost_problems *all);
/* Appends the lost nodes to a tree reply. Returns false without memory. */
bool lost_add(struct agent *agent, struct message *message);

/* queries.c */
struct member { /* a client's request that waits */
    struct call *call;
    int64_t since_ns;
    bool asked;                  /* peers were asked for a server that ends it sooner */
    const struct submit *submit; /* lives as long as the call */
    struct member *prev, *next;
};
struct asked {
    char *child;
    struct branch *branch;  /* NULL after the child was lost */
    struct message *answer; /* NULL: none (yet) */
    char *certificate;      /* the name in the server's certificate, if it answered with one; else NULL */
    bool open;
};
struct question {
    uint64_t id;
    struct agent *agent;
    struct message *ask; /* what was asked, with a copy of the request */
    uint32_t breadth;
    struct group *group; /* of clients' requests; NULL: asked by the parent */
    uint64_t parent_id;  /* asked by the parent: its id and its address */
    char *parent_address;
    uint64_t parent_incarnation;
    struct asked *asked;
    uint32_t n_asked, n_open;
    int64_t sent_ns;
    struct timer timer;
    UT_hash_handle hh;
};
/* Equal requests: those of the question under way, and those that arrived after it was sent. */
struct group {
    uint64_t digest;
    struct question *question;
    struct member *members, *later;
    UT_hash_handle hh;
};

void question_submit(struct agent *agent, struct call *call, const struct submit *submit,
                     const struct variant *variant, bool asked);
void question_on_ask(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                     const struct ask *ask);
void question_on_answer(struct agent *agent, const struct envelope *envelope, const struct message *answer);
void question_abandon(struct agent *agent, struct call *call);
void question_child_lost(struct agent *agent, const struct branch *branch);
void question_clear(struct agent *agent);

/* A child may use this share of the time that is left, so that its answer arrives in time. */
#define QUESTION_SHARE_OF_TIME 0.8

/* disabled.c: problems that administrators have disabled on servers below */
/* Returns on how many servers the problem is disabled. `text` names them and the command that enables it;
 * "" if there are none. */
#define DISABLED_TEXT 600
uint32_t disabled_words(struct agent *agent, const char *problem, char text[DISABLED_TEXT]);
/* Sets `text` to "server \"S\" cannot call it: ..." if a server below describes the problem but cannot
 * call it; else "". */
#define UNCALLABLE_TEXT 600
const char *uncallable_words(const struct agent *agent, const char *problem, char text[UNCALLABLE_TEXT]);
/* Lists the names after `after` of disabled problems that no server below solves, in order. The names are
 * borrowed until the knowledge changes. Returns how many, at most `limit`; *more says whether there are
 * further names. */
size_t disabled_names(struct agent *agent, const char *after, const char **names, size_t limit, bool *more);

/* decide.c */
/* Fills in what is remembered of a server, for its view; `agent` is a struct agent. */
void decide_remember(const char *server, void *agent, struct remembered *remembered);
/* Answers a question of the parent from memory. */
void decide_from_memory(struct agent *agent, const struct variant *variant, const struct request *request,
                        uint32_t breadth, struct arena *arena, struct response *response);
/* Merges the answers to a question. For children that did not answer it uses fresh knowledge. It also
 * counts the placements made since the question was sent. False without memory. */
bool decide_merge(struct question *question, struct arena *arena, struct response *merged);
/* Answers a client from the merged answers. Placements change `loads`, the load of each server. */
struct decision;
struct decision *decide_begin(struct question *question, const struct response *merged);
void decide_member(struct decision *decision, struct member *member);
void decide_end(struct decision *decision);

/* data.c */
enum esp_status data_create(struct agent *agent, uint64_t seed, struct esp_error *error);
void data_clear(struct agent *agent);
/* Returns false without memory. */
bool data_joined(struct agent *agent, struct child *child);
void data_lost(struct agent *agent, struct child *child);
/* Whether the parent must be informed. */
bool data_on_report(struct agent *agent, struct child *child, const struct report *report);
/* Finds the children through which the datum is reached: at most `capacity` of them, into `children`.
 * Returns how many; 0 also for a text that is no datum's identity. */
size_t data_children(const struct agent *agent, const char *datum, struct child **children, size_t capacity);
/* Answers where the datum with a key is. */
struct message *data_where(struct agent *agent, const struct data *asked);

/* Reads the list of given-up data from a master agent's state folder. Returns ESP_CONFIG, ESP_SYSTEM or
 * ESP_NO_MEMORY on failure. */
enum esp_status data_given_up_create(struct agent *agent, const struct agent_options *options,
                                     struct esp_error *error);
void data_given_up_clear(struct agent *agent);
/* Whether the request says that the datum's owner gives it up. */
bool data_is_given_up(const struct agent *agent, const struct call *call, const struct data *asked);
/* Notes that the datum is given up, and has it deleted on the servers below. Returns NULL without memory. */
struct message *data_given_up_note(struct agent *agent, const struct call *call, const struct data *asked);
/* Passes on an order of the parent to delete a datum below. */
void data_given_up_pass_on(struct agent *agent, const struct order *order);

/* A peer reports that the datum was given up: deletes it on the servers below. */
void data_given_up_heard(struct agent *agent, const struct disowned_datum *datum);

/* given_up_peers.c, of master agents */
enum esp_status given_up_peers_create(struct agent *agent, struct esp_error *error);
/* Schedules an announcement to the peers, because data were given up here or the peers have changed. */
void given_up_peers_tell(struct agent *agent);
/* Takes a message with PASS_GIVEN_UP from a peer's address, and a peer's answer. */
void given_up_peers_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass);
void given_up_peers_on_passed(struct agent *agent, const struct envelope *envelope,
                              const struct passed *passed);

/* links.c */
/* Collects the links between `children` for a merge, in `arena`; a lost child is NULL. Leaves out links
 * that are not known. Without memory, all are left out. */
void links_brothers(struct agent *agent, const struct knowledge_node *const *children, size_t n,
                    uint64_t bytes, struct arena *arena, struct aggregate_input *inputs);

/* Takes the link from a sibling to the child, which the child has measured or observed when it fetched
 * data. */
void links_between(struct agent *agent, const char *child, const char *brother, const struct path *path);

/* For aggregate_across(): returns the path between servers below different children. One of the two has
 * measured it when it fetched data, or both are on one host and the path is that within the host. */
bool links_across(void *agent, const char *holder, const char *server, struct path *path);

/* Takes the speed of data within the host of a child, from the child's report. */
void links_of_host(struct agent *agent, const char *child, const struct path *path);

void queries_on_call(struct agent *agent, struct call *call, const struct message *request);
/* A describe request that no peer could answer: the agent waits for the description. */
void queries_describe_again(struct agent *agent, struct call *call, const struct describe *asked);
/* Descriptions or servers have arrived: answers calls that wait for them. */
void queries_catalogs_changed(struct agent *agent);
/* Copies the strings of a record that a reply outlives. Returns false without memory. */
bool queries_own_record(struct arena *arena, struct node_record *record, bool with_weather);
/* True if the call was waiting for a description. */
bool queries_abandon(struct agent *agent, const struct call *call);
void queries_clear(struct agent *agent);

#endif
