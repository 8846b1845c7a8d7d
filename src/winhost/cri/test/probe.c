// probe.exe: a program of the tests' Windows image.
//   exit CODE          ends with that 32-bit code
//   print TEXT...      one argument a line, then the directory and %GREETING%
//   allocate           takes memory until there is none: prints how much and the error, exit code 55
//   copy               standard input to standard output
//   wait               until a control event comes, which it prints; exit code 5
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

static int allocate(void) {
    const SIZE_T step = 1 << 20;
    unsigned megabytes = 0;
    for (char* block; megabytes < 4096 && (block = VirtualAlloc(NULL, step, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)); ++megabytes)
        memset(block, 1, step);
    printf("%u MB, error %lu\n", megabytes, GetLastError());
    return 55;
}

int main(int count, char** words) {
    const char* verb = count > 1 ? words[1] : "";
    if (!strcmp(verb, "exit")) return (int)strtoul(words[2], NULL, 0);
    if (!strcmp(verb, "allocate")) return allocate();
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
    stop = CreateEventA(NULL, TRUE, FALSE, NULL);
    SetConsoleCtrlHandler(on_control, TRUE);
    printf("waiting\n");
    fflush(stdout);
    WaitForSingleObject(stop, INFINITE);
    return 5;
}
