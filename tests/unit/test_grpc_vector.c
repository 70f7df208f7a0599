/* SPDX-License-Identifier: Apache-2.0
 *
 * Additions of espalier.h: calls by vector, descriptions, session information, the tree. */
#include "tests/unit/grpc_fixture.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void a_vector_calls_as_the_list_does(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    double a = 1.5, b = 2.5, c = 0;
    struct esp_argument arguments[3] = {{.data = &a, .type = ESP_TYPE_DOUBLE}, {.data = &b}, {.data = &c}};
    struct esp_session_info *info;
    assert_int_equal(esp_call(&add, arguments, 3, NULL, &info), ESP_OK);
    assert_true(c == 4);
    assert_string_equal(info->server, "s1");
    assert_string_equal(info->problem, "add");
    assert_string_equal(info->state, "ended");
    assert_int_equal(info->error.status, ESP_OK);
    assert_int_equal(info->capable, 3);
    assert_true(info->compute_s == 0.25 && info->forecast_compute_s == 0.5 && info->forecast_s == 0.75);
    assert_int_equal(info->n_candidates, 3);
    assert_true(info->candidates[0].tried && !info->candidates[1].tried);
    assert_string_equal(info->candidates[2].server, "s3");
    assert_non_null(strchr(info->id, '-'));
    esp_session_info_free(info);
}

static void a_stack_calls_as_the_vector_does(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    double a = 1.5, b = 2.5, c = 0, other = 0;
    const int64_t dims[] = {2, 3};
    grpc_sessionid_t session;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(3);
    assert_non_null(stack);
    assert_int_equal(grpc_arg_stack_push_arg(stack, &a), GRPC_NO_ERROR);
    assert_int_equal(grpc_arg_stack_push_typed(stack, &b, ESP_TYPE_DOUBLE, NULL, 0), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_arg_stack(&add, stack), GRPC_SESSION_FAILED);
    assert_told("expected 3 arguments, found 2");
    assert_int_equal(grpc_arg_stack_push_arg(stack, &c), GRPC_NO_ERROR);
    assert_int_equal(grpc_arg_stack_push_arg(stack, &c), GRPC_OTHER_ERROR_CODE);
    assert_told("is full: it was made for 3");
    assert_int_equal(grpc_call_arg_stack(&add, stack), GRPC_NO_ERROR);
    assert_true(c == 4);
    b = 3; /* read at the call */
    assert_ptr_equal(grpc_arg_stack_pop_arg(stack), &c);
    assert_int_equal(grpc_arg_stack_push_arg(stack, &other), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_arg_stack_async(&add, &session, stack), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(session), GRPC_NO_ERROR);
    assert_true(other == 4.5 && c == 4);
    grpc_arg_stack_pop_arg(stack);
    assert_int_equal(grpc_arg_stack_push_typed(stack, &c, ESP_TYPE_INT, NULL, 0), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_arg_stack(&add, stack), GRPC_SESSION_FAILED);
    assert_told("expected double, found int");
    grpc_arg_stack_pop_arg(stack);
    assert_int_equal(grpc_arg_stack_push_typed(stack, &c, ESP_TYPE_DOUBLE, dims, 2), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_arg_stack(&add, stack), GRPC_SESSION_FAILED);
    assert_told("2 x 3");
    for (int i = 0; i < 3; i++)
        assert_non_null(grpc_arg_stack_pop_arg(stack));
    assert_null(grpc_arg_stack_pop_arg(stack));
    grpc_function_handle_t none = {0};
    assert_int_equal(grpc_call_arg_stack(&none, stack), GRPC_INVALID_FUNCTION_HANDLE);
    assert_int_equal(grpc_call_arg_stack(&add, NULL), GRPC_OTHER_ERROR_CODE);
    assert_null(grpc_arg_stack_new(ESP_MAX_ARGUMENTS + 1));
    assert_int_equal(grpc_arg_stack_destruct(stack), GRPC_NO_ERROR);
}

