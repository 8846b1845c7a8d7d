// probe.exe: a program of the tests' Windows image.
//   exit CODE          ends with that 32-bit code
//   print TEXT...      one argument a line, then the directory and %GREETING%
//   allocate [MB]      takes memory until there is none: prints how much and the error, exit code 55; or so much of it, exit code 0
//   promise MB COUNT   commits COUNT blocks of so much without touching them: prints how many and the error, exit code 55 if not all
//   copy               standard input to standard output
//   wait               until a control event comes, which it prints; exit code 5
//   stubborn           prints control events and stays
//   family NAME        starts two stubborn ones, named so, and stays with them
//   storm              starts stubborn ones until it may no more: prints the error, exit code 56
//   flood              zero bytes, for as long as anybody reads
//   processors         prints whether it may run on all that the system has, then waits as below
//   console            prints the console's size, and again when it changes, for a minute
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static HANDLE stop;

static BOOL WINAPI on_control(DWORD event) {
    printf("event %lu\n", event);
    fflush(stdout);
    SetEvent(stop);
    Sleep(10000);
    return TRUE;
}

static int allocate(unsigned wanted) {
    const SIZE_T step = 1 << 20;
    unsigned megabytes = 0;
    for (char* block; megabytes < wanted && (block = VirtualAlloc(NULL, step, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)); ++megabytes)
        memset(block, 1, step);
    printf("%u MB, error %lu\n", megabytes, GetLastError());
    return megabytes == wanted ? 0 : 55;
}

static int promise(SIZE_T megabytes, unsigned wanted) {
    unsigned made = 0;
    while (made < wanted && VirtualAlloc(NULL, megabytes << 20, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)) ++made;
    printf("%u of %u, error %lu\n", made, wanted, made == wanted ? 0 : GetLastError());
    return made == wanted ? 0 : 55;
}

static void stay(void) {
    printf("staying\n");
    fflush(stdout);
    Sleep(INFINITE);
}

static BOOL WINAPI on_control_stay(DWORD event) {
    printf("event %lu\n", event);
    stay();
    return TRUE;
}

static int start_family(const char* program, const char* name) {
    for (int child = 0; child < 2; ++child) {
        STARTUPINFOA start = {.cb = sizeof start};
        PROCESS_INFORMATION made;
        char line[2 * MAX_PATH];
        snprintf(line, sizeof line, "\"%s\" stubborn %s", program, name);
        if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &made)) return 1;
        printf("child %lu\n", made.dwProcessId);
    }
    stay();
    return 0;
}

static int storm(const char* program) {
    for (int child = 0; child < 1000; ++child) {
        STARTUPINFOA start = {.cb = sizeof start};
        PROCESS_INFORMATION made;
        char line[MAX_PATH];
        snprintf(line, sizeof line, "\"%s\" stubborn", program);
        if (CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &made)) continue;
        printf("%d children, error %lu\n", child, GetLastError());
        return 56;
    }
    return 0;
}

static void show_processors(void) {
    DWORD_PTR own = 0, all = 0;
    const BOOL known = GetProcessAffinityMask(GetCurrentProcess(), &own, &all);
    printf("processors of the process: %s\n", known && own == all ? "all" : "some");
    printf("of its thread: %s\n", SetThreadAffinityMask(GetCurrentThread(), all) == all ? "all" : "some");
}

static int watch_console(void) {
    COORD shown = {0, 0};
    for (int tick = 0; tick < 600; ++tick, Sleep(100)) {
        CONSOLE_SCREEN_BUFFER_INFO info;
        if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)) return 1;
        const COORD now = {info.srWindow.Right - info.srWindow.Left + 1, info.srWindow.Bottom - info.srWindow.Top + 1};
        if (now.X == shown.X && now.Y == shown.Y) continue;
        shown = now;
        printf("console=%dx%d\n", now.X, now.Y);
        fflush(stdout);
    }
    return 0;
}

int main(int count, char** words) {
    const char* verb = count > 1 ? words[1] : "";
    if (!strcmp(verb, "exit")) return (int)strtoul(words[2], NULL, 0);
    if (!strcmp(verb, "promise")) return promise(strtoul(words[2], NULL, 0), (unsigned)strtoul(words[3], NULL, 0));
    if (!strcmp(verb, "allocate")) return allocate(count > 2 ? (unsigned)strtoul(words[2], NULL, 0) : 4096);
    if (!strcmp(verb, "print")) {
        char text[512] = "";
        for (int i = 2; i < count; ++i) printf("<%s>\n", words[i]);
        GetCurrentDirectoryA(sizeof text, text);
        printf("%s\n%s\n", text, getenv("GREETING") ? getenv("GREETING") : "");
        return 0;
    }
    if (!strcmp(verb, "copy")) {
        char buffer[4096];
        for (size_t size; (size = fread(buffer, 1, sizeof buffer, stdin)) > 0;) fwrite(buffer, 1, size, stdout);
        return 0;
    }
    if (!strcmp(verb, "flood")) {
        static const char noise[65536];
        while (fwrite(noise, 1, sizeof noise, stdout) == sizeof noise) continue;
        return 0;
    }
    if (!strcmp(verb, "storm")) return storm(words[0]);
    if (!strcmp(verb, "console")) return watch_console();
    if (!strcmp(verb, "stubborn") || !strcmp(verb, "family")) {
        SetConsoleCtrlHandler(on_control_stay, TRUE);
        if (!strcmp(verb, "family")) return start_family(words[0], count > 2 ? words[2] : "");
        stay();
    }
    if (!strcmp(verb, "processors")) show_processors();
    stop = CreateEventA(NULL, TRUE, FALSE, NULL);
    SetConsoleCtrlHandler(on_control, TRUE);
    printf("waiting\n");
    fflush(stdout);
    WaitForSingleObject(stop, INFINITE);
    return 5;
}
