/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside an agent: the state that its files share, and who does what.
 *
 *     agent.c      the endpoint's operations, life and death
 *     up.c         towards the parent: membership, reports
 *     registered.c a master agent's ties to its redirectors
 *     peers.c      what a master agent passes on to others, and down.c what others pass on to it
 *     down.c       towards the children: membership, reports from them, catalogues
 *     submit.c     a client's request, answered from memory; placements
 *     learning.c   requests that come before it knows of those below
 *     explain.c    why no server takes a request
 *     lost.c       nodes that were lost
 *     awaited.c    servers that are being started again
 *     disabled.c   problems that were disabled
 *     decide.c     servers chosen from the children's answers
 *     queries.c    what people ask (greet, describe, list, tree), and what is asked down
 *     administer.c what administrators want of it and of nodes below it
 *     data.c       where data are, and which are to go when they come back; given_up_peers.c: what others
 * know of them links.c      what was measured of links figures.c    what is counted: metrics, health
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

/* Changes that matter at once (a server lost, a busy one free) are reported after this. */
#define URGENT_MS 5
/* What was asked for and did not come is asked for again after this. */
#define WANT_AGAIN_NS NS_PER_S

/* What is only counted (figures.c). */
struct agent_counts {
    struct histogram answered_s; /* from a request's arrival to its candidates */
    struct status_counts refused;
    uint64_t asks, unanswered; /* from above; children that did not answer in time */
    uint64_t children_joined, children_lost;
    uint64_t passed_on, passed_here; /* requests to peers, and from peers */
    uint64_t ahead;                  /* placements that were made ahead */
};

/* A session that was refused. Its client asks again for as long as it has patience, and the log is told once.
 */
#define REFUSALS 64
struct told_refusal {
    struct session_id session;
    enum esp_status status;
};

struct agent {
    struct agent_options options; /* numbers only: pointers are copied below */
    char *name;
    bool is_master;
    const struct esp_scheduler *scheduler;
    void *library;       /* that it is from; NULL: the registry's */
    bool told_no_number; /* of that one: it gives none */
    struct transport *transport;
    const struct clock *clock;
    struct endpoint *endpoint;      /* NULL until it is open */
    struct membership *membership;  /* to the parent; NULL: a master agent */
    struct membership **registered; /* of a master agent, to each of its redirectors */
    size_t n_registered;
    struct passing *passing; /* requests that peers have, by id */
    uint64_t next_passing;
    struct awake awake;         /* which peers are */
    double peer_way_s;          /* to one of them and back; 0: not measured yet */
    struct passed_call *passed; /* of peers */
    size_t n_passed;
    struct children *children;
    struct absentees absentees; /* of them, for the tree */
    uint32_t absent_told;       /* how many of them those above have heard of */
    struct lost_problems lost_problems;
    struct returning returning; /* servers below that start again, or may */
    struct timer keep_awaited;  /* them, in the state folder */
    struct knowledge *knowledge;
    struct catalog_store *catalogs;
    struct location *location; /* of data below */
    struct reach *reaches;     /* children in it */
    struct disowned *disowned; /* data that are to go when they come back; NULL: no master agent */
    struct timer look_again;   /* whether some of those are still below, */
    int64_t look_pause_ns;     /* after so long */
    struct timer tell_peers;   /* that there are some */
    uint64_t given_up_ticket;  /* known to peers only: what they answer has it */
    struct given_up_sent {
        char address[CAP_ADDRESS + 1];
        int64_t sent_ns;
    } given_up_sent[MOST_REFUGES]; /* peers that asked for all of it, and when they were last sent it */
    struct timers timers;
    struct random random;
    struct index_search search;
    struct index_own own[CAP_TOLD_LINKS]; /* of the last query */

    uint64_t placements;       /* number of the last one */
    int64_t announce_ns;       /* when placements are told down; CLOCK_NEVER: none waits */
    uint32_t reported_servers; /* master: as last told to its redirectors */

