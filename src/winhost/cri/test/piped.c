// piped.exe: both sides of a named pipe, for the tests.
//   serve NAME message|byte        serves until a client says "end": answers each message (or piece) by itself in capitals, but for
//                                    twice   two messages, "one" and "two"
//                                    flood   FLOOD bytes
//                                    count   how many clients there are
//                                    bye     "ciao", then closes its end
//                                    drop    disconnects at once
//   background WORDS...            starts itself with those words and ends
//   talk NAME WORDS...             says each word and prints the answer; "big" stands for BIG bytes, "nothing" for an empty message.
//                                  What goes wrong is printed as "open 2", "read 109"; exit code 60 if it cannot be opened
//   wait NAME SECONDS              until it can be opened, or no longer: with "-" before the seconds
//   crowd NAME COUNT               so many connections at once, each with a word of its own, answered in the other order
//   stubborn NAME                  asks for a flood and does not read it before another connection was answered
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { BIG = 300000, FLOOD = 2000000, PIECE = 400000, MOST = 32 };

static LONG clients;
static char* pipe_name;
static DWORD pipe_mode;

static void say(HANDLE pipe, const char* text) {
    DWORD written;
    WriteFile(pipe, text, (DWORD)strlen(text), &written, NULL);
}

static void flood(HANDLE pipe) {
    static char piece[1000];
    DWORD written;
    memset(piece, 'x', sizeof piece);
    for (int sent = 0; sent < FLOOD; sent += sizeof piece)
        if (!WriteFile(pipe, piece, sizeof piece, &written, NULL)) return;
}

/// False when the connection is over.
static int answer(HANDLE pipe, char* text, DWORD size) {
    char number[16];
    DWORD written;
    text[size] = 0;
    if (!strcmp(text, "twice")) return say(pipe, "one"), say(pipe, "two"), 1;
    if (!strcmp(text, "flood")) return flood(pipe), 1;
    if (!strcmp(text, "count")) return snprintf(number, sizeof number, "%ld", clients), say(pipe, number), 1;
    if (!strcmp(text, "bye")) return say(pipe, "ciao"), 0;
    if (!strcmp(text, "drop")) return DisconnectNamedPipe(pipe), 0;
    if (!strcmp(text, "end")) ExitProcess(0);
    for (DWORD i = 0; i < size; ++i) text[i] = (char)toupper((unsigned char)text[i]);
    return WriteFile(pipe, text, size, &written, NULL);
}

static DWORD WINAPI serve_client(void* pipe) {
    char* text = malloc(PIECE + 1);
    DWORD size = 0;
    InterlockedIncrement(&clients);
    while (ReadFile(pipe, text, PIECE, &size, NULL) && answer(pipe, text, size)) {
    }
    InterlockedDecrement(&clients);
    CloseHandle(pipe);
    free(text);
    return 0;
}

static int serve(void) {
    for (;;) {
        const HANDLE pipe = CreateNamedPipeA(pipe_name, PIPE_ACCESS_DUPLEX, pipe_mode | PIPE_WAIT, PIPE_UNLIMITED_INSTANCES, 65536, 65536, 0, NULL);
        if (pipe == INVALID_HANDLE_VALUE) return printf("serve %lu\n", GetLastError()), 1;
        if (ConnectNamedPipe(pipe, NULL) || GetLastError() == ERROR_PIPE_CONNECTED)
            CloseHandle(CreateThread(NULL, 0, serve_client, pipe, 0, NULL));
        else
            CloseHandle(pipe);
    }
}

