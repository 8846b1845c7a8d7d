// streams.exe: a program of the tests' Windows image. Asks its standard streams and uses named pipes by the calls of libuv (Node.js), .NET
// and Go, and prints what they answer.
#include <stdio.h>
#include <string.h>
#include <windows.h>
#include <winternl.h>

static const wchar_t Name[] = L"\\\\.\\pipe\\streams";
enum { FileMode = 16, PipeLocal = 24 };

typedef struct {
    ULONG type, configuration, most, current, in_quota, readable, out_quota, writable, state, end;
} pipe_local;
typedef NTSTATUS(NTAPI* query_function)(HANDLE, IO_STATUS_BLOCK*, void*, ULONG, int);
static query_function query;

/// libuv: whether it is a pipe, of what kind, and whether reading it blocks a thread; .NET and Go: that it is not a console.
static void print_stream(const char* what, HANDLE stream) {
    DWORD flags = 99, out_size = 0, state = 99, instances = 0, mode = 0;
    IO_STATUS_BLOCK status;
    pipe_local local = {0};
    ULONG file_mode = 0;
    printf("%s: type %lu", what, GetFileType(stream));
    if (!GetNamedPipeInfo(stream, &flags, &out_size, NULL, NULL)) printf(", no pipe: error %lu", GetLastError());
    else printf(", bytes %d, buffer %d", !(flags & PIPE_TYPE_MESSAGE), out_size > 0);
    if (GetNamedPipeHandleStateA(stream, &state, &instances, NULL, NULL, NULL, 0)) printf(", state %lu", state);
    if (query(stream, &status, &file_mode, sizeof file_mode, FileMode) >= 0) printf(", synchronous %d", (file_mode & 0x30) != 0);
    if (query(stream, &status, &local, sizeof local, PipeLocal) >= 0) printf(", connected %d", local.state == 3 || local.state == 4);
    printf(", console %d\n", GetConsoleMode(stream, &mode));
}

static HANDLE make_server(DWORD open_mode, DWORD pipe_mode) {
    return CreateNamedPipeW(Name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | open_mode, pipe_mode, 2, 4096, 4096, 0, NULL);
}
static HANDLE open_client(void) {
    return CreateFileW(Name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION,
                       NULL);
}
static OVERLAPPED with_event(void) { return (OVERLAPPED){.hEvent = CreateEventA(NULL, TRUE, FALSE, NULL)}; }
static DWORD error_of(BOOL done) { return done ? 0 : GetLastError(); }

/// A server whose name is taken has to hear it: EADDRINUSE in Node.js.
static void first_instances(void) {
    const HANDLE first = make_server(FILE_FLAG_FIRST_PIPE_INSTANCE, 0), second = make_server(FILE_FLAG_FIRST_PIPE_INSTANCE, 0);
    printf("first: %d, second: %d error %lu", first != INVALID_HANDLE_VALUE, second != INVALID_HANDLE_VALUE, GetLastError());
    const HANDLE another = make_server(0, 0);
    printf(", without the flag: %d", another != INVALID_HANDLE_VALUE);
    CloseHandle(first);
    CloseHandle(second);
    CloseHandle(another);
    const HANDLE later = make_server(FILE_FLAG_FIRST_PIPE_INSTANCE, 0);
    printf(", when they are closed: %d\n", later != INVALID_HANDLE_VALUE);
    CloseHandle(later);
}

