/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "services/node_name.h"
#include "services/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct esp_error error;

static void a_server_needs_only_its_parent(void **state)
{
    (void)state;
    struct settings_sed sed;
    assert_int_equal(settings_parse(SETTINGS_SED,
                                    "name = \"node7\"\nparent = \"la-lyon.example.org\"\n"
                                    "slots = 4\nproblems = { \"/a\", \"/b\" }\n",
                                    "sed.conf", &sed, &error),
                     ESP_OK);
    assert_string_equal(sed.node.name, "node7");
    assert_string_equal(sed.parent, "la-lyon.example.org:4780");
    assert_int_equal(sed.slots, 4);
    assert_string_equal(sed.problems.items[1], "/b");
    assert_string_equal(sed.node.listen, "127.0.0.1:0");
    assert_int_equal(sed.node.message_bytes, 8 << 20);
    assert_int_equal(sed.node.log_level, LOG_NOTICE_LEVEL);
    settings_destroy(&sed.arena);
}

static void what_is_left_out_follows_the_machine(void **state)
{
    (void)state;
    struct settings_sed sed;
    assert_int_equal(settings_parse(SETTINGS_SED, "parent = a", "sed.conf", &sed, &error), ESP_OK);
    assert_true(sed.slots >= 1);
    assert_true(sed.memory_bytes == 0); /* what others leave of the machine's is seen at the start */
    assert_int_equal(sed.problems.n, 1);
    assert_true(strlen(sed.node.name) > 0);
    settings_destroy(&sed.arena);
}

static void is_named(enum settings_kind kind, const char *text, const char *end)
{
    union {
        struct arena arena;
        struct settings_agent agent;
        struct settings_sed sed;
    } settings;
    char host[128] = "", expected[200];
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "%s-%s-%s", host, settings_kind_name(kind), end);
    assert_int_equal(settings_parse(kind, text, "x.conf", &settings, &error), ESP_OK);
    const char *name = kind == SETTINGS_AGENT ? settings.agent.node.name : settings.sed.node.name;
    assert_memory_equal(name, expected, strlen(expected));
    settings_destroy(&settings.arena);
}

static void nameless_nodes_of_one_host_have_different_names(void **state)
{
    (void)state;
    char pid[32];
    snprintf(pid, sizeof pid, "pid%ld", (long)getpid());
    is_named(SETTINGS_SED, "parent = a\nlisten = \"127.0.0.1:4781\"", "4781");
    is_named(SETTINGS_SED, "parent = a\nlisten = \"[::1]:4782\"", "4782");
    is_named(SETTINGS_AGENT, "listen = \"127.0.0.1:4781\"", "4781");
    is_named(SETTINGS_SED, "parent = a", pid);
    struct arena arena = {0};
    const char *one = node_name_default("sed", "127.0.0.1:0", "/var/lib/one", &arena);
    const char *other = node_name_default("sed", "127.0.0.1:0", "/var/lib/other", &arena);
    assert_string_not_equal(one, other);
    assert_string_equal(node_name_default("sed", "127.0.0.1:0", "/var/lib/one/", &arena), one);
    arena_clear(&arena);
}

static void fails(enum settings_kind kind, const char *text, enum esp_status status, const char *message)
{
    union {
        struct settings_client client;
        struct settings_agent agent;
        struct settings_sed sed;
        struct settings_redirector redirector;
        struct settings_platform platform;
    } settings;
    assert_int_equal(settings_parse(kind, text, "x.conf", &settings, &error), status);
    assert_string_equal(error.text, message);
}

static void names_are_one_word(void **state)
{
    (void)state;
    fails(SETTINGS_SED, "name = \"node 7\"\nparent = a\nproblems = p", ESP_CONFIG,
          "x.conf: name: expected a name without blanks, such as \"node7\", found \"node 7\"");
    fails(SETTINGS_AGENT, "name = \"\"", ESP_CONFIG,
          "x.conf: name: expected a name without blanks, such as \"node7\", found \"\"");
    fails(SETTINGS_AGENT, "name = \"a\\tb\"", ESP_CONFIG,
          "x.conf: name: expected no control characters, found code 9 as character 2");
    fails(SETTINGS_PLATFORM, "problems = p\nmaster \"M A\" { }", ESP_CONFIG,
          "x.conf: \"M A\": name: expected a name without blanks, such as \"node7\", found \"M A\"");
    fails(SETTINGS_PLATFORM, "problems = p\nmaster M { }\nserver \"x/y\" { parent = M }", ESP_CONFIG,
          "x.conf: name: the daemon's files bear it, too: expected at most 127 bytes without \"/\" and not "
          "beginning with \".\", found 3: \"x/y\"");
    char text[512] = "name = ";
    memset(text + strlen(text), 'n', 300);
    fails(SETTINGS_AGENT, text, ESP_CONFIG,
          "x.conf: name: expected at most 255 bytes, found 300: "
          "\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...\"");
}

