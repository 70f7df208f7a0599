/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/program_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of an `each`, and one of its iterations. */
struct each_run {
    const struct statement *statement;
    bool open;
    const struct iteration *now;
};

struct iteration {
    const struct iteration *around; /* the iteration that this one is in, or NULL */
    struct each_run *run;
    int64_t index;
};

/* What a name with subscripts stands for. */
struct binding {
    UT_hash_handle hh;
    struct {
        uint32_t name, n_subscripts;
        int64_t subscripts[PROGRAM_MAX_SUBSCRIPTS];
    } key;
    uint32_t task;
    uint8_t output;
    const struct iteration *made_in;
    struct binding *next; /* of the same name, in the order of making */
};

struct unfolding {
    struct flow_plan *plan;
    struct esp_error *error;
    enum esp_status status;
    struct binding *bindings;
    struct binding *first[PROGRAM_MAX_NAMES], *last[PROGRAM_MAX_NAMES];
    const struct iteration *iteration;
    int64_t variables[PROGRAM_MAX_NESTING]; /* of `for` */
    unsigned n_variables;
    uint64_t n_steps; /* statements, iterations, elements looked at: bounds the time that a plan takes */
};

static void run_statements(struct unfolding *unfolding, const struct statement *statement);

/* Always false. */
static bool fail(struct unfolding *unfolding, struct place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(struct unfolding *unfolding, struct place place, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    unfolding->status = error_set(unfolding->error, ESP_INVALID, "%s:%u:%u: %s",
                                  unfolding->plan->program->file, place.line, place.column, text);
    return false;
}

static bool no_memory(struct unfolding *unfolding)
{
    unfolding->status = error_no_memory(unfolding->error, "the plan of a flow");
    return false;
}

static bool step(struct unfolding *unfolding, struct place place, uint64_t n)
{
    uint64_t most = unfolding->plan->spec.most_steps ? unfolding->plan->spec.most_steps : PLAN_MAX_STEPS;
    unfolding->n_steps += n;
    if (unfolding->n_steps <= most)
        return true;
    return fail(unfolding, place, "the flow takes more than %" PRIu64 " steps to plan", most);
}

/* ---- numbers ---- */

static struct scope scope_of(const struct unfolding *unfolding)
{
    return (struct scope){unfolding->plan->values, unfolding->plan->program->n_values};
}

static bool evaluation_failed(struct unfolding *unfolding, struct place place)
{
    char text[sizeof unfolding->error->text];
    snprintf(text, sizeof text, "%s", unfolding->error->text);
    return fail(unfolding, place, "%s", text);
}

static bool whole(struct unfolding *unfolding, const struct expr *expr, struct place place, const char *what,
                  int64_t least, int64_t most, int64_t *result)
{
    struct scope scope = scope_of(unfolding);
    struct number value;
    if (expr_eval(expr, &scope, &value, unfolding->error) != ESP_OK)
        return evaluation_failed(unfolding, place);
    if (value.kind != NUMBER_INTEGER)
        return fail(unfolding, place, "%s: expected an integer, found %s = %g", what, expr_text(expr),
                    value.real);
    if (value.integer < least || value.integer > most)
        return fail(unfolding, place, "%s: expected %" PRId64 " to %" PRId64 ", found %s = %" PRId64, what,
                    least, most, expr_text(expr), value.integer);
    *result = value.integer;
    return true;
}

/* Seconds, flops or bytes: any number that is not negative. */
static bool amount(struct unfolding *unfolding, const struct expr *expr, struct place place, const char *what,
                   double *result)
{
    struct scope scope = scope_of(unfolding);
    if (expr_eval_real(expr, &scope, result, unfolding->error) != ESP_OK)
        return evaluation_failed(unfolding, place);
    if (!(*result >= 0 && *result < 1e18))
        return fail(unfolding, place, "%s: expected 0 to 1e18, found %s = %g", what, expr_text(expr),
                    *result);
    return true;
}

static bool bytes_of(struct unfolding *unfolding, const struct expr *expr, struct place place,
                     const char *what, uint64_t *bytes)
{
    double value = 0;
    if (expr && !amount(unfolding, expr, place, what, &value))
        return false;
    *bytes = (uint64_t)ceil(value);
    return true;
}

static void set_integer(struct flow_plan *plan, uint32_t value, int64_t integer)
{
    plan->values[value] = (struct number){.kind = NUMBER_INTEGER, .integer = integer};
}

/* ---- tasks ---- */

static bool grow(void **items, uint32_t n, uint32_t *capacity, size_t size, uint32_t more)
{
    if (n + more <= *capacity)
        return true;
    uint32_t wanted = *capacity ? *capacity : 64;
    while (wanted < n + more)
        wanted *= 2;
    void *moved = realloc(*items, wanted * size);
    if (!moved)
        return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

static bool add_input(struct unfolding *unfolding, struct place place, uint32_t producer, uint8_t output)
{
    struct flow_plan *plan = unfolding->plan;
    void *inputs = plan->inputs;
    if (plan->n_inputs == PLAN_MAX_INPUTS)
        return fail(unfolding, place, "the flow has more than %d dependencies", PLAN_MAX_INPUTS);
    bool grown = grow(&inputs, plan->n_inputs, &plan->input_capacity, sizeof *plan->inputs, 1);
    plan->inputs = inputs;
    if (!grown)
        return no_memory(unfolding);
    plan->inputs[plan->n_inputs++] = (struct task_input){.producer = producer, .output = output};
    return true;
}

/* The operation of the graph for this statement and the variables of `for`. */
static struct planned *plan_operation(struct unfolding *unfolding, const struct statement *statement,
                                      uint32_t threads)
{
    struct flow_plan *plan = unfolding->plan;
    struct planned probe, *found;
    memset(&probe.key, 0, sizeof probe.key);
    probe.key.statement = statement;
    probe.key.threads = threads;
    memcpy(probe.key.variables, unfolding->variables, unfolding->n_variables * sizeof *probe.key.variables);
    HASH_FIND(hh, plan->by_key, &probe.key, sizeof probe.key, found);
    if (found)
        return found;
    if (plan->n_planned == FLOW_MAX_OPERATIONS) {
        fail(unfolding, statement->place,
             "the flow has more than %d operations: each statement counts once for each iteration of `for`",
             FLOW_MAX_OPERATIONS);
        return NULL;
    }
    if (!(found = arena_alloc(&plan->arena, sizeof *found))) {
        no_memory(unfolding);
        return NULL;
    }
    found->key = probe.key;
    found->operation = plan->n_planned++;
    found->n_variables = unfolding->n_variables;
    HASH_ADD(hh, plan->by_key, key, sizeof found->key, found);
    if (!found->hh.tbl) {
        no_memory(unfolding);
        return NULL;
    }
    return found;
}

/* A task without inputs so far; they are added right behind. */
static struct task *add_task(struct unfolding *unfolding, const struct statement *statement)
{
    struct flow_plan *plan = unfolding->plan;
    void *tasks = plan->tasks;
    if (plan->n_tasks == PLAN_MAX_TASKS) {
        fail(unfolding, statement->place, "the flow has more than %d operations to run", PLAN_MAX_TASKS);
        return NULL;
    }
    bool grown = grow(&tasks, plan->n_tasks, &plan->task_capacity, sizeof *plan->tasks, 1);
    plan->tasks = tasks;
    if (!grown) {
        no_memory(unfolding);
        return NULL;
    }
    struct task *task = &plan->tasks[plan->n_tasks++];
    *task = (struct task){
        .threads = plan->client, .first_input = plan->n_inputs, .change = {.kind = STATEMENT_LET}};
    if (!plan->spec.calls)
        return task;
    task->call = arena_alloc(&plan->arena, sizeof *task->call);
    if (!task->call) {
        no_memory(unfolding);
        return NULL;
    }
    task->call->statement = statement;
    return task;
}

/* Notes where the statement's inputs so far end. */
static void note_input_end(const struct unfolding *unfolding, uint32_t index, unsigned input)
{
    const struct task *task = &unfolding->plan->tasks[index];
    if (task->call)
        task->call->input_ends[input] = unfolding->plan->n_inputs - task->first_input;
}

/* Ends the list of inputs. What reads nothing is begun by the client; what runs on threads that were added
 * later waits for that. */
static bool end_inputs(struct unfolding *unfolding, const struct statement *statement)
{
    struct flow_plan *plan = unfolding->plan;
    struct task *task = &plan->tasks[plan->n_tasks - 1];
    const struct planned_threads *threads = &plan->threads[task->threads];
    if (threads->take != PROGRAM_NONE && task->thread >= threads->from &&
        !add_input(unfolding, statement->place, threads->take, PLAN_CONTROL))
        return false;
    if (plan->n_inputs == task->first_input && plan->n_tasks > 1 &&
        !add_input(unfolding, statement->place, 0, PLAN_CONTROL))
        return false;
    task->n_inputs = plan->n_inputs - task->first_input;
    struct planned *planned = plan_operation(unfolding, statement, task->threads);
    if (!planned)
        return false;
    task->operation = planned->operation;
    planned->tasks++;
    return true;
}

/* ---- names of data ---- */

/* The iteration of an `each` that is still open and that the binding was made in, if it is not the one that
 * runs. */
static const struct iteration *foreign(const struct binding *binding)
{
    for (const struct iteration *i = binding->made_in; i; i = i->around)
        if (i->run->open && i->run->now != i)
            return i;
    return NULL;
}

/* The subscripts of the iterations of `each` around, the outermost first. A name without subscripts has
 * these. */
static unsigned implied(const struct unfolding *unfolding, int64_t *subscripts)
{
    unsigned n = 0;
    for (const struct iteration *i = unfolding->iteration; i; i = i->around)
        n++;
    unsigned k = n;
    for (const struct iteration *i = unfolding->iteration; i; i = i->around)
        if (--k < PROGRAM_MAX_SUBSCRIPTS)
            subscripts[k] = i->index;
    return n;
}

static struct binding *find_binding(struct unfolding *unfolding, uint32_t name, const int64_t *subscripts,
                                    unsigned n)
{
    struct binding probe, *found;
    memset(&probe.key, 0, sizeof probe.key);
    probe.key.name = name;
    probe.key.n_subscripts = n;
    memcpy(probe.key.subscripts, subscripts, n * sizeof *subscripts);
    HASH_FIND(hh, unfolding->bindings, &probe.key, sizeof probe.key, found);
    return found;
}

/* "x[1,2]" */
static void spell(const struct unfolding *unfolding, uint32_t name, const int64_t *subscripts, unsigned n,
                  char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "%s", unfolding->plan->program->names[name]);
    for (unsigned i = 0; i < n && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%" PRId64 "%s", i ? "," : "[",
                                   subscripts[i], i + 1 == n ? "]" : "");
}

static bool read_subscripts(struct unfolding *unfolding, const struct reference *reference,
                            int64_t *subscripts, unsigned *n)
{
    *n = reference->n_subscripts;
    if (*n == 0) {
        *n = implied(unfolding, subscripts);
        if (*n > PROGRAM_MAX_SUBSCRIPTS)
            return fail(unfolding, reference->place, "names in more than %d nested `each` need subscripts",
                        PROGRAM_MAX_SUBSCRIPTS);
        return true;
    }
    for (unsigned i = 0; i < *n; i++)
        if (!whole(unfolding, reference->subscripts[i].from, reference->place, "a subscript", INT64_MIN,
                   INT64_MAX, &subscripts[i]))
            return false;
    return true;
}

static bool bind(struct unfolding *unfolding, const struct reference *target, uint32_t task, uint8_t output)
{
    int64_t subscripts[PROGRAM_MAX_SUBSCRIPTS] = {0};
    unsigned n;
    if (!read_subscripts(unfolding, target, subscripts, &n))
        return false;
    struct binding *binding = find_binding(unfolding, target->name, subscripts, n);
    const struct iteration *other = binding ? foreign(binding) : NULL;
    if (other) {
        char text[100];
        spell(unfolding, target->name, subscripts, n, text, sizeof text);
        return fail(unfolding, target->place,
                    "%s is defined by two iterations of `each` in line %u, which may run at the same time",
                    text, other->run->statement->place.line);
    }
    if (!binding) {
        binding = arena_alloc(&unfolding->plan->arena, sizeof *binding);
        if (!binding)
            return no_memory(unfolding);
        binding->key.name = target->name;
        binding->key.n_subscripts = n;
        memcpy(binding->key.subscripts, subscripts, n * sizeof *subscripts);
        HASH_ADD(hh, unfolding->bindings, key, sizeof binding->key, binding);
        if (!binding->hh.tbl)
            return no_memory(unfolding);
        struct binding *last = unfolding->last[target->name];
        if (last)
            last->next = binding;
        else
            unfolding->first[target->name] = binding;
        unfolding->last[target->name] = binding;
    }
    if (unfolding->plan->spec.calls) {
        char text[100];
        spell(unfolding, target->name, subscripts, n, text, sizeof text);
        const char *name = arena_strdup(&unfolding->plan->arena, text);
        if (!name)
            return no_memory(unfolding);
        unfolding->plan->tasks[task].call->targets[output] = name;
    }
    binding->task = task;
    binding->output = output;
    binding->made_in = unfolding->iteration;
    return true;
}

static bool read_one(struct unfolding *unfolding, const struct reference *reference,
                     const int64_t *subscripts, unsigned n)
{
    struct binding *binding = find_binding(unfolding, reference->name, subscripts, n);
    /* A name without subscripts may be of an iteration further out, or of none. */
    for (unsigned shorter = n; !binding && reference->n_subscripts == 0 && shorter-- > 0;)
        binding = find_binding(unfolding, reference->name, subscripts, shorter);
    char text[100];
    spell(unfolding, reference->name, subscripts, reference->n_subscripts, text, sizeof text);
    if (!binding)
        return fail(unfolding, reference->place, "%s is not defined here%s", text,
                    reference->n_subscripts == 0 && unfolding->first[reference->name]
                        ? ": `collect` takes what iterations have defined"
                        : "");
    const struct iteration *other = foreign(binding);
    if (other)
        return fail(unfolding, reference->place,
                    "%s is defined by another iteration of `each` in line %u: only `for` has an order", text,
                    other->run->statement->place.line);
    return add_input(unfolding, reference->place, binding->task, binding->output);
}

static int compare_bindings(const void *a, const void *b)
{
    const struct binding *x = *(struct binding *const *)a, *y = *(struct binding *const *)b;
    for (unsigned i = 0; i < PROGRAM_MAX_SUBSCRIPTS; i++)
        if (x->key.subscripts[i] != y->key.subscripts[i])
            return x->key.subscripts[i] < y->key.subscripts[i] ? -1 : 1;
    return (x->key.n_subscripts > y->key.n_subscripts) - (x->key.n_subscripts < y->key.n_subscripts);
}

/* Ranges of one subscript name all that must be there. */
struct pattern {
    unsigned n;
    bool all[PROGRAM_MAX_SUBSCRIPTS];
    int64_t from[PROGRAM_MAX_SUBSCRIPTS], to[PROGRAM_MAX_SUBSCRIPTS];
};

static bool read_pattern(struct unfolding *unfolding, const struct reference *reference,
                         struct pattern *pattern)
{
    pattern->n = reference->n_subscripts;
    for (unsigned i = 0; i < pattern->n; i++) {
        const struct subscript *subscript = &reference->subscripts[i];
        pattern->all[i] = !subscript->from;
        if (pattern->all[i])
            continue;
        if (!whole(unfolding, subscript->from, reference->place, "a subscript", INT64_MIN, INT64_MAX,
                   &pattern->from[i]))
            return false;
        pattern->to[i] = pattern->from[i];
        if (subscript->to && !whole(unfolding, subscript->to, reference->place, "a subscript", INT64_MIN,
                                    INT64_MAX, &pattern->to[i]))
            return false;
    }
    return true;
}

static bool matches(const struct pattern *pattern, const struct binding *binding)
{
    if (pattern->n == 0)
        return true;
    if (pattern->n != binding->key.n_subscripts)
        return false;
    for (unsigned i = 0; i < pattern->n; i++)
        if (!pattern->all[i] &&
            (binding->key.subscripts[i] < pattern->from[i] || binding->key.subscripts[i] > pattern->to[i]))
            return false;
    return true;
}

/* A pattern of ranges only names each element, so that one that is missing is an error. */
static bool check_present(struct unfolding *unfolding, const struct reference *reference,
                          const struct pattern *pattern, uint64_t found)
{
    double wanted = 1;
    for (unsigned i = 0; i < pattern->n; i++) {
        if (pattern->all[i])
            return true;
        wanted *= fmax(0, (double)pattern->to[i] - (double)pattern->from[i] + 1);
    }
    if (pattern->n == 0 || (double)found >= wanted)
        return true;
    int64_t subscripts[PROGRAM_MAX_SUBSCRIPTS];
    memcpy(subscripts, pattern->from, sizeof subscripts);
    for (uint64_t i = 0; i <= found; i++) {
        if (!find_binding(unfolding, reference->name, subscripts, pattern->n))
            break;
        for (unsigned k = pattern->n; k-- > 0;) {
            if (subscripts[k]++ < pattern->to[k])
                break;
            subscripts[k] = pattern->from[k];
        }
    }
    char text[100];
    spell(unfolding, reference->name, subscripts, pattern->n, text, sizeof text);
    return fail(unfolding, reference->place,
                "%s is missing: `collect` expected %.0f elements, found %" PRIu64, text, wanted, found);
}

static bool read_all(struct unfolding *unfolding, const struct reference *reference)
{
    struct pattern pattern = {0};
    if (!read_pattern(unfolding, reference, &pattern))
        return false;
    size_t n = 0, all = 0;
    for (struct binding *b = unfolding->first[reference->name]; b; b = b->next)
        all++;
    if (!step(unfolding, reference->place, all / 8))
        return false;
    struct binding **found = malloc((all + 1) * sizeof(struct binding *));
    if (!found)
        return no_memory(unfolding);
    for (struct binding *b = unfolding->first[reference->name]; b; b = b->next)
        if (!foreign(b) && matches(&pattern, b))
            found[n++] = b;
    qsort(found, n, sizeof(struct binding *), compare_bindings);
    bool read = check_present(unfolding, reference, &pattern, n);
    for (size_t i = 0; i < n && read; i++)
        read = add_input(unfolding, reference->place, found[i]->task, found[i]->output);
    free(found);
    if (read && n == 0)
        return fail(unfolding, reference->place, "`collect` finds no element of %s",
                    unfolding->plan->program->names[reference->name]);
    return read;
}

static bool read_reference(struct unfolding *unfolding, const struct reference *reference)
{
    int64_t subscripts[PROGRAM_MAX_SUBSCRIPTS] = {0};
    unsigned n;
    if (reference->collects)
        return read_all(unfolding, reference);
    return read_subscripts(unfolding, reference, subscripts, &n) &&
           read_one(unfolding, reference, subscripts, n);
}

/* ---- statements ---- */

/* The bytes of an input, of all that it collects. */
static uint64_t input_bytes(const struct flow_plan *plan, uint32_t from, uint32_t to)
{
    uint64_t bytes = 0;
    for (uint32_t i = from; i < to; i++)
        if (plan->inputs[i].output != PLAN_CONTROL)
            bytes += plan->tasks[plan->inputs[i].producer].bytes[plan->inputs[i].output];
    return bytes;
}

static bool place_task(struct unfolding *unfolding, const struct statement *statement, uint32_t task)
{
    struct flow_plan *plan = unfolding->plan;
    struct task *placed = &plan->tasks[task];
    if (statement->threads == PROGRAM_NONE) {
        /* Where the first input is; what the client begins has a thread of its own. */
        const struct task *first = &plan->tasks[0];
        if (plan->n_inputs > placed->first_input)
            first = &plan->tasks[plan->inputs[placed->first_input].producer];
        if (first->threads == plan->client && statement->kind == STATEMENT_CALL) {
            struct planned_threads *threads = &plan->threads[plan->anywhere];
            placed->threads = plan->anywhere;
            placed->thread = threads->wanted++ % PLAN_MOST_ANYWHERE;
            if (threads->most < PLAN_MOST_ANYWHERE)
                threads->n = threads->active = ++threads->most;
            return true;
        }
        placed->threads = first->threads;
        placed->thread = first->thread;
        if (first->threads != plan->client && first->thread >= plan->threads[first->threads].active)
            placed->thread = first->thread % plan->threads[first->threads].active;
        return true;
    }
    int64_t thread;
    if (!whole(unfolding, statement->thread, statement->place, "the number of a thread", 0, INT32_MAX,
               &thread))
        return false;
    placed->threads = statement->threads;
    placed->thread = (uint32_t)(thread % plan->threads[statement->threads].active);
    return true;
}

static bool read_scalars(struct unfolding *unfolding, const struct statement *statement,
                         const struct program_operation *operation)
{
    struct flow_plan *plan = unfolding->plan;
    struct scope scope = scope_of(unfolding);
    for (unsigned i = 0; i < operation->n_scalars; i++) {
        const struct expr *expr = statement->scalars[i] ? statement->scalars[i] : operation->defaults[i];
        if (expr_eval(expr, &scope, &plan->values[operation->scalars[i]], unfolding->error) != ESP_OK)
            return evaluation_failed(unfolding, statement->place);
    }
    return true;
}

/* The scalars of a call as the problem's raw elements; those that are not given stay NULL. */
static bool store_scalars(struct unfolding *unfolding, const struct statement *statement,
                          const struct program_operation *operation, const void **values, char (*raw)[16])
{
    struct scope scope = scope_of(unfolding);
    for (unsigned i = 0; i < operation->n_scalars; i++) {
        struct number value;
        uint32_t argument = operation->scalar_arguments[i];
        if (!statement->scalars[i])
            continue;
        if (expr_eval(statement->scalars[i], &scope, &value, unfolding->error) != ESP_OK ||
            number_store(&value, operation->problem->arguments[argument].type, raw[i], unfolding->error) !=
                ESP_OK)
            return evaluation_failed(unfolding, statement->place);
        values[argument] = raw[i];
    }
    return true;
}

/* What the description of a problem says of the task. */
static bool read_problem(struct unfolding *unfolding, const struct statement *statement,
                         const struct program_operation *operation, uint32_t index)
{
    const struct problem *problem = operation->problem;
    struct flow_plan *plan = unfolding->plan;
    struct task *task = &plan->tasks[index];
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    char raw[PROGRAM_MAX_SCALARS][16] = {{0}};
    struct number numbers[PROBLEM_MAX_ARGUMENTS] = {0};
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    double flops;
    if (!store_scalars(unfolding, statement, operation, values, raw))
        return false;
    if (task->call)
        memcpy(task->call->scalars, raw, sizeof raw);
    if (problem_bind(problem, values, numbers, shapes, unfolding->error) != ESP_OK ||
        problem_work(problem, numbers, &flops, unfolding->error) != ESP_OK ||
        problem_memory(problem, numbers, &task->memory_bytes, unfolding->error) != ESP_OK)
        return evaluation_failed(unfolding, statement->place);
    for (unsigned i = 0; i < operation->n_inputs; i++) {
        uint64_t expected = shapes[operation->input_arguments[i]].bytes;
        int64_t found = plan->values[operation->input_values[i]].integer;
        if ((uint64_t)found != expected)
            return fail(unfolding, statement->inputs[i].place,
                        "the input '%s' of '%s' has %" PRIu64 " bytes, found %" PRId64, operation->inputs[i],
                        operation->name, expected, found);
    }
    task->n_outputs = (uint8_t)operation->n_outputs;
    for (unsigned i = 0; i < operation->n_outputs; i++)
        task->bytes[i] = shapes[operation->output_arguments[i]].bytes;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        task->memory_bytes += shapes[i].bytes;
    if (!plan->spec.durations)
        return true;
    if (!problem->work)
        return fail(unfolding, statement->place,
                    "the problem '%s' has no duration: its description gives no `work`", operation->name);
    if (!(plan->spec.flop_rate > 0))
        return fail(unfolding, statement->place,
                    "the problem '%s' has work, but the platform gives no `flops`", operation->name);
    task->seconds = flops / plan->spec.flop_rate;
    return true;
}

/* What the operation's properties say of the task, whose inputs are known. */
static bool read_properties(struct unfolding *unfolding, const struct statement *statement,
                            const struct program_operation *operation, uint32_t index)
{
    struct flow_plan *plan = unfolding->plan;
    struct task *task = &plan->tasks[index];
    if (operation->problem)
        return read_problem(unfolding, statement, operation, index);
    if (plan->spec.calls)
        return fail(unfolding, statement->place,
                    "operation '%s' is declared in line %u and is no problem of the platform: it can be "
                    "simulated, not run",
                    operation->name, operation->place.line);
    if (!read_scalars(unfolding, statement, operation))
        return false;
    task->n_outputs = (uint8_t)operation->n_outputs;
    for (unsigned i = 0; i < operation->n_outputs; i++)
        if (!bytes_of(unfolding, operation->bytes[i], statement->place, "bytes", &task->bytes[i]))
            return false;
    if (!bytes_of(unfolding, operation->memory, statement->place, "memory", &task->memory_bytes))
        return false;
    if (operation->time)
        return amount(unfolding, operation->time, statement->place, "time", &task->seconds);
    if (!plan->spec.durations)
        return true;
    if (!operation->work)
        return fail(
            unfolding, statement->place,
            "operation '%s' has no duration: expected `time` or `work` behind its declaration in line %u",
            operation->name, operation->place.line);
    if (!(plan->spec.flop_rate > 0))
        return fail(unfolding, statement->place, "operation '%s' has work, but the platform gives no `flops`",
                    operation->name);
    double flops;
    if (!amount(unfolding, operation->work, statement->place, "work", &flops))
        return false;
    task->seconds = flops / plan->spec.flop_rate;
    return true;
}

static bool run_call(struct unfolding *unfolding, const struct statement *statement)
{
    struct flow_plan *plan = unfolding->plan;
    const struct program_operation *operation = plan->program->operations[statement->operation];
    if (!add_task(unfolding, statement))
        return false;
    uint32_t index = plan->n_tasks - 1;
    for (unsigned i = 0; i < statement->n_inputs; i++) {
        uint32_t from = plan->n_inputs;
        if (!read_reference(unfolding, &statement->inputs[i]))
            return false;
        note_input_end(unfolding, index, i);
        set_integer(plan, operation->input_values[i], (int64_t)input_bytes(plan, from, plan->n_inputs));
    }
    if (!read_properties(unfolding, statement, operation, index) ||
        !place_task(unfolding, statement, index) || !end_inputs(unfolding, statement))
        return false;
    for (unsigned i = 0; i < statement->n_targets; i++)
        if (statement->targets[i].name != PROGRAM_NONE &&
            !bind(unfolding, &statement->targets[i], index, (uint8_t)i))
            return false;
    return true;
}

static bool run_input(struct unfolding *unfolding, const struct statement *statement)
{
    struct flow_plan *plan = unfolding->plan;
    if (!add_task(unfolding, statement))
        return false;
    uint32_t index = plan->n_tasks - 1;
    plan->tasks[index].n_outputs = 1;
    return bytes_of(unfolding, statement->value, statement->place, "bytes", &plan->tasks[index].bytes[0]) &&
           place_task(unfolding, statement, index) && end_inputs(unfolding, statement) &&
           bind(unfolding, &statement->targets[0], index, 0);
}

static bool run_result(struct unfolding *unfolding, const struct statement *statement)
{
    struct flow_plan *plan = unfolding->plan;
    if (!add_task(unfolding, statement))
        return false;
    plan->tasks[plan->n_tasks - 1].is_result = true;
    return read_reference(unfolding, &statement->inputs[0]) && end_inputs(unfolding, statement);
}

/* Removing waits for all that was to run on the removed threads; adding, for all that came before. */
static bool run_change(struct unfolding *unfolding, const struct statement *statement)
{
    struct flow_plan *plan = unfolding->plan;
    struct planned_threads *threads = &plan->threads[statement->threads];
    bool kills = statement->kind == STATEMENT_KILL;
    int64_t n;
    if (unfolding->iteration)
        return fail(unfolding, statement->place,
                    "threads cannot be changed inside `each`, whose iterations have no order");
    if (!whole(unfolding, statement->value, statement->place, "threads", 0,
               kills ? (int64_t)threads->active - 1 : FLOW_MAX_THREADS / 2 - (int64_t)threads->active, &n))
        return false;
    if (n == 0)
        return true;
    struct task *task = add_task(unfolding, statement);
    if (!task)
        return false;
    if (!step(unfolding, statement->place, plan->n_tasks / 8))
        return false;
    task->change = (struct change){statement->kind, statement->threads, (uint32_t)n};
    uint32_t index = plan->n_tasks - 1, first = threads->active - (kills ? (uint32_t)n : 0);
    for (uint32_t i = 0; i < index; i++) {
        const struct task *before = &plan->tasks[i];
        bool waits = kills ? before->threads == statement->threads && before->thread >= first
                           : i + 1 == index; /* the statement before */
        if (waits && !add_input(unfolding, statement->place, i, PLAN_CONTROL))
            return false;
    }
    if (!end_inputs(unfolding, statement))
        return false;
    if (kills) {
        threads->active -= (uint32_t)n;
        return true;
    }
    threads->from = threads->active;
    threads->take = index;
    threads->active += (uint32_t)n;
    threads->most = threads->active > threads->most ? threads->active : threads->most;
    return true;
}

/* ---- each with a window ---- */

/* The tasks of an iteration that nothing in it reads. */
struct ends {
    uint32_t *tasks;
    size_t n, capacity;
};

static bool find_ends(struct unfolding *unfolding, uint32_t first, struct ends *ends)
{
    struct flow_plan *plan = unfolding->plan;
    uint32_t n = plan->n_tasks - first;
    bool *read = calloc((size_t)n + 1, sizeof *read);
    uint32_t *tasks = realloc(ends->tasks, ((size_t)n + 1) * sizeof *tasks);
    if (tasks)
        ends->tasks = tasks;
    if (!read || !tasks) {
        free(read);
        return no_memory(unfolding);
    }
    for (uint32_t t = first; t < plan->n_tasks; t++)
        for (uint32_t i = 0; i < plan->tasks[t].n_inputs; i++) {
            uint32_t producer = plan->inputs[plan->tasks[t].first_input + i].producer;
            if (producer >= first)
                read[producer - first] = true;
        }
    ends->n = 0;
    for (uint32_t t = 0; t < n; t++)
        if (!read[t])
            ends->tasks[ends->n++] = first + t;
    free(read);
    return true;
}

/* Inputs of a task lie together, so those of the tasks of this iteration move to make room for more. */
static bool make_wait(struct unfolding *unfolding, const struct statement *statement, uint32_t first,
                      const struct ends *ends)
{
    struct flow_plan *plan = unfolding->plan;
    for (uint32_t t = first; t < plan->n_tasks; t++) {
        uint32_t n = plan->tasks[t].n_inputs, from = plan->tasks[t].first_input;
        bool begins = true;
        for (uint32_t i = 0; i < n; i++)
            begins = begins && plan->inputs[from + i].producer < first;
        if (!begins)
            continue;
        uint32_t start = plan->n_inputs;
        for (uint32_t i = 0; i < n; i++)
            if (!add_input(unfolding, statement->place, plan->inputs[from + i].producer,
                           plan->inputs[from + i].output))
                return false;
        for (size_t i = 0; i < ends->n; i++)
            if (!add_input(unfolding, statement->place, ends->tasks[i], PLAN_CONTROL))
                return false;
        plan->tasks[t].first_input = start;
        plan->tasks[t].n_inputs = plan->n_inputs - start;
    }
    return true;
}

static bool run_iteration(struct unfolding *unfolding, const struct statement *statement,
                          struct each_run *run, const struct iteration *around, int64_t index)
{
    struct iteration *iteration = arena_alloc(&unfolding->plan->arena, sizeof *iteration);
    if (!step(unfolding, statement->place, 1))
        return false;
    if (!iteration)
        return no_memory(unfolding);
    *iteration = (struct iteration){.around = around, .run = run, .index = index};
    run->now = unfolding->iteration = iteration;
    set_integer(unfolding->plan, statement->variable, index);
    run_statements(unfolding, statement->body);
    return unfolding->status == ESP_OK;
}

static bool run_each(struct unfolding *unfolding, const struct statement *statement, int64_t first,
                     int64_t last)
{
    struct flow_plan *plan = unfolding->plan;
    const struct iteration *around = unfolding->iteration;
    int64_t window = 0;
    if (statement->window &&
        !whole(unfolding, statement->window, statement->place, "window", 1, 1000000, &window))
        return false;
    if (window && last - first + 1 <= window)
        window = 0; /* all iterations fit */
    struct each_run *run = arena_alloc(&plan->arena, sizeof *run);
    struct ends *ends = window ? calloc((size_t)window, sizeof *ends) : NULL;
    if (!run || (window && !ends)) {
        free(ends);
        return no_memory(unfolding);
    }
    *run = (struct each_run){.statement = statement, .open = true};
    bool done = true;
    for (int64_t i = first; i <= last && done; i++) {
        uint32_t from = plan->n_tasks;
        struct ends *before = window ? &ends[(i - first) % window] : NULL;
        done = run_iteration(unfolding, statement, run, around, i) &&
               (!window || i - first < window || make_wait(unfolding, statement, from, before)) &&
               (!window || find_ends(unfolding, from, before));
    }
    for (int64_t i = 0; i < window; i++)
        free(ends[i].tasks);
    free(ends);
    run->open = false;
    unfolding->iteration = around;
    return done;
}

static bool run_for(struct unfolding *unfolding, const struct statement *statement, int64_t first,
                    int64_t last)
{
    unsigned depth = unfolding->n_variables++;
    for (int64_t i = first; i <= last && unfolding->status == ESP_OK && step(unfolding, statement->place, 1);
         i++) {
        unfolding->variables[depth] = i;
        set_integer(unfolding->plan, statement->variable, i);
        run_statements(unfolding, statement->body);
    }
    unfolding->n_variables = depth;
    return unfolding->status == ESP_OK;
}

static bool run_loop(struct unfolding *unfolding, const struct statement *statement)
{
    int64_t first, last;
    const int64_t most = INT64_C(1) << 40;
    if (!whole(unfolding, statement->value, statement->place, "the first value", -most, most, &first) ||
        !whole(unfolding, statement->last, statement->place, "the last value", -most, most, &last))
        return false;
    return statement->kind == STATEMENT_EACH ? run_each(unfolding, statement, first, last)
                                             : run_for(unfolding, statement, first, last);
}

static bool run_if(struct unfolding *unfolding, const struct statement *statement)
{
    struct scope scope = scope_of(unfolding);
    bool holds;
    if (expr_eval_bool(statement->value, &scope, &holds, unfolding->error) != ESP_OK)
        return evaluation_failed(unfolding, statement->place);
    run_statements(unfolding, holds ? statement->body : statement->otherwise);
    return unfolding->status == ESP_OK;
}

static bool run_let(struct unfolding *unfolding, const struct statement *statement)
{
    struct scope scope = scope_of(unfolding);
    struct number value;
    if (expr_eval(statement->value, &scope, &value, unfolding->error) != ESP_OK)
        return evaluation_failed(unfolding, statement->place);
    unfolding->plan->values[statement->variable] = value;
    return true;
}

static bool run_statement(struct unfolding *unfolding, const struct statement *statement)
{
    if (!step(unfolding, statement->place, 1))
        return false;
    switch (statement->kind) {
    case STATEMENT_CALL:
        return run_call(unfolding, statement);
    case STATEMENT_INPUT:
        return run_input(unfolding, statement);
    case STATEMENT_RESULT:
        return run_result(unfolding, statement);
    case STATEMENT_EACH:
    case STATEMENT_FOR:
        return run_loop(unfolding, statement);
    case STATEMENT_IF:
        return run_if(unfolding, statement);
    case STATEMENT_LET:
        return run_let(unfolding, statement);
    default:
        return run_change(unfolding, statement);
    }
}

static void run_statements(struct unfolding *unfolding, const struct statement *statement)
{
    for (; statement && unfolding->status == ESP_OK; statement = statement->next)
        if (!run_statement(unfolding, statement))
            return;
}

/* ---- declarations ---- */

static bool set_constants(struct unfolding *unfolding)
{
    struct flow_plan *plan = unfolding->plan;
    const struct flow_program *program = plan->program;
    set_integer(plan, program->nodes, plan->spec.n_nodes);
    for (uint32_t i = 0; i < program->n_values; i++) {
        const struct program_value *value = &program->values[i];
        struct scope scope = scope_of(unfolding);
        if (value->is_set) {
            plan->values[i] = value->set;
        } else if (value->initial &&
                   expr_eval(value->initial, &scope, &plan->values[i], unfolding->error) != ESP_OK) {
            unfolding->status = error_prefix(unfolding->error, "%s: %s", program->file, value->name);
            return false;
        }
    }
    return true;
}

static bool count_threads(struct unfolding *unfolding)
{
    struct flow_plan *plan = unfolding->plan;
    for (uint32_t i = 0; i < plan->program->n_threads; i++) {
        const struct program_threads *threads = &plan->program->threads[i];
        int64_t n;
        if (!whole(unfolding, threads->n, threads->place, "threads", 1, FLOW_MAX_THREADS / 2, &n))
            return false;
        plan->threads[i] = (struct planned_threads){
            .n = (uint32_t)n, .active = (uint32_t)n, .most = (uint32_t)n, .take = PROGRAM_NONE};
        if (!bytes_of(unfolding, threads->state, threads->place, "state", &plan->threads[i].state_bytes))
            return false;
    }
    plan->threads[plan->client] =
        (struct planned_threads){.n = 1, .active = 1, .most = 1, .take = PROGRAM_NONE};
    plan->threads[plan->anywhere] = (struct planned_threads){.take = PROGRAM_NONE};
    return true;
}

static bool place_threads(struct unfolding *unfolding)
{
    struct flow_plan *plan = unfolding->plan;
    for (uint32_t i = 0; i <= plan->anywhere; i++) {
        struct planned_threads *threads = &plan->threads[i];
        const struct expr *where = i < plan->client ? plan->program->threads[i].node : NULL;
        threads->nodes = arena_alloc(&plan->arena, (threads->most + 1) * sizeof *threads->nodes);
        if (!threads->nodes)
            return no_memory(unfolding);
        for (uint32_t t = 0; t < threads->most; t++) {
            int64_t node = t % plan->spec.n_nodes;
            set_integer(plan, plan->program->thread, t);
            if (where && !whole(unfolding, where, plan->program->threads[i].place, "the node of a thread", 0,
                                (int64_t)plan->spec.n_nodes - 1, &node))
                return false;
            threads->nodes[t] = (unsigned)node;
        }
    }
    return true;
}

enum esp_status plan_unfold(struct flow_plan *plan, struct esp_error *error)
{
    static const struct statement start = {.kind = STATEMENT_LET};
    struct unfolding *unfolding = calloc(1, sizeof *unfolding);
    if (!unfolding)
        return error_no_memory(error, "the plan of a flow");
    unfolding->plan = plan;
    unfolding->error = error;
    if (set_constants(unfolding) && count_threads(unfolding) && add_task(unfolding, &start) &&
        end_inputs(unfolding, &start))
        run_statements(unfolding, plan->program->statements);
    if (unfolding->status == ESP_OK)
        place_threads(unfolding);
    HASH_CLEAR(hh, unfolding->bindings);
    enum esp_status status = unfolding->status;
    free(unfolding);
    return status;
}
