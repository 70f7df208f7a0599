/* SPDX-License-Identifier: Apache-2.0 */
#include "util/control_group.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool control_group_line(const char *folder, const char *name, char *line, size_t size)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    return good;
}

struct search {
    struct control_group_files files;
    const char *controller;
    void (*visit)(const char *folder, bool version2, void *arg);
    void *arg;
};

/* Finds the process's group in that hierarchy: "ID:controllers:path", in version 2 without controllers. */
static bool find_group(const struct search *search, bool version2, char *path, size_t size)
{
    char line[PATH_BYTES];
    bool found = false;
    FILE *file = fopen(search->files.groups, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        found = version2 ? controllers[1] == 0 : has_word(controllers + 1, search->controller);
        if (found)
            snprintf(path, size, "%s", group);
    }
    if (file)
        fclose(file);
    return found;
}

static void visit_mount(const struct search *search, const char *mount, bool version2)
{
    char group[PATH_BYTES / 2], folder[PATH_BYTES];
    struct stat is;
    if (!find_group(search, version2, group, sizeof group))
        return;
    int top = snprintf(folder, sizeof folder, "%s%s", search->files.root, mount);
    if (top < 0 || (size_t)top + strlen(group) >= sizeof folder)
        return;
    strcpy(folder + top, group);
    /* In a container the path may be the host's, while the mount only shows the container's own group. */
    if (stat(folder, &is) != 0)
        folder[top] = 0;
    for (;;) {
        search->visit(folder, version2, search->arg);
        char *last = strrchr(folder + top, '/');
        if (!last)
            return;
        *last = 0;
    }
}

void control_groups_visit(const struct control_group_files *files, const char *controller,
                          void (*visit)(const char *folder, bool version2, void *arg), void *arg)
{
    struct search search = {.controller = controller, .visit = visit, .arg = arg};
    char line[PATH_BYTES], mount[1024], type[64], options[1024];
    search.files.groups = files && files->groups ? files->groups : "/proc/self/cgroup";
    search.files.mounts = files && files->mounts ? files->mounts : "/proc/self/mounts";
    search.files.root = files && files->root ? files->root : "";
    FILE *file = fopen(search.files.mounts, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%*s %1023s %63s %1023s", mount, type, options) != 3)
            continue;
        bool version2 = strcmp(type, "cgroup2") == 0;
        if (version2 || (strcmp(type, "cgroup") == 0 && has_word(options, controller)))
            visit_mount(&search, mount, version2);
    }
    if (file)
        fclose(file);
}