    struct question *questions; /* by id */
    struct group *groups;       /* equal requests that are being asked */
    uint32_t undecided;         /* requests that wait for answers */
    uint64_t next_question;
    struct waiting *waiting; /* for descriptions that are on their way here */
    uint32_t n_waiting;
    int64_t learning_ns, learned_ns; /* between these, what is not known may not be known yet, or again */
    struct timer learned;
    struct early *early; /* requests that came meanwhile */
    uint32_t n_early;
    uint64_t from_memory, asked; /* requests */
    struct agent_counts counts;

    struct path link;        /* from its parent, as measured last */
    bool link_told;          /* those above have heard of it */
    struct link_graph links; /* between children, and to them */

    struct duty duty; /* what it does on orders to itself */
    struct errand *errands, *shaping;
    uint64_t next_errand, generation; /* generation: changes of the tree below that were asked here */
    struct log_quota refused_lines;
    struct told_refusal refusals[REFUSALS]; /* the newest, in a ring */
    uint32_t next_refusal;
    struct refusals shared; /* nodes whose names others below another master agent have too */
    struct told shared_told;
};

static inline int64_t agent_now(const struct agent *agent)
{
    return clock_now_ns(agent->clock);
}

/* agent.c */
void agent_post(void *agent, const char *address, uint64_t to_incarnation, const struct message *message);
/* Its own record for those above. */
struct node_record agent_own_record(const struct agent *agent);
/* Answers a client's request with a failure, which the log gets too. */
void agent_refuse(struct agent *agent, struct call *call, const struct submit *submit,
                  const struct esp_error *error);
/* The endpoint's operations, for calls that do not come through it (down.c). */
void agent_on_call(void *agent, struct call *call, const struct message *request);
void agent_abandon(void *agent, struct call *call);

/* administer.c */
enum esp_status administer_create(struct agent *agent, const struct agent_options *options,
                                  struct esp_error *error);
void administer_on_call(struct agent *agent, struct call *call, const struct administer *asked);
void administer_on_order(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                         const struct order *order);
void administer_on_obeyed(struct agent *agent, const struct obeyed *obeyed);
/* A server that takes sessions is below now and was not before: a draining agent has it drained. */
void administer_joined(struct agent *agent, const char *server);
/* The child of that name has left or died: who was told to stop has done so. */
void administer_child_lost(struct agent *agent, const char *name);
/* True when the call was one that waited for an order to be carried out. */
bool administer_abandon(struct agent *agent, const struct call *call);
void administer_clear(struct agent *agent);

/* "; did you mean \"S8\"?", of a name that no node below has, nor has had; "" where none is near. `servers`:
 * only those are meant. */
#define CLOSEST_TEXT (CAP_NAME + 32)
const char *closest_node(struct agent *agent, const char *name, bool servers, char text[CLOSEST_TEXT]);

/* up.c */
/* How its tie to a parent is made. */
/* Operations of every tie upwards (core/hierarchy/membership.h). */
void up_on_changed(void *agent, bool joined, const char *parent, const char *why);
void up_on_ancestors(void *agent);
void up_membership(struct agent *agent, const struct agent_options *options,
                   struct membership_options *membership, const struct membership_ops **ops);
enum esp_status up_create(struct agent *agent, const struct agent_options *options, struct esp_error *error);
/* Something changed below. */
void up_changed(struct agent *agent, bool urgent);
/* Whether the message comes from the parent of that tie (NULL: there is none). */
bool up_is_parent(const struct membership *tie, const struct envelope *envelope);
void up_on_want(struct agent *agent, const struct membership *tie, const struct want *want);
/* Lists and texts that were wanted above before they were here. */
void up_tell_catalog(struct agent *agent, struct known_catalog *catalog);
void up_tell_text(struct agent *agent, struct variant *variant);

/* registered.c: of a leader agent, or a master without redirectors, there are none and all is nothing to do
 */
enum esp_status registered_create(struct agent *agent, const struct agent_options *options,
                                  struct esp_error *error);
