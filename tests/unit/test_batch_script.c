/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_record.h"
#include "sed/batch/batch_script.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/espalier-script-it's \"odd\"-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[200];
    (void)state;
    if (chdir("/") != 0)
        return -1;
    setenv("FOLDER", folder, 1);
    snprintf(command, sizeof command, "rm -rf \"$FOLDER\"");
    return system(command);
}

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static size_t read_file(const char *name, char *text, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    return n;
}

/* Runs the script of these words as that job of the batch system; its exit code. */
static int run_words(const char *const *words, const char *id)
{
    char command[400], *script = NULL;
    struct esp_error error = {0};
    assert_int_equal(batch_script_make("espalier-1", folder, "$JOB", words, &script, &error), ESP_OK);
    write_file(BATCH_FILE_SCRIPT, script);
    free(script);
    setenv("FOLDER", folder, 1);
    setenv("JOB", id, 1);
    snprintf(command, sizeof command,
             "cd / && sh \"$FOLDER/script\" >\"$FOLDER/output\" 2>\"$FOLDER/errors\"");
    const int status = system(command);
    return WEXITSTATUS(status);
}

static void clear(void)
{
    static const char *const names[] = {"owner", "exit", "started"};
    char path[200];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

static int32_t exit_in_file(void)
{
    char text[64];
    const size_t n = read_file(BATCH_FILE_EXIT, text, sizeof text);
    return batch_script_read_exit(text, n);
}

static void a_script_leaves_the_exit_code_of_its_command(void **state)
{
    static const int codes[] = {0, 1, 3, 127, 255};
    char text[200];
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char program[32];
        snprintf(program, sizeof program, "exit %d", codes[i]);
        const char *const words[] = {"sh", "-c", program, NULL};
        clear();
        assert_int_equal(run_words(words, "7"), codes[i]);
        assert_int_equal(exit_in_file(), codes[i]);
        assert_true(read_file(BATCH_FILE_STARTED, text, sizeof text) > 10);
    }
    const char *const killed[] = {"sh", "-c", "kill -TERM $$", NULL};
    clear();
    run_words(killed, "7");
    assert_int_equal(exit_in_file(), 128 + 15);
    const char *const missing[] = {"/nowhere/at-all", NULL};
    clear();
    run_words(missing, "7");
    assert_int_equal(exit_in_file(), 127);
}

static void a_second_job_in_the_same_folder_does_nothing(void **state)
{
    char text[100];
    const char *const words[] = {"sh", "-c", "echo run >>runs", NULL};
    (void)state;
    clear();
    assert_int_equal(run_words(words, "7"), 0);
    assert_int_equal(run_words(words, "8"), 0);
    read_file("runs", text, sizeof text);
    assert_string_equal(text, "run\n");
    assert_int_equal(run_words(words, "7"), 0); /* the first one, requeued */
    read_file("runs", text, sizeof text);
    assert_string_equal(text, "run\nrun\n");
}

static void a_requeued_job_takes_back_its_earlier_exit_code(void **state)
{
    const char *const words[] = {"sh", "-c", "test ! -e exit", NULL};
    (void)state;
    clear();
    assert_int_equal(run_words(words, "7"), 0);
    assert_int_equal(run_words(words, "7"), 0);
    assert_int_equal(exit_in_file(), 0);
}

static void random_word(struct random *random, char *word, size_t size)
{
    static const char dangerous[] = "'\"\\$`\n\t *?!#;&|<>(){}[]~%-=\xc3\xa9";
    const size_t n = random_below(random, size);
    for (size_t i = 0; i < n; i++)
        word[i] = random_below(random, 3) ? dangerous[random_below(random, sizeof dangerous - 1)]
                                          : (char)(1 + random_below(random, 255));
    word[n] = 0;
}

/* A shell hands each word to the command as it was, whatever bytes it has. */
static void words_arrive_as_they_are(void **state)
{
    enum { N = 12, SIZE = 40 };
    struct random random;
    static char texts[N][SIZE], got[N * SIZE + 100], expected[N * SIZE + 100];
    (void)state;
    random_seed(&random, 3);
    for (int trial = 0; trial < TRIALS(100); trial++) {
        const char *words[N + 3] = {"printf", "%s|"};
        size_t length = 0;
        for (int i = 0; i < N; i++) {
            random_word(&random, texts[i], SIZE);
            words[2 + i] = texts[i];
            length += (size_t)sprintf(expected + length, "%s|", texts[i]);
        }
        clear();
        assert_int_equal(run_words(words, "7"), 0);
        assert_int_equal(read_file(BATCH_FILE_OUTPUT, got, sizeof got), length);
        assert_memory_equal(got, expected, length);
    }
}