/// libuv: an empty read tells that there is something to read; completions come by a port; what waits can be cancelled.
static void overlapped(void) {
    char text[16];
    DWORD size = 0;
    ULONG_PTR key = 0;
    OVERLAPPED connect = with_event(), read = with_event(), write = with_event(), *ended;
    const HANDLE server = make_server(0, 0);
    printf("overlapped: connect %lu", error_of(ConnectNamedPipe(server, &connect)));
    const HANDLE client = open_client();
    printf(" %lu", error_of(GetOverlappedResult(server, &connect, &size, TRUE)));
    printf(", read %lu", error_of(ReadFile(server, text, 0, NULL, &read)));
    printf(" %lu", error_of(WriteFile(client, "abc", 3, NULL, &write)));
    printf(" %lu", error_of(GetOverlappedResult(server, &read, &size, TRUE)));
    printf(", %lu bytes", size);
    printf(", read %lu", error_of(ReadFile(server, text, sizeof text, &size, &read)));
    printf(", cancel %lu", error_of(ReadFile(server, text, sizeof text, NULL, &read)));
    printf(" %lu", error_of(CancelIoEx(server, &read)));
    printf(" %lu", error_of(GetOverlappedResult(server, &read, &size, TRUE)));
    printf(" %lu\n", error_of(CancelIoEx(server, &read)));

    const HANDLE port = CreateIoCompletionPort(server, NULL, 7, 1);
    ReadFile(server, text, sizeof text, NULL, &read);
    WriteFile(client, "abcd", 4, NULL, &write);
    const BOOL done = GetQueuedCompletionStatus(port, &size, &key, &ended, 10000);
    printf("port: %d, %lu bytes, key %llu, of the read %d", done, size, (unsigned long long)key, ended == &read);
    printf(", modes %lu\n", error_of(SetFileCompletionNotificationModes(client, FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE)));
    CloseHandle(client);
    printf("closed: read %lu", error_of(ReadFile(server, text, 1, NULL, &read)));
    printf(", write %lu", error_of(WriteFile(server, text, 1, NULL, &write)));
    printf(", peek %lu", error_of(PeekNamedPipe(server, NULL, 0, NULL, &size, NULL)));
    printf(", disconnect %lu", error_of(DisconnectNamedPipe(server)));
    printf(", read %lu\n", error_of(ReadFile(server, text, 1, NULL, &read)));
    CloseHandle(server);
}

/// .NET: a client chooses to read messages; a long one comes in parts. Byte mode joins what was written.
static void modes(const char* what, DWORD type) {
    char text[16];
    DWORD size = 0, waiting = 0, left = 0, mode = PIPE_READMODE_MESSAGE, state = 99;
    OVERLAPPED read = with_event(), write = with_event();
    const HANDLE server = make_server(0, type), client = open_client();
    printf("%s: choose messages %lu", what, error_of(SetNamedPipeHandleState(client, &mode, NULL, NULL)));
    GetNamedPipeHandleStateA(client, &state, NULL, NULL, NULL, NULL, 0);
    printf(", state %lu", state);
    WriteFile(server, "hello", 5, NULL, &write);
    WriteFile(server, "world", 5, NULL, &write);
    printf(", read %lu", error_of(ReadFile(client, text, 3, NULL, &read)));
    GetOverlappedResult(client, &read, &size, FALSE);
    printf(" %lu bytes", size);
    PeekNamedPipe(client, text, 1, NULL, &waiting, &left);
    printf(", waiting %lu", waiting);
    if (type) printf(", of the message %lu", left);
    printf(", read %lu", error_of(ReadFile(client, text, sizeof text, &size, &read)));
    printf(" %lu bytes\n", size);
    CloseHandle(client);
    CloseHandle(server);
}

static void peers(void) {
    char user[64] = "";
    ULONG client_process = 0, server_process = 0;
    const HANDLE server = make_server(0, 0), client = open_client();
    GetNamedPipeClientProcessId(server, &client_process);
    GetNamedPipeServerProcessId(client, &server_process);
    printf("peers: client %d, server %d", client_process == GetCurrentProcessId(), server_process == GetCurrentProcessId());
    printf(", impersonate %lu", error_of(ImpersonateNamedPipeClient(server)));
    RevertToSelf();
    printf(", user %lu\n", error_of(GetNamedPipeHandleStateA(server, NULL, NULL, NULL, NULL, user, sizeof user)));
    CloseHandle(client);
    CloseHandle(server);
}

int main(void) {
    query = (query_function)(void*)GetProcAddress(GetModuleHandleA("ntdll.dll"), "NtQueryInformationFile");
    print_stream("input", GetStdHandle(STD_INPUT_HANDLE));
    print_stream("output", GetStdHandle(STD_OUTPUT_HANDLE));
    print_stream("errors", GetStdHandle(STD_ERROR_HANDLE));
    first_instances();
    overlapped();
    modes("messages", PIPE_TYPE_MESSAGE);
    modes("bytes", 0);
    peers();
    return 0;
}