void registered_start(struct agent *agent, const char *own_address);
void registered_leave(struct agent *agent, const char *reason);
void registered_clear(struct agent *agent);
/* True when the message was theirs. */
bool registered_post(struct agent *agent, const struct envelope *envelope, const struct message *message);
void registered_undelivered(struct agent *agent, const char *address, const struct esp_error *why);
void registered_hung_up(struct agent *agent, const struct envelope *from);
int64_t registered_due(const struct agent *agent);
void registered_tick(struct agent *agent);
/* Something changed below. */
void registered_changed(struct agent *agent);
/* The name of the first redirector that has it; NULL: none has. */
const char *registered_name(const struct agent *agent);
/* What redirectors say of another node of that name below another master agent; NULL: nothing. */
const char *registered_shares(const struct agent *agent, const struct knowledge_node *node);
/* Whether one of the redirectors has been told; else `why` not. */
bool registered_settled(const struct agent *agent, char *why, size_t size);
/* Adds the other master agents that its redirectors told of. */
void registered_refuges(const struct agent *agent, struct refuges *refuges);
/* The redirectors themselves: they tell nodes without a master agent where one is. */
void registered_redirectors(const struct agent *agent, struct refuges *refuges);

/* renew.c */
void renew_defaults(struct agent_options *options);
/* ESP_CONFIG: then it is the one that it was. */
enum esp_status renew_scheduler(struct agent *agent, const char *name, struct esp_error *error);
/* The best server as the scheduler sees it: where its score is no number, the scheduler ranks none, which is
 * told once. */
void renew_check_score(struct agent *agent, const struct esp_server_view *best);

/* down.c */
enum esp_status down_create(struct agent *agent, struct esp_error *error);
void down_on_catalog(struct agent *agent, const struct catalog *catalog);
void down_on_texts(struct agent *agent, const struct texts *texts);
/* Somebody below bears a name that those above know of another node. */
void down_refuse(struct agent *agent, const struct namesake *namesake);
struct child *down_child(const struct branch *branch);

/* submit.c */
void submit_on_call(struct agent *agent, struct call *call, const struct submit *submit);
/* Whether it is of a problem or for a server that is not known here. */
bool submit_is_strange(struct agent *agent, const struct submit *submit);
/* The same as submit_on_call(), of one that peers cannot serve. */
void submit_again(struct agent *agent, struct call *call, const struct submit *submit);
/* The best servers for the request from memory: at most `most` into `found`. */
size_t submit_select(struct agent *agent, const struct variant *variant, const struct request *request,
                     struct index_entry **found, size_t most, struct index_query *query);
uint32_t submit_capable(const struct variant *variant, const struct request *request);
/* What a request wants that the server has not, as far as it does not change with its load. */
enum misfit { FITS, LACKS_PROPERTY, LACKS_RANKS, TAKES_TOO_MUCH };
enum misfit submit_misfit(const struct knowledge_node *node, const struct request *request);
/* What a session would wait there beyond its transfers: the rest to the end. */
double submit_queue_s(const struct esp_server_view *view);
/* Counts the request's session on the server from now on, with as many seconds as estimate_count_s() has it;
 * returns the placement's number, 0 when it cannot be. */
uint64_t submit_place(struct agent *agent, struct knowledge_node *node, const struct request *request,
                      double seconds);
/* Until the next one. */
struct index_query submit_query(struct agent *agent, const struct variant *variant,
                                const struct request *request);
/* The server as a candidate, and what it costs at `told`. False without memory. */
bool submit_candidate(const struct request *request, const struct index_entry *entry,
                      const struct index_query *query, struct arena *arena, struct candidate *candidate,
                      uint8_t *told);
/* forecast.c: the answer to a request with EXTENSION_FORECAST, out of memory; and one whose candidates, best
 * first, the servers told themselves (`merged`, where those that may not fetch its data are not among the
 * candidates): those that are too late go, and what is excluded comes, with the reason. `message` is taken
 * over, and may be NULL. NULL without memory. */
struct message *forecast_answer(struct agent *agent, const struct variant *variant,
                                const struct request *request);
struct message *forecast_complete(struct agent *agent, const struct request *request,
                                  const struct response *merged, struct message *message);
/* Adds to the reply to a request, from memory, what it asks to be decided ahead, and candidates that this
 * needs: there is room for AHEAD_SERVERS at least, in `costs` too (as EXTENSION_COSTS has them). */
void ahead_decide(struct agent *agent, const struct variant *variant, const struct request *request,
                  struct message *reply, uint8_t *costs);
