/* Stands between a server and its system, as LD_PRELOAD has it: sets its clock, and lets its disk stall. What is wrong stands in the
 * file that FAULTS names, which the test writes: two numbers of 64 bits. A third one counts who waits for the disk. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_SET_S, IS_DISK_STALLED, WAITING, NUMBERS };

static volatile int64_t nothing[NUMBERS];
static volatile int64_t *faults = nothing;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("FAULTS");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof nothing, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) faults = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += faults[CLOCK_SET_S];
    return result;
}

static void wait_for_the_disk(void) {
    __sync_fetch_and_add(&faults[WAITING], 1);
    while (faults[IS_DISK_STALLED]) usleep(1000);
    __sync_fetch_and_sub(&faults[WAITING], 1);
}

int fsync(int file) {
    wait_for_the_disk();
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_for_the_disk();
    return syscall(SYS_fdatasync, file);
}
