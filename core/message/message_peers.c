/* SPDX-License-Identifier: Apache-2.0
 *
 * Traversals of messages between master agents. */
#include "core/message/message_walk.h"

static void walk_visited(struct wire *w, const char **m)
{
    wire_string(w, m, CAP_ADDRESS, "visited");
}

void walk_pass(struct wire *w, struct pass *m)
{
    U64(id);
    TEXT(address, CAP_ADDRESS);
    U64(time_left_ms);
    SEQUENCE(walk_visited, visited, n_visited, 5, CAP_VISITED);
    U32(what);
    SUB(walk_submit, submit);
    SUB(walk_describe, describe);
    SUB(walk_data, data);
    SUB(walk_tree, tree);
    EXTENSIONS;
}

void walk_passed(struct wire *w, struct passed *m)
{
    U64(id);
    SEQUENCE(walk_visited, visited, n_visited, 5, CAP_VISITED);
    U32(what);
    SUB(walk_submit_reply, submit);
    SUB(walk_describe_reply, describe);
    SUB(walk_data_reply, data);
    SUB(walk_tree_reply, tree);
    EXTENSIONS;
}

/* ---- conversion from and to the requests of clients ---- */

static const struct {
    enum message_kind request, reply;
} passable[] = {
    [PASS_SUBMIT] = {MESSAGE_SUBMIT, MESSAGE_SUBMIT_REPLY},
    [PASS_DESCRIBE] = {MESSAGE_DESCRIBE, MESSAGE_DESCRIBE_REPLY},
    [PASS_DATA] = {MESSAGE_DATA, MESSAGE_DATA_REPLY},
    [PASS_TREE] = {MESSAGE_TREE, MESSAGE_TREE_REPLY},
};

static uint32_t what_of(enum message_kind kind)
{
    for (uint32_t what = PASS_SUBMIT; what <= PASS_TREE; what++)
        if (passable[what].request == kind || passable[what].reply == kind)
            return what;
    return PASS_NOTHING;
}

bool pass_put(struct pass *pass, const struct message *request)
{
    pass->what = what_of(request->kind);
    if (request->kind == MESSAGE_SUBMIT)
        pass->submit = request->submit;
    else if (request->kind == MESSAGE_DESCRIBE)
        pass->describe = request->describe;
    else if (request->kind == MESSAGE_DATA)
        pass->data = request->data;
    else if (request->kind == MESSAGE_TREE)
        pass->tree = request->tree;
    return pass->what != PASS_NOTHING;
}

bool pass_get(const struct pass *pass, struct message *request)
{
    *request = (struct message){0};
    if (pass->what < PASS_SUBMIT || pass->what > PASS_TREE)
        return false;
    request->kind = passable[pass->what].request;
    if (pass->what == PASS_SUBMIT)
        request->submit = pass->submit;
    else if (pass->what == PASS_DESCRIBE)
        request->describe = pass->describe;
    else if (pass->what == PASS_DATA)
        request->data = pass->data;
    else
        request->tree = pass->tree;
    return true;
}

bool passed_put(struct passed *passed, const struct message *reply)
{
    passed->what = what_of(reply->kind);
    if (reply->kind == MESSAGE_SUBMIT_REPLY)
        passed->submit = reply->submit_reply;
    else if (reply->kind == MESSAGE_DESCRIBE_REPLY)
        passed->describe = reply->describe_reply;
    else if (reply->kind == MESSAGE_DATA_REPLY)
        passed->data = reply->data_reply;
    else if (reply->kind == MESSAGE_TREE_REPLY)
        passed->tree = reply->tree_reply;
    return passed->what != PASS_NOTHING;
}

bool passed_get(const struct passed *passed, struct message *reply)
{
    *reply = (struct message){0};
    if (passed->what < PASS_SUBMIT || passed->what > PASS_TREE)
        return false;
    reply->kind = passable[passed->what].reply;
    if (passed->what == PASS_SUBMIT)
        reply->submit_reply = passed->submit;
    else if (passed->what == PASS_DESCRIBE)
        reply->describe_reply = passed->describe;
    else if (passed->what == PASS_DATA)
        reply->data_reply = passed->data;
    else
        reply->tree_reply = passed->tree;
    return true;
}