bool submit_is_free(const struct agent *agent, const struct request *request);
/* Makes room in a reply for what n candidates cost (EXTENSION_COSTS, its first extension). NULL without
 * memory. */
uint8_t *submit_tell_costs(struct submit_reply *reply, uint32_t n, struct arena *arena);
/* And then, of a forecast, for who computes (EXTENSION_COMPUTED_BYS, the second one). */
uint8_t *submit_tell_by(struct submit_reply *reply, uint32_t n, struct arena *arena);
/* The line in the log that says where a session went. */
void submit_log(const struct request *request, const struct submit_reply *reply);
/* Tells the children of placements that they have not heard of. */
void submit_announce(struct agent *agent);
/* Placements from above. */
void submit_on_place(struct agent *agent, const struct place *place);

/* learning.c: what is not known may only not be known yet, or again */
enum esp_status learning_begin(struct agent *agent, struct esp_error *error);
/* Servers have gone, who may be on their way here by another parent; or one has come and will tell what it
 * has soon. */
void learning_expect(struct agent *agent);
/* A server has gone that said it starts again: it is expected for longer. */
void learning_expect_back(struct agent *agent);
/* Whether it may not have heard of all below. */
bool learning_is(const struct agent *agent);
/* The request is of something that it has not heard of, a server when its problem `is_known`: true when that
 * may come, and the call waits for it. Who waits for a problem goes to the peers every LEARNING_ASK_NS. */
#define LEARNING_ASK_NS NS_PER_S
bool learning_keeps(struct agent *agent, struct call *call, const struct submit *submit, bool is_known);
/* It has heard of something, or the time is over: those who wait may be answered. */
void learning_go_on(struct agent *agent);
/* True when the call was one that waited. */
bool learning_abandon(struct agent *agent, const struct call *call);
void learning_clear(struct agent *agent);

/* awaited.c: servers that are being started again */

/* Those that an earlier life expected are, for what is left of their time. */
void awaited_begin(struct agent *agent);
/* What is not in its file yet is written. */
void awaited_end(struct agent *agent);
/* The node is there again. */
void awaited_back(struct agent *agent, const char *node);
/* That node was told to start again, and obeys: it may be gone before its word of that has come up here. */
void awaited_ordered(struct agent *agent, const char *server);
/* A child goes: if it said that it starts again, or may, it is expected; and so is who has fallen silent,
 * with all servers that were reached through it, as far as there is room beside those that are expected
 * already. `branch` is still what was known through it. */
void awaited_lost(struct agent *agent, const struct child *child, const struct branch *branch);
/* Tells the parent of those in the report that are expected back: of all, where it is complete; else of those
 * that it names as gone. False without memory. */
bool awaited_tell(struct agent *agent, bool complete, struct message *report);
/* The same of a child, whose branch is still as it was before the report. */
void awaited_heard(struct agent *agent, const struct branch *branch, const struct report *report);
/* The name of one that would take the request then, where nobody could take it now; NULL: none. */
const char *awaited_server(struct agent *agent, const struct request *request);
/* Of one that has gone, and solves that; NULL: none. */
const char *awaited_solver(struct agent *agent, const char *problem);
/* The tag of what the reply says of that server; 0: there is none. */
uint32_t awaited_mark(struct agent *agent, const struct request *request);
/* What has become of that one. */
const char *awaited_words(struct agent *agent, const char *server);
/* *error says so, ESP_UNREACHABLE; false: there is no such server. */
bool awaited_explain(struct agent *agent, const struct request *request, struct esp_error *error);

/* explain.c: why no server can take a request of a known problem, and of an unknown one. */
void submit_explain(struct agent *agent, const struct variant *variant, const struct request *request,
                    struct esp_error *error);
void submit_explain_unknown(struct agent *agent, const struct request *request, struct esp_error *error);
/* Whether the server solves it, draining or not. */
bool submit_knows(const struct knowledge_node *node, const struct variant *variant);
/* What is added to how much memory a server has, where others on its machine hold some of it; "": nobody
 * does. */
