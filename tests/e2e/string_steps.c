/* SPDX-License-Identifier: Apache-2.0
 *
 * string_steps: arrays of strings that live on servers, in a program (t0688-strings.t): string_steps SERVER.
 */
#include "espalier.h"
#include "grpc_data.h"
#include "tests/e2e/must.h"

#include <stdlib.h>
#include <string.h>

static int are(char *const *found, size_t n, const char *const *expected)
{
    for (size_t i = 0; i < n; i++)
        if (!found[i] || strcmp(found[i], expected[i]) != 0)
            return fprintf(stderr, "expected \"%s\", found \"%s\"\n", expected[i],
                           found[i] ? found[i] : "NULL"),
                   0;
    return 1;
}

/* numbered(n, texts, lengths, numbers) */
static int takes_and_leaves(const char *server, const char *id)
{
    grpc_function_handle_t numbered;
    int n = 3, lengths[3] = {0};
    char *kept = NULL, **back = NULL;
    size_t count = 0;
    struct esp_argument arguments[4] = {
        {.data = &n, .type = ESP_TYPE_INT},
        {.datum = id, .type = ESP_TYPE_STRING, .n_dims = 1, .dims = {3}},
        {.data = lengths, .type = ESP_TYPE_INT, .n_dims = 1, .dims = {3}},
        {.kept = &kept, .kept_mode = ESP_DATA_PERSISTENT},
    };
    MUST(grpc_function_handle_init(&numbered, (char *)server, (char *)"numbered"));
    MUST(esp_call(&numbered, arguments, 4, NULL, NULL));
    HOLDS(lengths[0] == 3 && lengths[1] == 0 && lengths[2] == 12);
    HOLDS(kept && strncmp(kept, server, strlen(server)) == 0);
    MUST(esp_data_get_strings(kept, &back, &count));
    HOLDS(count == 3 && are(back, 3, (const char *const[]){"one 1", " 2", "two and\nmore 3"}));
    free(back);
    MUST(esp_data_drop(kept));
    free(kept);
    return 0;
}

/* Beside that they stay, they come. */
static int changes(const char *server, const char *id)
{
    grpc_function_handle_t swapped;
    int n = 3;
    char *texts[3] = {NULL}, *kept = NULL, **back = NULL;
    size_t count = 0;
    struct esp_argument arguments[2] = {
        {.data = &n, .type = ESP_TYPE_INT},
        {.data = texts, .datum = id, .kept = &kept, .type = ESP_TYPE_STRING, .n_dims = 1, .dims = {3}},
    };
    static const char *const expected[] = {"two and\nmore", "new", "one"};
    MUST(grpc_function_handle_init(&swapped, (char *)server, (char *)"swapped"));
    MUST(esp_call(&swapped, arguments, 2, NULL, NULL));
    HOLDS(are(texts, 3, expected));
    MUST(esp_data_get_strings(kept, &back, &count));
    HOLDS(count == 3 && are(back, 3, expected));
    free(back);
    MUST(esp_data_get_strings(id, &back, &count)); /* a datum never changes */
    HOLDS(count == 3 && strcmp(back[0], "one") == 0);
    free(back);
    MUST(esp_data_drop(kept));
    free(kept);
    for (int i = 0; i < 3; i++)
        free(texts[i]);
    return 0;
}

static int refuses(const char *server, const char *id)
{
    grpc_function_handle_t numbered;
    int n = 2, lengths[3];
    char *kept = NULL, **back = NULL;
    const char *holes[] = {"one", NULL};
    double numbers[] = {1, 2};
    size_t count = 0;
    struct esp_argument array = {.data = holes, .type = ESP_TYPE_STRING, .n_dims = 1, .dims = {2}},
                        plain = {.data = numbers, .type = ESP_TYPE_DOUBLE, .n_dims = 1, .dims = {2}};
    struct esp_argument arguments[4] = {{.data = &n, .type = ESP_TYPE_INT},
                                        {.datum = id, .type = ESP_TYPE_STRING, .n_dims = 1, .dims = {2}},
                                        {.data = lengths, .type = ESP_TYPE_INT, .n_dims = 1, .dims = {2}}};
    HOLDS(esp_data_put(server, &array, ESP_DATA_VOLATILE, NULL, NULL, &kept) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "a null pointer as number 2"));
    MUST(esp_data_put(server, &plain, ESP_DATA_VOLATILE, NULL, NULL, &kept));
    HOLDS(esp_data_get_strings(kept, &back, &count) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "expected an array of strings, found a datum of type double"));
    MUST(grpc_function_handle_init(&numbered, (char *)server, (char *)"numbered"));
    HOLDS(esp_call(&numbered, arguments, 4, NULL, NULL) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "texts: expected string[2], the datum is string[3]"));
    arguments[1].datum = kept;
    HOLDS(esp_call(&numbered, arguments, 4, NULL, NULL) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "texts: expected string[2], the datum is double[2]"));
    MUST(esp_data_drop(kept));
    free(kept);
    return 0;
}

