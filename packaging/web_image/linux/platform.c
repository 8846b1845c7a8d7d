#include "../platform.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static Socket listening = NoSocket;
static volatile int* told;

int start_sockets(void) {
    signal(SIGPIPE, SIG_IGN);
    return 1;
}

void close_socket(Socket socket) { close(socket); }

int last_error(void) { return errno; }

void limit_receive(Socket socket, int milliseconds) {
    const struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

void set_waiting(Socket socket, int waits) { fcntl(socket, F_SETFL, waits ? 0 : O_NONBLOCK); }

void sleep_milliseconds(int milliseconds) { poll(NULL, 0, milliseconds); }

struct Job {
    void (*work)(size_t);
    size_t argument;
};

static void* run_job(void* argument) {
    const struct Job job = *(struct Job*)argument;
    free(argument);
    job.work(job.argument);
    return NULL;
}

int run_beside(void (*work)(size_t), size_t argument) {
    struct Job* job = malloc(sizeof *job);
    pthread_t thread;
    if (!job) return 0;
    *job = (struct Job){work, argument};
    if (pthread_create(&thread, NULL, run_job, job) != 0) {
        free(job);
        return 0;
    }
    pthread_detach(thread);
    return 1;
}

static void on_signal(int signal_) {
    (void)signal_;
    *told = 1;
    shutdown(listening, SHUT_RDWR); /* a close would not wake the thread that accepts */
}

/* The first process of a container gets no signal that it does not handle. */
void end_when_asked(Socket listener, volatile int* ending) {
    listening = listener;
    told = ending;
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
}
