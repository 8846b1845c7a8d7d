// A Windows service: an HTTP server that the service manager starts, and that stops when the service manager says so.
#include <winsock2.h>

#include <stdio.h>
#include <string.h>

static SERVICE_STATUS_HANDLE handle;
static HANDLE stopped;

static void tell(DWORD state) {
    SERVICE_STATUS status = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS,
                             .dwCurrentState = state,
                             .dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP : 0};
    SetServiceStatus(handle, &status);
}

/// A service has no standard output: what it has to say is kept on the volume.
static void note(const char* line) {
    FILE* log = fopen("C:\\data\\service.log", "a");
    fprintf(log, "%s\n", line);
    fclose(log);
}

static DWORD WINAPI on_control(DWORD control, DWORD kind, void* data, void* context) {
    (void)kind, (void)data, (void)context;
    if (control == SERVICE_CONTROL_STOP) {
        tell(SERVICE_STOP_PENDING);
        SetEvent(stopped);
    }
    return control == SERVICE_CONTROL_STOP || control == SERVICE_CONTROL_INTERROGATE ? NO_ERROR : ERROR_CALL_NOT_IMPLEMENTED;
}

static int read_file(const char* path, char* text, size_t limit) {
    FILE* file = fopen(path, "rb");
    if (!file) return 0;
    const size_t size = fread(text, 1, limit, file);
    fclose(file);
    return (int)size;
}

/// GET /log has what the service has noted, all else what the ConfigMap says.
static DWORD WINAPI serve(void* listener) {
    for (;;) {
        char head[200], text[4000] = "";
        const SOCKET client = accept((SOCKET)listener, NULL, NULL);
        const int asked = recv(client, text, sizeof text - 1, 0);
        const char* path = asked > 0 && strncmp(text, "GET /log ", 9) == 0 ? "C:\\data\\service.log" : "C:\\config\\greeting.txt";
        const int size = read_file(path, text, sizeof text);
        send(client, head, snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", size), 0);
        send(client, text, size, 0);
        shutdown(client, SD_SEND);
        closesocket(client);
    }
    return 0;
}

static void WINAPI run(DWORD count, wchar_t** words) {
    (void)count;
    WSADATA data;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8080)};
    stopped = CreateEventW(NULL, TRUE, FALSE, NULL);
    handle = RegisterServiceCtrlHandlerExW(words[0], on_control, NULL);
    tell(SERVICE_START_PENDING);
    WSAStartup(MAKEWORD(2, 2), &data);
    const SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr*)&address, sizeof address);
    listen(listener, 16);
    note("runs");
    tell(SERVICE_RUNNING);
    CloseHandle(CreateThread(NULL, 0, serve, (void*)listener, 0, NULL));
    WaitForSingleObject(stopped, INFINITE);
    note("was stopped");
    tell(SERVICE_STOPPED);
}

int main(void) {
    const SERVICE_TABLE_ENTRYW table[] = {{(wchar_t*)L"", run}, {NULL, NULL}};
    return StartServiceCtrlDispatcherW(table) ? 0 : (int)GetLastError();
}
