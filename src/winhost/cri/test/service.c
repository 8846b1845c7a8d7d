// service.exe: a Windows service of the tests' images. Writes C:\service.txt and reports an event once the service manager has started it,
// runs until it is told to stop, and reports that it has, a moment later.
#include <stdio.h>
#include <windows.h>

static HANDLE stop;
static SERVICE_STATUS_HANDLE manager;

static void tell(DWORD state) {
    SERVICE_STATUS status = {SERVICE_WIN32_OWN_PROCESS, state, state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP : 0, 0, 0, 0, 0};
    SetServiceStatus(manager, &status);
}

static DWORD WINAPI on_control(DWORD control, DWORD type, void* data, void* context) {
    (void)type, (void)data, (void)context;
    if (control == SERVICE_CONTROL_STOP) SetEvent(stop);
    return control == SERVICE_CONTROL_STOP || control == SERVICE_CONTROL_INTERROGATE ? NO_ERROR : ERROR_CALL_NOT_IMPLEMENTED;
}

/// As services do, which have no standard streams.
static void report(LPCWSTR name, DWORD id, LPCWSTR text) {
    const HANDLE source = RegisterEventSourceW(NULL, name);
    ReportEventW(source, EVENTLOG_INFORMATION_TYPE, 0, id, NULL, 1, 0, &text, NULL);
    DeregisterEventSource(source);
}

static void WINAPI serve(DWORD count, LPWSTR* words) {
    manager = RegisterServiceCtrlHandlerExW(count > 0 ? words[0] : L"", on_control, NULL);
    FILE* file = fopen("C:\\service.txt", "w");
    if (file) {
        fprintf(file, "started as %ls\n", count > 0 ? words[0] : L"");
        fclose(file);
    }
    report(count > 0 ? words[0] : L"", 1, L"the service has started");
    tell(SERVICE_RUNNING);
    WaitForSingleObject(stop, INFINITE);
    tell(SERVICE_STOP_PENDING);
    Sleep(300);
    report(count > 0 ? words[0] : L"", 2, L"the service has ended its work");
    tell(SERVICE_STOPPED);
}

int main(void) {
    SERVICE_TABLE_ENTRYW table[] = {{L"", serve}, {NULL, NULL}};
    stop = CreateEventW(NULL, TRUE, FALSE, NULL);
    return StartServiceCtrlDispatcherW(table) ? 0 : 1;
}
