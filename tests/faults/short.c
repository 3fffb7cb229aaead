// The SHORT_AT-th write to a file below SHORT_IN writes half of what it was given. With SHORT_THEN=full every later
// one finds the disk full, with SHORT_THEN=kill the process is killed there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t write(int fd, const void *data, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    static int seen;
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    char link[64], path[4096];
    const char *below = getenv("SHORT_IN"), *at = getenv("SHORT_AT"), *then = getenv("SHORT_THEN");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!below || !at || length < 0 || count < 2) return real(fd, data, count);
    path[length] = 0;
    if (strncmp(path, below, strlen(below))) return real(fd, data, count);
    int after = ++seen - atoi(at);
    if (after == 0) return real(fd, data, count / 2);
    if (after > 0 && then && !strcmp(then, "full")) { errno = ENOSPC; return -1; }
    if (after > 0 && then && !strcmp(then, "kill")) raise(SIGKILL);
    return real(fd, data, count);
}