static void what_is_left_out_follows_from_the_rest(void **state)
{
    (void)state;
    grpc_function_handle_t scale = make_handle("scale");
    double x[3] = {1, 2, 3};
    struct esp_argument arguments[3] = {{0}, {0}, {.data = x, .n_dims = 1, .dims = {3}}};
    assert_int_equal(esp_call(&scale, arguments, 3, NULL, NULL), ESP_OK);
    assert_true(x[0] == 2 && x[2] == 6);
    arguments[2].n_dims = 2;
    arguments[2].dims[1] = 1; /* a matrix of one column is a column */
    assert_int_equal(esp_call(&scale, arguments, 3, NULL, NULL), ESP_OK);
    assert_true(x[2] == 12);
    arguments[2].n_dims = 0;
    assert_int_equal(esp_call(&scale, arguments, 3, NULL, NULL), ESP_INVALID);
    assert_told("n");
}

static void extents_of_outputs_are_worked_out(void **state)
{
    (void)state;
    struct esp_problem *problem;
    double x[4] = {1, 2, 3, 4};
    assert_int_equal(esp_problem_describe("copy", &problem), ESP_OK);
    struct esp_argument arguments[4] = {{0}, {.data = x, .n_dims = 1, .dims = {4}}, {0}, {0}};
    assert_int_equal(esp_arguments_complete(problem, arguments, 4), ESP_OK);
    assert_true(arguments[0].completed && arguments[0].value.integer == 4);
    assert_true(arguments[2].n_dims == 1 && arguments[2].dims[0] == 4);
    assert_int_equal(arguments[3].n_dims, 0);
    assert_int_equal(esp_arguments_complete(problem, arguments, 3), ESP_INVALID);
    assert_told("expected 4 arguments, found 3");
    esp_problem_free(problem);
}

static void elements_in_memory_are_counted(void **state)
{
    (void)state;
    struct esp_problem *problem;
    uint64_t elements[4];
    double x[4] = {0};
    assert_int_equal(esp_problem_describe("copy", &problem), ESP_OK);
    struct esp_argument arguments[4] = {{0}, {.data = x, .n_dims = 1, .dims = {4}}, {0}, {0}};
    assert_int_equal(esp_arguments_elements(problem, arguments, 4, elements), ESP_OK);
    assert_true(elements[0] == 1 && elements[1] == 4 && elements[2] == 4 && elements[3] == 1);
    assert_int_equal(esp_arguments_elements(problem, arguments, 3, elements), ESP_INVALID);
    assert_int_equal(esp_arguments_elements(problem, arguments, 4, NULL), ESP_INVALID);
    /* Nothing of it has a count. */
    assert_int_equal(esp_arguments_complete(problem, arguments, 4), ESP_OK);
    assert_int_equal(esp_arguments_cut(problem, arguments, 4), ESP_OK);
    assert_int_equal(arguments[2].dims[0], 4);
    assert_int_equal(esp_arguments_cut(problem, arguments, 3), ESP_INVALID);
    assert_true(problem->arguments[0].follows && !problem->arguments[1].follows);
    esp_problem_free(problem);
}

static void the_end_of_a_session_is_written_to_a_descriptor(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    double a = 1.5, b = 2.5, c = 0;
    struct esp_argument arguments[3] = {{.data = &a}, {.data = &b}, {.data = &c}};
    struct esp_call_options options = {.ended_fd = eventfd(0, EFD_CLOEXEC)};
    grpc_sessionid_t id;
    uint64_t ended;
    assert_true(options.ended_fd > 0);
    for (int i = 0; i < 20; i++) {
        options.here = i % 2;
        assert_int_equal(esp_call_async(&add, arguments, 3, &options, &id), ESP_OK);
        assert_int_equal(read(options.ended_fd, &ended, sizeof ended), sizeof ended);
        assert_int_equal(ended, 1);
        assert_int_equal(grpc_probe(id), GRPC_NO_ERROR);
        assert_int_equal(grpc_wait(id), GRPC_NO_ERROR);
    }
    close(options.ended_fd);
    options.ended_fd = 1000000; /* none */
    assert_int_equal(esp_call_async(&add, arguments, 3, &options, &id), ESP_OK);
    assert_int_equal(grpc_wait(id), GRPC_NO_ERROR);
}

