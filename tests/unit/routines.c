/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines that behave, and routines that misbehave, for the tests of workers. A shared library of its own.
 */
#include <complex.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* These routines make mistakes that the worker must notice. */
#define ROUTINE __attribute__((visibility("default"), noinline, no_sanitize("undefined")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- calling conventions ---- */

ROUTINE double add_c(char a, short b, int c, int64_t d, float e, double f)
{
    return a + b + c + (double)d + e + f;
}

ROUTINE void scalars_out(int n, int *doubled, double *halved, float complex *turned)
{
    *doubled = 2 * n;
    *halved = n / 2.0;
    *turned = n * I;
}

ROUTINE short negative(short n)
{
    return (short)-n;
}

ROUTINE double complex zconj(double complex z)
{
    return conj(z);
}

ROUTINE int length_of(const char *text)
{
    return (int)strlen(text);
}

/* subroutine lengths(one, name, n, l1, l2) with character one, character*(*) name */
ROUTINE void lengths_(const char *one, const char *name, const int32_t *n, int32_t *l1, int32_t *l2,
                      size_t h1, size_t h2)
{
    (void)one;
    (void)name;
    *l1 = (int32_t)h1;
    *l2 = (int32_t)h2 + *n * 1000;
}

/* Works as LAPACK's routines do: with *size -1 it returns the size that it likes, otherwise it uses all of
 * it (and one element more when *beyond). */
ROUTINE void asked_(const int32_t *likes, float *work, const int32_t *size, int32_t *was,
                    const int32_t *beyond)
{
    *was = *size;
    if (*size < 0)
        work[0] = (float)*likes;
    for (int32_t i = 0; i < *size + (*size >= 0 && *beyond ? 16 : 0); i++)
        work[i] = 1;
}

ROUTINE void fill(int n, double value, double *x)
{
    for (int i = 0; i < n; i++)
        x[i] = value;
}

/* Works on up to 10000 numbers, and crashes on more. */
ROUTINE void rough(int n, double *x)
{
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < n; i++)
            x[i] = 0.5 * x[i] + round;
    if (n > 10000)
        raise(SIGSEGV);
}

ROUTINE int status_of(int n)
{
    return n;
}

ROUTINE int niceness(int n)
{
    return nice(0) + n;
}

/* 1 when so many megabytes can be had. */
ROUTINE int can_allocate(int megabytes)
{
    char *memory = malloc((size_t)megabytes << 20);
    int there = memory != NULL;
    free(memory);
    return there;
}

/* Takes and touches so much memory; 0 when there was none. */
ROUTINE int hoard(int mib, int keep)
{
    size_t bytes = (size_t)mib << 20;
    volatile char *memory = malloc(bytes);
    if (!memory)
        return 0;
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    if (!keep)
        free((void *)memory);
    return 1;
}

/* ---- misbehaviour ---- */

/* Never looks whether it got any. */
ROUTINE void hoard_blindly(int mib)
{
    volatile char *memory = malloc((size_t)mib << 20);
    memory[0] = 1;
    free((void *)memory);
}

ROUTINE void null_write(int n)
{
    *(volatile int *)(intptr_t)(n * 0) = n;
}

ROUTINE void overrun(int n, int by, double *x)
{
    for (int i = 0; i < n + by; i++)
        ((volatile double *)x)[i] = i;
}

ROUTINE void read_beyond(int n, int by, int then_write, double *x)
{
    volatile char *end = (volatile char *)(x + n);
    char found = end[by];
    if (then_write)
        end[by] = found;
}

ROUTINE void underrun(int n, int by, double *x)
{
    for (int i = n - 1; i >= -by; i--)
        ((volatile double *)x)[i] = i;
}

ROUTINE void write_at(int n, int at, double *y)
{
    (void)n;
    ((volatile double *)y)[at] = 7;
}

ROUTINE void write_beside(int n, int at, double *y, double *z, double *w)
{
    for (int i = 0; i < n; i++)
        y[i] = z[i] = w[i] = 1;
    ((volatile double *)z)[at] = 7;
}

ROUTINE void write_input(int n, const double *x, double *y)
{
    ((volatile double *)(uintptr_t)x)[0] = n;
    y[0] = n;
}

ROUTINE void leave(int code)
{
    fprintf(stderr, "leaving now\n");
    exit(code);
}

ROUTINE void leave_at_once(int code)
{
    _exit(code);
}

ROUTINE void give_up(int n)
{
    (void)n;
    abort();
}

ROUTINE void raise_signal(int n)
{
    kill(getpid(), n);
}

ROUTINE void spin(int ms, int *done)
{
    for (int i = 0; i < ms; i++)
        usleep(1000);
    *done = 1;
}

ROUTINE void spin_for_ever(int n)
{
    for (volatile int i = 0; n; i++)
        if (i < 0)
            i = 0;
}

ROUTINE void fill_for_ever(int n, double *x)
{
    for (int i = 0;; i = (i + 1) % n)
        ((volatile double *)x)[i] = i;
}

