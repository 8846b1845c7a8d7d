// monitor.exe SERVICE [COMMAND]: what a container runs whose work is done by a Windows service, as Microsoft's ServiceMonitor.exe. Runs
// COMMAND, which may register the service, starts the service, and lasts as long as it does. The end of the container is the service's end.
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>

static SC_HANDLE service;

static SERVICE_STATUS status_now(void) {
    SERVICE_STATUS status = {0};
    if (!QueryServiceStatus(service, &status)) status.dwCurrentState = SERVICE_STOPPED;
    return status;
}

static DWORD wait_until_stopped(void) {
    SERVICE_STATUS status;
    while ((status = status_now()).dwCurrentState != SERVICE_STOPPED) Sleep(100);
    return status.dwWin32ExitCode;
}

static void say(const char* what) {
    puts(what);
    fflush(stdout);
}

/// Windows ends the process when this returns.
static BOOL WINAPI on_control(DWORD event) {
    SERVICE_STATUS status;
    if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) return FALSE;
    say("stopping the service");
    ControlService(service, SERVICE_CONTROL_STOP, &status);
    wait_until_stopped();
    return TRUE;
}

int main(int count, char** words) {
    if (count < 2 || (count > 2 && system(words[2]) != 0)) return 2;
    service = OpenServiceA(OpenSCManagerA(NULL, NULL, SC_MANAGER_CONNECT), words[1], SERVICE_START | SERVICE_STOP | SERVICE_QUERY_STATUS);
    if (!service || (!StartServiceA(service, 0, NULL) && GetLastError() != ERROR_SERVICE_ALREADY_RUNNING)) {
        fprintf(stderr, "%s does not start: error %lu\n", words[1], GetLastError());
        return 1;
    }
    SetConsoleCtrlHandler(on_control, TRUE);
    say("the service runs");
    const DWORD code = wait_until_stopped();
    say("the service has stopped");
    return (int)code;
}
