/* The attempts of `porthole net verify`: check NUMBER=http://… NUMBER=ping:ADDRESS NUMBER=ping:gateway … makes all at once, each within
 * AttemptMilliseconds, and prints "check NUMBER pass" or "check NUMBER fail" for each.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_get.h"
#include "ping.h"
#include "platform.h"

enum { AttemptMilliseconds = 6000, LookAgainMilliseconds = 20 };

/* `passed` is written before `open_attempts` counts down. */
struct Attempt {
    const char* number;
    const char* target;
    atomic_int passed;
};

static struct Attempt* attempts;
static atomic_int open_attempts;

static int ping_gateway(void) {
    char gateway[16];
    return find_gateway(gateway) ? ping(gateway, AttemptMilliseconds) : 1;
}

static void make_attempt(size_t index) {
    const char* target = attempts[index].target;
    int result;
    if (strcmp(target, "ping:gateway") == 0)
        result = ping_gateway();
    else if (strncmp(target, "ping:", 5) == 0)
        result = ping(target + 5, AttemptMilliseconds);
    else
        result = http_get(target, NULL);
    attempts[index].passed = result == 0;
    --open_attempts;
}

int main(int count, char** words) {
    start_sockets();
    attempts = calloc((size_t)count, sizeof *attempts);
    if (!attempts) return 1;
    for (int i = 1; i < count; ++i) {
        char* target = strchr(words[i], '=');
        if (!target) {
            fprintf(stderr, "usage: check NUMBER=http://HOST[:PORT][/PATH]|NUMBER=ping:ADDRESS|NUMBER=ping:gateway...\n");
            return 2;
        }
        *target++ = 0;
        attempts[i].number = words[i];
        attempts[i].target = target;
    }
    for (int i = 1; i < count; ++i) {
        ++open_attempts;
        if (!run_beside(make_attempt, (size_t)i)) --open_attempts;
    }
    for (int waited = 0; open_attempts > 0 && waited < AttemptMilliseconds; waited += LookAgainMilliseconds)
        sleep_milliseconds(LookAgainMilliseconds);
    for (int i = 1; i < count; ++i) printf("check %s %s\n", attempts[i].number, attempts[i].passed ? "pass" : "fail");
    fflush(stdout);
    return 0;
}