static void wrong_shapes_and_types_are_named(void **state)
{
    (void)state;
    grpc_function_handle_t copy = make_handle("copy");
    double x[4] = {0}, y[4];
    int n = 3;
    struct esp_argument arguments[4] = {
        {.data = &n}, {.data = x, .n_dims = 1, .dims = {4}}, {.data = y}, {0}};
    assert_int_equal(esp_call(&copy, arguments, 4, NULL, NULL), ESP_INVALID);
    assert_told("copy: x has 4 elements, but n = 3 was given");
    arguments[1] = (struct esp_argument){.data = x, .type = ESP_TYPE_FLOAT};
    assert_int_equal(esp_call(&copy, arguments, 4, NULL, NULL), ESP_INVALID);
    assert_told("expected double, found float");
    arguments[1] = (struct esp_argument){0};
    assert_int_equal(esp_call(&copy, arguments, 4, NULL, NULL), ESP_INVALID);
    assert_told("\"x\"");
    assert_int_equal(fake_counters(fake).calls, 0);
    grpc_function_handle_t never = {0};
    assert_int_equal(esp_call(&never, arguments, 4, NULL, NULL), ESP_INVALID);
}

static void vectors_start_sessions_too(void **state)
{
    (void)state;
    grpc_function_handle_t sleep = make_handle("sleep");
    int ms = 3600000, waited;
    grpc_sessionid_t id;
    struct esp_session_info *info;
    {
        struct esp_argument arguments[2] = {{.data = &ms}, {.data = &waited}};
        assert_int_equal(esp_call_async(&sleep, arguments, 2, NULL, &id), ESP_OK);
        memset(arguments, 0x55, sizeof arguments);
    }
    ms = 0;
    while (fake_counters(fake).awaits < 1)
        ;
    assert_int_equal(esp_session_info_get(id, &info), ESP_OK);
    assert_string_equal(info->server, "s1");
    assert_int_equal(info->error.status, ESP_PENDING);
    assert_string_equal(info->state, "running");
    esp_session_info_free(info);
    assert_int_equal(grpc_cancel(id), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(id), GRPC_SESSION_FAILED);
    assert_int_equal(esp_session_info_get(id, &info), ESP_OK);
    assert_int_equal(info->error.status, ESP_CANCELLED);
    esp_session_info_free(info);
    assert_int_equal(esp_session_info_get(id + 1, &info), ESP_NOT_FOUND);
    const struct esp_call_options soon = {.deadline_s = 0.1};
    struct esp_argument arguments[2] = {{.data = &(int){3600000}}, {.data = &waited}};
    assert_int_equal(esp_call(&sleep, arguments, 2, &soon, NULL), ESP_TIMEOUT);
}

static void a_long_session_that_begins_here_goes_on_elsewhere(void **state)
{
    (void)state;
    grpc_function_handle_t sleep = make_handle("sleep");
    int waited;
    struct esp_argument arguments[2] = {{.data = &(int){3600000}}, {.data = &waited}};
    const struct esp_call_options options = {.here = 1};
    grpc_sessionid_t id;
    assert_int_equal(esp_call_async(&sleep, arguments, 2, &options, &id), ESP_OK);
    assert_int_equal(grpc_probe(id), GRPC_NOT_COMPLETED);
    assert_int_equal(grpc_cancel(id), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(id), GRPC_SESSION_FAILED);
    assert_int_equal(esp_last_error()->status, ESP_CANCELLED);
}