/* A child of the routine's own that would live for a minute. */
ROUTINE void leave_a_child(int n, int *pid)
{
    int child = (int)fork();
    if (child == 0) {
        sleep(60);
        _exit(0);
    }
    *pid = child;
    if (n)
        for (;;)
            pause();
}

/* Runs in a session of its own, its parent gone at once, as daemons begin. */
ROUTINE void leave_a_daemon(int n, int *pid)
{
    int ends[2], daemon = n;
    if (pipe(ends) != 0)
        return;
    int parent = (int)fork();
    if (parent == 0) {
        setsid();
        daemon = (int)fork();
        if (daemon == 0) {
            sleep(60);
            _exit(0);
        }
        _exit(write(ends[1], &daemon, sizeof daemon) == sizeof daemon ? 0 : 1);
    }
    *pid = read(ends[0], &daemon, sizeof daemon) == sizeof daemon ? daemon : 0;
    waitpid(parent, NULL, 0);
    close(ends[0]);
    close(ends[1]);
}

static void recurse(volatile char *above)
{
    volatile char here[4096];
    here[0] = *above;
    if (here[0] != 127)
        recurse(here);
    here[1] = here[0];
}

ROUTINE void use_up_the_stack(int n)
{
    volatile char first = (char)n;
    recurse(&first);
}

/* ---- leaving a mess, and looking whether one is there ---- */

ROUTINE void make_a_mess(int n)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGSEGV, SIG_IGN);
    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO);
    umask(0);
    FILE *file = fopen("left-behind", "w");
    if (file)
        fclose(file);
    if (chdir("/") != 0 || n < 0)
        abort();
}

ROUTINE int find_a_mess(int n)
{
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    mode_t mask = umask(077);
    char folder[4096];
    int found = 0;
    found |= sigismember(&now, SIGTERM) ? 1 : 0;
    found |= fegetround() != FE_TONEAREST ? 2 : 0;
    found |= fegetexcept() != 0 ? 4 : 0;
    found |= mask != 077 ? 8 : 0;
    found |= access("left-behind", F_OK) == 0 ? 16 : 0;
    found |= !getcwd(folder, sizeof folder) || strcmp(folder, "/") == 0 ? 32 : 0;
    return found + n;
}

ROUTINE void close_all(int n)
{
    for (int fd = n; fd < 1024; fd++)
        close(fd);
}

ROUTINE void scribble_before(int n, double *x)
{
    memset((char *)x - n, 0x55, (size_t)n);
}

ROUTINE void print_much(int lines)
{
    for (int i = 0; i < lines; i++)
        printf("line %d of what nobody wanted to read, padded so that it is a long one\n", i);
}

ROUTINE void print_bytes(int n)
{
    for (int i = 0; i < n; i++)
        putchar('x');
}

ROUTINE void print_line(int n)
{
    printf("the answer is %d\n", n);
}