static void beyond_loopback_wants_tls(void **state)
{
    (void)state;
    fails(SETTINGS_REDIRECTOR, "listen = \"192.0.2.1:4780\"", ESP_CONFIG,
          "x.conf: listen = \"192.0.2.1:4780\" is beyond loopback: expected tls_ca, tls_certificate and "
          "tls_key, or insecure = yes, found neither");
    struct settings_redirector redirector;
    const char *good[] = {"listen = \"192.0.2.1:1\"\ninsecure = yes",
                          "listen = 192.0.2.1\ntls_ca = a\ntls_key = b\ntls_certificate = c",
                          "listen = \"[::1]:0\"", "listen = localhost",
                          "listen = localhost\nadministrators = { alice }"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(settings_parse(SETTINGS_REDIRECTOR, good[i], "x.conf", &redirector, &error), ESP_OK);
        assert_int_equal(redirector.node.administrators.n, i == 4);
        settings_destroy(&redirector.arena);
    }
    fails(SETTINGS_REDIRECTOR, "tls_ca = a", ESP_CONFIG,
          "x.conf: expected all of tls_ca, tls_certificate and tls_key, or none of them, found 1");
}

static void this_machine_is_known_by_its_names(void **state)
{
    (void)state;
    char own[256] = "", other[sizeof own + 2];
    assert_int_equal(gethostname(own, sizeof own - 1), 0);
    snprintf(other, sizeof other, "%sx", own);
    assert_true(settings_is_here(NULL));
    assert_true(settings_is_here("localhost"));
    assert_true(settings_is_here("127.0.0.1"));
    assert_true(settings_is_here(own));
    assert_false(settings_is_here(other));
    assert_false(settings_is_here(""));
    own[strcspn(own, ".")] = '\0';
    assert_true(settings_is_here(own));
    own[strlen(own) - 1] = '\0';
    assert_false(settings_is_here(own));
}

static void keys_must_fit_together(void **state)
{
    (void)state;
    fails(SETTINGS_SED, "", ESP_CONFIG,
          "x.conf: expected the key \"parent\" (address of the parent agent), found none");
    fails(SETTINGS_SED, "parent = a\nslotz = 4", ESP_CONFIG,
          "x.conf:2: unknown key \"slotz\": did you mean \"slots\"?");
    fails(SETTINGS_AGENT, "parent = a\nredirector = b", ESP_CONFIG,
          "x.conf: expected parent (a leader agent) or redirector (a master agent), found both");
    assert_int_equal(
        settings_parse(SETTINGS_AGENT, "scheduler = dice", "x.conf", &(struct settings_agent){0}, &error),
        ESP_CONFIG);
    assert_non_null(strstr(error.text, "x.conf: scheduler: expected mct"));
    fails(SETTINGS_AGENT, "heartbeat = 4s\nlease = 5s", ESP_CONFIG,
          "x.conf: expected a lease of at least two heartbeats, or one late message ends it");
    fails(SETTINGS_CLIENT, "redirector = a\nagents = { b }", ESP_CONFIG,
          "x.conf: expected the key \"redirector\" or the key \"agents\", found both");
    fails(SETTINGS_CLIENT, "agents = { a }\nredirectors = { b }", ESP_CONFIG,
          "x.conf: expected the key \"redirector\" beside \"redirectors\", found none");
    fails(SETTINGS_AGENT, "redirectors = { b }", ESP_CONFIG,
          "x.conf: expected the key \"redirector\" beside \"redirectors\", found none");
}

static void a_directory_is_one_that_daemons_can_read(void **state)
{
    (void)state;
    const enum settings_kind kinds[] = {SETTINGS_AGENT, SETTINGS_SED};
    for (size_t i = 0; i < 2; i++) {
        fails(kinds[i], "directory = \"ldap://h\"", ESP_CONFIG,
              "x.conf: directory: expected \"ldap://HOST/BASE\" (or ldaps, ldapi), such as "
              "\"ldap://ldap.example.org/ou=espalier,dc=example,dc=org\", or \"file:/PATH\", found "
              "\"ldap://h\"");
        fails(kinds[i], "directory = \"file:site.ldif\"", ESP_CONFIG,
              "x.conf: directory: expected a whole path, such as \"file:/srv/espalier/site.ldif\", found "
              "\"file:site.ldif\": daemons have no folder that it could begin in");
        fails(kinds[i], "directory = \"ldaps://h/ou=x\" directory_starttls = yes", ESP_CONFIG,
              "x.conf: directory_starttls = yes: expected a directory of ldap://, found \"ldaps://h/ou=x\", "
              "which "
              "is encrypted from the beginning");
        fails(kinds[i], "directory = \"ldap://h/ou=x\" directory_bind = \"cn=a\"", ESP_CONFIG,
              "x.conf: directory_bind = \"cn=a\": expected the key \"directory_password_file\" (or "
              "\"directory_sasl\") beside it, found neither: who gives no password is nobody");
    }
}

