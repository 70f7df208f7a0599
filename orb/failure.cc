/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/failure.h"
#include "orb/contract.h"
#include "orb/address_fault.h"

extern "C" {
#include "util/process_limits.h"
}

#include <errno.h>
#include <new>
#include <stdio.h>
#include <string.h>
#include <system_error>

struct Context {
    const char *what, *address;
    struct esp_error *error;
};

static std::string settings_from;

void failure_note_settings(const std::string &where)
{
    settings_from = where;
}

/* Adds the ORB's settings to errors that they can cause. */
static std::string with_settings(enum esp_status status, const char *text)
{
    const bool may_be = status == ESP_UNREACHABLE || status == ESP_SYSTEM || status == ESP_PROTOCOL;
    return settings_from.empty() || !may_be ? text
                                            : text + (" (omniORB takes settings from " + settings_from + ")");
}

/* "host:port: submit: text" */
static enum esp_status fail(const Context &context, enum esp_status status, const char *plain)
{
    const std::string words = with_settings(status, plain);
    const char *const text = words.c_str();
    if (!context.what)
        return error_set(context.error, status, "%s", text);
    if (context.address && (!strcmp(context.what, "greet") || !strcmp(context.what, "locate")))
        return error_set(context.error, status, "%s: %s", context.address,
                         text); /* without the operation's name */
    return error_set(context.error, status, "%s%s%s: %s", context.address ? context.address : "",
                     context.address ? ": " : "", context.what, text);
}

/* Whether the operation changes nothing, so that it does not matter whether it was executed. NULL: a post. */
static bool only_asks(const char *operation)
{
    if (!operation)
        return false;
    static const char *const names[] = {"greet", "locate", "describe", "list", "tree", "data", "get"};
    for (const char *name : names)
        if (!strcmp(operation, name))
            return true;
    return false;
}

static const char *words_of(int number)
{
    switch (number) {
    case ECONNREFUSED:
        return "connection refused (is the daemon running there, and is the port right?)";
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "no route to that host (is the address right, and is the network up?)";
    case ETIMEDOUT:
        return "no connection in time, timed out (is the host up, and does a firewall let the port through?)";
    case EMFILE:
    case ENFILE:
        return "no descriptor is left for a connection (how many may this process have open: \"ulimit -n\"?)";
    case 0:
        return "the connection is closed as soon as it is made (do both sides use TLS or neither, with "
               "certificates of one authority? does it limit connections?)";
    default:
        return "no connection (is the daemon running there, and are host and port right?)";
    }
}

/* Tries another connection, because the ORB does not say why it has none. Sends nothing. */
static const char *connect_fault(const Context &context)
{
    const bool is_post = !context.what || !strcmp(context.what, "post");
    return words_of(context.address && !is_post ? address_fault(context.address) : -1);
}

static enum esp_status lost(const Context &context, const CORBA::SystemException &exception)
{
    if (exception.completed() == CORBA::COMPLETED_NO)
        return fail(context, ESP_UNREACHABLE, connect_fault(context));
    if (only_asks(context.what))
        return fail(context, ESP_MAYBE,
                    "connection lost before the answer came (was it stopped or restarted just now? when it "
                    "uses TLS: does it refuse this side's certificate, or the lack of one?)");
    return fail(
        context, ESP_MAYBE,
        "connection lost before the answer came; it may have been executed (when it uses TLS: does it refuse "
        "this side's certificate, or the lack of one?)");
}

static enum esp_status timed_out(const Context &context, const CORBA::SystemException &exception)
{
    if (exception.completed() == CORBA::COMPLETED_NO)
        return fail(context, ESP_UNREACHABLE, words_of(ETIMEDOUT));
    if (only_asks(context.what))
        return fail(context, ESP_TIMEOUT,
                    "no answer in time (it is reached, but does not answer: is it stopped, or overloaded?)");
    return fail(context, ESP_TIMEOUT, "no answer in time; it may have been executed");
}

static enum esp_status not_there(const Context &context, const CORBA::SystemException &exception)
{
    if (exception.minor() == MINOR_NOBODY)
        return fail(context, ESP_UNREACHABLE, "nobody serves there any more");
    if (exception.minor() == MINOR_STALE)
        return fail(context, ESP_STALE,
                    "it was restarted since: the message was for its earlier incarnation");
    char text[200];
    contract_explain(exception.minor(), text, sizeof text);
    return fail(context, ESP_VERSION, text);
}

static enum esp_status other(const Context &context, const CORBA::SystemException &exception)
{
    char text[200];
    snprintf(text, sizeof text, "the ORB reports %s (minor 0x%lx)", exception._name(),
             (unsigned long)exception.minor());
    return fail(context, ESP_PROTOCOL, text);
}

static enum esp_status classify(const Context &context, const CORBA::SystemException &exception)
{
    if (CORBA::TRANSIENT::_downcast(&exception) || CORBA::COMM_FAILURE::_downcast(&exception))
        return lost(context, exception);
    if (CORBA::TIMEOUT::_downcast(&exception))
        return timed_out(context, exception);
    if (CORBA::OBJECT_NOT_EXIST::_downcast(&exception) || CORBA::OBJ_ADAPTER::_downcast(&exception))
        return not_there(context, exception);
    if (CORBA::NO_PERMISSION::_downcast(&exception))
        return fail(context, ESP_SECURITY, "permission denied (look at the certificate's name)");
    if (CORBA::BAD_OPERATION::_downcast(&exception))
        return fail(context, ESP_PROTOCOL, "it does not know this operation: is it a node of another kind?");
    if (CORBA::MARSHAL::_downcast(&exception))
        return fail(context, ESP_PROTOCOL,
                    "the message could not be read: it breaks the contract or is "
                    "larger than the other side takes");
    if (CORBA::IMP_LIMIT::_downcast(&exception) || CORBA::NO_RESOURCES::_downcast(&exception))
        return fail(context, ESP_LIMIT, "the ORB reached a limit");
    if (CORBA::NO_MEMORY::_downcast(&exception))
        return fail(context, ESP_NO_MEMORY, "out of memory");
    if (CORBA::INITIALIZE::_downcast(&exception))
        return fail(context, ESP_SYSTEM, "the ORB could not be started");
    if (CORBA::BAD_PARAM::_downcast(&exception))
        return fail(context, ESP_INVALID, "not an address (expected host:port)");
    return other(context, exception);
}

enum esp_status orb_failure(const char *what, const char *address, struct esp_error *error)
{
    const Context context = {what, address, error};
    try {
        throw;
    } catch (const CORBA::SystemException &exception) {
        return classify(context, exception);
    } catch (const CORBA::Exception &exception) {
        return fail(context, ESP_PROTOCOL, exception._name());
    } catch (const std::bad_alloc &) {
        return fail(context, ESP_NO_MEMORY, "out of memory");
    } catch (const std::system_error &exception) {
        if (exception.code().value() == EAGAIN) { /* a thread */
            char why[400];
            process_limits_blame(nullptr, why, sizeof why);
            return fail(context, ESP_LIMIT, why);
        }
        return fail(context, ESP_SYSTEM, exception.what());
    } catch (const std::exception &exception) {
        return fail(context, ESP_INTERNAL, exception.what());
    } catch (...) {
        return fail(context, ESP_INTERNAL, "unknown exception");
    }
}
