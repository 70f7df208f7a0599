/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of the servers in the client's end-to-end tests. */
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN void add(double a, double b, double *c);
SHOWN void twice(int n, double *x, double *y, double *sum);
SHOWN void nap(int ms, int *slept);
SHOWN void rest(int ms);
SHOWN void fill_slowly(int n, double *x);
SHOWN void hold(const char *path, int *held);

void add(double a, double b, double *c)
{
    *c = a + b;
}

void twice(int n, double *x, double *y, double *sum)
{
    *sum = 0;
    for (int i = 0; i < n; i++) {
        y[i] = x[i];
        *sum += x[i];
        x[i] *= 2;
    }
}

void nap(int ms, int *slept)
{
    usleep((useconds_t)ms * 1000);
    *slept = ms;
}

/* The first element, half a second, the others. */
void fill_slowly(int n, double *x)
{
    x[0] = 1;
    usleep(500000);
    for (int i = 1; i < n; i++)
        x[i] = 1;
}

void rest(int ms)
{
    usleep((useconds_t)ms * 1000);
}

void hold(const char *path, int *held)
{
    while (access(path, F_OK) != 0)
        usleep(10000);
    *held = 1;
}
