/* The first process of every Windows pod sandbox: holds the pod's network compartment until the runtime asks it to end.
 *
 * Needs kernel32.dll only, so that the image is one file of a few kilobytes and starts without a C runtime. Each control event
 * (CTRL_SHUTDOWN_EVENT is what runtimes send) ends it with exit code 0.
 */
#include <windows.h>

static HANDLE ended;

static BOOL WINAPI on_control_event(DWORD event) {
    (void)event;
    SetEvent(ended);
    Sleep(INFINITE); /* returning would let the default handler end the process before main does */
    return TRUE;
}

void start(void) {
    ended = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (!ended || !SetConsoleCtrlHandler(on_control_event, TRUE)) ExitProcess(1);
    WaitForSingleObject(ended, INFINITE);
    ExitProcess(0);
}