static void constraints_that_cannot_be_are_named(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add"), bound;
    double a = 1.5, b = 2.5, c = 0;
    static const char *const words[] = {"gpu", "two words"};
    struct esp_argument arguments[3] = {{.data = &a}, {.data = &b}, {.data = &c}};
    struct esp_call_options options = {.properties = words, .n_properties = 2};
    assert_int_equal(esp_call(&add, arguments, 3, &options, NULL), ESP_INVALID);
    assert_told("found \"two words\": it has a blank");
    options = (struct esp_call_options){.n_properties = 2};
    assert_int_equal(esp_call(&add, arguments, 3, &options, NULL), ESP_INVALID);
    options = (struct esp_call_options){.finish_s = -1};
    assert_int_equal(esp_call(&add, arguments, 3, &options, NULL), ESP_INVALID);
    assert_told("finish_s: expected seconds >= 0");
    options = (struct esp_call_options){.finish_s = 1e-12};
    assert_int_equal(esp_call(&add, arguments, 3, &options, NULL), ESP_TIMEOUT);
    options = (struct esp_call_options){.properties = words, .n_properties = 1, .memory_bytes = 1 << 20};
    assert_int_equal(esp_call(&add, arguments, 3, &options, NULL), ESP_OK);
    assert_int_equal(grpc_function_handle_init(&bound, "s2", "add"), GRPC_NO_ERROR);
    assert_int_equal(esp_call(&bound, arguments, 3, &options, NULL), ESP_INVALID);
    assert_told("bound to server \"s2\"");
    grpc_function_handle_destruct(&bound);
}

static void a_description_tells_all_that_callers_pass(void **state)
{
    (void)state;
    struct esp_problem *problem;
    assert_int_equal(esp_problem_describe("scale", &problem), ESP_OK);
    assert_string_equal(problem->title, "Scale a vector");
    assert_int_equal(problem->n_arguments, 3); /* the work array is not shown */
    assert_string_equal(problem->arguments[2].name, "x");
    assert_int_equal(problem->arguments[2].mode, ESP_MODE_INOUT);
    assert_int_equal(problem->arguments[2].type, ESP_TYPE_DOUBLE);
    assert_string_equal(problem->arguments[2].dims[0], "n");
    assert_string_equal(problem->arguments[1].initial, "2");
    assert_string_equal(problem->preconditions[0], "n >= 0");
    assert_non_null(problem->work);
    assert_true(problem->idempotent);
    assert_int_equal(problem->servers, 3);
    esp_problem_free(problem);
    assert_int_equal(esp_problem_describe("frobnicate", &problem), ESP_UNKNOWN_PROBLEM);
    assert_string_equal(esp_type_name(ESP_TYPE_DOUBLE_COMPLEX), "double complex");
    assert_int_equal(esp_type_size(ESP_TYPE_DOUBLE_COMPLEX), 16);
    assert_int_equal(esp_type_size(ESP_TYPE_STRING), 0);
}

static void the_list_of_problems_is_complete(void **state)
{
    (void)state;
    struct esp_problem_entry *entries;
    size_t n;
    assert_int_equal(esp_problem_list(&entries, &n), ESP_OK);
    assert_int_equal(n, 9);
    for (size_t i = 1; i < n; i++)
        assert_true(strcmp(entries[i - 1].name, entries[i].name) < 0);
    assert_string_equal(entries[0].title, "Add two numbers");
    assert_string_equal(entries[n].title, "");
    const unsigned servers = entries[0].servers;
    esp_problem_list_free(entries);
    fake_set(fake, "ma1:1", &(struct fake_faults){.dead = true});
    assert_int_equal(esp_problem_list(&entries, &n), ESP_OK);
    assert_int_equal(n, 9);
    assert_true(entries[0].servers < servers);
    assert_non_null(strstr(entries[n].title, "ma1:1"));
    esp_problem_list_free(entries);
    fake_set(fake, "ma2:1", &(struct fake_faults){.dead = true});
    assert_int_equal(esp_problem_list(&entries, &n), ESP_UNREACHABLE);
}

