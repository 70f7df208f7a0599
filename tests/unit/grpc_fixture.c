/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/grpc_fixture.h"
#include "client/api/life.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct transport *fake;
static char config_path[64];

enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    (void)settings;
    (void)error;
    *transport = fake;
    return ESP_OK;
}

char *write_config(const char *text)
{
    if (!*config_path) {
        strcpy(config_path, "/tmp/espalier-unit.XXXXXX");
        int fd = mkstemp(config_path);
        assert_true(fd >= 0);
        close(fd);
    }
    FILE *file = fopen(config_path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return config_path;
}

int set_up_fake(void **state)
{
    (void)state;
    fake = fake_create();
    return 0;
}

void initialize(void)
{
    assert_int_equal(grpc_initialize(write_config("redirector = \"red:1\"\nagent_patience = \"150 ms\"\n"
                                                  "silence_patience = 0\n")),
                     GRPC_NO_ERROR);
}

void initialize_with_agents(void)
{
    assert_int_equal(
        grpc_initialize(write_config("agents = {\"ma1:1\", \"ma2:1\"}\nagent_patience = \"150 ms\"\n"
                                     "silence_patience = 0\n")),
        GRPC_NO_ERROR);
}

int set_up_library(void **state)
{
    set_up_fake(state);
    initialize();
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    grpc_finalize();
    fake_destroy(fake);
    if (*config_path)
        unlink(config_path);
    *config_path = 0;
    return 0;
}

grpc_function_handle_t make_handle(const char *problem)
{
    grpc_function_handle_t handle;
    assert_int_equal(grpc_function_handle_default(&handle, (char *)problem), GRPC_NO_ERROR);
    return handle;
}