#define HELD_TEXT 100
const char *held_words(const struct knowledge_node *node, char text[HELD_TEXT]);
/* Who limits the memory of a server: other programs, as held_words(), or the key of its file. */
const char *limit_words(const struct knowledge_node *node, char text[HELD_TEXT]);
/* lost.c: nodes that were lost without a word, here and below */
/* What is added to "no server solves this problem" where a lost node may have solved it, or one does that is
 * being started again ("": none has, nor does). */
#define LOST_TEXT (CAP_NAME + 100)
const char *lost_words(struct agent *agent, const char *problem, char text[LOST_TEXT]);
/* Calls `visit` with each node that was lost here or below and may solve the problem, in a record as the tree
 * has it. False without memory. */
bool lost_solvers(struct agent *agent, const char *problem, struct arena *arena,
                  void (*visit)(const struct node_record *lost, void *arg), void *arg);
/* Whether the node that is asked for was lost here or below. */
bool lost_has(struct agent *agent, const char *node);
/* A child was lost; `branch` is still what was known through it. */
void lost_note(struct agent *agent, const struct child *child, const struct branch *branch);
/* The record of an agent that is reached through the child: those that it tells to have lost and that live
 * below here now are told to it, as it hears of that from nobody else, and would tell of them again once they
 * have ended. */
void lost_found(struct agent *agent, struct child *child, const struct node_record *record);
/* The order for that, which has their names; an older agent refuses it. */
#define LOST_FORGET "forget"
void lost_forget(struct agent *agent, const struct order *order);
/* For the agent's own record: what those above are to know of it, 2 at most. Returns how many. */
uint32_t lost_tell(struct agent *agent, struct arena *arena, struct extension *extensions);
/* What those solved that were lost, here or by agents below, joins `all`. */
void lost_inherit(struct agent *agent, struct lost_problems *all);
/* Puts them behind the others of a tree reply. False without memory. */
bool lost_add(struct agent *agent, struct message *message);

/* queries.c */
struct member { /* a client's request that waits */
    struct call *call;
    int64_t since_ns;
    bool asked;                  /* peers were asked whether they have a server that ends it sooner */
    const struct submit *submit; /* lives as long as the call */
    struct member *prev, *next;
};
struct asked {
    char *child;
    struct branch *branch;  /* NULL once the child is lost */
    struct message *answer; /* NULL: not there (yet) */
    char *certificate;      /* the name in the certificate of a server that answered; NULL: none */
    bool open;
};
struct question {
    uint64_t id;
    struct agent *agent;
    struct message *ask; /* what was asked, with a copy of the request */
    uint32_t breadth;
    struct group *group; /* of clients' requests; NULL: asked from above */
    uint64_t parent_id;  /* asked from above: its id, and whom to answer */
    char *parent_address;
    uint64_t parent_incarnation;
    struct asked *asked;
    uint32_t n_asked, n_open;
    int64_t sent_ns;
    struct timer timer;
    UT_hash_handle hh;
};
/* Equal requests: those that the question under way is for, and those that came after it was sent. */
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

/* A child may use this much of the time that is left, so that its answer still arrives in time. */
#define QUESTION_SHARE_OF_TIME 0.8

/* disabled.c: problems that administrators have disabled on servers below */
/* On how many servers that is so. `text` says on which, and what has it solved again; "": on none. */
#define DISABLED_TEXT 600
uint32_t disabled_words(struct agent *agent, const char *problem, char text[DISABLED_TEXT]);
/* "server \"S\" cannot call it: ..." of a problem that the files of a server below describe; "": none has
 * said so. */
#define UNCALLABLE_TEXT 600
const char *uncallable_words(const struct agent *agent, const char *problem, char text[UNCALLABLE_TEXT]);
/* The names of those that nobody below solves, behind `after`, in order: pointers into what is known, valid
 * until it changes. Returns how many of at most `limit`; *more tells whether there are further ones. */
size_t disabled_names(struct agent *agent, const char *after, const char **names, size_t limit, bool *more);

/* decide.c */
/* What is remembered of a server, for its view; `agent` is a struct agent. */
void decide_remember(const char *server, void *agent, struct remembered *remembered);
/* An answer to an ask from above, out of memory. */
void decide_from_memory(struct agent *agent, const struct variant *variant, const struct request *request,
                        uint32_t breadth, struct arena *arena, struct response *response);
