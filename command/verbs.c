/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of verbs: what they are called, take, and say of themselves.
 */
#include "command/verbs.h"

static const struct command_option up_options[] = {
    {0, "name", "NAME", "name of the platform (default: the file's name, or 'default')"},
    {'p', "problems", "PATH", "further problem descriptions, for servers that name none; may be repeated"},
    {0, "wait", "TIME", "how long the daemons may take to connect (30 s)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option down_options[] = {
    {'k', "keep", NULL, "keep the platform's folder with its logs"},
    {0, "force", NULL, "also if results of jobs that were not fetched are lost"},
    {0, "command", "PATH", "path of the command espalier on other machines (default: search their PATH)"},
    {0, "timeout", "TIME", "wait so long for other machines (60 s)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option call_options[] = {
    {'o', "output", "NAME=FILE",
     "save an output to a file ('-': standard output), or leave it on the server (data:, data:MODE, modes of "
     "'data put'; with persistent-return and sticky-return it also comes back); may be repeated"},
    {'f', "format", "FORMAT",
     "format of the files of -o: mtx, npy, rb, hb, octave, csv (default: by their endings)"},
    {'l', "leave", "WHAT", "leave inputs, outputs or all on the server; with a mode: all:persistent"},
    {'F', "follow", NULL, "show the routine's output on standard error while it runs"},
    {'v', "verbose", NULL, "also show the candidates, the server, and the times"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_put_options[] = {
    {'s', "server", "NAME", "the server of the datum (default: the one with the most free memory)"},
    {'m', "mode", "MODE",
     "volatile (the default), persistent or sticky; persistent-return and sticky-return are for results"},
    {'t', "type", "TYPE",
     "type of the elements (default: double or double complex); string: an array of the lines of a text"},
    {'g', "grid", "PxQ", "in pieces for a grid of so many rows and columns of ranks, with --block"},
    {'b', "block", "R[xC]", "rows and columns of a block of these pieces"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_show_options[] = {
    {0, "map", NULL, "show which rank has which block (the default without --svg and --grid)"},
    {'z', "zoom", "R:R,C:C", "only these rows and columns, from 1"},
    {0, "svg", "FILE", "write the map as a picture"},
    {'g', "grid", "PxQ", "show the plan of a move to such a grid, with --block"},
    {'b', "block", "R[xC]", "rows and columns of a block there"},
    {0, "ranks", "FILE",
     "measurements of messages ('ranks' in a server's state_dir), for --grid (default: ask a server\n"
     "that has the matrix)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_copy_options[] = {
    {0, "from", "SERVER", "all data of that server, in place of ID"},
    {'g', "grid", "PxQ", "in pieces for a grid of so many rows and columns of ranks, with --block"},
    {'b', "block", "R[xC]", "rows and columns of a block of these pieces"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_move_options[] = {
    {0, "from", "SERVER", "all data of that server, in place of ID"},
    {'g', "grid", "PxQ", "in pieces for a grid of so many rows and columns of ranks, with --block"},
    {'b', "block", "R[xC]", "rows and columns of a block of these pieces"},
    {0, "force", NULL, "make a replica the original if the server of the original never comes back"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_get_options[] = {
    {'f', "format", "FORMAT", "format of the file: mtx, npy, rb, hb, octave, csv (default: by its ending)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_ls_options[] = {
    {'s', "server", "NAME", "only data of this server"},
    {0, "damaged", NULL, "files of damaged data, which servers have put in quarantine"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_rm_options[] = {
    {0, "force", NULL,
     "also if a server that stores it cannot be reached; that server deletes it when it is back"},
    {0, "damaged", NULL, "remove the damaged files of these data, and not the data"},
    {'s', "server", "NAME", "with --damaged: on this server only; without ID, all its damaged files"},
    {0, NULL, NULL, NULL},
};
static const struct command_option submit_options[] = {
    {'l', "leave", "WHAT", "leave inputs, outputs or all on the server; with a mode: all:persistent"},
    {0, NULL, NULL, NULL},
};
static const struct command_option jobs_options[] = {
    {0, "forget", NULL, "remove jobs with their results (without JOB: failed and lost jobs)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option flow_check_options[] = {
    {0, "nodes", "N", "plan for so many nodes (1)"},
    {'p', "problems", "PATH",
     "problem descriptions, for operations that the flow does not declare; may be repeated"},
    {0, NULL, NULL, NULL},
};
static const struct command_option flow_run_options[] = {
    {0, "nodes", "N", "run on so many nodes (default: each server that has a problem of the flow)"},
    {'o', "output", "NAME=FILE",
     "save a result to a file ('-': standard output); {1}, {2} become its subscripts; may be repeated"},
    {'f', "format", "FORMAT",
     "format of the files of -o: mtx, npy, rb, hb, octave, csv (default: by their endings)"},
    {0, "journal", "FILE", "record finished operations; the same command continues from there"},
    {0, "gantt", "FILE", "draw the computations of each thread (SVG)"},
    {0, "trace", "FILE", "write computations and transfers for chrome://tracing or Perfetto (JSON)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option flow_simulate_options[] = {
    {0, "platform", "FILE", "the platform: nodes, latency, bandwidth and so on (see doc/flow.md)"},
    {'p', "problems", "PATH",
     "problem descriptions, for operations that the flow does not declare; may be repeated"},
    {0, "sweep", "NAME=VALUES", "simulate with each of the values, with commas between; may be repeated"},
    {0, "vary", "NAME=VALUE,...",
     "simulate also with these settings changed, and show the difference; VALUE may be a factor, *4; may be "
     "repeated"},
    {0, "gantt", "FILE", "draw the computations of each thread (SVG)"},
    {0, "trace", "FILE", "write computations and transfers for chrome://tracing or Perfetto (JSON)"},
    {0, "intervals", "N", "parts of the time for which the efficiency is shown (10)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option fetch_options[] = {
    {'o', "output", "NAME=FILE", "save an output to a file ('-': standard output); may be repeated"},
    {'f', "format", "FORMAT",
     "format of the files of -o: mtx, npy, rb, hb, octave, csv (default: by their endings)"},
    {0, "wait", NULL, "wait for the job's end first"},
    {'i', "input", "NAME=@FILE", "a sparse input, if a sparse result has its pattern"},
    {'k', "keep", NULL, "leave the result on the server, so that it can be fetched again"},
    {0, NULL, NULL, NULL},
};
static const struct command_option wait_options[] = {
    {'F', "follow", NULL, "show the routines' output on standard error while they run"},
    {0, NULL, NULL, NULL},
};
static const struct command_option output_options[] = {
    {'F', "follow", NULL, "continue until the job has ended"},
    {0, NULL, NULL, NULL},
};
static const struct command_option sweep_options[] = {
    {'o', "output", "NAME=FILE", "save an output of each call; {n} in FILE is the value of n"},
    {'f', "format", "FORMAT",
     "format of these files: mtx, npy, rb, hb, octave, csv (default: by their endings)"},
    {0, "parallel", "NUMBER", "calls at a time (8)"},
    {0, "csv", NULL,
     "write a table for programs, each row as soon as it and all rows before it are complete"},
    {0, "resume", "FILE",
     "continue in FILE, the table of an earlier sweep --csv: calls that have a row there are not\n"
     "made again, and new rows are added to it"},
    {0, NULL, NULL, NULL},
};
static const struct command_option solve_options[] = {
    {'o', "output", "FILE", "write X to a file ('-': standard output)"},
    {'f', "format", "FORMAT", "format of that file: mtx, npy, rb, hb, octave, csv (default: by its ending)"},
    {'P', "problem", "NAME", "the problem to call (default: by the properties of A)"},
    {0, "own-rhs", NULL, "use the right-hand side in the Harwell-Boeing file of A"},
    {'v', "verbose", NULL, "also show the rule, its rivals, and each step"},
    {0, NULL, NULL, NULL},
};
static const struct command_option calibrate_options[] = {
    {0, "sed", "FILE", "the server's file (default: the system's sed.conf)"},
    {0, "models", "FOLDER", "folder of models (default: in the server's state_dir)"},
    {0, "budget", "TIME", "approximate time for each problem (30s)"},
    {0, "longest", "TIME", "longest call; beyond, models extrapolate (1s)"},
    {0, "again", NULL, "also measure problems that have a model"},
    {'A', "all", NULL, "measure every problem of the server"},
    {0, NULL, NULL, NULL},
};
#define DIRECTORY_OPTIONS                                                                                    \
    {0, "sed", "FILE", "a server's file, for its directory and its identity there"},                         \
        {'u', "url", "URL", "ldap://HOST/BASE (or ldaps, ldapi), or file:/PATH"},                            \
        {0, "bind", "NAME", "distinguished name to bind as (default: anonymous)"},                           \
        {0, "password-file", "FILE", "file with the password in its first line"},                            \
        {0, "sasl", "MECHANISM", "EXTERNAL, GSSAPI, SCRAM-SHA-256, ... (default: a simple bind)"},           \
        {0, "sasl-user", "NAME", "user name for a mechanism with passwords"},                                \
        {0, "starttls", NULL, "encrypt the connection, or give up"},                                         \
        {0, "ca", "FILE", "PEM file of the authority of the directory's certificate"},                       \
    {                                                                                                        \
        0, "timeout", "TIME", "limit for each answer (5s)"                                                   \
    }
static const struct command_option directory_export_options[] = {
    DIRECTORY_OPTIONS,
    {'o', "output", "FILE", "write to this file (default: standard output)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option directory_import_options[] = {
    DIRECTORY_OPTIONS,
    {0, "prune", NULL, "remove entries from the directory that are not in the file"},
    {0, NULL, NULL, NULL},
};
static const struct command_option directory_show_options[] = {
    DIRECTORY_OPTIONS,
    {0, NULL, NULL, NULL},
};
static const struct command_option forecast_options[] = {
    {0, "plot", "FILE", "write an SVG of a model and its measurements ('-': standard output)"},
    {0, "grids", "RANKS", "for a routine of ScaLAPACK: the time on each grid of at most so many ranks"},
    {0, "ranks", "FILE", "for --grids: measurements of a server's ranks, 'ranks' in its state_dir"},
    {0, "machine", "CONSTANTS",
     "for --grids: constants of ranks, 'paper', or flops=,slow=,latency=,bandwidth=,broadcast="},
    {0, "svg", "FILE", "the table of --grids as a picture ('-': standard output)"},
    {0, "strategies", "TIMES", "for an LU or QR: ways to share it between processors with these cycle times"},
    {0, NULL, NULL, NULL},
};
static const struct command_option problems_check_options[] = {
    {0, "libraries", NULL, "also load the libraries and look up their symbols"},
    {0, "known", "PATH",
     "descriptions whose problems steps of abstract problems may name (default: the installed ones);\n"
     "may be repeated"},
    {0, NULL, NULL, NULL},
};
static const struct command_option tree_options[] = {
    {'w', "watch", NULL, "show it again every second, until interrupted"},
    {0, NULL, NULL, NULL},
};
static const struct command_option weather_options[] = {
    {0, "node", "NODE", "only this node and its links"},
    {'r', "resource", "RESOURCE", "only this resource, such as freeMemory"},
    {0, "summary", NULL, "one line for each node, from the agents' memory"},
    {'w', "watch", NULL, "show it again every second, until interrupted"},
    {0, NULL, NULL, NULL},
};
static const struct command_option move_options[] = {
    {0, "to", "PARENT", "the new parent"},
    {0, NULL, NULL, NULL},
};
static const struct command_option add_options[] = {
    {0, "to", "PARENT", "the parent (default: that of the file)"},
    {0, "host", "HOST", "start it on machine HOST, by ssh"},
    {0, "command", "PATH", "path of the command espalier on that machine (default: search its PATH)"},
    {'a', "as", "PROGRAM", "agent or sed (default: by its keys, or the file's name)"},
    {0, "no-wait", NULL, "return when the daemon has reported its address; no platform needs to be known"},
    {0, NULL, NULL, NULL},
};
static const struct command_option apply_options[] = {
    {'n', "dry-run", NULL, "show the steps, and do nothing"},
    {0, "remove", NULL, "remove nodes that the file does not name: drain, wait, stop"},
    {0, "force", NULL, "also if data, or results of jobs that were not fetched, are lost"},
    {0, NULL, NULL, NULL},
};
static const struct command_option switch_options[] = {
    {0, "on", "NODE", "only on that server, or on all servers below that agent"},
    {0, NULL, NULL, NULL},
};
static const struct command_option stop_options[] = {
    {0, "cut", NULL, "also if nodes below it, or clients from all nodes, are cut off"},
    {0, "force", NULL, "also if data, or results of jobs that were not fetched, are lost"},
    {0, NULL, NULL, NULL},
};
static const struct command_option restart_options[] = {
    {0, "force", NULL, "also if results of jobs that were not fetched are lost"},
    {0, NULL, NULL, NULL},
};
static const struct command_option check_options[] = {
    {'a', "as", "PROGRAM", "client, redirector, agent, sed or platform (default: by keys, or the name)"},
    {0, NULL, NULL, NULL},
};

static const struct command_option problems_options[] = {
    {'S', "search", "WORDS", "only problems whose name, title or GAMS class has all these words"},
    {0, "gams", "CLASS", "only problems of this GAMS class and the classes below it, such as D2a"},
    {0, NULL, NULL, NULL},
};
static const struct command_option convert_options[] = {
    {'f', "format", "FORMAT", "format of TO: mtx, npy, rb, hb, octave, csv"},
    {0, "layout", "LAYOUT", "layout of a Matrix Market file: sparse or dense (default: as FROM)"},
    {0, NULL, NULL, NULL},
};

const struct verb command_verbs[] = {
    {"solve", "A [B]", "Solve the linear equations A X = B from matrix files on a server of the platform",
     "A and B are matrix files; the content decides the format ('espalier matrix info --help' names the\n"
     "formats; '-': standard input). Without B the right-hand side is all ones. The solver is chosen as by\n"
     "'espalier call solve': by whether A is sparse, banded, triangular, symmetric, positive definite\n"
     "(complex: zsolve). The command shows the candidates with their forecasts, the chosen server, forecast\n"
     "and actual times, and the normwise backward error.",
     solve_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, 2, verb_solve},
    {"call", "PROBLEM [NAME=VALUE]...", "Call any problem of the platform",
     "Values follow the problem's description ('espalier problems PROBLEM' shows it):\n"
     "  n=3  alpha=1.5  z=1+2i  uplo=U  numbers and letters\n"
     "  x=[1,2,3]  A=[1,2;3,4]          vectors and matrices, rows between semicolons\n"
     "  A=@file.mtx                     a matrix from a file (Matrix Market, NumPy, CSV, ...)\n"
     "  A=rand  A=rand(n,n)  A=rand:7   random numbers in [0,1), with the size that follows, or this size\n"
     "  f='x^2 + 1'  f='[y[2]; -y[1]]'  a function that the routine calls, of its parameters\n"
     "  text=words  text=@file          a string, or one from a file\n"
     "  A=data:ID                       a datum that lives on a server ('espalier data put')\n"
     "  'A=data:ID[1:100,1:2:end]'      a section of it: FIRST:LAST, FIRST:SKIP:LAST, ':', from 1\n"
     "Sizes that follow from the matrices, and arguments with a default, can be left out. Outputs are "
     "shown,\n"
     "or saved with -o: B=x.mtx (Matrix Market is the default format), x.npy, x.csv, x.hb, x.rb, also\n"
     "compressed as x.mtx.gz. With -o, arrays that are not saved are not fetched.",
     call_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, -1, verb_call},
    {"sweep", "PROBLEM [NAME=VALUES]...", "Call a problem with every combination of values",
     "  n=100..1000:100     a range with its step (1); both ends belong to it\n"
     "  alpha=0.1,0.2,0.5   several values, also ranges: n=1..4,8\n"
     "  A=@a.mtx A=@b.mtx   a name that is repeated takes one value after the other\n"
     "  A=@a-{n}.mtx        in arrays, files and strings {n} is the value of n\n"
     "  A=rand              an array of random numbers of each size\n"
     "Each call has a row: the varied values, scalar outputs, the server, the times. The row of a failed "
     "call\n"
     "has its error, and the other calls continue. An interrupted sweep shows the calls that had ended.\n"
     "'espalier sweep ... --resume FILE' writes the rows into FILE. The same command again makes the calls\n"
     "that are missing in FILE, and those that failed.",
     sweep_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, -1, verb_sweep},
    {"submit", "PROBLEM [NAME=VALUE]...",
     "Start a call that continues without this command, and print its id",
     "Values are given as for 'espalier call'. The command returns when a server has all of them. The job\n"
     "continues there. The server keeps its result until it is fetched, at most for its lease of jobs.",
     submit_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, -1, verb_submit},
    {"jobs", "[JOB]...", "Show the state of submitted jobs",
     "A job is named by its id or the beginning of the id.", jobs_options, WITH_PLATFORM, 0, -1, verb_jobs},
    {"fetch", "JOB", "Show or save the results of a job",
     "The results are shown as by 'espalier call'. Then the server deletes the job, unless it failed or "
     "--keep\n"
     "is given.",
     fetch_options, WITH_PLATFORM, 1, 1, verb_fetch},
    {"wait", "JOB...", "Wait until jobs have ended",
     "The command fails if one of them has failed. --timeout ends only the wait.", wait_options,
     WITH_PLATFORM, 1, -1, verb_wait},
    {"output", "JOB", "Show the output of a job", "The server keeps the last 64 KiB.", output_options,
     WITH_PLATFORM, 1, 1, verb_output},
    {"cancel", "JOB...", "Stop jobs", "Their computations end, or they leave the queue.", NULL, WITH_PLATFORM,
     1, -1, verb_cancel},
    {"problems", "[NAME]", "List the problems of the platform, or show how one problem is called",
     "With a name, show its arguments with mode, type and shape, preconditions, work, and a call that can "
     "be\n"
     "pasted. Without a name, list all problems, or those of --search and --gams.",
     problems_options, WITH_PLATFORM, 0, 1, verb_problems},
    {"problems check", "PATH...", "Check problem descriptions, and show what they publish",
     "Paths are files and folders of *.esp. Every error is shown with file, line and column, what was\n"
     "expected and what was found. The command needs no platform. doc/problem-description.md is the "
     "reference.",
     problems_check_options, 0, 1, -1, verb_problems_check},
    {"forecast", "PROBLEM [NAME=VALUE]...", "Forecast a call on each server, without making it",
     "Values are those of scalars: n=1000 nrhs=1 uplo=U; scalars with a default can be left out. Or they "
     "are\n"
     "those of 'espalier call': A=@file.mtx B=data:ID, with 'rand' for arrays that do not exist yet. Data "
     "then\n"
     "count with their transfers, and an abstract problem shows the rule that the matrix would take. With\n"
     "sizes, an abstract problem shows all rules. The server on which the call would end first comes first. "
     "A\n"
     "server has the computation with its expected error, the transfers, the queue, the total, the memory, "
     "and\n"
     "the basis of the forecast; or the reason why it is excluded.\n"
     "  espalier forecast --plot model.svg FILE.model   draws a model of the state_dir of a server\n"
     "  espalier forecast pdgemm n=2048 --grids 32      pdgemm, pdtrsm, pdgetrf, pdposv ... on grids of\n"
     "                                                  ranks, by its model; needs no platform,\n"
     "                                                  except with --server NAME, for that server's ranks\n"
     "  espalier forecast pdgemm n=2048 --grids 32 --machine paper\n"
     "                                                  on the nodes that the models' papers measured\n"
     "  espalier forecast pdgetrf n=2000 --strategies 3,5,8\n"
     "                                                  an LU on three processors of different speed",
     forecast_options, WITH_INPUT | WITH_PLATFORM | WITH_CONSTRAINTS, 1, -1, verb_forecast},
    {"accuracy", "[FILE]...", "Show the errors of forecasts",
     "The command asks each server of the platform for its last 256 sessions of each problem; with TLS, "
     "only\n"
     "administrators may ask. Sessions below 1 ms have a row of their own. FILE is the accuracy.tsv in a\n"
     "server's state_dir. The error is that of the computation, in per cent of its time: mean and median, "
     "and\n"
     "the error that nine of ten sessions do not exceed. A bias above 0 means that calls took longer than\n"
     "forecast.",
     NULL, WITH_PLATFORM, 0, -1, verb_accuracy},
    {"calibrate", "[PROBLEM]...", "Measure problems on a server's machine, for better forecasts",
     "The command calls each problem with many sizes, as the server's workers would, and writes cost models\n"
     "into the server's state_dir. The server reads them when it starts or reads its file again (SIGHUP). "
     "Of\n"
     "several calls, the mean of the middle half of the times counts. A server's ranks are measured too, on\n"
     "all grids that may be the fastest. The command can be stopped at any time; the next run continues.",
     calibrate_options, 0, 0, -1, verb_calibrate},
    {"directory export", "[FILE]...", "Write daemons' files, or a directory, as LDIF",
     "FILEs are those of servers, agents and redirectors. Their problems, implementations, machines, cost\n"
     "models and addresses are written as entries. Without a FILE, the entries of the directory are written.",
     directory_export_options, 0, 0, -1, verb_directory_export},
    {"directory import", "FILE", "Write the entries of an LDIF file into a directory",
     "Existing entries get the values of the file; other entries are added. If an entry is wrong (an "
     "unknown\n"
     "class, a wrong place, impossible values), nothing is written. A cost model of a problem that neither "
     "the\n"
     "file nor the directory has is left out, and the exit code is 1. FILE '-' is standard input. An LDAP\n"
     "server needs the schema, espalier.ldif.",
     directory_import_options, 0, 1, 1, verb_directory_import},
    {"directory show", "[NAME]...", "Show the entries of a directory",
     "Show all entries, or those of that name (a problem, a machine, a daemon) with the entries below.",
     directory_show_options, 0, 0, -1, verb_directory_show},
    {"directory client", "", "Write a client's file with the addresses of a directory",
     "The file names the redirectors of the directory, or else its master agents:\n"
     "  espalier directory client --url ldap://HOST/BASE >~/.config/espalier/client.conf",
     directory_show_options, 0, 0, 0, verb_directory_client},
    {"tree", "", "Show the platform's redirector, agents and servers",
     "Servers are shown with the measured speed of one slot, running and waiting sessions, memory, and\n"
     "sessions since their start.",
     tree_options, WITH_PLATFORM, 0, 0, verb_tree},
    {"weather", "", "Show free CPU, memory and link quality of each server",
     "The command asks each node for its measurements, in the resources of the Network Weather Service: the\n"
     "share of a processor that a session would get now (availableCpu) and that running sessions get\n"
     "(currentCpu), free memory and disk (freeMemory, freeDisk), and of each link the rate (bandwidthTcp), "
     "the\n"
     "round trip of a small message (latencyTcp), and the time to open a connection (connectTimeTcp). A row "
     "has\n"
     "the last value, the forecast with its expected error, and a plot. Forecasts of calls use them.",
     weather_options, WITH_PLATFORM, 0, 0, verb_weather},
    {"trace", "[SESSION]", "Show the way of one call through the platform, with times",
     "SESSION is the session's id in logs and error messages, such as c0ffee12-7. The default is the last\n"
     "session of a program of yours that has ended. Agents and servers remember the latest sessions.",
     NULL, WITH_PLATFORM, 0, 1, verb_trace},
    {"admin move", "NODE", "Move a server, or an agent with all nodes below it, to another parent",
     "The node stays with its old parent until the new one knows it, so that no call fails and sessions\n"
     "continue. The new place survives a restart if the node has a state_dir. A move that would close a "
     "circle\n"
     "is refused.",
     move_options, WITH_PLATFORM, 1, 1, verb_admin_move},
    {"admin drain", "NODE...", "Let servers take no new sessions, and finish their sessions",
     "For an agent: all servers below it, and those that join it until it is undrained. The order survives "
     "a\n"
     "restart if the node has a state_dir.",
     NULL, WITH_PLATFORM, 1, -1, verb_admin_drain},
    {"admin undrain", "NODE...", "Let drained servers take sessions again",
     "For an agent: all servers below it, and those that join it.", NULL, WITH_PLATFORM, 1, -1,
     verb_admin_undrain},
    {"admin disable", "PROBLEM...", "Let servers not solve problems any more",
     "Present sessions continue. The order survives a restart if the server has a state_dir.", switch_options,
     WITH_PLATFORM, 1, -1, verb_admin_disable},
    {"admin enable", "PROBLEM...", "Let servers solve disabled problems again", "", switch_options,
     WITH_PLATFORM, 1, -1, verb_admin_enable},
    {"admin reload", "NODE...", "Let daemons read their files again",
     "As SIGHUP: daemons open their logs again, and read the log level, the administrators, an agent's "
     "ranking\n"
     "and a server's problems again. The command returns when that is done, and names changed keys that need "
     "a\n"
     "restart. If the files of a daemon are wrong, it shows the error, and the daemon continues as before.",
     NULL, WITH_PLATFORM, 1, -1, verb_admin_reload},
    {"admin add", "FILE", "Start one more agent or server",
     "FILE is the daemon's configuration file ('-': standard input, with --as). The daemon starts on this\n"
     "machine, or on another one over ssh, where Espalier must be installed too. 'espalier down' stops it "
     "with\n"
     "the platform. The command returns when the tree shows the node; a server that was removed before "
     "takes\n"
     "sessions again.",
     add_options, WITH_PLATFORM, 1, 1, verb_admin_add},
    {"admin apply", "FILE", "Change the running tree into that of a platform file",
     "Missing and dead nodes are started, nodes with another parent are moved, and nodes with other "
     "settings\n"
     "are restarted. Nodes that the file does not name stay, or are removed with --remove. A file that "
     "would\n"
     "cut the tree is refused before the first step. --timeout is the limit of the whole command.",
     apply_options, WITH_PLATFORM, 1, 1, verb_admin_apply},
    {"admin restart", "[NODE]...", "Restart daemons, one after the other, without a failed call",
     "Without NODE: the whole platform, servers first. A server takes no new sessions and finishes its "
     "sessions\n"
     "first; calls that no other server takes wait for it. The next daemon follows when the platform is\n"
     "complete again. Each daemon runs the installed program, with its present file, at its former address.\n"
     "The wait for sessions and for the platform ends after --timeout (60 s). The command is refused if "
     "results\n"
     "of jobs would be lost that were not fetched, unless --force is given.",
     restart_options, WITH_PLATFORM, 0, -1, verb_admin_restart},
    {"admin stop", "NODE...", "Stop daemons",
     "As SIGTERM: a server gives its sessions some seconds to end. The command is refused if nodes below an\n"
     "agent would be cut off, unless --cut is given, and if results of jobs would be lost that were not\n"
     "fetched, unless --force is given.",
     stop_options, WITH_PLATFORM, 1, -1, verb_admin_stop},
    {"admin remove", "NODE...", "Drain servers, wait until their sessions have ended, and stop them",
     "Agents are stopped when no node is below them any more. --timeout ends the wait; the server then "
     "stays\n"
     "drained. The command is refused if persistent or sticky data, or results of jobs that were not "
     "fetched,\n"
     "would be lost, unless --force is given ('espalier data mv --from SERVER OTHER' moves data).",
     stop_options, WITH_PLATFORM, 1, -1, verb_admin_remove},
    {"up", "[FILE]", "Start a platform on this machine",
     "The command starts the daemons of a platform file and waits until they are connected. Without a file, "
     "it\n"
     "starts a redirector, a master agent, two leader agents and three servers, one of them slowed down by "
     "a\n"
     "CPU quota (a control group if that is permitted, else a competing load on its processor). The "
     "daemons'\n"
     "files and logs are in $XDG_RUNTIME_DIR/espalier/NAME or /tmp/espalier-UID/NAME. The other verbs find "
     "the\n"
     "platform 'default' there by themselves, programs find it through ESPALIER_CONFIG.",
     up_options, 0, 0, 1, verb_up},
    {"down", "[NAME]", "Stop a platform that 'espalier up' started",
     "The command stops exactly the processes that were started, and removes the platform's folder. NAME "
     "may\n"
     "also be the platform file. It is refused if results of jobs would be lost that were not fetched, "
     "unless\n"
     "--force is given.",
     down_options, 0, 0, 1, verb_down},
    {"config check", "FILE...", "Check configuration files",
     "Every error is shown with file and line, what was expected and what was found.", check_options, 0, 1,
     -1, verb_config_check},
    {"data put", "FILE", "Put a matrix file on a server, for calls",
     "The command prints the identity of the datum. 'espalier call PROBLEM A=data:ID' passes the datum; any\n"
     "client that knows the identity may use it (with TLS, only its owner). A persistent datum is on the\n"
     "server's disk when the identity is printed. An interrupted put continues when the command is repeated.",
     data_put_options, WITH_INPUT | WITH_PLATFORM, 1, 1, verb_data_put},
    {"data get", "ID FILE", "Save a datum as a matrix file ('-': standard output)",
     "The datum is read from a server that has it, and from another one if the transfer breaks. Data of a\n"
     "session ('espalier call --leave') go into a folder: session:ID:inputs, session:ID:outputs; or one of "
     "them\n"
     "into a file: session:ID:outputs:NAME. The other verbs on data take sessions too.",
     data_get_options, WITH_PLATFORM, 2, 2, verb_data_get},
    {"data ls", "", "List the data of the platform",
     "Show the data that you may use, on all servers, with their sizes. --damaged lists damaged files in "
     "the\n"
     "quarantine of servers; 'data rm --damaged' removes them.",
     data_ls_options, WITH_PLATFORM, 0, 0, verb_data_ls},
    {"data info", "ID", "Show a datum and its places",
     "Show a paragraph for each server that has the datum, with its statistics there.", NULL, WITH_PLATFORM,
     1, 1, verb_data_info},
    {"data show", "ID", "Show the layout of a matrix in pieces, and the plan of a move",
     "Pieces are those of a process grid, block-cyclic: 'espalier data put --grid', and results that a call\n"
     "leaves with -o X=data:pieces. A move to the ranks of another server takes the plan with the fewest "
     "and\n"
     "shortest steps; on the same server the matrix is copied without messages.",
     data_show_options, WITH_PLATFORM, 1, 1, verb_data_show},
    {"data rm", "[ID...]", "Delete data, with their replicas",
     "A transfer or call that reads a datum at this moment finishes. A deletion cannot be undone. Of a "
     "session\n"
     "(session:ID), the data that it put or made are deleted. The exit code is 3 if a server that stores a\n"
     "datum cannot be reached; it still has the datum when it is back. --force gives up that copy.",
     data_rm_options, WITH_PLATFORM, 0, -1, verb_data_rm},
    {"data cp", "[ID...] SERVER", "Have a server fetch replicas of data",
     "The data come directly from servers that have them. A replica may be dropped when memory is short.\n"
     "With --grid and --block the server makes another datum of the same value in that layout, and its ID "
     "is\n"
     "printed.",
     data_copy_options, WITH_PLATFORM, 1, -1, verb_data_cp},
    {"data mv", "[ID...] SERVER", "Move data to another server",
     "The old server deletes a datum when the new server has all of it, durable if it was durable. Sticky "
     "data\n"
     "do not move. With --grid and --block the datum gets that layout and another ID, which is printed.\n"
     "If the server of the original never comes back, --force makes the replica on SERVER the original; "
     "SERVER\n"
     "fetches a replica first if it has none.",
     data_move_options, WITH_PLATFORM, 1, -1, verb_data_mv},
    {"flow check", "FILE [NAME=VALUE]...", "Check a flow graph, and show what it would do",
     "FILE is a text in the language that doc/flow.md explains. NAME is a parameter of the flow. Errors are\n"
     "shown with line and column, what was expected and what was found.",
     flow_check_options, 0, 1, -1, verb_flow_check},
    {"flow run", "FILE [NAME=VALUE]...", "Run a flow graph on the servers of the platform",
     "Operations are problems of the platform. NAME is a parameter of the flow, or an input: @FILE, a "
     "matrix\n"
     "[1,2;3,4], or data:ID; A[1]=... is one element of it, and {1}, {2} in FILE and ID become its "
     "subscripts.\n"
     "What operations make stays on servers, and goes from server to server. If a server is lost, what was\n"
     "only there is computed again on another one.",
     flow_run_options, WITH_PLATFORM, 1, -1, verb_flow_run},
    {"flow cancel", "JOURNAL", "End a run of a flow that has a journal, and delete its data",
     "JOURNAL is the file of 'flow run --journal'. A run that goes on is ended first. The journal is "
     "deleted.",
     NULL, WITH_PLATFORM, 1, 1, verb_flow_cancel},
    {"flow simulate", "FILE [NAME=VALUE]...", "Show how long a flow graph would take on a platform",
     "Nothing is computed and no daemon is asked. The flow gives the times of operations, and the platform "
     "file\n"
     "the nodes and links. NAME is a parameter of the flow, or a key of the platform file if the flow has "
     "no\n"
     "such parameter. In place of FILE, application:lu is the LU factorization that doc/flow.md describes.",
     flow_simulate_options, 0, 1, -1, verb_flow_simulate},
    {"matrix info", "FILE", "Show the content of a matrix file",
     "Show format, size, symmetry, norm, and whether the file has a right-hand side. The formats are Matrix\n"
     "Market, Harwell-Boeing and Rutherford-Boeing (assembled), NumPy .npy, Octave text, and CSV, also\n"
     "compressed by gzip. The content decides the format. A content that fits no format completely is an "
     "error.",
     NULL, WITH_INPUT, 1, 1, verb_matrix_info},
    {"matrix convert", "FROM TO", "Write a matrix file in another format",
     "The ending of TO says which (or --format): .mtx Matrix Market, .npy NumPy, .csv CSV, .hb (and .rua, "
     ".rsa,\n"
     "...) Harwell-Boeing, .rb Rutherford-Boeing, .octave Octave's text; with .gz behind it, compressed. "
     "Matrix Market files stay\n"
     "sparse or dense as FROM is; field and symmetry stay where the format can say them.",
     convert_options, WITH_INPUT, 2, 2, verb_matrix_convert},
    {0},
};