static void the_tree_begins_with_the_redirector(void **state)
{
    (void)state;
    struct esp_node *nodes;
    size_t n;
    assert_int_equal(esp_tree(NULL, &nodes, &n), ESP_OK);
    assert_int_equal(n, 6);
    assert_string_equal(nodes[0].name, "red");
    assert_int_equal(nodes[0].role, ESP_ROLE_REDIRECTOR);
    assert_string_equal(nodes[1].name, "ma1");
    assert_string_equal(nodes[1].parent, "red");
    assert_string_equal(nodes[2].name, "s1");
    assert_string_equal(nodes[2].parent, "ma1");
    assert_string_equal(nodes[5].name, "ma2");
    esp_tree_free(nodes);
    fake_set(fake, "ma1:1", &(struct fake_faults){.dead = true});
    assert_int_equal(esp_tree(NULL, &nodes, &n), ESP_OK);
    assert_int_equal(n, 3);
    assert_string_equal(nodes[1].name, "ma1");
    esp_tree_free(nodes);
    assert_int_equal(esp_tree("s2:1", &nodes, &n), ESP_OK);
    assert_int_equal(n, 1);
    assert_string_equal(nodes[0].name, "s2");
    esp_tree_free(nodes);
    assert_int_equal(esp_tree("nobody:1", &nodes, &n), ESP_UNREACHABLE);
}

static void nodes_say_who_they_are(void **state)
{
    (void)state;
    char name[256];
    enum esp_role role;
    struct esp_master *masters;
    size_t n;
    assert_int_equal(esp_greet("s2:1", name, &role), ESP_OK);
    assert_string_equal(name, "s2");
    assert_int_equal(role, ESP_ROLE_SERVER);
    assert_int_equal(esp_greet("nobody:1", name, &role), ESP_UNREACHABLE);
    assert_int_equal(esp_locate(&masters, &n), ESP_OK);
    assert_int_equal(n, 2);
    assert_string_equal(masters[1].address, "ma2:1");
    esp_locate_free(masters);
}

static void addresses_may_be_given_without_a_file(void **state)
{
    (void)state;
    setenv("HOME", "/nowhere", 1);
    unsetenv("ESPALIER_CONFIG");
    unsetenv("XDG_CONFIG_HOME");
    struct esp_options options = {.agent = "ma2:1"};
    assert_int_equal(esp_initialize(&options), ESP_OK);
    assert_int_equal(esp_initialize(&options), ESP_INVALID);
    grpc_function_handle_t add = make_handle("add");
    assert_int_equal(fake_counters(fake).locates, 0);
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_NO_ERROR);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    assert_int_not_equal(access("/nowhere", F_OK), 0); /* a home that is not there is not made */
    options =
        (struct esp_options){.config = write_config("agents = {\"nobody:1\"}\n"), .redirector = "red:1"};
    assert_int_equal(esp_initialize(&options), ESP_OK);
    add = make_handle("add");
    assert_int_equal(fake_counters(fake).locates, 1);
}

#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_library, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_library(a_vector_calls_as_the_list_does),
        in_library(a_stack_calls_as_the_vector_does),
        in_library(what_is_left_out_follows_from_the_rest),
        in_library(extents_of_outputs_are_worked_out),
        in_library(elements_in_memory_are_counted),
        in_library(the_end_of_a_session_is_written_to_a_descriptor),
        in_library(wrong_shapes_and_types_are_named),
        in_library(vectors_start_sessions_too),
        in_library(a_long_session_that_begins_here_goes_on_elsewhere),
        in_library(constraints_that_cannot_be_are_named),
        in_library(a_description_tells_all_that_callers_pass),
        in_library(the_list_of_problems_is_complete),
        in_library(the_tree_begins_with_the_redirector),
        in_library(nodes_say_who_they_are),
        cmocka_unit_test_setup_teardown(addresses_may_be_given_without_a_file, set_up_fake, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