/* Merges the answers to a question with what is fresh in memory of those who did not answer, and counts the
 * placements made since it was asked. False without memory. */
bool decide_merge(struct question *question, struct arena *arena, struct response *merged);
/* Answers a client from the merged answers. `loads`: of each server, changed by what is placed. */
struct decision;
struct decision *decide_begin(struct question *question, const struct response *merged);
void decide_member(struct decision *decision, struct member *member);
void decide_end(struct decision *decision);

/* data.c */
enum esp_status data_create(struct agent *agent, uint64_t seed, struct esp_error *error);
void data_clear(struct agent *agent);
/* False without memory. */
bool data_joined(struct agent *agent, struct child *child);
void data_lost(struct agent *agent, struct child *child);
/* Whether those above have something to hear. */
bool data_on_report(struct agent *agent, struct child *child, const struct report *report);
/* Through which children the datum is reached: at most `capacity` of them into `children`; returns how many.
 * 0 also for what is no identity. */
size_t data_children(const struct agent *agent, const char *datum, struct child **children, size_t capacity);
/* The same of a key. */
struct message *data_where(struct agent *agent, const struct data *asked);

/* Reads what a master agent's state folder has of it. ESP_CONFIG, ESP_SYSTEM, ESP_NO_MEMORY. */
enum esp_status data_given_up_create(struct agent *agent, const struct agent_options *options,
                                     struct esp_error *error);
void data_given_up_clear(struct agent *agent);
/* Whether the question is no question, but the word of its owner that he gives the datum up. */
bool data_is_given_up(const struct agent *agent, const struct call *call, const struct data *asked);
/* Notes that, and has it go where it is below. NULL without memory. */
struct message *data_given_up_note(struct agent *agent, const struct call *call, const struct data *asked);
/* The parent tells of one that is below. */
void data_given_up_pass_on(struct agent *agent, const struct order *order);

/* It was given up, says a peer, too: has it go where it is below. */
void data_given_up_heard(struct agent *agent, const struct disowned_datum *datum);

/* given_up_peers.c, of master agents */
enum esp_status given_up_peers_create(struct agent *agent, struct esp_error *error);
/* Something was given up here, or the peers may be others now: they hear of it soon. */
void given_up_peers_tell(struct agent *agent);
/* What comes with PASS_GIVEN_UP, from the address of a peer; what a peer answers. */
void given_up_peers_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass);
void given_up_peers_on_passed(struct agent *agent, const struct envelope *envelope,
                              const struct passed *passed);

/* links.c */
/* For the inputs of a merge, whose children are these (NULL: lost): their links to each other, in `arena`.
 * Leaves them out where nothing is known, or without memory. */
void links_brothers(struct agent *agent, const struct knowledge_node *const *children, size_t n,
                    uint64_t bytes, struct arena *arena, struct aggregate_input *inputs);

/* The link to the child from a brother, as the child has measured it, or seen it when it fetched data. */
void links_between(struct agent *agent, const char *child, const char *brother, const struct path *path);

/* Of aggregate_across: from one server to another one that is below another child, as one of them has
 * measured it when it fetched data, or as data move within the host of both. */
bool links_across(void *agent, const char *holder, const char *server, struct path *path);

/* How data move within the host of a child, as it has told. */
void links_of_host(struct agent *agent, const char *child, const struct path *path);

void queries_on_call(struct agent *agent, struct call *call, const struct message *request);
/* Of a description that peers were asked for, as it was not known here yet: it is waited for. */
void queries_describe_again(struct agent *agent, struct call *call, const struct describe *asked);
/* Descriptions or servers arrived: who waited for one may be answered. */
void queries_catalogs_changed(struct agent *agent);
/* Copies what a record points to, which a reply outlives. False without memory. */
bool queries_own_record(struct arena *arena, struct node_record *record, bool with_weather);
/* True when the call was one that waited for a description. */
bool queries_abandon(struct agent *agent, const struct call *call);
void queries_clear(struct agent *agent);

#endif
