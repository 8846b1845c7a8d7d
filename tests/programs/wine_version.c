// Prints which Wine runs it, and with how many bits.
#include <windows.h>

#include <stdio.h>

int main(void) {
    typedef const char* (*Version)(void);
    union {
        FARPROC found;
        Version call;
    } version = {GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version")};
    printf("Wine %s, %d bits\n", version.found ? version.call() : "none", (int)(8 * sizeof(void*)));
    return 0;
}