static void an_agent_without_parent_is_a_master(void **state)
{
    (void)state;
    struct settings_agent agent;
    assert_int_equal(settings_parse(SETTINGS_AGENT, "redirector = r\nfreshness = 0", "x", &agent, &error),
                     ESP_OK);
    assert_true(settings_agent_is_master(&agent));
    assert_string_equal(agent.redirector, "r:4780");
    assert_int_equal(agent.freshness_ns, 0);
    settings_destroy(&agent.arena);
    assert_int_equal(
        settings_parse(SETTINGS_AGENT, "redirector = r\nredirectors = { s, \"t:1\" }", "x", &agent, &error),
        ESP_OK);
    assert_int_equal(agent.redirectors.n, 2);
    assert_string_equal(agent.redirectors.items[0], "s:4780");
    settings_destroy(&agent.arena);
    assert_int_equal(settings_parse(SETTINGS_AGENT, "parent = \"p:1\"", "x", &agent, &error), ESP_OK);
    assert_false(settings_agent_is_master(&agent));
    settings_destroy(&agent.arena);
}

#define TREE                                                                                                 \
    "redirector { }\nmaster \"MA1\" { }\nleader \"LA1\" { parent = \"MA1\" }\n"                              \
    "leader \"LA2\" { parent = \"LA1\" breadth = 4 }\n"

static void a_platform_is_a_tree(void **state)
{
    (void)state;
    struct settings_platform platform;
    assert_int_equal(settings_parse(SETTINGS_PLATFORM,
                                    "problems = { \"p\" }\n" TREE
                                    "server \"SeD1\" {\n parent = \"LA2\"\n cpu_quota = 30%\n slots = 1\n}\n",
                                    "x", &platform, &error),
                     ESP_OK);
    assert_int_equal(platform.n_redirectors, 1);
    assert_int_equal(platform.n_masters, 1);
    assert_int_equal(platform.n_leaders, 2);
    assert_string_equal(platform.leaders[1].agent.node.name, "LA2");
    assert_string_equal(platform.leaders[1].parent, "LA1");
    assert_int_equal(platform.leaders[1].agent.breadth, 4);
    assert_null(platform.leaders[1].agent.parent);
    const struct platform_server *server = &platform.servers[0];
    assert_true(server->cpu_quota > 0.299 && server->cpu_quota < 0.301);
    assert_int_equal(server->sed.slots, 1);
    assert_string_equal(server->sed.problems.items[0], "p");
    settings_destroy(&platform.arena);
    assert_int_equal(
        settings_parse(SETTINGS_PLATFORM, TREE "server \"s\" { parent = \"LA1\" }", "x", &platform, &error),
        ESP_OK);
    assert_int_equal(platform.servers[0].sed.problems.n, 0); /* the program that starts it may still choose */
    settings_destroy(&platform.arena);
}

static void a_platform_that_is_none_is_refused(void **state)
{
    (void)state;
    fails(SETTINGS_PLATFORM, "server \"s\" { parent = \"m\" }", ESP_CONFIG,
          "x.conf: expected at least one section \"master\", found none");
    fails(
        SETTINGS_PLATFORM, TREE "server \"s\" { parent = \"LA9\" }", ESP_CONFIG,
        "x.conf: \"s\": expected a master or leader as parent, found \"LA9\", which is nowhere in the file");
    fails(SETTINGS_PLATFORM, TREE "server \"s\" { parent = \"LA1\" }\nserver \"t\" { parent = \"s\" }",
          ESP_CONFIG, "x.conf: \"t\": expected a master or leader as parent, found \"s\", which is a server");
    fails(SETTINGS_PLATFORM, TREE "server \"LA1\" { parent = \"LA1\" }", ESP_CONFIG,
          "x.conf: expected one daemon named \"LA1\", found 2");
    fails(SETTINGS_PLATFORM, TREE "leader \"a\" { parent = \"b\" }\nleader \"b\" { parent = \"a\" }",
          ESP_CONFIG, "x.conf: \"a\": its parents lead in a circle, not to a master");
    fails(SETTINGS_PLATFORM, TREE "redirector { name = \"MA1\" }", ESP_CONFIG,
          "x.conf: expected one daemon named \"MA1\", found 2");
    fails(SETTINGS_PLATFORM, TREE "redirector { name = \"x\" }\nserver \"t\" { parent = \"x\" }", ESP_CONFIG,
          "x.conf: \"t\": expected a master or leader as parent, found \"x\", which is a redirector");
    fails(
        SETTINGS_PLATFORM, TREE "server \"s\" { }", ESP_CONFIG,
        "x.conf: section server \"s\": expected the key \"parent\" (name of its parent, a master or leader), "
        "found none");
}

