/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of verbs: what they are called, take, and say of themselves.
 */
#include "command/verbs.h"

static const struct command_option up_options[] = {
    {0, "name", "NAME", "what the platform is called here (else: the file's name, or 'default')"},
    {'p', "problems", "PATH", "further problem descriptions, for servers that name none; may be repeated"},
    {0, "wait", "TIME", "how long the daemons may take to find each other (30 s)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option down_options[] = {
    {'k', "keep", NULL, "keep the platform's folder with its logs"},
    {0, "force", NULL, "also when results of jobs that nobody has fetched are lost"},
    {0, "command", "PATH", "path of the command espalier on other machines (else: on their PATH)"},
    {0, "timeout", "TIME", "wait so long for other machines (60 s)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option call_options[] = {
    {'o', "output", "NAME=FILE",
     "save an output to a file ('-': standard output), or leave it on the server (data:, data:MODE, modes as "
     "of "
     "'data put'; with persistent-return and sticky-return it comes as well); may be repeated"},
    {'f', "format", "FORMAT",
     "of the files that -o saves: mtx, npy, rb, hb, octave, csv (else: by their endings)"},
    {'l', "leave", "WHAT", "leave inputs, outputs or all on the server; with a mode: all:persistent"},
    {'F', "follow", NULL, "show on standard error what the routine prints, while it runs"},
    {'v', "verbose", NULL, "also show the candidates, the server, and where the time went"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_put_options[] = {
    {'s', "server", "NAME",
     "the server on which the datum is to live (else: the one with the most free memory)"},
    {'m', "mode", "MODE",
     "volatile (the default), persistent, sticky; persistent-return and sticky-return, which say of results "
     "that "
     "they come as well, are like these here"},
    {'t', "type", "TYPE",
     "of the elements (else: double or double complex); string: an array of the lines of a text"},
    {'g', "grid", "PxQ", "in pieces for a grid of so many rows and columns of ranks, with --block"},
    {'b', "block", "R[xC]", "rows and columns of a block of these pieces"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_show_options[] = {
    {0, "map", NULL, "which rank has which block (the default without --svg and --grid)"},
    {'z', "zoom", "R:R,C:C", "only these rows and columns, from 1"},
    {0, "svg", "FILE", "the map as a picture"},
    {'g', "grid", "PxQ", "what moving it to such a grid would take, with --block"},
    {'b', "block", "R[xC]", "rows and columns of a block there"},
    {0, "ranks", "FILE",
     "what messages take there ('ranks' in a server's state_dir), with --grid; else a server\n"
     "that has the matrix is asked"},
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
    {0, "force", NULL, "a replica becomes the original, where the server with that is not there"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_get_options[] = {
    {'f', "format", "FORMAT", "of the file: mtx, npy, rb, hb, octave, csv (else: by its ending)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_ls_options[] = {
    {'s', "server", "NAME", "only of this server"},
    {0, "damaged", NULL, "files of data that were damaged, and are set aside on servers"},
    {0, NULL, NULL, NULL},
};
static const struct command_option data_rm_options[] = {
    {0, "force", NULL, "be done with it also where a server that keeps it cannot be reached"},
    {0, "damaged", NULL, "what servers have set aside of them, as their files were damaged"},
    {'s', "server", "NAME", "with --damaged: on this server only; without ID, all that it has set aside"},
    {0, NULL, NULL, NULL},
};
static const struct command_option submit_options[] = {
    {'l', "leave", "WHAT", "leave inputs, outputs or all on the server; with a mode: all:persistent"},
    {0, NULL, NULL, NULL},
};
static const struct command_option jobs_options[] = {
    {0, "forget", NULL, "forget them (without JOB: those that failed or are lost), with their results"},
    {0, NULL, NULL, NULL},
};
static const struct command_option flow_check_options[] = {
    {0, "nodes", "N", "plan for so many nodes (1)"},
    {'p', "problems", "PATH",
     "problem descriptions, for operations that the flow does not declare; may be repeated"},
    {0, NULL, NULL, NULL},
};
static const struct command_option flow_run_options[] = {
    {0, "nodes", "N", "run on so many nodes (else: on each server that has a problem of the flow)"},
    {'o', "output", "NAME=FILE",
     "save a result to a file ('-': standard output); {1}, {2} become its subscripts; may be repeated"},
    {'f', "format", "FORMAT",
     "of the files that -o saves: mtx, npy, rb, hb, octave, csv (else: by their endings)"},
    {0, "journal", "FILE", "note what is done, and go on from there when the same run is started again"},
    {0, "gantt", "FILE", "draw the computations of each thread (SVG)"},
    {0, "trace", "FILE", "write computations and transfers for chrome://tracing or Perfetto (JSON)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option flow_simulate_options[] = {
    {0, "platform", "FILE", "the platform: nodes, latency, bandwidth and so on, as doc/flow.md tells"},
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
     "of the files that -o saves: mtx, npy, rb, hb, octave, csv (else: by their endings)"},
    {0, "wait", NULL, "wait for its end first"},
    {'i', "input", "NAME=@FILE", "a sparse input again, where the places of a sparse result are its own"},
    {'k', "keep", NULL, "leave the result on the server, so that it can be fetched again"},
    {0, NULL, NULL, NULL},
};
static const struct command_option wait_options[] = {
    {'F', "follow", NULL, "show on standard error what the routines print, while they run"},
    {0, NULL, NULL, NULL},
};
static const struct command_option output_options[] = {
    {'F', "follow", NULL, "go on until the job has ended"},
    {0, NULL, NULL, NULL},
};
static const struct command_option sweep_options[] = {
    {'o', "output", "NAME=FILE", "save an output of each call; {n} in FILE is the value of n"},
    {'f', "format", "FORMAT", "of these files: mtx, npy, rb, hb, octave, csv (else: by their endings)"},
    {0, "parallel", "NUMBER", "calls at a time (8)"},
    {0, "csv", NULL, "a table for programs, in place of one for people, each row as soon as those before it"},
    {0, "resume", "FILE",
     "go on in FILE, where an earlier sweep --csv was written: calls that have a row there are not\n"
     "made again, the rows of the others are added to it"},
    {0, NULL, NULL, NULL},
};
static const struct command_option solve_options[] = {
    {'o', "output", "FILE", "write X to a file ('-': standard output)"},
    {'f', "format", "FORMAT", "of that file: mtx, npy, rb, hb, octave, csv (else: by its ending)"},
    {'P', "problem", "NAME", "the problem to call (else: by the properties of A)"},
    {0, "own-rhs", NULL, "the right-hand side that A's own Harwell-Boeing file brings"},
    {'v', "verbose", NULL, "also show the rule, what was weighed, and each step"},
    {0, NULL, NULL, NULL},
};
static const struct command_option calibrate_options[] = {
    {0, "sed", "FILE", "the server's file (else: the system's sed.conf)"},
    {0, "models", "FOLDER", "where models are kept (else: in the server's state_dir)"},
    {0, "budget", "TIME", "for each problem, about (30s)"},
    {0, "longest", "TIME", "of one call; beyond, models extrapolate (1s)"},
    {0, "again", NULL, "measure anew what has a model already"},
    {'A', "all", NULL, "every problem of the server"},
    {0, NULL, NULL, NULL},
};
#define DIRECTORY_OPTIONS                                                                                    \
    {0, "sed", "FILE", "a server's file: its directory, and who it is there"},                               \
        {'u', "url", "URL", "ldap://HOST/BASE (or ldaps, ldapi), or file:/PATH"},                            \
        {0, "bind", "NAME", "distinguished name to bind as (else: anonymously)"},                            \
        {0, "password-file", "FILE", "its first line is the password"},                                      \
        {0, "sasl", "MECHANISM", "EXTERNAL, GSSAPI, SCRAM-SHA-256, ... (else: a simple bind)"},              \
        {0, "sasl-user", "NAME", "who one is to a mechanism with passwords"},                                \
        {0, "starttls", NULL, "encrypt, or give up"},                                                        \
        {0, "ca", "FILE", "PEM file of the authority of the directory's certificate"},                       \
    {                                                                                                        \
        0, "timeout", "TIME", "for each answer (5s)"                                                         \
    }
static const struct command_option directory_export_options[] = {
    DIRECTORY_OPTIONS,
    {'o', "output", "FILE", "write there (else: standard output)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option directory_import_options[] = {
    DIRECTORY_OPTIONS,
    {0, "prune", NULL, "take out of the directory what is not in the file"},
    {0, NULL, NULL, NULL},
};
static const struct command_option directory_show_options[] = {
    DIRECTORY_OPTIONS,
    {0, NULL, NULL, NULL},
};
static const struct command_option forecast_options[] = {
    {0, "plot", "FILE", "write an SVG of a model against its measurements ('-': standard output)"},
    {0, "grids", "RANKS", "of a routine of ScaLAPACK: the time on each grid of at most so many ranks"},
    {0, "ranks", "FILE", "for --grids: what the ranks of a server are like, 'ranks' in its state_dir"},
    {0, "machine", "CONSTANTS",
     "what ranks would be like: 'paper', or flops=,slow=,latency=,bandwidth=,broadcast=; for --grids"},
    {0, "svg", "FILE", "the table of --grids as a picture ('-': standard output)"},
    {0, "strategies", "TIMES", "of an LU or QR: ways to share it between processors with these cycle times"},
    {0, NULL, NULL, NULL},
};
static const struct command_option problems_check_options[] = {
    {0, "libraries", NULL, "also load the libraries and look their symbols up"},
    {0, "known", "PATH",
     "what steps of abstract ones may name besides (default: the installed problems);\n"
     "may be repeated"},
    {0, NULL, NULL, NULL},
};
static const struct command_option tree_options[] = {
    {'w', "watch", NULL, "show it again every second, until interrupted"},
    {0, NULL, NULL, NULL},
};
static const struct command_option weather_options[] = {
    {0, "node", "NODE", "only of this node and its links"},
    {'r', "resource", "RESOURCE", "only this one, such as freeMemory"},
    {0, "summary", NULL, "one line a node, as its agents have heard of it"},
    {'w', "watch", NULL, "show it again every second, until interrupted"},
    {0, NULL, NULL, NULL},
};
static const struct command_option move_options[] = {
    {0, "to", "PARENT", "the agent that the node is to be below"},
    {0, NULL, NULL, NULL},
};
static const struct command_option add_options[] = {
    {0, "to", "PARENT", "the agent that it is to be below, whatever the file says (else: as that says)"},
    {0, "host", "HOST", "start it on this machine, by ssh"},
    {0, "command", "PATH", "path of the command espalier on that machine (else: on its PATH)"},
    {'a', "as", "PROGRAM", "agent or sed (else: by its keys, or the file's name)"},
    {0, "no-wait", NULL, "end when it has told its address; no platform needs to be known"},
    {0, NULL, NULL, NULL},
};
static const struct command_option apply_options[] = {
    {'n', "dry-run", NULL, "show what would be done, and do nothing"},
    {0, "remove", NULL, "remove what the file does not name: drained, waited for, stopped"},
    {0, "force", NULL, "also when data, or results of jobs that nobody has fetched, are lost"},
    {0, NULL, NULL, NULL},
};
static const struct command_option switch_options[] = {
    {0, "on", "NODE", "on that server, or on all below that agent (else: on all servers)"},
    {0, NULL, NULL, NULL},
};
static const struct command_option stop_options[] = {
    {0, "cut", NULL, "also when nodes below it are cut off, or clients from all nodes"},
    {0, "force", NULL, "also when data, or results of jobs that nobody has fetched, are lost"},
    {0, NULL, NULL, NULL},
};
static const struct command_option restart_options[] = {
    {0, "force", NULL, "also when results of jobs that nobody has fetched are lost"},
    {0, NULL, NULL, NULL},
};
static const struct command_option check_options[] = {
    {'a', "as", "PROGRAM", "client, redirector, agent, sed or platform (else: by keys, or the name)"},
    {0, NULL, NULL, NULL},
};

static const struct command_option problems_options[] = {
    {'S', "search", "WORDS", "those whose name, title or GAMS class has all these words"},
    {0, "gams", "CLASS", "those of this GAMS class and the classes below it, such as D2a"},
    {0, NULL, NULL, NULL},
};
static const struct command_option convert_options[] = {
    {'f', "format", "FORMAT", "of TO: mtx, npy, rb, hb, octave, csv"},
    {0, "layout", "LAYOUT", "of a Matrix Market file: sparse or dense (else: as FROM is)"},
    {0, NULL, NULL, NULL},
};

const struct verb command_verbs[] = {
    {"solve", "A [B]", "Solve the linear equations A X = B from matrix files on a server of the platform",
     "A and B are matrix files, told apart by what is in them ('espalier matrix info --help' names the\n"
     "formats; '-': standard input). Without B the right-hand side is all ones. What solves\n"
     "it is picked as 'espalier call solve' does, by what A is: sparse, banded, triangular, symmetric,\n"
     "positive definite (complex: zsolve). The candidates with their forecasts, the server chosen, forecast\n"
     "and actual times and the normwise backward error are shown.",
     solve_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, 2, verb_solve},
    {"call", "PROBLEM [NAME=VALUE]...", "Call any problem of the platform",
     "Values follow the problem's description ('espalier problems PROBLEM' shows it):\n"
     "  n=3  alpha=1.5  z=1+2i  uplo=U  numbers and letters\n"
     "  x=[1,2,3]  A=[1,2;3,4]          vectors and matrices, rows between semicolons\n"
     "  A=@file.mtx                     a matrix from a file (Matrix Market, NumPy, CSV, ...)\n"
     "  A=rand  A=rand(n,n)  A=rand:7   random numbers, in [0,1): of the size that the sizes tell, or of "
     "that one\n"
     "  f='x^2 + 1'  f='[y[2]; -y[1]]'  a function that the routine calls, of its parameters\n"
     "  text=words  text=@file          a string, or one from a file\n"
     "  A=data:ID                       a datum that lives on a server ('espalier data put')\n"
     "  'A=data:ID[1:100,1:2:end]'      a section of it: FIRST:LAST, FIRST:SKIP:LAST, ':', from 1\n"
     "Sizes that follow from the matrices, and what has a default, can be left out. Outputs are shown, or\n"
     "saved with -o: B=x.mtx (Matrix Market, and without an ending that says otherwise), x.npy, x.csv, "
     "x.hb,\n"
     "x.rb, each also compressed as x.mtx.gz; with -o, arrays that are not saved are not fetched.",
     call_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, -1, verb_call},
    {"sweep", "PROBLEM [NAME=VALUES]...", "Call a problem with every combination of values",
     "  n=100..1000:100     a range with its step (1); both ends belong to it\n"
     "  alpha=0.1,0.2,0.5   several values; ranges too: n=1..4,8\n"
     "  A=@a.mtx A=@b.mtx   a name that is given again: one after the other\n"
     "  A=@a-{n}.mtx        in arrays, files and strings {n} is the value of n\n"
     "  A=rand              an array of random numbers of each size\n"
     "One row a call: what was varied, scalar outputs, the server, the times it took; a call that fails\n"
     "has its error in its row, and the others go on. An interrupted sweep shows the calls that had ended;\n"
     "'espalier sweep ... --resume FILE' writes the rows into FILE, and said again makes the calls that "
     "FILE\n"
     "lacks, and those that failed.",
     sweep_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, -1, verb_sweep},
    {"submit", "PROBLEM [NAME=VALUE]...", "Start a call that goes on without this command, and print its id",
     "Values are given as for 'espalier call'. Returns when a server has all of them: the job goes on "
     "there,\n"
     "and its result is kept for whoever fetches it, at most as long as the server keeps jobs.",
     submit_options, WITH_INPUT | WITH_CONSTRAINTS | WITH_PLATFORM, 1, -1, verb_submit},
    {"jobs", "[JOB]...", "Show how the jobs stand that were submitted",
     "A job is named by its id or the beginning of it.", jobs_options, WITH_PLATFORM, 0, -1, verb_jobs},
    {"fetch", "JOB", "Show or save the results of a job",
     "As 'espalier call' would have. Then the server forgets the job, unless it failed or --keep is given.",
     fetch_options, WITH_PLATFORM, 1, 1, verb_fetch},
    {"wait", "JOB...", "Wait until jobs have ended",
     "Fails when one of them has failed. --timeout ends the waiting only.", wait_options, WITH_PLATFORM, 1,
     -1, verb_wait},
    {"output", "JOB", "Show what a job has printed", "The last 64 KiB of it are kept.", output_options,
     WITH_PLATFORM, 1, 1, verb_output},
    {"cancel", "JOB...", "Stop jobs", "Their computations end, or they leave the queue.", NULL, WITH_PLATFORM,
     1, -1, verb_cancel},
    {"problems", "[NAME]", "List what the platform can solve, or show how one problem is called",
     "With a name: its arguments with mode, type and shape, preconditions, work, and a call that can be\n"
     "pasted. Without: all, or those that --search and --gams leave.",
     problems_options, WITH_PLATFORM, 0, 1, verb_problems},
    {"problems check", "PATH...", "Check problem descriptions, and show what they publish",
     "Paths are files and folders of *.esp. Every mistake is told with file, line and column, what was\n"
     "expected and what was found; needs no platform. doc/problem-description.md is the reference.",
     problems_check_options, 0, 1, -1, verb_problems_check},
    {"forecast", "PROBLEM [NAME=VALUE]...", "Show what a call would take on each server, without making it",
     "Values are those of scalars: n=1000 nrhs=1 uplo=U, what has a default can be left out; or all that\n"
     "'espalier call' would be given: A=@file.mtx B=data:ID, 'rand' for what is not there yet. Data count\n"
     "with the way that they would go; an abstract problem shows the rule that the matrix would take (of\n"
     "sizes: all rules). Servers of the master agent that a call would go to come first. A server has\n"
     "the computation with its expected error, the transfers, the queue, the total, the memory, and what\n"
     "the forecast stands on; or why it would not be chosen.\n"
     "  espalier forecast --plot model.svg FILE.model   draws a model of the state_dir of a server\n"
     "  espalier forecast pdgemm n=2048 --grids 32      pdgemm, pdtrsm, pdgetrf, pdposv ... on grids of\n"
     "                                                  ranks, by its model; needs no platform,\n"
     "                                                  but for --server NAME, whose ranks count then\n"
     "  espalier forecast pdgemm n=2048 --grids 32 --machine paper\n"
     "                                                  on the nodes that the models' papers measured\n"
     "  espalier forecast pdgetrf n=2000 --strategies 3,5,8\n"
     "                                                  an LU on three processors of different speed",
     forecast_options, WITH_INPUT | WITH_PLATFORM | WITH_CONSTRAINTS, 1, -1, verb_forecast},
    {"accuracy", "[FILE]...", "Show how good forecasts have been",
     "Each server of the platform is asked, which takes who may administer it, of its last 256 sessions of\n"
     "each problem; those below 1 ms have a row of their own. FILE is the accuracy.tsv that a server writes\n"
     "into its state_dir. The error is that of the computation, in per cent of what it took: its mean and\n"
     "median, and what nine of ten sessions do not exceed; a bias above 0: it took longer than forecast.",
     NULL, WITH_PLATFORM, 0, -1, verb_accuracy},
    {"calibrate", "[PROBLEM]...", "Measure problems on this server's machine, so that forecasts come true",
     "Calls each problem with sizes of all kinds, as the server's workers would, and writes cost models\n"
     "into the server's state_dir, where the server finds them when it starts or reads its file again\n"
     "(SIGHUP). What counts of several calls is the mean of the middle half of their times. A server's "
     "ranks\n"
     "are measured too, on all grids that may be the fastest. Can be stopped at any point: the next run "
     "goes\n"
     "on.",
     calibrate_options, 0, 0, -1, verb_calibrate},
    {"directory export", "[FILE]...", "Write what daemons' files say, or a directory, as LDIF",
     "FILEs are those of servers, agents and redirectors: their problems, implementations, machines, cost\n"
     "models and addresses are written as entries. Without a FILE: the entries of the directory.",
     directory_export_options, 0, 0, -1, verb_directory_export},
    {"directory import", "FILE", "Bring the entries of an LDIF file into a directory",
     "Entries that are there get the values of the file; others are added. Nothing is written when an entry\n"
     "is wrong: of a class that is none, in a place where nobody would look for it, with values that cannot\n"
     "be. A cost model of a problem that neither the file nor the directory has is left out, and the exit\n"
     "code is 1. FILE '-' is standard input. An LDAP server needs the schema, espalier.ldif.",
     directory_import_options, 0, 1, 1, verb_directory_import},
    {"directory show", "[NAME]...", "Show what a directory says",
     "All entries, or those of that name (a problem, a machine, a daemon) with what is below them.",
     directory_show_options, 0, 0, -1, verb_directory_show},
    {"directory client", "", "Write a client's file by the addresses that a directory has",
     "The file names its redirectors, else its master agents:\n"
     "  espalier directory client --url ldap://HOST/BASE >~/.config/espalier/client.conf",
     directory_show_options, 0, 0, 0, verb_directory_client},
    {"tree", "", "Show the platform's redirector, agents and servers",
     "Servers are shown with the measured speed of one slot, running and waiting sessions, memory, and\n"
     "sessions done since they were started.",
     tree_options, WITH_PLATFORM, 0, 0, verb_tree},
    {"weather", "", "Show what others leave of the servers' machines, and how good the links are",
     "Each node is asked for what it measures, in the resources of the Network Weather Service: the share "
     "of\n"
     "a processor that a session would get now (availableCpu) and that running ones get (currentCpu), "
     "memory\n"
     "and disk that are free (freeMemory, freeDisk), and of each link the rate (bandwidthTcp), what a small\n"
     "message takes there and back (latencyTcp), and what a connection takes to open (connectTimeTcp). A "
     "row\n"
     "has the last value, the forecast with its expected error, and how it was. Forecasts of calls count "
     "with\n"
     "it.",
     weather_options, WITH_PLATFORM, 0, 0, verb_weather},
    {"trace", "[SESSION]", "Show the way of one call through the platform, and how long it was where",
     "SESSION is what logs and error messages call it, such as c0ffee12-7; without it, the last session "
     "that\n"
     "a program of yours made (one that has ended). Agents and servers remember the last ones that came "
     "their\n"
     "way.",
     NULL, WITH_PLATFORM, 0, 1, verb_trace},
    {"admin move", "NODE", "Move a server, or an agent with all below it, below another agent",
     "It stays with its old parent until the new one knows it, so that no call fails and sessions go on. "
     "The\n"
     "new place survives a restart when the node has a state_dir. Refused is what would close a circle.",
     move_options, WITH_PLATFORM, 1, 1, verb_admin_move},
    {"admin drain", "NODE...", "Let servers take no new sessions, and finish those they have",
     "Of an agent: all servers below it, and those that join it until it is undrained. Survives a restart\n"
     "when the node has a state_dir.",
     NULL, WITH_PLATFORM, 1, -1, verb_admin_drain},
    {"admin undrain", "NODE...", "Let drained servers take sessions again",
     "Of an agent: all servers below it, and those that join it.", NULL, WITH_PLATFORM, 1, -1,
     verb_admin_undrain},
    {"admin disable", "PROBLEM...", "Let servers not solve problems any more",
     "Sessions that are there go on. Survives a restart when the server has a state_dir.", switch_options,
     WITH_PLATFORM, 1, -1, verb_admin_disable},
    {"admin enable", "PROBLEM...", "Let servers solve problems again that were disabled", "", switch_options,
     WITH_PLATFORM, 1, -1, verb_admin_enable},
    {"admin reload", "NODE...", "Let daemons read their files again",
     "As SIGHUP: the log is opened again; the log level, who administers, how an agent ranks and a\n"
     "server's problems are read again. Answered when that is done, with the keys that need a restart to "
     "count; a daemon whose\n"
     "files are wrong goes on as it was, and what is wrong is told.",
     NULL, WITH_PLATFORM, 1, -1, verb_admin_reload},
    {"admin add", "FILE", "Start one more agent or server",
     "FILE is its configuration file ('-': standard input, with --as). It is started on this machine, or on\n"
     "another one over ssh, where Espalier is installed too; 'espalier down' ends it with the platform. It "
     "is\n"
     "done when the tree shows it; a server that was removed before takes sessions again.",
     add_options, WITH_PLATFORM, 1, 1, verb_admin_add},
    {"admin apply", "FILE", "Change the running tree into what a platform file says",
     "What is in the file and not in the tree is started, what has another parent is moved, what has other\n"
     "settings is restarted. What is in the tree only is left alone, or, with --remove, removed. A file "
     "that\n"
     "would cut the tree is refused before anything is done. --timeout is for all of it.",
     apply_options, WITH_PLATFORM, 1, 1, verb_admin_apply},
    {"admin restart", "[NODE]...", "Run daemons again, one after the other, without a failed call",
     "Without NODE: the whole platform, servers first. A server takes no new sessions and finishes those it\n"
     "has before it goes (calls that nobody else takes wait for it); the next daemon goes when the platform\n"
     "is whole again.\n"
     "Each runs what is installed now, with its file as it is now, at the address that it had. --timeout\n"
     "ends the waiting for sessions, and for the platform (60 s). Refused where results of jobs that nobody\n"
     "has fetched would be lost, unless --force is given.",
     restart_options, WITH_PLATFORM, 0, -1, verb_admin_restart},
    {"admin stop", "NODE...", "Stop daemons",
     "As SIGTERM: a server gives its sessions some seconds to end. Refused where nodes below an agent would "
     "be\n"
     "cut off, unless --cut is given, and, unless --force is given, where results of jobs that nobody has\n"
     "fetched would be lost.",
     stop_options, WITH_PLATFORM, 1, -1, verb_admin_stop},
    {"admin remove", "NODE...", "Drain servers, wait until their sessions have ended, and stop them",
     "Agents are stopped, when nothing is below them any more. --timeout ends the waiting; the server stays\n"
     "drained then. Refused where persistent or sticky data, or results of jobs that nobody has fetched, "
     "would\n"
     "go with it, unless --force is given ('espalier data mv --from SERVER OTHER' moves data).",
     stop_options, WITH_PLATFORM, 1, -1, verb_admin_remove},
    {"up", "[FILE]", "Start a platform on this machine",
     "Starts the daemons that a platform file describes and waits until they have found each other. Without\n"
     "a file: a redirector, a master agent, two leader agents and three servers, one of them slowed down by\n"
     "a CPU quota (a control group where that is permitted, else a competing load on its processor).\n"
     "The daemons' files and logs are in $XDG_RUNTIME_DIR/espalier/NAME or /tmp/espalier-UID/NAME; the "
     "other\n"
     "verbs find the platform 'default' there by themselves, programs through ESPALIER_CONFIG.",
     up_options, 0, 0, 1, verb_up},
    {"down", "[NAME]", "Stop a platform that 'espalier up' started",
     "Stops exactly the processes that were started, and removes the platform's folder. NAME may be the\n"
     "platform file as well. Refused where results of jobs that nobody has fetched would be lost, but\n"
     "for --force.",
     down_options, 0, 0, 1, verb_down},
    {"config check", "FILE...", "Check configuration files",
     "Every error is told with file and line, what was expected and what was found.", check_options, 0, 1, -1,
     verb_config_check},
    {"data put", "FILE", "Put a matrix file on a server, where calls use it",
     "The identity that the datum gets is printed: 'espalier call PROBLEM A=data:ID' passes it, and whoever\n"
     "knows it may use it. A persistent datum is on the server's disk when the identity is printed.\n"
     "A put that was interrupted goes on when it is said again.",
     data_put_options, WITH_INPUT | WITH_PLATFORM, 1, 1, verb_data_put},
    {"data get", "ID FILE", "Save a datum as a matrix file ('-': standard output)",
     "It is read from a server that has it; another one is asked when the transfer breaks. Data of a "
     "session\n"
     "('espalier call --leave') go into a folder: session:ID:inputs, session:ID:outputs; or one of them "
     "into\n"
     "a file: session:ID:outputs:NAME. The other verbs on data take them too.",
     data_get_options, WITH_PLATFORM, 2, 2, verb_data_get},
    {"data ls", "", "List the data of the platform",
     "Those that you may use, on all servers, with their sizes. Files that servers found damaged, and set\n"
     "aside, are listed with --damaged, and removed by 'data rm --damaged'.",
     data_ls_options, WITH_PLATFORM, 0, 0, verb_data_ls},
    {"data info", "ID", "Show what a datum is, and where",
     "One paragraph for each server that has it, with its statistics there.", NULL, WITH_PLATFORM, 1, 1,
     verb_data_info},
    {"data show", "ID", "Show how a matrix in pieces lies, and what moving it elsewhere takes",
     "Pieces are those of a process grid, block-cyclic: 'espalier data put --grid', and results that a call\n"
     "leaves with -o X=data:pieces. Moving it to the ranks of another server costs the plan with the\n"
     "fewest and shortest steps; on its own server it is copied, and no message is sent.",
     data_show_options, WITH_PLATFORM, 1, 1, verb_data_show},
    {"data rm", "[ID...]", "Delete data, with their replicas",
     "Who reads one at this moment reads on to the end. There is no way back. Of a session (session:ID) go\n"
     "those that it put or made. The exit code is 3 when a server that keeps one cannot be reached: it has "
     "it\n"
     "still when it is back. --force gives up what is there.",
     data_rm_options, WITH_PLATFORM, 0, -1, verb_data_rm},
    {"data cp", "[ID...] SERVER", "Have a server fetch replicas of data",
     "They come straight from servers that have them. A replica may be dropped when memory is short.\n"
     "With --grid and --block the server makes another datum of the same value that lies so, and its ID is "
     "printed.",
     data_copy_options, WITH_PLATFORM, 1, -1, verb_data_cp},
    {"data mv", "[ID...] SERVER", "Move data to another server",
     "Each is deleted where it was when the other server has all of it, durable if it was. Sticky data do "
     "not move. With --grid and --block it lies so there, and has another ID, which is printed.\n"
     "When the server with the original never comes back, --force makes an original of the replica there; "
     "one is\nfetched from another server, if there is none.",
     data_move_options, WITH_PLATFORM, 1, -1, verb_data_mv},
    {"flow check", "FILE [NAME=VALUE]...", "Check a flow graph, and show what it would do",
     "FILE is a text in the language that doc/flow.md explains. NAME is a parameter of the flow. Mistakes "
     "are\n"
     "told with line and column, what was expected and what was found.",
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
     "JOURNAL is the file of 'flow run --journal'. A run that goes on is ended first. The journal is deleted.",
     NULL, WITH_PLATFORM, 1, 1, verb_flow_cancel},
    {"flow simulate", "FILE [NAME=VALUE]...", "Show how long a flow graph would take on a platform",
     "Nothing is computed and no daemon is asked: operations take what the flow says of them, on the nodes "
     "and\n"
     "links of the platform file. NAME is a parameter of the flow, or a key of the platform file where the\n"
     "flow has no such parameter. In place of FILE, application:lu is the LU factorization that doc/flow.md\n"
     "describes.",
     flow_simulate_options, 0, 1, -1, verb_flow_simulate},
    {"matrix info", "FILE", "Show what a matrix file holds",
     "Format, size, symmetry, norm, and whether it brings a right-hand side. Read are Matrix Market,\n"
     "Harwell-Boeing and Rutherford-Boeing (assembled), NumPy .npy, Octave's text, and CSV files, recognised "
     "by\n"
     "what is in them, also when they are compressed by gzip. A content that no format explains completely "
     "is an\n"
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