static void a_quoted_word_is_cut_and_counted(void **state)
{
    char text[8];
    (void)state;
    assert_int_equal(batch_script_quote(text, sizeof text, 0, "a'b"), 8);
    assert_string_equal(text, "'a'\\''b");
    assert_int_equal(batch_script_quote(NULL, 0, 0, "a'b"), 8);
}

static void a_script_has_a_limit(void **state)
{
    char *word = malloc(BATCH_SCRIPT_BYTES + 1), *script = NULL;
    struct esp_error error = {0};
    (void)state;
    assert_non_null(word);
    memset(word, 'x', BATCH_SCRIPT_BYTES);
    word[BATCH_SCRIPT_BYTES] = 0;
    const char *const words[] = {word, NULL}, *const none[] = {NULL};
    assert_int_equal(batch_script_make("n", folder, "$$", words, &script, &error), ESP_LIMIT);
    assert_int_equal(batch_script_make("n", folder, "$$", none, &script, &error), ESP_INVALID);
    assert_null(script);
    free(word);
}

static void half_an_exit_code_is_none(void **state)
{
    static const char *const bad[] = {"", "0", "\n", "12", "256\n", "-1\n", "1 \n", "0\n\n", "1234\n", "x\n"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(batch_script_read_exit(bad[i], strlen(bad[i])), -1);
    assert_int_equal(batch_script_read_exit("0\n", 2), 0);
    assert_int_equal(batch_script_read_exit("255\n", 4), 255);
}

/* ---- records ---- */

static void a_record_is_read_as_it_was_written(void **state)
{
    struct random random;
    char text[BATCH_RECORD_BYTES];
    struct esp_error error = {0};
    (void)state;
    random_seed(&random, 5);
    for (int trial = 0; trial < TRIALS(2000); trial++) {
        struct batch_record record = {.name = "espalier-0123456789abcdef",
                                      .state = (enum batch_state)random_below(&random, BATCH_N_STATES),
                                      .cancel_wanted = random_below(&random, 2),
                                      .time_s = (int64_t)random_below(&random, 1000000),
                                      .cores = (uint32_t)random_below(&random, 1000),
                                      .memory_mb = random_below(&random, 1000000),
                                      .created_s = (int64_t)random_below(&random, 1u << 31),
                                      .started_s = (int64_t)random_below(&random, 1u << 31),
                                      .exit_code = (int32_t)random_below(&random, 257) - 1,
                                      .error.status = (enum esp_status)random_below(&random, 25)},
                            back;
        if (random_below(&random, 2))
            snprintf(record.id, sizeof record.id, "%d", trial);
        random_word(&random, record.error.text, sizeof record.error.text);
        const size_t length = batch_record_write(&record, text);
        assert_true(length < sizeof text);
        assert_int_equal(batch_record_read(text, length, &back, &error), ESP_OK);
        assert_string_equal(back.name, record.name);
        assert_string_equal(back.id, record.id);
        assert_string_equal(back.error.text, record.error.text);
        assert_int_equal(back.state, record.state);
        assert_int_equal(back.cancel_wanted, record.cancel_wanted);
        assert_int_equal(back.time_s, record.time_s);
        assert_int_equal(back.exit_code, record.exit_code);
        assert_int_equal(back.error.status, record.error.status);
        /* A record that was cut is none. */
        assert_int_equal(batch_record_read(text, random_below(&random, length - 1), &back, &error),
                         ESP_SYNTAX);
    }
}

static void a_damaged_record_is_told_by_its_line(void **state)
{
    static const char *const bad[][2] = {
        {"hello\nend\n", "line 1"},
        {"espalier-batch-job 1\nstate SLEEPING\nend\n", "line 2: expected state, found \"SLEEPING\""},
        {"espalier-batch-job 1\nname x\ntime soon\nend\n", "line 3: expected time, found \"soon\""},
        {"espalier-batch-job 1\nname\nend\n", "line 2: expected a key and a value"},
        {"espalier-batch-job 1\nname x\n", "ends in \"end\""},
    };
    struct batch_record record;
    struct esp_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(batch_record_read(bad[i][0], strlen(bad[i][0]), &record, &error), ESP_SYNTAX);
        assert_non_null(strstr(error.text, bad[i][1]));
    }
    static const char later[] = "espalier-batch-job 1\nname x\ncolour green\nend\n";
    assert_int_equal(batch_record_read(later, strlen(later), &record, &error), ESP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_leaves_the_exit_code_of_its_command),
        cmocka_unit_test(a_second_job_in_the_same_folder_does_nothing),
        cmocka_unit_test(a_requeued_job_takes_back_its_earlier_exit_code),
        cmocka_unit_test(words_arrive_as_they_are),
        cmocka_unit_test(a_quoted_word_is_cut_and_counted),
        cmocka_unit_test(a_script_has_a_limit),
        cmocka_unit_test(half_an_exit_code_is_none),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(a_damaged_record_is_told_by_its_line),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