static void what_is_saved_loads_to_the_same(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_settings.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s.conf", folder);
    struct settings_sed one, two;
    assert_int_equal(settings_parse(SETTINGS_SED,
                                    "parent = \"h:5\"\nparents = { a, b }\nslots = 3\n"
                                    "result_lease = \"90 s\"\nlog_level = debug",
                                    "x", &one, &error),
                     ESP_OK);
    assert_int_equal(settings_save(SETTINGS_SED, &one, "by a test", path, &error), ESP_OK);
    assert_int_equal(settings_load_sed(path, &two, &error), ESP_OK);
    assert_string_equal(two.parent, "h:5");
    assert_int_equal(two.parents.n, 2);
    assert_string_equal(two.parents.items[1], "b:4780");
    assert_int_equal(two.slots, 3);
    assert_int_equal(two.result_lease_ns, 90000000000);
    assert_int_equal(two.node.log_level, LOG_DEBUG_LEVEL);
    assert_string_equal(two.node.name, one.node.name);
    assert_int_equal(settings_check(SETTINGS_SED, path, &error), ESP_OK);
    unlink(path);
    assert_int_equal(settings_check(SETTINGS_SED, path, &error), ESP_NOT_FOUND);
    snprintf(path, sizeof path, "%s/none/s.conf", folder);
    assert_int_equal(settings_save(SETTINGS_SED, &one, NULL, path, &error), ESP_SYSTEM);
    settings_destroy(&one.arena);
    settings_destroy(&two.arena);
    rmdir(folder);
}

/* The samples that are installed are good, and are taken for what they are, under any name. */
static void the_samples_are_good(void **state)
{
    (void)state;
    const struct {
        const char *file;
        enum settings_kind kind;
    } samples[] = {
        {"client.conf", SETTINGS_CLIENT}, {"redirector.conf", SETTINGS_REDIRECTOR},
        {"master.conf", SETTINGS_AGENT},  {"leader.conf", SETTINGS_AGENT},
        {"sed.conf", SETTINGS_SED},       {"platform.conf", SETTINGS_PLATFORM},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[1000];
        enum settings_kind kind;
        char by[SETTINGS_BY];
        snprintf(path, sizeof path, "%s/etc/%s", getenv("top_srcdir") ? getenv("top_srcdir") : ".",
                 samples[i].file);
        /* Certificates are made by the user who installs the sample. */
        if (settings_check(samples[i].kind, path, &error) != ESP_OK &&
            !strstr(error.text, "cannot read the authority's certificate /etc/espalier/ca.pem"))
            fail_msg("%s", error.text);
        assert_int_equal(settings_guess_kind(path, &kind, by, &error), ESP_OK);
        assert_string_equal(by, "by its name");
        assert_int_equal(kind, samples[i].kind);
    }
}

static void the_client_s_file_is_found(void **state)
{
    (void)state;
    char path[1000];
    setenv("ESPALIER_CONFIG", "/x/y.conf", 1);
    settings_client_path(path, sizeof path);
    assert_string_equal(path, "/x/y.conf");
    unsetenv("ESPALIER_CONFIG");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    settings_client_path(path, sizeof path);
    assert_string_equal(path, ESP_SYSCONFDIR "/client.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_needs_only_its_parent),
        cmocka_unit_test(what_is_left_out_follows_the_machine),
        cmocka_unit_test(nameless_nodes_of_one_host_have_different_names),
        cmocka_unit_test(names_are_one_word),
        cmocka_unit_test(beyond_loopback_wants_tls),
        cmocka_unit_test(this_machine_is_known_by_its_names),
        cmocka_unit_test(keys_must_fit_together),
        cmocka_unit_test(a_directory_is_one_that_daemons_can_read),
        cmocka_unit_test(an_agent_without_parent_is_a_master),
        cmocka_unit_test(a_platform_is_a_tree),
        cmocka_unit_test(a_platform_that_is_none_is_refused),
        cmocka_unit_test(what_is_saved_loads_to_the_same),
        cmocka_unit_test(the_samples_are_good),
        cmocka_unit_test(the_client_s_file_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
