#include "../platform.h"

#include <stdio.h>
#include <stdlib.h>

static Socket listening = NoSocket;
static volatile int* told;

int start_sockets(void) {
    WSADATA data;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

void close_socket(Socket socket) { closesocket(socket); }

int last_error(void) { return WSAGetLastError(); }

void limit_receive(Socket socket, int milliseconds) {
    const DWORD limit = (DWORD)milliseconds;
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, (const char*)&limit, sizeof limit);
}

void set_waiting(Socket socket, int waits) {
    u_long never = !waits;
    ioctlsocket(socket, FIONBIO, &never);
}

void sleep_milliseconds(int milliseconds) { Sleep((DWORD)milliseconds); }

struct Job {
    void (*work)(size_t);
    size_t argument;
};

static DWORD WINAPI run_job(void* argument) {
    const struct Job job = *(struct Job*)argument;
    free(argument);
    job.work(job.argument);
    return 0;
}

int run_beside(void (*work)(size_t), size_t argument) {
    struct Job* job = malloc(sizeof *job);
    if (!job) return 0;
    *job = (struct Job){work, argument};
    const HANDLE thread = CreateThread(NULL, 0, run_job, job, 0, NULL);
    if (!thread) {
        free(job);
        return 0;
    }
    CloseHandle(thread);
    return 1;
}

static BOOL WINAPI on_control_event(DWORD event) {
    printf("control event %lu: ending\n", event);
    fflush(stdout);
    *told = 1;
    closesocket(listening);
    Sleep(INFINITE); /* main ends the process */
    return TRUE;
}

void end_when_asked(Socket listener, volatile int* ending) {
    listening = listener;
    told = ending;
    SetConsoleCtrlHandler(on_control_event, TRUE);
}