static HANDLE open_pipe(void) {
    for (int round = 0;; ++round) {
        const HANDLE pipe = CreateFileA(pipe_name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
        if (pipe != INVALID_HANDLE_VALUE || GetLastError() != ERROR_PIPE_BUSY || round == 100) return pipe;
        WaitNamedPipeA(pipe_name, 100);
    }
}

static void print_text(const char* text, DWORD size) {
    if (size > 100)
        printf("<%lu of %c>\n", size, text[0]);
    else
        printf("<%.*s>\n", (int)size, text);
}

/// One message: what comes of it in several pieces is put together.
static int hear(HANDLE pipe) {
    static char text[FLOOD];
    DWORD size = 0, all = 0;
    while (!ReadFile(pipe, text + all, 4096, &size, NULL)) {
        if (GetLastError() != ERROR_MORE_DATA) return printf("read %lu\n", GetLastError()), 0;
        all += size;
    }
    print_text(text, all + size);
    return 1;
}

static int talk(char** words, int count) {
    static char big[BIG];
    DWORD mode = PIPE_READMODE_MESSAGE, written;
    const HANDLE pipe = open_pipe();
    if (pipe == INVALID_HANDLE_VALUE) return printf("open %lu\n", GetLastError()), 60;
    SetNamedPipeHandleState(pipe, &mode, NULL, NULL);
    memset(big, 'y', sizeof big);
    for (int i = 0; i < count; ++i) {
        const int is_big = !strcmp(words[i], "big"), is_nothing = !strcmp(words[i], "nothing");
        const DWORD size = is_big ? BIG : is_nothing ? 0 : (DWORD)strlen(words[i]);
        if (!WriteFile(pipe, is_big ? big : words[i], size, &written, NULL)) return printf("write %lu\n", GetLastError()), 61;
        if (!hear(pipe)) return 62;
        if (!strcmp(words[i], "twice") || !strcmp(words[i], "bye")) hear(pipe);
    }
    return 0;
}

static int wait_for_pipe(int seconds) {
    const int wanted = seconds > 0;
    for (int round = 0; round < abs(seconds) * 20; ++round, Sleep(50)) {
        const HANDLE pipe = open_pipe();
        const int there = pipe != INVALID_HANDLE_VALUE;
        const DWORD error = there ? 0 : GetLastError();
        if (there) CloseHandle(pipe);
        if (there == wanted) return printf(there ? "there\n" : "gone %lu\n", error), 0;
    }
    return 1;
}

static int crowd(int count) {
    HANDLE pipes[MOST];
    char text[64];
    DWORD size, written;
    if (count > MOST) return 1;
    for (int i = 0; i < count; ++i) {
        pipes[i] = open_pipe();
        if (pipes[i] == INVALID_HANDLE_VALUE) return printf("open %lu\n", GetLastError()), 60;
        snprintf(text, sizeof text, "word %d", i);
        WriteFile(pipes[i], text, (DWORD)strlen(text), &written, NULL);
    }
    for (int i = count - 1; i >= 0; --i) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "WORD %d", i);
        if (!ReadFile(pipes[i], text, sizeof text, &size, NULL) || size != strlen(wanted) || memcmp(text, wanted, size)) return printf("wrong %d\n", i), 1;
    }
    printf("%d answers\n", count);
    return 0;
}

static int stubborn(void) {
    static char piece[PIECE];
    const HANDLE full = open_pipe();
    DWORD size, all = 0;
    say(full, "flood");
    Sleep(500);
    const HANDLE other = open_pipe();
    say(other, "hello");
    if (!hear(other)) return 1;
    while (all < FLOOD && ReadFile(full, piece, sizeof piece, &size, NULL)) all += size;
    printf("%lu bytes\n", all);
    return 0;
}

static int in_background(const char* program, char** words, int count) {
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION made;
    char line[1024];
    int end = snprintf(line, sizeof line, "\"%s\"", program);
    for (int i = 0; i < count; ++i) end += snprintf(line + end, sizeof line - end, " %s", words[i]);
    return CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &made) ? 0 : 1;
}

int main(int count, char** words) {
    const char* verb = count > 2 ? words[1] : "";
    pipe_name = count > 2 ? words[2] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!strcmp(verb, "background")) return in_background(words[0], words + 2, count - 2);
    if (!strcmp(verb, "talk")) return talk(words + 3, count - 3);
    if (!strcmp(verb, "stubborn")) return stubborn();
    if (count < 4) return 2;
    pipe_mode = !strcmp(words[3], "message") ? PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE : PIPE_TYPE_BYTE;
    if (!strcmp(verb, "serve")) return serve();
    if (!strcmp(verb, "wait")) return wait_for_pipe(atoi(words[3]));
    if (!strcmp(verb, "crowd")) return crowd(atoi(words[3]));
    return 2;
}