ROUTINE int open_descriptors(int n)
{
    int open = 0;
    for (int fd = n; fd < 1024; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

/* ---- what the worker offers ---- */

void esp_progress(double fraction); /* espalier_server.h */

ROUTINE void steps(int n)
{
    for (int i = 1; i <= n; i++) {
        struct timespec pause = {.tv_nsec = 50000000};
        esp_progress((double)i / n);
        printf("step %d\n", i);
        nanosleep(&pause, NULL);
    }
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
}

ROUTINE void nap(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* ---- a state ---- */

ROUTINE int counter_open(int start, void **state)
{
    if (start < 0)
        return 1;
    int *count = malloc(sizeof *count);
    *count = start;
    *state = count;
    return 0;
}

ROUTINE int counter_add(void *state, int by, int *count)
{
    if (by < 0)
        abort();
    if (by == 0)
        return 1;
    struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, NULL);
    *count = *(int *)state += by;
    return 0;
}

ROUTINE void counter_add_(void **state, const int *by, int *count)
{
    *count = *(int *)*state += *by;
}

ROUTINE void counter_close(void **state)
{
    free(*state);
    *state = NULL;
}

ROUTINE void counter_forget(void **state)
{
    (void)state;
}

/* ---- functions of the caller ---- */

ROUTINE double ask_sum(double (*f)(double), int n)
{
    double sum = 0;
    for (int i = 1; i <= n; i++)
        sum += f(i);
    return sum;
}

ROUTINE void ask_sum_(float (*f)(const int *, const double *), const int *n, double *sum)
{
    *sum = 0;
    for (int i = 1; i <= *n; i++) {
        double half = i / 2.0;
        *sum += (double)f(&i, &half);
    }
}

ROUTINE void ask_vector(void (*f)(int, const double *, double *, short *), int n, double *x, int *flag)
{
    short times = 7;
    double *y = malloc((size_t)(n > 0 ? n : 1) * sizeof *y);
    f(n, x, y, &times);
    if (n > 0)
        memcpy(x, y, (size_t)n * sizeof *y);
    *flag = times;
    free(y);
}

ROUTINE void ask_null(void (*f)(int, const double *, double *, short *), int n)
{
    short times = 1;
    f(n, NULL, NULL, &times);
}

/* ---- strings of callbacks ---- */

typedef char *asks_strings(int i, const char *what, char **got, char **both);

/* The length of all that comes back. `how`: s as it should be, 0 and p null pointers, w an address that leads
 * nowhere, e a string without an end, l one of 1 MB, t two that are too long together, m the longest that may
 * be beside "both", n one byte more. */
ROUTINE int ask_strings(asks_strings *f, char how)
{
    static char large[1 << 20];
    char both_text[] = "both", *got = NULL, *both = both_text;
    const char *what = "what";
    if (how == '0')
        what = NULL;
    if (how == 'w')
        what = (const char *)16;
    if (how == 'e') {
        char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(pages, 'x', 8192);
        munmap(pages + 4096, 4096);
        what = pages;
    }
    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = 0;
    if (how == 'l')
        what = large;
    if (how == 't') {
        large[40000] = 0;
        what = both = large;
    }
    if (how == 'm' || how == 'n') { /* i, two lengths and "both" take 16 bytes each */
        large[65536 - 64 - (how == 'm')] = 0;
        what = large;
    }
    char *returned = f(7, what, how == 'p' ? NULL : &got, &both);
    const size_t length = strlen(returned) + strlen(got) + strlen(both);
    free(returned);
    free(got);
    free(both);
    return (int)length;
}

/* subroutine f(c, what, got, both) with character c, character(*) what, got, both */
typedef void asks_characters(const char *c, const char *what, char *got, char *both, size_t one,
                             size_t n_what, size_t n_got, size_t n_both);

ROUTINE void ask_strings_(asks_characters *f, const int32_t *room, int32_t *flag)
{
    char got[20], both[20];
    memset(got, 'z', sizeof got);
    memcpy(both, "both  zz", 8);
    f("c", "what   zz", got, both, 1, 7, (size_t)*room, 6);
    *flag = memcmp(got, "got  zzz", 8) == 0 ? 1 : 0;
    *flag |= memcmp(both, "got   zz", 8) == 0 ? 2 : 0;
}

typedef void asks_outer(const double *x, double *y, int k, const double *z);

ROUTINE double ask_outer(asks_outer *f, int m, int n)
{
    double *x = calloc((size_t)(m * n + 1), sizeof *x), *y = calloc((size_t)(2 * m) + 1, sizeof *y), sum = 0;
    f(x, y, 2, x);
    for (int i = 0; i <= 2 * m; i++) /* the last one is not the function's */
        sum += y[i];
    free(x);
    free(y);
    return sum;
}

/* ---- files ---- */

static char *name_of_call; /* the folder of the last call's files */

static int copy_file(const char *from, const char *to, const char *mode)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, mode);
    int n = 0;
    for (int c; in && out && (c = getc(in)) != EOF; n++)
        putc(c, out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return in && out ? n : -1;
}

/* 0: all as it should be. `how`: d writes the result again, s writes over the paths, n writes nothing, m a
 * folder, l a link in the place of the result, a is content with the file that goes in and comes back, u
 * removes it. */
ROUTINE int use_files(char *in, char *out, char *both, char how)
{
    struct stat is;
    const char *slash = strrchr(in, '/');
    free(name_of_call);
    name_of_call = strndup(in, (size_t)(slash - in));
    if (in[0] != '/' || stat(name_of_call, &is) != 0 || (is.st_mode & 077) || stat(out, &is) == 0)
        return 100;
    if (how == 'n')
        return 0;
    if (how == 'm')
        return mkdir(out, 0700);
    if (how == 'l')
        return symlink("/etc/passwd", out);
    if (how == 'u')
        return unlink(both) || copy_file(in, out, "wb") < 0;
    if (how == 'r') /* a routine may write into its private copy */
        return copy_file(both, in, "ab") < 0 || copy_file(in, out, "wb") < 0;
    int n = copy_file(in, out, "wb");
    if (how == 'd')
        n += copy_file(in, out, "ab");
    if (n < 0 || (how != 'a' && copy_file(in, both, "ab") < 0))
        return 101;
    if (how == 's')
        for (size_t i = strlen(out); i > 0; i--)
            in[0] = out[i - 1] = both[0] = 'x';
    return 0;
}

ROUTINE int file_is_gone(void)
{
    struct stat is;
    return name_of_call && stat(name_of_call, &is) != 0;
}

/* subroutine path(in, out, length) with character(*) in, out */
ROUTINE void use_paths_(const char *in, const char *out, int32_t *length, size_t in_length, size_t out_length)
{
    char *from = strndup(in, in_length), *to = strndup(out, out_length);
    *length = copy_file(from, to, "wb") < 0 || strcmp(strrchr(to, '/'), "/copy.dat") != 0
                  ? -1
                  : (int32_t)(in_length + strlen("copy.dat") - strlen("data") - out_length);
    free(from);
    free(to);
}

ROUTINE int crash_with_file(const char *in)
{
    int *nowhere = NULL;
    *nowhere = in[0];
    return 0;
}

ROUTINE void write_beyond_path(char *in)
{
    in[strlen(in) + 1] = 'x';
}