/* Calls with data descriptions: one takes the outputs of another. */
static int described(const char *server, const char *id)
{
    grpc_function_handle_t numbered;
    const size_t three[] = {3, 0}, four[] = {4, 0};
    char input[200], *identity = NULL, **back = NULL;
    const char *inputs[] = {input, NULL}, *outputs[] = {"server:B", NULL}, *memory[] = {"memory:x", NULL};
    const char *files[] = {"file:x", NULL};
    const grpc_data_mode_t modes[] = {GRPC_PERSISTENT, GRPC_END_LIST};
    grpc_data_t in, out, other;
    int lengths[3];
    size_t count = 0;
    snprintf(input, sizeof input, "data:%s", id);
    MUST(grpc_function_handle_init(&numbered, (char *)server, (char *)"numbered"));
    MUST(grpc_data_init(&in, inputs, NULL, GRPC_STRING, three, NULL));
    MUST(grpc_data_init(&out, NULL, outputs, GRPC_STRING, three, modes));
    MUST(grpc_call(&numbered, 3, &in, lengths, &out));
    HOLDS(lengths[0] == 3 && lengths[2] == 12);
    MUST(grpc_call(&numbered, 3, &out, lengths, &out));
    HOLDS(lengths[0] == 5 && lengths[2] == 14);
    MUST(grpc_data_getinfo(&out, GRPC_INFO_IDENTITY, NULL, &identity));
    MUST(esp_data_get_strings(identity, &back, &count));
    HOLDS(count == 3 && are(back, 3, (const char *const[]){"one 1 1", " 2 2", "two and\nmore 3 3"}));
    free(back);
    free(identity);
    MUST(grpc_data_free(&out, NULL));
    MUST(grpc_data_init(&other, inputs, NULL, GRPC_STRING, four, NULL));
    HOLDS(grpc_call(&numbered, 3, &other, lengths, NULL) != GRPC_NO_ERROR);
    HOLDS(strstr(esp_last_error()->text, "expected an array of 3 strings, found data of string[4]"));
    HOLDS(grpc_data_init(&out, memory, NULL, GRPC_STRING, three, NULL) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "found \"memory:x\""));
    /* Nor by a transfer, which leaves what there is as it was. */
    HOLDS(grpc_data_transfer(&in, memory, outputs, modes) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "found \"memory:x\""));
    HOLDS(grpc_data_transfer(&in, inputs, files, modes) == GRPC_OTHER_ERROR_CODE);
    HOLDS(strstr(esp_last_error()->text, "found \"file:x\""));
    MUST(grpc_call(&numbered, 3, &in, lengths, NULL));
    MUST(grpc_data_unbind(&in));
    MUST(grpc_data_unbind(&other));
    return 0;
}

/* Bytes of all strings that servers have got. */
static unsigned long long received(void)
{
    struct esp_data_info *infos;
    size_t n;
    unsigned long long bytes = 0;
    if (esp_data_list(NULL, &infos, &n) != ESP_OK)
        return ~0ull;
    for (size_t i = 0; i < n; i++)
        bytes += infos[i].type == ESP_TYPE_STRING && !infos[i].replica ? infos[i].bytes_in : 0;
    esp_data_free(infos);
    return bytes;
}

/* A sequence sends an array of them once, and another when one of them has changed. */
static int in_sequence(const char *server)
{
    enum { LENGTH = 20000, PACKED = 8 + 3 * (8 + LENGTH + 1) };
    static char first[LENGTH + 1], second[LENGTH + 1];
    grpc_function_handle_t numbered;
    static const char *texts[] = {first, second, first};
    static char *numbers[3]; /* not where data were before, on the stack */
    static int lengths[3];
    memset(first, 'a', LENGTH);
    memset(second, 'b', LENGTH);
    MUST(grpc_function_handle_init(&numbered, (char *)server, (char *)"numbered"));
    const unsigned long long before = received();
    MUST(esp_sequence_begin());
    for (int i = 0; i < 3; i++) {
        MUST(grpc_call(&numbered, 3, texts, lengths, numbers));
        HOLDS(lengths[1] == LENGTH && numbers[1][0] == (i == 2 ? 'c' : 'b') && numbers[2][0] == 'a');
        for (int k = 0; k < 3; k++)
            free(numbers[k]);
        HOLDS(received() - before == (i == 2 ? 2 : 1) * PACKED);
        if (i == 1)
            second[0] = 'c';
    }
    MUST(esp_sequence_end());
    HOLDS(received() == before);
    return 0;
}

int main(int argc, char **argv)
{
    const char *server = argc > 1 ? argv[1] : "";
    const char *texts[] = {"one", "", "two and\nmore"};
    struct esp_argument array = {.data = texts, .type = ESP_TYPE_STRING, .n_dims = 1, .dims = {3}};
    char *id = NULL;
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    MUST(esp_data_put("A", &array, ESP_DATA_PERSISTENT, NULL, NULL, &id));
    /* The first: what the others let go of may go a little later. */
    int failed = in_sequence(server) || takes_and_leaves(server, id) || changes(server, id) ||
                 refuses(server, id) || described(server, id);
    MUST(esp_data_drop(id));
    free(id);
    grpc_finalize();
    return failed;
}
