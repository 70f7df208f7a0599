/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/mpi/far_rig.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/far-ranks-XXXXXX";

void far_write(const char *name, const char *text, mode_t mode)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* The program that mpirun runs as "agent HOST COMMAND". */
static void write_agent(void)
{
    char text[2000];
    snprintf(
        text, sizeof text,
        "#!/bin/sh\n"
        "host=$1\n"
        "shift\n"
        "case $host in\n"
        "gone*) echo \"ssh: connect to host $host port 22: No route to host\" >&2; exit 255 ;;\n"
        "silent) echo $$ >%s/silent; exec sleep 100 ;;\n"
        "esac\n"
        "exec unshare -m -u sh -c 'hostname \"$0\" && mount -t tmpfs none %s/sockets && exec sh -c \"$1\"' "
        "\"$host\" \"$*\"\n",
        folder, folder);
    far_write("agent", text, 0700);
}

void far_open(struct rig *to, const char *hosts, struct ranks_options options)
{
    static char paths[3][PATH_MAX]; /* as long as the pools that borrow them */
    snprintf(paths[0], PATH_MAX, "%s/hosts", folder);
    snprintf(paths[1], PATH_MAX, "%s/sockets", folder);
    if (hosts)
        far_write("hosts", hosts, 0600);
    else
        unlink(paths[0]);
    options.hostfile = paths[0];
    options.folder = paths[1];
    options.host = "127.0.0.1";
    open_ranks(to, &options);
}

bool far_is_possible(void)
{
    if (system("unshare -m -u true 2>/dev/null") == 0)
        return true;
    puts("1..0 # SKIP other hosts cannot be played without the right to make namespaces");
    return false;
}

const char *far_folder(void)
{
    return folder;
}

void far_begin(void)
{
    char path[PATH_MAX];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sockets", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_agent();
    snprintf(path, sizeof path, "%s/agent", folder);
    setenv("OMPI_MCA_plm_rsh_agent", path, 1);
    setenv("OMPI_MCA_oob_tcp_if_include", "lo", 1);
    setenv("OMPI_MCA_btl_tcp_if_include", "lo", 1);
}

int far_end(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
